"""pliant export, check and run on FMUs: what they print, write and exit with."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import pliant as pl
from pliant.cli import app
from pliant.fmu.run import FmuRunError, run_fmu
from pliant.results import Result

CART = """\
pliant: 1
name: cart
gravity: [0, 0, -9.81]
bodies:
  cart: {mass: 2, inertia: [1, 1, 1], nodes: {pin: {at: [0, 0, 0.1]}}}
  rod: {mass: 1, com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.1], nodes: {end: {at: [0, 0, -1]}}}
joints:
  rail: {type: prismatic, axis: x, child: cart}
  pivot: {type: revolute, axis: y, parent: cart.pin, child: rod, start: 0.2}
"""
BLOCK = """\
pliant: 1
name: block
bodies: {block: {mass: 2, inertia: [1, 1, 1]}}
joints: {rail: {type: prismatic, axis: x, child: block}}
"""
DAMPER = """
from pliant.fmu.python_slave import PliantSlave

class Damper(PliantSlave):
    def actuate(self, time):
        self["joint.pivot.tau"] = -0.5 * self["joint.pivot.qd"]
"""


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture
def here(tmp_path: Path, monkeypatch) -> Path:
    """A folder with model files and their native FMUs, as the working folder."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("cart", CART), ("block", BLOCK)):
        (tmp_path / f"{name}.yaml").write_text(text)
        pl.export_fmu(f"{name}.yaml", f"{name}.fmu", include=["joint.rail.lock"])
    (tmp_path / "damper.py").write_text(DAMPER)
    return tmp_path


def call(*arguments: object) -> tuple[int, str, str]:
    outcome = CliRunner().invoke(app, [str(a) for a in arguments])
    assert outcome.exception is None or isinstance(outcome.exception, SystemExit), outcome.exception
    return outcome.exit_code, outcome.stdout, outcome.stderr


# ------------------------------------------------------------------------------------- export


@pytest.mark.parametrize("command", ["export", "check", "run"])
def test_help_shows_how_it_is_done_with_an_fmu(command):
    code, out, _ = call(command, "--help")
    assert code == 0
    assert re.search(rf"pliant {command} arm\.\w+ .*|pliant {command} arm\.fmu", out)
    assert "arm.fmu" in out


def test_export_says_what_it_wrote(here):
    code, out, _ = call("export", "cart.yaml", "-o", "x.fmu")
    assert code == 0
    assert re.fullmatch(
        r"wrote x\.fmu: \d+ kB, native, 2 inputs, \d+ outputs, \d+ parameters\n", out
    )


def test_every_option_of_export_reaches_the_fmu(here):
    code, _, err = call(
        *("export", "cart.yaml", "-o", "x.fmu", "--step", "5e-4", "--integrator", "rk4"),
        *("--algorithm", "dense", "--naming", "flat", "--bare", "--include", "joint"),
        *("--include", "node.rod.end.r", "--include", "solver", "--exclude", "joint.*.qdd"),
    )
    assert code == 0, err
    _, out, _ = call("check", "x.fmu")
    for part in ("joint_rail_f ", "node_rod_end_r_1", "0.0005", "rk4", "dense"):
        assert part in out
    assert "qdd" not in out
    assert "energy" not in out


def test_the_section_of_the_model_file_counts_where_no_option_is_given(here):
    (here / "flat.yaml").write_text(CART + "fmu: {naming: flat, step: 2.0e-3}\n")
    assert call("export", "flat.yaml", "--step", "5e-4")[0] == 0
    _, out, _ = call("check", "cart.fmu")
    assert "joint_rail_f" in out
    assert "0.0005" in out


def test_export_with_a_law(here):
    code, out, err = call("export", "cart.yaml", "--flavour", "python", "--slave", "damper.py")
    assert code == 0, err
    assert "python" in out
    code, out, _ = call("run", "cart.fmu", "-d", "20", "-q", "-o", "x.h5")
    assert code == 0
    swing = Result.from_hdf5("x.h5")["joint.pivot.q"]
    assert abs(swing[-1]) < 0.1 * swing[0]  # the law damps it; the model itself has no friction
    native = call("export", "cart.yaml", "--slave", "damper.py")
    assert native[0] == 1
    assert "'python' only" in native[2]


