"""Model files that mean harm: refused with a line and a reason, in little time and memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pliant as pl
from pliant.model_file import from_yaml

GOOD = """\
pliant: 1
name: pendulum
bodies:
  rod: {mass: 1.0, com: [0.5, 0, 0], inertia: [0.001, 0.08, 0.08]}
joints:
  hinge: {type: revolute, axis: y, child: rod, start: 0.3}
"""
REPEATS = "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}' if i else '1'] * 10)}]\n" for i in range(10)
)
MERGES = "a0: &a0 {k: 1}\n" + "".join(
    f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 10)}]}}\n" for i in range(1, 10)
)
INDENTED = "x:\n" + "".join(f"{' ' * i}a:\n" for i in range(1, 1000))


def mass(text: str) -> str:
    return GOOD.replace("mass: 1.0", f"mass: {text}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (mass("9" * 10_000), "is a number of 10,000 characters; at most 400 are read"),
        (mass("0x" + "f" * 10_000), "is a number of 10,002 characters; at most 400 are read"),
        (mass("-1" + "0" * 350), "is too large; give a number below 1e308"),
        (mass("1.0e+400"), "rod.mass: 1.0e+400 is too large; give a number below 1e308"),
        (mass("!!int abc"), "rod.mass: 'abc' is no whole number; remove its tag"),
        (mass("!!float abc"), "rod.mass: 'abc' is no number; remove its tag"),
        (mass("0b12"), "rod.mass: '0b12' is not a number"),
        (mass("2020-01-01"), "'2020-01-01' is not a number"),
        (mass("!!binary aGVsbG8="), "unknown tag 'tag:yaml.org,2002:binary'; remove it"),
        (GOOD + "x: !!python/object/apply:os.system [ls]\n", "remove it"),
        (GOOD.replace("[0.5, 0, 0]", f"[1{'0' * 5000}, 0, 0]"), "is a number of 5,001 characters"),
        (GOOD.replace("[0.5, 0, 0]", "[true, 0, 0]"), "holds something that is not a number"),
        (GOOD + "x: " + "[" * 100_000 + "]" * 100_000, "lie more than 30 deep"),
        (GOOD + "x: " + "[ " * 100_000, "lie more than 30 deep"),
        (GOOD + "x: " + "{a: " * 200 + "1" + "}" * 200, "lie more than 30 deep"),
        (GOOD + INDENTED, "lie more than 30 deep"),
        (GOOD + REPEATS, "aliases (*name) make the file explode"),
        (GOOD + MERGES, "aliases (*name) make the file explode"),
        (GOOD + "a: &a [*a]\n", "contains itself by an alias"),
        (GOOD + "x: [" + "a, " * 300_000 + "a]", "at most 200,000 are read"),
        (GOOD + "# " + "x" * 5_000_000, "at most 4,000,000 are read"),
        ("%YAML 1.1\n---\n" + GOOD, "begins with a directive (%); leave it out"),
        (GOOD.replace("rod", "r" * 201), "give a name of at most 200 characters"),
        (GOOD + '"\\e[31mred": 1\n', "\\x1b[31mred: unknown key"),
        (GOOD + "x: 1\n".join(f"k{i}: 1\n" for i in range(300)), "more problems"),
    ],
)
def test_a_hostile_text_is_refused_in_words(text: str, message: str) -> None:
    with pytest.raises(pl.ModelError) as caught:
        from_yaml(text)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 30_000
    assert all(line.isprintable() for line in str(caught.value).splitlines())


def test_of_a_number_that_cannot_be_read_nothing_else_is_said() -> None:
    with pytest.raises(pl.ModelError) as caught:
        from_yaml(mass("1.0e+400"))
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize("kind", ["large", "sparse", "pipe"])
def test_a_file_that_cannot_be_a_model_is_not_read(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        with path.open("wb") as file:
            file.write(GOOD.encode())
            file.truncate(1 << 40 if kind == "sparse" else 17_000_000)
    with pytest.raises(pl.ModelError, match=r"at most 16 MB|is no file"):
        pl.load(path)


def test_the_worst_files_are_refused_in_little_memory(tmp_path: Path) -> None:
    """Reading takes no more than 300 MB of address space above that of the program at rest."""
    for i, text in enumerate((GOOD + REPEATS, GOOD + "x: [" + "1.0, " * 3_000_000 + "1]\n")):
        (tmp_path / f"{i}.yaml").write_text(text)
    program = (
        "import sys, resource, pliant as pl\n"
        "try: pl.load('none.yaml')\n"
        "except pl.ModelError: pass\n"
        "pages = int(open('/proc/self/statm').read().split()[0])\n"
        "most = pages * resource.getpagesize() + 300_000_000\n"
        "resource.setrlimit(resource.RLIMIT_AS, (most, most))\n"
        "for path in sys.argv[1:]:\n"
        "    try: pl.load(path)\n"
        "    except pl.ModelError as error: print('refused', str(error)[:200])\n"
    )
    command = [sys.executable, "-c", program, *map(str, sorted(tmp_path.iterdir()))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.count("refused") == 2, done.stderr[-2000:]
