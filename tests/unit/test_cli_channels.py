"""The commands on channels: lists, pictures, and what the tab key offers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import pliant as pl
from pliant.cli import app
from pliant.completion import files_ending

ARM = """\
pliant: 1
name: arm
bodies:
  upper: {mass: 4.0, com: [0.5, 0, 0], inertia: [0.1, 0.4, 0.4], nodes: {end: {at: [1, 0, 0]}},
          wheels: {rw: {axis: z, inertia: 0.1}}}
joints:
  shoulder: {type: revolute, axis: y, child: upper, start: 0.3, speed: 1.0}
"""


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    path = tmp_path / "arm.yaml"
    path.write_text(ARM)
    return path


@pytest.fixture
def result(arm: Path) -> Path:
    path = arm.with_suffix(".h5")
    pl.simulate(arm, 0.1).to_hdf5(path)
    return path


def call(*arguments: object) -> tuple[int, str, str]:
    outcome = CliRunner().invoke(app, [str(a) for a in arguments])
    assert outcome.exception is None or isinstance(outcome.exception, SystemExit)
    return outcome.exit_code, outcome.stdout, outcome.stderr


def rows(text: str) -> dict[str, list[str]]:
    """Cells by the first one."""
    lines = [line.split("  ") for line in text.splitlines()]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    return {line[0]: line[1:] for line in cells if len(line) > 1}


def test_channels_of_a_model_are_listed_with_unit_default_and_meaning(arm):
    code, out, _ = call("channels", arm)
    table = rows(out)
    assert code == 0
    assert table["joint.shoulder.q"][:2] == ["rad", "yes"]
    assert table["joint.shoulder.q"][2] == "rotation about y of the joint frame: position"
    assert table["node.upper.end.r[1..3]"] == ["m", "yes", "position, world axes, x, y, z"]
    assert table["node.upper.end.f[1..3]"][0] == "N"
    assert table["node.upper.end.f[1..3]"][1].startswith("force on it")
    assert table["wheel.upper.rw.tau"][:2] == ["N m", "yes"]
    assert "inverse_inertia" not in out


def test_a_pattern_chooses_among_the_channels(arm):
    table = rows(call("channels", arm, "joint.*.q", "energy")[1])
    assert len(table) == 1 + 1 + 8
    assert "node.upper.end.inverse_inertia[1..21]" in call("channels", arm, "*.inverse_inertia")[1]
    code, _, err = call("channels", arm, "jont.shoulder")
    assert code == 1
    assert "channels 'jont.shoulder': matches nothing; did you mean 'joint.shoulder'?" in err


def test_what_is_listed_as_default_is_what_a_run_records(arm):
    table = rows(call("channels", arm)[1])
    listed = {name.partition("[")[0] for name, cells in table.items() if "yes" in cells}
    assert listed == {channel.base for channel in pl.simulate(arm, 0.01).channels}


def test_channels_of_a_result_are_listed_with_their_range(result):
    table = rows(call("channels", result, "joint.shoulder.q", "node")[1])
    span = pl.Result.from_hdf5(result)["joint.shoulder.q"]
    assert table["joint.shoulder.q"] == ["rad", f"{span.min():.5g}", f"{span.max():.5g}"]


def test_channels_of_an_fmu_are_its_variables(arm, tmp_path):
    fmu = pl.export_fmu(arm, tmp_path / "arm.fmu")
    table = rows(call("channels", fmu, "joint")[1])
    assert table["joint.shoulder.tau"][:2] == ["N m", "input"]
    assert table["joint.shoulder.q"][:2] == ["rad", "output"]


def test_plot_draws_a_result_beside_it_or_where_told(result):
    assert call("plot", result)[1].split() == ["wrote", str(result.with_suffix(".png"))]
    there = result.with_name("motion.svg")
    assert call("plot", result, "joint.*.q", "energy", "-o", there)[0] == 0
    text = there.read_text()
    assert "joint position [rad]" in text or "<svg" in text


def test_plot_says_what_is_wrong_before_it_reads_the_result(result, tmp_path):
    code, _, err = call("plot", result, "joint.elbow.q", "-o", tmp_path / "x.png")
    assert code == 1
    assert err.splitlines()[0].startswith("plot 'joint.elbow.q': matches nothing; ")
    assert err.splitlines()[1] == f"{result}: 'pliant channels {result}' lists all of it"
    assert "end its name in .png" in call("plot", result, "-o", tmp_path / "x.what")[2]
    missing = tmp_path / "missing" / "x.png"
    assert "there is no folder" in call("plot", result, "-o", missing)[2]
    assert call("plot", tmp_path / "none.h5")[2].strip().endswith("no such file")


def test_a_picture_that_cannot_be_written_is_refused_before_the_run(arm, tmp_path):
    picture, numbers = tmp_path / "arm.what", tmp_path / "x.h5"
    code, out, err = call("run", arm, "-q", "--plot", picture, "-o", numbers)
    assert code == 1
    assert out == ""
    assert "unknown kind of picture; end its name in .png, .pdf or .svg (known: " in err
    assert not numbers.exists()


# --------------------------------------------------------------------------------------- the shell


def offered(folder: Path, line: str) -> list[str]:
    """What bash would offer for the last word of a line."""
    environment = {
        **os.environ,
        "_PLIANT_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(line.count(" ")),
    }
    command = [str(Path(sys.executable).with_name("pliant"))]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_the_tab_key_offers_commands_model_files_and_channels(result):
    folder = result.parent
    (folder / "notes.txt").write_text("")
    assert offered(folder, "pliant ch") == ["check", "channels"]
    assert offered(folder, "pliant check ") == ["arm.yaml"]
    assert offered(folder, "pliant plot a") == ["arm.h5"]
    assert offered(folder, "pliant run arm.yaml --record joint.") == ["joint.shoulder"]
    assert "energy.total" in offered(folder, "pliant plot arm.h5 energy.")
    assert offered(folder, "pliant run none.yaml --record joint.") == []


def test_files_are_offered_with_the_folders_on_the_way_to_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("models/arm.yaml", "models/arm.txt", "models/old/x.yaml", "crane.YAML"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    complete = files_ending(".yaml")
    assert complete("") == ["crane.YAML", "models/"]
    assert complete("models/") == ["models/arm.yaml", "models/old/"]
    assert complete(f"{tmp_path}/models/a") == [f"{tmp_path}/models/arm.yaml"]
    assert complete("nowhere/") == []


def test_help_names_completion_and_the_new_commands():
    out = call("--help")[1]
    assert "pliant --install-completion" in out
    for command in ("channels", "plot"):
        text = call(command, "--help")[1]
        assert "Examples:" in text
        assert "[[" not in text
