"""The command line: what it prints, writes and exits with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import pliant as pl
from pliant.cli import app
from pliant.results import Result

ARM = """\
pliant: 1
name: arm
gravity: [0, 0, -9.81]
bodies:
  upper: {mass: 4.0, com: [0.5, 0, 0], inertia: [0.1, 0.4, 0.4], nodes: {end: {at: [1, 0, 0]}}}
  boom: {beam: {length: 2.0, mass_per_length: 1.5, EI: 2.0e3, radius: 0.03, modes: {count: 2}}}
joints:
  shoulder: {type: revolute, axis: y, child: upper, start: 0.3}
  elbow: {type: revolute, axis: y, parent: upper.end, child: boom, start: -0.2}
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


def call(*arguments: object) -> tuple[int, str, str]:
    outcome = CliRunner().invoke(app, [str(a) for a in arguments])
    assert outcome.exception is None or isinstance(outcome.exception, SystemExit)
    return outcome.exit_code, outcome.stdout, outcome.stderr


@pytest.mark.parametrize(
    "command", [[str(Path(sys.executable).with_name("pliant"))], [sys.executable, "-m", "pliant"]]
)
def test_the_installed_command_answers(command):
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"pliant {pl.__version__}\n"


@pytest.mark.parametrize("command", ["", "check", "modes", "run", "export", "demo"])
def test_help_teaches_by_example(command):
    code, out, _ = call(*command.split(), "--help")
    assert code == 0
    assert f"pliant {command or 'run'} " in out.partition("Usage:")[2].partition("\n")[2]


def test_importing_the_package_and_its_help_needs_no_matplotlib():
    code = "import sys, pliant, pliant.cli; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# -------------------------------------------------------------------------------------- check


def test_check_draws_the_tree_and_sums_up(arm):
    code, out, _ = call("check", arm, "--step", "1e-4")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "arm (ground)"
    assert lines[1].endswith("shoulder (revolute about y) → upper 4 kg")
    assert lines[2].endswith("↳ end: elbow (revolute about y) → boom 3 kg, 2 modes")
    assert "mass 7 kg" in out
    assert "2 bodies, 4 freedoms (2 of joints, 2 modes)" in out
    assert "no warnings" in out