# -------------------------------------------------------------------------------------- check


def test_check_lists_inputs_outputs_and_parameters(here):
    code, out, _ = call("check", "cart.fmu")
    assert code == 0
    lines = [re.sub(r"\s+", " ", line).strip() for line in out.splitlines()]
    assert lines[0] == "cart.fmu: cart, 2 bodies, 2 freedoms"
    for line in (
        "joint.rail.f N 0 translation along x of the joint frame: effort on cart, and back on what "
        "carries it",
        "joint.pivot.q rad rotation about y of the joint frame: position",
        "momentum.p[1..3] N.s momentum, world axes, x, y, z",
        "body.rod.m kg 1 mass; centre of mass and inertia about it stay",
        "body.rod.J[1..6] kg.m2 0.1, 0.1, 0.1, inertia about its centre of mass, axes of its head, "
        "xx, yy, zz, xy, xz, yz",
        "joint.pivot.q_start rad 0.2 rotation about y of the joint frame: position, at the start",
        "valid",
    ):
        assert line in lines
    assert lines.index("inputs") < lines.index("outputs") < lines.index("parameters")


def rewritten(path: Path, **changes: bytes | None) -> Path:
    """A copy of an FMU with files changed or, for None, left out."""
    target = path.with_name("changed.fmu")
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w") as archive:
        for name in source.namelist():
            content = changes.get(name, source.read(name))
            if content is not None:
                archive.writestr(name, content)
    return target


def test_check_lists_every_problem_of_an_fmu(here):
    with zipfile.ZipFile("cart.fmu") as archive:
        text = archive.read("modelDescription.xml")
        data = archive.read("resources/model.pliant")
    wrong = text.replace(b'unit="kg"', b'unit="stone"').replace(b'"joint.rail.f"', b'"a b"')
    changes = {"modelDescription.xml": wrong, "resources/model.pliant": data[:-1]}
    code, out, err = call("check", rewritten(here / "cart.fmu", **changes))
    assert code == 1
    for part in ('unit "stone" of variable "body.rod.m"', '"a b"', "resources/model.pliant: "):
        assert part in err
    assert all("changed.fmu: " in line for line in err.splitlines())
    assert "inputs" in out  # the tables are still shown


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"modelDescription.xml": None}, "is no FMU: the archive has no modelDescription.xml"),
        ({"modelDescription.xml": b"<fmiModel"}, "modelDescription.xml cannot be read"),
        ({"modelDescription.xml": b"<x/>"}, "modelDescription.xml cannot be read"),
        ({"resources/model.pliant": None}, "resources/model.pliant is missing"),
        ({"resources/model.pliant": b"nonsense"}, "resources/model.pliant: "),
        ({"binaries/linux64/cart.so": None}, "binaries: there is none"),
    ],
)
def test_check_names_what_is_missing_or_broken(here, changes, message):
    code, _, err = call("check", rewritten(here / "cart.fmu", **changes))
    assert code == 1
    assert message in err
    assert "Traceback" not in err


def test_check_knows_data_of_another_export(here):
    with zipfile.ZipFile("block.fmu") as archive:
        other = archive.read("resources/model.pliant")
    _, _, err = call("check", rewritten(here / "cart.fmu", **{"resources/model.pliant": other}))
    assert "of different exports" in err


def test_files_that_are_no_fmu_get_an_answer(here):
    (here / "text.fmu").write_text("pliant: 1")
    (here / "cut.fmu").write_bytes((here / "cart.fmu").read_bytes()[:5000])
    (here / "folder.fmu").mkdir()
    flipped = bytearray((here / "cart.fmu").read_bytes())
    flipped[3000] ^= 0xFF
    (here / "flipped.fmu").write_bytes(flipped)
    for command in ("check", "run"):
        for name in ("text", "cut", "folder", "flipped", "none"):
            code, _, err = call(command, f"{name}.fmu")
            assert code == 1
            assert err.startswith(f"{name}.fmu: ")
            assert "Traceback" not in err


