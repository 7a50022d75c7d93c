"""What the README shows is true: its blocks are run and its printed answers compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With the model file of the README."""
    (model,) = blocks("yaml")
    (tmp_path / "crane.yaml").write_text(model, encoding="utf-8")
    return tmp_path


def comparable(text: str) -> list[str]:
    """Without blanks at line ends, and without the time that a run took."""
    text = re.sub(r"(?<=: 10 s in )[0-9.]+ s", "... s", text)
    return [line.rstrip() for line in text.strip().splitlines()]


def test_the_python_blocks_run_one_after_the_other(folder: Path, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    exec(compile("\n".join(blocks("python")), "README.md", "exec"), {})
    assert (folder / "braked.h5").is_file()
    assert (folder / "braked.png").is_file()


def test_the_commands_print_what_is_shown(folder: Path) -> None:
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    consoles = blocks("console")
    assert len(consoles) == 4
    for console in consoles:
        head, _, shown = console.rpartition("\n$ ")
        command, _, shown = (shown if head else console.removeprefix("$ ")).partition("\n")
        for line in [*head.removeprefix("$ ").splitlines(), command]:
            done = subprocess.run(
                line.removeprefix("$ "),
                shell=True,
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
        assert comparable(done.stdout + done.stderr) == comparable(shown), command


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\((?!http)([^)#]+)\)", TEXT))))
def test_links_lead_somewhere(link: str) -> None:
    assert (ROOT / link).exists()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"(?:`|^    )make (\w+)", TEXT, re.M))))
def test_every_make_target_named_is_there(target: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{target}:", makefile, re.MULTILINE)
