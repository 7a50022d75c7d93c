"""What README and docs show is true: blocks are run and printed answers compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pliant as pl

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
FMU_TEXT = (ROOT / "docs" / "fmu.md").read_text(encoding="utf-8")
ENVIRONMENT = {
    **os.environ,
    "COLUMNS": "80",
    "NO_COLOR": "1",
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language: str, text: str = TEXT) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def links() -> list[tuple[Path, str]]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        found += [(page, link) for link in re.findall(r"\]\((?!http)([^)#]+)\)", text)]
    return sorted(set(found))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With the model file of the README."""
    (model,) = blocks("yaml")
    (tmp_path / "crane.yaml").write_text(model, encoding="utf-8")
    return tmp_path


def comparable(text: str) -> list[str]:
    """Without blanks at line ends, the time that a run took, and the size of a library."""
    text = re.sub(r"(?<=: 10 s in )[0-9.]+ s", "... s", text)
    text = re.sub(r"[0-9]+ kB", "... kB", text)
    return [line.rstrip() for line in text.strip().splitlines()]


def test_the_python_blocks_run_one_after_the_other(folder: Path, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    exec(compile("\n".join(blocks("python")), "README.md", "exec"), {})
    assert (folder / "braked.h5").is_file()
    assert (folder / "braked.png").is_file()


def test_the_commands_print_what_is_shown(folder: Path) -> None:
    consoles = blocks("console")
    assert len(consoles) == 9
    for console in consoles:
        head, _, shown = console.rpartition("\n$ ")
        command, _, shown = (shown if head else console.removeprefix("$ ")).partition("\n")
        for line in [*head.removeprefix("$ ").splitlines(), command]:
            done = subprocess.run(
                line.removeprefix("$ "),
                shell=True,
                cwd=folder,
                env=ENVIRONMENT,
                capture_output=True,
                text=True,
                check=False,
            )
        assert comparable(done.stdout + done.stderr) == comparable(shown), command


@pytest.mark.parametrize(("page", "link"), links(), ids=str)
def test_links_lead_somewhere(page: Path, link: str) -> None:
    assert (page.parent / link).exists()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"(?:`|^    )make (\w+)", TEXT, re.M))))
def test_every_make_target_named_is_there(target: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{target}:", makefile, re.MULTILINE)


# -------------------------------------------------------------------------------- docs/fmu.md


def test_the_python_of_the_fmu_page_runs(folder: Path, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    exec(compile("\n".join(blocks("python", FMU_TEXT)), "fmu.md", "exec"), {})
    assert (folder / "motor.fmu").is_file()


def test_the_commands_of_the_fmu_page_run(folder: Path) -> None:
    (table,) = blocks("text", FMU_TEXT)
    (folder / "torques.csv").write_text(table)
    lines = re.findall(r"^\$ (.*)$", "\n".join(blocks("console", FMU_TEXT)), re.MULTILINE)
    assert len(lines) == 4
    for line in lines:
        subprocess.run(line, shell=True, cwd=folder, env=ENVIRONMENT, check=True)


def test_the_section_of_a_model_file_on_the_fmu_page_is_one(folder: Path) -> None:
    (section,) = blocks("yaml", FMU_TEXT)
    model = folder / "crane.yaml"
    model.write_text(model.read_text() + section)
    assert pl.load(model).fmu.naming == "flat"
    subprocess.run("pliant export crane.yaml", shell=True, cwd=folder, env=ENVIRONMENT, check=True)