def test_options_of_models_are_refused_for_fmus_and_the_other_way_round(here):
    for arguments, message in (
        (("check", "cart.fmu", "--step", "1e-3"), "--step: an FMU has its own step"),
        (("run", "cart.fmu", "--integrator", "rk4"), "give --set solver.integrator=..."),
        (("run", "cart.yaml", "--set", "a=1"), "--set: it is for FMUs"),
        (("run", "cart.yaml", "-i", "x.csv"), "--input: it is for FMUs"),
    ):
        code, _, err = call(*arguments)
        assert code == 1
        assert message in err


# ---------------------------------------------------------------------------------------- run


def test_run_writes_what_the_simulation_computes(here):
    code, out, _ = call("run", "cart.fmu", "-d", "2", "-o", "x.h5", "-o", "x.csv", "-p", "x.png")
    assert code == 0
    assert "cart: 2 s in " in out
    fmu, direct = Result.from_hdf5("x.h5"), pl.simulate("cart.yaml", 2.0)
    for name in ("joint.pivot.q", "joint.rail.qdd", "energy.total", "momentum.L"):
        assert np.array_equal(fmu[name], direct[name])
    assert (here / "x.png").read_bytes().startswith(b"\x89PNG")
    assert len((here / "x.csv").read_text().splitlines()) == 2002


@pytest.mark.parametrize("flavour", ["native", "python"])
@pytest.mark.parametrize("name", ["plain", "mödel #1 [a] 100%", "日本"])
def test_an_fmu_may_be_called_and_lie_anywhere(here, flavour, name):
    folder = here / name
    folder.mkdir()
    assert call("export", "block.yaml", "-o", folder / f"{name}.fmu", "--flavour", flavour)[0] == 0
    assert call("check", folder / f"{name}.fmu")[0] == 0
    code, _, err = call("run", folder / f"{name}.fmu", "-d", "0.1", "-q")
    assert code == 0, err


def test_a_python_fmu_is_not_unpacked_where_pythonfmu_would_crash(here, monkeypatch):
    call("export", "block.yaml", "-o", "x.fmu", "--flavour", "python")
    odd = here / "ä"
    odd.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(odd))
    code, _, err = call("run", "x.fmu", "-d", "0.1", "-q")
    assert code == 1
    assert "set TMPDIR" in err
    assert call("run", "block.fmu", "-d", "0.1", "-q")[0] == 0


def test_inputs_go_in_straight_lines_and_jump_where_times_repeat(here):
    """The velocity of a mass is the integral of the force over it: exact for straight lines."""
    (here / "f.csv").write_text("time,joint.rail.f\n0.5,0\n1.5,8\n2,8\n2,-4\n2.5,-4\n2.5,0\n")
    assert call("run", "block.fmu", "-d", "3", "-s", "0.05", "-i", "f.csv", "-o", "x.h5")[0] == 0
    result = Result.from_hdf5("x.h5")
    force, speed = result["joint.rail.f"], result["joint.rail.qd"]
    at = {t: int(np.argmin(abs(result.time - t))) for t in (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)}
    assert [force[i] for i in at.values()] == pytest.approx([0, 4, 8, -4, 0, 0], abs=1e-12)
    impulse = [0.0, 1.0, 4.0, 8.0, 6.0, 6.0]  # N s
    # leapfrog of 1 ms on a force that is linear in each of its steps, kinks between them
    assert [2.0 * speed[i] for i in at.values()] == pytest.approx(impulse, abs=1e-9)