def test_check_indents_only_where_the_tree_branches(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    body = "{mass: 1, inertia: [1, 1, 1]}"
    hang = "{type: revolute, axis: z, parent: b%d, child: b%d}"
    parents = [*range(19), 18]  # a chain of 20 bodies, and one more on the last but one
    (tmp_path / "chain.yaml").write_text(
        "pliant: 1\nname: chain\nbodies:\n"
        + "".join(f"  b{i}: {body}\n" for i in range(21))
        + "joints:\n  j0: {type: fixed, child: b0}\n"
        + "".join(f"  j{i}: {hang % (p, i)}\n" for i, p in enumerate(parents, start=1))
    )
    lines = call("check", tmp_path / "chain.yaml")[1].splitlines()
    assert lines[2] == "    ↳ head: j1 (revolute about z) → b1 1 kg"
    assert lines[19] == "    ↳ head: j18 (revolute about z) → b18 1 kg"
    assert lines[20] == "    ├── head: j19 (revolute about z) → b19 1 kg"
    assert lines[21] == "    └── head: j20 (revolute about z) → b20 1 kg"


def test_check_shows_no_empty_columns(arm, tmp_path):
    assert "spring" not in call("check", arm)[1]
    sprung = tmp_path / "sprung.yaml"
    sprung.write_text(ARM.replace("start: 0.3", "start: 0.3, spring: {stiffness: 70}"))
    assert "spring" in call("check", sprung)[1]


def test_check_names_the_steps_that_follow_the_highest_frequency(arm):
    from pliant.modes import highest_frequency

    omega = highest_frequency(str(arm))
    out = call("check", arm)[1]
    assert f"steps up to {0.5 / omega:.2g} s follow it, {2.0 / omega:.2g} s is the limit" in out
    assert "gravity [0, 0, -9.81] m/s2" in out


def test_check_gives_the_centre_of_mass_at_the_start(arm):
    _, out, _ = call("check", arm)
    upper = np.array([np.cos(0.3), 0.0, -np.sin(0.3)])
    boom = np.array([np.cos(0.1), 0.0, -np.sin(0.1)])
    x, y, z = (4.0 * 0.5 * upper + 3.0 * (upper + boom)) / 7.0
    assert f"[{x:.6g}, {y:.6g}, {z:.6g}] m" in out


def test_check_warns_of_a_step_too_long_for_the_modes(arm):
    _, out, _ = call("check", arm, "--step", "0.1")
    assert "warning: a step of 0.1 s is beyond the limit of leapfrog, " in out
    assert "set by bodies.boom" in out
    _, out, _ = call("check", arm, "--step", "5e-3")
    assert "warning: the highest frequency is" in out
    assert "but the phase of the fastest modes will drift; 0.002 s follows them" in out


def test_run_and_export_warn_of_a_step_beyond_the_limit_on_stderr(arm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in (("run", arm, "-d", "0.1", "-q"), ("export", arm)):
        code, out, err = call(*command, "--step", "0.1")
        assert code == 0
        assert err.startswith("warning: arm: a step of 0.1 s is beyond the limit of leapfrog, ")
        assert "warning" not in out
        assert call(*command)[2] == ""


def test_check_warns_of_friction_too_fast_for_the_step(tmp_path):
    """A brake of 3000 N m s/rad between two wheels of 2 kg m2, across a loop, where leapfrog takes
    it from the steps before: 0.75 of 1/3000 s."""
    path = tmp_path / "wheels.yaml"
    path.write_text(
        "pliant: 1\nname: wheels\n"
        "bodies: {a: {mass: 1, inertia: [1, 1, 2]}, b: {mass: 1, inertia: [1, 1, 2]}}\n"
        "joints: {a: {type: revolute, axis: z, child: a, speed: 1.0},"
        " b: {type: revolute, axis: z, child: b}}\n"
        "loops: {brake: {type: revolute, axis: z, parent: a, child: b,"
        " friction: {coulomb: 6, transition_speed: 2.0e-3}}}\n"
    )
    _, out, _ = call("check", path, "--step", "1e-3")
    assert "the limit of leapfrog, 0.00025 s, set by loops.brake.friction" in out
    assert "or a larger transition_speed" in out
    _, out, _ = call("check", path, "--step", "2e-4")
    assert "no warnings" in out
    steady = pl.simulate(path, 1.0, 2e-4, record="joint")
    assert abs(steady["joint.a.qd"][-1] - 0.5) < 1e-9
    with pytest.warns(pl.StepWarning):
        trembling = pl.simulate(path, 1.0, 1e-3, record="joint")
    assert np.abs(trembling["joint.a.qd"][-10:] - 0.5).max() > 1e-4


def test_the_limit_that_check_names_is_the_one_that_runs_obey(arm):
    from pliant.modes import highest_frequency

    limit = 2.0 / highest_frequency(str(arm))
    steps = 4000
    pl.simulate(arm, 0.8 * limit * steps, 0.8 * limit, record="joint")
    with pytest.warns(pl.StepWarning), pytest.raises(pl.SolverError):
        pl.simulate(arm, 1.3 * limit * steps, 1.3 * limit, record="joint")


def test_check_warns_of_light_bodies_and_of_axes_that_line_up(tmp_path):
    (tmp_path / "odd.yaml").write_text(
        "pliant: 1\nname: odd\nbodies:\n"
        "  heavy: {mass: 1.0e6, inertia: [1.0e6, 1.0e6, 1.0e6]}\n"
        "  speck: {mass: 0.001, inertia: [1, 1, 1]}\n"
        "joints:\n"
        "  base: {type: fixed, child: heavy}\n"
        "  wrist: {type: general, rotations: [z, y, x], parent: heavy, child: speck,"
        " start: [0, 1.55, 0]}\n"
    )
    _, out, _ = call("check", tmp_path / "odd.yaml")
    assert "bodies.speck: 0.001 kg is very light against heavy" in out
    assert "joints.wrist: its three rotation axes nearly lie in a plane" in out


def test_all_problems_of_a_faulty_model_are_listed_with_file_and_line(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(
        ARM.replace("mass: 4.0", "mass: -4.0").replace("type: revolute, axis: y, p", "axis: y, p")
    )
    for command in ("check", "modes", "run"):
        code, out, err = call(command, path)
        assert code == 1
        assert out == ""
        assert "bad.yaml:5: bodies.upper.mass: " in err
        assert "bad.yaml:9: joints.elbow.type: " in err
        assert "Traceback" not in err


def test_a_missing_file_is_a_message(tmp_path):
    code, _, err = call("check", tmp_path / "none.yaml")
    assert code == 1
    assert "none.yaml: " in err


# -------------------------------------------------------------------------------------- modes


def test_modes_lists_bodies_and_assembly(arm):
    code, out, _ = call("modes", arm)
    assert code == 0
    for part in ("clamped", "free-free", "joints locked", "joints free", "body boom", "gravity"):
        assert part in out
    (body,) = pl.body_modes(str(arm))
    assert f"{body.clamped[0]:.4g}" in out


def test_modes_shows_as_many_as_asked_for(arm):
    _, out, _ = call("modes", arm, "-n", "1")
    assert "more modes up to" in out


# ---------------------------------------------------------------------------------------- run


def test_run_writes_what_it_was_asked_for(arm, tmp_path):
    h5, table, picture = (tmp_path / name for name in ("x.h5", "x.csv", "x.png"))
    code, out, _ = call(
        *("run", arm, "-d", "0.5", "-s", "5e-4", "--integrator", "rk4", "--algorithm", "dense"),
        *("-o", h5, "-o", table, "--plot", picture, "-r", "joint.*.q", "-r", "energy"),
        *("--every", "10"),
    )
    assert code == 0, out
    result = Result.from_hdf5(h5)
    assert len(result) == 101
    assert result.info["integrator"] == "rk4"
    assert result.info["algorithm"] == "dense"
    assert result.names[:2] == ("joint.shoulder.q", "joint.elbow.q")
    assert len(table.read_text().splitlines()) == 102
    assert picture.read_bytes().startswith(b"\x89PNG")
    for name in ("x.h5", "x.csv", "x.png"):
        assert f"wrote {tmp_path / name}" in out
    assert "energy error" in out


def test_run_shows_time_speed_and_energy_error(arm):
    _, out, _ = call("run", arm, "-d", "0.2")
    assert "100 %" in out
    assert "x real time" in out
    quiet = call("run", arm, "-d", "0.2", "--quiet")[1]
    assert "x real time" not in quiet


def test_a_run_that_fails_exits_with_1_and_still_writes(arm, tmp_path):
    code, _, err = call("run", arm, "-d", "100", "-s", "0.1", "-o", tmp_path / "x.h5", "-q")
    assert code == 1
    warning, *_, error = err.splitlines()
    assert warning.startswith("warning: arm: a step of 0.1 s is beyond the limit")
    assert error.startswith("t = ")
    assert "shorter step" in error
    result = Result.load(tmp_path / "x.h5")
    assert len(result) > 0
    assert "shorter step" in result.info["ended"]


def test_run_says_so_if_nothing_moves(arm, tmp_path):
    still = tmp_path / "still.yaml"
    still.write_text(ARM.replace("gravity: [0, 0, -9.81]", "gravity: [0, 0, 0]"))
    assert "nothing moved" in call("run", still, "-d", "0.1", "-q")[1]
    assert "nothing moved" not in call("run", arm, "-d", "0.1", "-q")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-d", "0.00015"), "duration: 0.00015 s is no whole number of steps"),
        (("-o", "x.mat"), "x.mat: unknown kind of file"),
        (("-o", "nowhere/x.h5"), "there is no folder"),
        (("--plot", "x.gif"), "x.gif: unknown kind of picture"),
        (("-r", "joint.elbo.q"), "did you mean 'joint.elbow.q'?"),
        (("-s", "-1"), "step: -1.0 is not a step"),
    ],
)
def test_bad_arguments_of_run_are_named_before_anything_runs(arm, arguments, message):
    code, _, err = call("run", arm, *arguments)
    assert code == 1
    assert message in err


# --------------------------------------------------------------------------------------- demo


def test_demos_are_listed():
    code, out, _ = call("demo", "--list")
    assert code == 0
    assert "station_arm" in out


def test_an_unknown_demo_or_a_folder_that_cannot_be_made_is_a_message(tmp_path):
    code, _, err = call("demo", "station_am")
    assert code == 1
    assert "did you mean 'station_arm'?" in err
    (tmp_path / "file").write_text("")
    code, _, err = call("demo", "-o", tmp_path / "file" / "x")
    assert code == 1
    assert "the folder cannot be made" in err


def test_a_run_can_start_at_rest(arm, tmp_path):
    path = tmp_path / "rest.h5"
    code, _, err = call("run", arm, "-d", 0.5, "-q", "--start", "equilibrium", "-o", path)
    assert (code, err) == (0, "")
    result = Result.from_hdf5(path)
    # both hang down, the boom as straight as the arm
    assert result["joint.shoulder.q"] == pytest.approx(np.pi / 2, abs=1e-10)
    assert result["joint.elbow.q"] == pytest.approx(0.0, abs=1e-10)


def test_an_fmu_cannot_be_told_to_start_at_rest(arm, tmp_path):
    fmu = pl.export_fmu(arm, tmp_path / "arm.fmu")
    code, _, err = call("run", fmu, "--start", "equilibrium")
    assert code == 1
    assert err.startswith("--start: an FMU starts as it was exported; write start: equilibrium")


def test_check_names_tables_that_do_not_end_at_rest(tmp_path):
    path = tmp_path / "motor.yaml"
    for rate, warnings in (
        ("", 0),
        (", rate: [0, 0]", 0),
        (", rate: [0, 2]", 1),
        (", rate: [1, 2]", 2),
    ):
        path.write_text(
            "pliant: 1\nname: motor\nbodies: {rotor: {mass: 1, inertia: [1, 1, 1]}}\njoints:\n"
            "  axle: {type: revolute, axis: z, child: rotor, "
            f"motion: {{times: [0.5, 1], position: [0, 1]{rate}}}}}\n"
        )
        code, out, _ = call("check", path)
        assert (code, out.count("warning: joints.axle.motion: ")) == (0, warnings)
    assert "begins at t = 0.5 s with the rate 1 and so moves at that rate before" in out
    assert "ends at t = 1 s with the rate 2 and goes on at that rate" in out