def test_locks_are_inputs_too(here):
    (here / "f.csv").write_text(
        "time,joint.rail.f,joint.rail.lock\n0,1,false\n1,1,true\n2,1,0\n3,1,0\n"
    )
    assert call("run", "block.fmu", "-d", "3", "-i", "f.csv", "-o", "x.h5", "-q")[0] == 0
    result = Result.from_hdf5("x.h5")
    speed = [result["joint.rail.qd"][np.argmin(abs(result.time - t))] for t in (0.99, 1.5, 3.0)]
    assert speed == pytest.approx([0.495, 0.0, 0.5], abs=1e-9)


def test_parameters_are_set_before_the_start(here):
    (here / "f.csv").write_text("time,joint.rail.f\n0,6\n")
    code, _, err = call(
        *("run", "block.fmu", "-d", "1", "-i", "f.csv", "-o", "x.h5", "-q"),
        *("--set", "body.block.m=3", "--set", "solver.integrator=rk4", "--set", "solver.h=1e-2"),
        *("--set", "joint.rail.qd_start=-1", "-s", "0.1"),
    )
    assert code == 0, err
    result = Result.from_hdf5("x.h5")
    assert result["joint.rail.qd"][-1] == pytest.approx(-1.0 + 6.0 / 3.0, abs=1e-12)
    assert len(result) == 11


def test_patterns_choose_what_is_recorded(here):
    assert (
        call("run", "cart.fmu", "-d", "1", "-r", "joint.*.q", "-o", "x.h5", "--every", "100")[0]
        == 0
    )
    result = Result.from_hdf5("x.h5")
    assert result.names == ("joint.rail.q", "joint.pivot.q")
    assert len(result) == 11


def test_flat_names_can_be_drawn(here):
    call("export", "cart.yaml", "-o", "flat.fmu", "--naming", "flat")
    code, _, err = call("run", "flat.fmu", "-d", "0.1", "-q", "--plot", "x.png")
    assert code == 0, err
    assert (here / "x.png").is_file()


def test_a_run_that_fails_says_why_and_keeps_what_it_has(here):
    (here / "stiff.yaml").write_text(
        BLOCK.replace("child: block", "child: block, start: 0.1, spring: {stiffness: 1.0e9}")
    )
    for flavour in ("native", "python"):
        call("export", "stiff.yaml", "-o", "stiff.fmu", "--flavour", flavour, "--step", "1e-3")
        code, out, err = call("run", "stiff.fmu", "-d", "1", "-q", "-o", f"{flavour}.csv")
        assert code == 1
        assert "warning: stiff.fmu: solver.h = 0.001 s is beyond the limit" in err
        assert "energy came out of nothing" in err
        assert "wrote" in out
        assert len((here / f"{flavour}.csv").read_text().splitlines()) >= 2
    with pytest.warns(pl.PliantWarning, match="solver.h"), pytest.raises(FmuRunError) as caught:
        run_fmu("stiff.fmu", 1.0)
    assert caught.value.result is not None


def test_rows_of_an_fmu_go_to_disk_as_they_come_and_say_how_it_ended(here):
    code, _, err = call("run", "cart.fmu", "-d", "0.5", "-q", "-o", "x.h5", "-o", "x.csv")
    assert (code, err) == (0, "")
    assert Result.load("x.h5").info["ended"] == "complete"
    code, out, err = call("run", "cart.fmu", "-d", "0.5", "-q", "-o", "x.h5")
    assert (code, out) == (1, "")
    assert err.startswith("x.h5: it is there already; give another name, or --force")
    # an FMU that refuses in the middle
    (here / "f.csv").write_text("time,joint.rail.f\n0,0\n0.3,0\n0.4,1e29\n")
    run = ("run", "cart.fmu", "-d", "1", "-q", "-i", "f.csv", "--force")
    code, out, err = call(*run, "-o", "x.h5", "-o", "y.csv")
    assert code == 1
    assert "joint.rail.f" in err
    result, table = Result.load("x.h5"), Result.load("y.csv")
    assert f"wrote x.h5: {len(result)} rows up to t = 0." in out
    assert 300 <= len(result) <= 302
    assert np.array_equal(result.data, table.data)
    assert "joint.rail.f" in str(result.info["ended"])
    assert not list(here.glob("*.partial"))


def test_a_kept_result_survives_whatever_stops_an_fmu(here, monkeypatch):
    from pliant.fmu import run

    def interrupted(self, time, size):
        if time > 0.0995:
            raise KeyboardInterrupt
        step(self, time, size)

    step = run._Instance.step
    monkeypatch.setattr(run._Instance, "step", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        run_fmu("cart.fmu", 1.0, 1e-3, output="x.h5")
    assert len(caught.value.result) == len(Result.load("x.h5")) == 101  # type: ignore[attr-defined]
    code, _, err = call("run", "cart.fmu", "-s", "1e-3", "-d", "1", "-q", "-o", "y.h5")
    assert code == 130
    assert err == "interrupted by SIGINT: 101 rows up to t = 0.1 s are kept in y.h5\n"


def test_what_the_fmu_refuses_is_told_in_its_words(here):
    code, _, err = call("run", "cart.fmu", "--set", "body.rod.m=-2", "-q")
    assert code == 1
    assert "body.rod.m: -2 " in err


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (("--set", "body.rod.n=1"), ["body.rod.n: there is no such variable; did you mean"]),
        (("--set", "joint.rail.q=1"), ["joint.rail.q: cannot be set before the start"]),
        (("--set", "solver.integrator=rk"), ["'rk' is no choice; did you mean 'rk4'?"]),
        (("--set", "body.rod.m=heavy"), ["body.rod.m: 'heavy' is not a number"]),
        (("--set", "body.rod.m"), ["--set body.rod.m: write NAME=VALUE"]),
        (("--set", "a=1", "--set", "b=2"), ["a: there is no", "b: there is no"]),
        (("-d", "0.00015"), ["duration: 0.00015 s is no whole number of steps"]),
        (("-s", "-1"), ["step: -1.0 is not a step"]),
        (("-r", "joint.pivo"), ["did you mean 'joint.pivot"]),
        (("-o", "x.mat"), ["x.mat: unknown kind of file"]),
        (("-i", "none.csv"), ["none.csv: cannot be read"]),
    ],
)
def test_bad_arguments_are_named_before_anything_runs(here, arguments, messages):
    code, out, err = call("run", "cart.fmu", *arguments)
    assert code == 1
    assert out == ""
    for message in messages:
        assert message in err


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("", ["has no rows"]),
        ("time,joint.rail.f\n", ["has no rows"]),
        ("t,joint.rail.f\n0,1\n", ["there is no column 'time'", ":1: t: there is no such"]),
        (
            "time,joint.rail.ff,joint.rail.q\n0,1,2\n",
            ["did you mean 'joint.rail.f'?", "joint.rail.q: cannot be an input"],
        ),
        ("time,time\n0,1\n", ["'time' is there twice"]),
        (
            "time,joint.rail.f\n0,x\n1\n2,nan\nlate,1\n",
            [
                "f.csv:2: joint.rail.f: 'x' is not a number",
                "f.csv:3: has 1 cells, the first line 2",
                "f.csv:4: joint.rail.f: 'nan' is not a finite number",
                "f.csv:5: time: 'late' is not a number",
            ],
        ),
        ("time,joint.rail.f\n1,0\n0,0\n", ["f.csv:3: time: 0 is before 1; sort them"]),
        ("time,joint.rail.lock\n0,maybe\n", ["'maybe' is neither true nor false"]),
        ("\xff\xfe", ["is not CSV"]),
    ],
)
def test_everything_wrong_with_a_table_of_inputs_is_told_with_its_line(here, text, messages):
    (here / "f.csv").write_bytes(text.encode("latin-1"))
    code, _, err = call("run", "cart.fmu", "-i", "f.csv")
    assert code == 1
    for message in messages:
        assert message in err
