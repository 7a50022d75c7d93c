"""Results are never lost: runs that are killed, interrupted, out of disk, or fail in other ways."""

from __future__ import annotations

import errno
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

import h5py
import numpy as np
import pytest
from typer.testing import CliRunner

import pliant as pl
from pliant import recording, result_files
from pliant.channels import Channel
from pliant.cli import app
from pliant.results import Result
from pliant.rows import journal_head, journal_status
from pliant.run import RunError

ARM = """\
pliant: 1
name: arm
gravity: [0, 0, -9.81]
bodies:
  upper: {mass: 4.0, com: [0.5, 0, 0], inertia: [0.1, 0.4, 0.4], nodes: {end: {at: [1, 0, 0]}}}
  lower: {mass: 2.0, com: [0.5, 0, 0], inertia: [0.1, 0.4, 0.4]}
joints:
  shoulder: {type: revolute, axis: y, child: upper, start: 0.3}
  elbow: {type: revolute, axis: y, parent: upper.end, child: lower, start: -0.2}
"""
PLIANT = str(Path(sys.executable).with_name("pliant"))
ENVIRONMENT = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
FOREVER = ("-d", "1e5", "--every", "1", "-q", "-r", "joint")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the model, as the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    (tmp_path / "arm.yaml").write_text(ARM)
    return tmp_path


def call(*arguments: object) -> tuple[int, str, str]:
    outcome = CliRunner().invoke(app, [str(a) for a in arguments])
    assert outcome.exception is None or isinstance(outcome.exception, SystemExit), outcome.exception
    return outcome.exit_code, outcome.stdout, outcome.stderr


def started(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [PLIANT, "run", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        # as in a shell; a test may be run where they are ignored
        preexec_fn=lambda: [signal.signal(s, signal.SIG_DFL) for s in (2, 15)] and None,
    )


def signalled(process: subprocess.Popen[str], number: int) -> tuple[int, str, str]:
    """Once there are rows in both files: what is then printed."""
    deadline = time.monotonic() + 60.0
    while not all(Path(f"x.{e}.partial").exists() for e in ("h5", "csv")) or any(
        os.path.getsize(f"x.{e}.partial") < 20_000 for e in ("h5", "csv")
    ):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(number)
    out, err = process.communicate(timeout=60.0)
    return process.returncode, out, err


def fails_later(writes: int, code: int = errno.ENOSPC) -> Callable[..., None]:
    """Stands for ``write_all`` on a disk that is full after so many writes."""
    left = [writes]

    def write_all(file: object, data: bytes) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(code, os.strerror(code))
        original(file, data)

    original = result_files.write_all
    return write_all


# ----------------------------------------------------------------------------- killed, interrupted


def test_after_kill_9_the_rows_are_in_partial_files_that_open_and_recover(here: Path) -> None:
    code, _, _ = signalled(started("arm.yaml", *FOREVER, "-o", "x.h5", "-o", "x.csv"), 9)
    assert code == -signal.SIGKILL
    assert sorted(p.name for p in here.glob("x.*")) == ["x.csv.partial", "x.h5.partial"]
    found = {}
    for name in ("x.h5.partial", "x.csv.partial"):
        with pytest.warns(pl.PliantWarning, match=r"partial, of a run that did not finish: \d+ ro"):
            found[name] = Result.load(name)
        assert found[name].info["ended"] == "the run was killed, or still goes on"
    one, other = (found[name]["joint.elbow.q"] for name in found)
    common = min(len(one), len(other))
    assert common > 50
    assert np.array_equal(one[:common], other[:common])

    # a next run does not drop them unless it is told to
    code, out, err = call("run", "arm.yaml", "-d", "0.1", "-o", "x.h5", "-q")
    assert (code, out) == (1, "")
    assert "x.h5: a run to this name was killed, or still goes on, and its rows are in" in err
    assert Path("x.h5.partial").exists()

    code, out, err = call("recover", "x.h5.partial")
    assert code == 0, err
    assert out.startswith(f"wrote x.h5: {len(one)} rows up to t = ")
    assert not Path("x.h5.partial").exists()
    again = Result.load("x.h5")
    assert again.info["ended"] == "the run was killed"
    assert np.array_equal(again["joint.elbow.q"], one)
    code, out, err = call("recover", "x.csv.partial", "-o", "y.csv")
    assert code == 0, err
    assert np.array_equal(Result.load("y.csv")["joint.elbow.q"], other)


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGINT", 130)])
def test_an_interrupted_run_finishes_its_files_and_says_where_its_rows_are(
    here: Path, name: str, code: int
) -> None:
    process = started("arm.yaml", *FOREVER, "-o", "x.h5", "-o", "x.csv")
    ended, out, err = signalled(process, getattr(signal, name))
    assert ended == code
    (line,) = err.splitlines()
    rows = re.fullmatch(
        rf"interrupted by {name}: (\d+) rows up to t = [\d.]+ s are kept in x\.h5, x\.csv", line
    )
    assert rows is not None, line
    assert f"wrote x.h5: {rows[1]} rows" in out
    assert sorted(p.name for p in here.glob("x.*")) == ["x.csv", "x.h5"]
    result, table = Result.load("x.h5"), Result.load("x.csv")
    assert len(result) == len(table) == int(rows[1])
    assert np.array_equal(result.data, table.data)
    assert result.info["ended"] == f"interrupted by {name}"


def test_a_file_that_a_run_still_writes_is_left_to_it(here: Path) -> None:
    process = started("arm.yaml", *FOREVER, "-o", "x.h5", "-o", "x.csv")
    try:
        deadline = time.monotonic() + 60.0
        while not Path("x.csv.partial").exists() or not os.path.getsize("x.csv.partial"):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        code, _, err = call("run", "arm.yaml", "-d", "0.1", "-o", "x.h5", "-q", "--force")
        assert (code, err) == (
            1,
            "x.h5.partial: a run still writes it; wait, or give another name\n",
        )
    finally:
        assert signalled(process, signal.SIGTERM)[0] == 143
    assert len(Result.load("x.h5")) > 1


# ------------------------------------------------------------------------------------- exceptions


def test_what_a_controller_raises_goes_on_as_it_is_with_the_rows_before_it() -> None:
    def control(sim: pl.Simulation) -> None:
        if sim.time > 9.9995:
            raise ZeroDivisionError("at step 10,000")

    with pytest.raises(ZeroDivisionError) as caught:
        pl.simulate("arm.yaml", 20.0, 1e-3, every=1, controller=control, output="x.h5")
    assert type(caught.value) is ZeroDivisionError
    for result in (caught.value.result, Result.load("x.h5")):  # type: ignore[attr-defined]
        assert len(result) == 10_000
        assert result.time[-1] == pytest.approx(9.999)
        assert result.info["ended"] == "ZeroDivisionError: at step 10,000"
    assert not Path("x.h5.partial").exists()
    with pytest.raises(ZeroDivisionError) as caught:
        pl.simulate("arm.yaml", 20.0, 1e-3, every=1, controller=control)
    assert len(caught.value.result) == 10_000  # type: ignore[attr-defined]


def test_a_controller_that_sets_nan_leaves_the_rows_before_it() -> None:
    def control(sim: pl.Simulation) -> None:
        sim.joint("elbow").torque = float("nan") if sim.time > 0.4995 else 1.0

    with pytest.raises(pl.PliantError) as caught:
        pl.simulate("arm.yaml", 1.0, 1e-3, every=1, controller=control, output=["x.h5", "x.csv"])
    for result in (caught.value.result, Result.load("x.h5"), Result.load("x.csv")):  # type: ignore[attr-defined]
        assert len(result) in (500, 501)
        assert np.isfinite(result.data).all()
    assert "elbow" in str(Result.load("x.h5").info["ended"])


def test_ctrl_c_in_python_finishes_the_file_and_goes_on() -> None:
    def control(sim: pl.Simulation) -> None:
        if sim.time > 0.1:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        pl.simulate("arm.yaml", 1.0, 1e-3, every=1, controller=control, output="x.h5")
    assert len(Result.load("x.h5")) > 100
    assert Result.load("x.h5").info["ended"] == "interrupted"


def test_ctrl_c_between_any_two_statements_of_the_recording_loses_and_doubles_nothing() -> None:
    """Raised at every line of it in turn, while a block of rows is handed over."""
    channels = pl.simulate("arm.yaml", 0.1, record="energy").channels
    code = recording.Recording._hand_over.__code__, recording._File.take.__code__
    for line in range(1, 200):
        left = _interrupted_at(line, code, channels)
        assert Result.load("x.h5").time.tolist() == list(range(20)), line
        assert Result.load("x.csv").time.tolist() == list(range(20)), line
        if left > 0:
            assert line > 15
            return
    raise AssertionError("there is no end of lines")


def _interrupted_at(line: int, code: Sequence[object], channels: Sequence[Channel]) -> int:
    """Hands twenty rows over with Ctrl-C at a line, then finishes; the lines that were left."""
    left = line

    def trace(frame: FrameType, event: str, _: object) -> object:
        nonlocal left
        if frame.f_code in code and event == "line":
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
        return trace

    rows = recording.Recording("arm", channels, {}, 30, [Path("x.h5"), Path("x.csv")], True)
    for i in range(20):
        rows.next()[:] = float(i)
        rows.commit()
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        rows._hand_over()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    rows.finish("interrupted")
    return left


def _complete(name: str) -> str:
    pl.simulate("arm.yaml", 0.1, 1e-3, output=name)
    return name


def test_a_run_that_fails_says_so_in_its_file() -> None:
    with pytest.warns(pl.StepWarning), pytest.raises(RunError) as caught:
        pl.simulate(_stiff(), 1.0, 0.1, every=1, output="x.h5")
    assert Result.load("x.h5").info["ended"] == str(caught.value)
    assert len(Result.load("x.h5")) == len(caught.value.result)


def _stiff() -> pl.System:
    system = pl.load("arm.yaml")
    joints = {**system.joints, "elbow": system.joints["elbow"].model_copy(deep=True)}
    joints["elbow"] = pl.Joint(
        type="revolute",
        axis="y",
        parent="upper.end",
        child="lower",
        start=-0.2,
        spring=pl.Spring(stiffness=1e5),
    )
    return pl.System(name="stiff", bodies=system.bodies, joints=joints)


def test_a_run_without_a_single_row_leaves_what_was_there_before() -> None:
    before = Path(_complete("x.h5")).read_bytes()

    def control(sim: pl.Simulation) -> None:
        raise ValueError("at once")

    with pytest.raises(ValueError, match="at once"):
        pl.simulate("arm.yaml", 1.0, controller=control, output="x.h5", overwrite=True)
    assert Path("x.h5").read_bytes() == before
    assert not Path("x.h5.partial").exists()


# ------------------------------------------------------------------------------------- full disks


@pytest.mark.parametrize("name", ["x.h5", "x.csv"])
def test_a_full_disk_is_one_line_and_keeps_the_file_before_and_the_rows_so_far(name: str) -> None:
    before = Path(_complete(name)).read_bytes()
    process = subprocess.run(
        [PLIANT, "run", "arm.yaml", *FOREVER, "-o", name, "--force"],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000)),
    )
    assert process.returncode == 1
    (line,) = process.stderr.splitlines()
    told = re.fullmatch(
        rf"{re.escape(name)}: cannot be written: File too large; (\d+) rows up to t = [\d.]+ s are "
        rf"in {re.escape(name)}\.partial \('pliant recover .*' makes a file of them\)",
        line,
    )
    assert told is not None, line
    assert Path(name).read_bytes() == before
    with pytest.warns(pl.PliantWarning, match="partial"):
        assert len(Result.load(f"{name}.partial")) == int(told[1]) > 50
    assert call("recover", f"{name}.partial", "--force")[0] == 0
    assert len(Result.load(name)) == int(told[1])


@pytest.mark.parametrize("writes", [0, 1, 3, 10, 40])
def test_a_disk_that_fills_up_while_a_file_is_made_of_the_rows_keeps_them_aside(
    writes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Path(_complete("x.h5")).read_bytes()
    with monkeypatch.context() as full:
        full.setattr(result_files, "write_all", fails_later(writes))  # not that of recording.py
        with pytest.raises(pl.ModelError, match=r"x\.h5: cannot be written: No space l") as caught:
            pl.simulate("arm.yaml", 0.5, 1e-3, output="x.h5", overwrite=True)
    assert len(caught.value.result) == 501  # type: ignore[attr-defined]
    assert Path("x.h5").read_bytes() == before
    assert sorted(os.listdir()) == ["arm.yaml", "x.h5", "x.h5.partial"]
    os.remove("x.h5")
    code, out, err = call("recover", "x.h5.partial")
    assert (code, out, err) == (0, "wrote x.h5: 501 rows up to t = 0.5 s\n", "")
    assert Result.load("x.h5").info["ended"] == "complete"


@pytest.mark.parametrize("writes", [0, 2, 6, 20])
@pytest.mark.parametrize("name", ["x.h5", "x.csv"])
def test_saving_to_a_full_disk_leaves_what_was_there_before(
    writes: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Path(_complete(name)).read_bytes()
    result = pl.simulate("arm.yaml", 20.0, 1e-3, every=1)
    monkeypatch.setattr(result_files, "write_all", fails_later(writes))
    with pytest.raises(pl.ModelError, match=rf"^{name}: cannot be written: No space left on dev"):
        result.save(name)
    assert Path(name).read_bytes() == before
    assert sorted(os.listdir()) == ["arm.yaml", name]


def test_one_file_that_cannot_be_written_leaves_the_others_to_be_finished(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recording, "write_all", fails_later(3))  # two heads and one block
    with pytest.raises(pl.ModelError, match="cannot be written: No space left") as caught:
        pl.simulate("arm.yaml", 100.0, 1e-3, every=1, output=["x.h5", "x.csv"])
    text = str(caught.value)
    assert text.startswith("x.csv: ")
    assert "\n" not in text
    assert len(Result.load("x.h5")) == len(caught.value.result)  # type: ignore[attr-defined]
    assert "cannot be written" in str(Result.load("x.h5").info["ended"])


# ------------------------------------------------------------------------------------- before a run


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("there.h5", "it is there already; give another name, or --force"),
        ("there.csv", "it is there already; give another name, or --force"),
        ("killed.h5", "a run to this name was killed, or still goes on, and its rows are in"),
        ("none/x.h5", "there is no folder none; make it first"),
        ("x.mat", "unknown kind of file; end its name in .h5 or .hdf5 or .csv"),
        ("folder.h5", "it is a folder; give the name of a file"),
        ("full.csv", "it is not an ordinary file; give another name"),
    ],
)
def test_what_a_file_cannot_be_written_for_is_told_before_a_run(
    here: Path, output: str, message: str
) -> None:
    (here / "there.h5").write_text("before")
    (here / "there.csv").write_text("before")
    (here / "killed.h5.partial").write_text("before")
    (here / "folder.h5").mkdir()
    (here / "full.csv").symlink_to("/dev/full")
    files = sorted(os.listdir())

    def control(sim: pl.Simulation) -> None:
        raise AssertionError("it runs")

    with pytest.raises(pl.ModelError) as caught:
        pl.simulate("arm.yaml", 1.0, controller=control, output=output)
    assert str(caught.value).startswith(f"{output}: {message}")
    code, out, err = call("run", "arm.yaml", "-d", "1e9", "-o", output)
    assert (code, out) == (1, "")
    assert err.startswith(f"{output}: {message}")
    assert len(err.splitlines()) == 1
    assert sorted(os.listdir()) == files


def test_every_file_that_cannot_be_written_is_told_and_twice_the_same(here: Path) -> None:
    _, _, err = call(
        "run", "arm.yaml", "-o", "x.mat", "-o", "none/x.h5", "-o", "y.h5", "-o", "y.h5"
    )
    assert [line.partition(":")[0] for line in err.splitlines()] == ["x.mat", "none/x.h5", "y.h5"]
    assert "it is there twice" in err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_the_right_to_write_is_told_before_a_run(here: Path) -> None:
    (here / "closed").mkdir(mode=0o500)
    assert "cannot be written to" in call("run", "arm.yaml", "-o", "closed/x.h5")[2]


def test_force_replaces_results_and_leftovers(here: Path) -> None:
    for name in ("x.h5", "x.h5.partial", "x.csv"):
        (here / name).write_text("before")
    run = ("run", "arm.yaml", "-d", "0.5", "-q", "-o", "x.h5", "-o", "x.csv", "--force")
    code, out, err = call(*run)
    assert (code, err) == (0, "")
    assert "wrote x.h5\nwrote x.csv\n" in out
    assert sorted(os.listdir()) == ["arm.yaml", "x.csv", "x.h5"]
    assert np.array_equal(Result.load("x.h5").data, Result.load("x.csv").data)


def test_a_link_stays_one_and_rights_stay_as_they_were(here: Path) -> None:
    (here / "folder").mkdir()
    for name in ("x.h5", "x.csv"):
        (here / "folder" / name).write_text("before")
        (here / "folder" / name).chmod(0o640)
        (here / name).symlink_to(f"folder/{name}")
    pl.simulate("arm.yaml", 0.1, output=["x.h5", "x.csv"], overwrite=True)
    for name in ("x.h5", "x.csv"):
        assert (here / name).is_symlink()
        assert (here / "folder" / name).stat().st_mode & 0o777 == 0o640
        assert len(Result.load(name)) == 101
    assert sorted(os.listdir("folder")) == ["x.csv", "x.h5"]


def test_saving_says_what_is_wrong_in_a_sentence() -> None:
    result = pl.simulate("arm.yaml", 0.1)
    for save, path in ((result.to_hdf5, "x.h5"), (result.to_csv, "x.csv"), (result.save, "x.h5")):
        with pytest.raises(pl.ModelError, match="there is no folder none; make it first"):
            save(f"none/{path}")


# ------------------------------------------------------------------------------------- read back


def test_rows_that_go_to_files_are_those_of_a_run_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = pl.simulate("arm.yaml", 0.3, 1e-3, every=1)
    assert plain.info["ended"] == "complete"
    monkeypatch.setattr(recording, "_IN_MEMORY", 0)
    monkeypatch.setattr("pliant.rows._PIECE", 3000)
    for files in (["x.h5"], ["x.csv"], ["y.csv", "y.h5"]):
        result = pl.simulate("arm.yaml", 0.3, 1e-3, every=1, output=files)
        for one in (result, *map(Result.load, files)):
            assert np.array_equal(one.time, plain.time)
            assert np.array_equal(one.data, plain.data)
            assert np.array_equal(one["node.lower.head.r"], plain["node.lower.head.r"])
            # CSV does not know what moved between the rows
            assert one.energy_error == pytest.approx(plain.energy_error, rel=1e-3)
        assert np.array_equal(result.u, plain.u)
    assert Result.load("x.h5").info == Result.from_hdf5("x.h5").info == plain.info
    assert Result.load("x.h5").channels == plain.channels
    Result.load("y.h5").to_csv("z.csv")
    assert Path("z.csv").read_bytes() == Path("y.csv").read_bytes()


def test_plain_h5py_reads_a_finished_file() -> None:
    _complete("x.h5")
    with h5py.File("x.h5") as file:
        assert file["joint/elbow/q"].shape == file["time"].shape == (101,)
        assert file["node/lower/head/r"].shape == (101, 3)
        assert file["node/lower/head/r"].attrs["unit"].tolist() == ["m"] * 3
        assert file["info"].attrs["ended"] == "complete"


def test_a_result_does_not_read_from_a_file_that_took_the_place_of_its_own() -> None:
    loaded = Result.load(_complete("x.h5"))
    assert loaded["joint.elbow.q"].shape == (101,)
    pl.simulate("arm.yaml", 0.2, output="x.h5", overwrite=True)
    with pytest.raises(pl.ModelError, match="it was replaced since this result was loaded"):
        _ = loaded["joint.elbow.qd"]


def test_files_that_are_no_results_are_refused_in_a_sentence(here: Path) -> None:
    _complete("x.h5")
    (here / "cut.h5.partial").write_bytes(b"pliant rows 1\n{")
    (here / "text.csv").write_text("a,b\n1,2\n")
    (here / "wrong.csv").write_text("time,b\n1,x\n")
    (here / "empty.csv").write_text("")
    for name in ("cut.h5.partial", "text.csv", "empty.csv"):
        with pytest.raises(pl.ModelError, match="not a readable result file"):
            Result.load(name)
    with pytest.raises(pl.ModelError, match="not a readable result file"):
        _ = Result.load("wrong.csv").data
    with pytest.raises(pl.ModelError, match=r"no such file; but there is cut\.h5\.partial"):
        Result.load("cut.h5")
    assert "they end in .partial" in call("recover", "x.h5")[2]
    assert call("recover", "none.h5.partial")[0] == 1


# ------------------------------------------------------------------------------------- doubts


def test_a_doubtful_energy_error_is_a_warning_and_stays_with_the_result() -> None:
    spring = pl.Spring(stiffness=100.0)
    system = pl.System(
        name="swing",
        bodies={"mass": pl.Body(mass=1.0, inertia=[1, 1, 1])},
        joints={
            "rail": pl.Joint(type="prismatic", axis="x", child="mass", start=0.1, spring=spring)
        },
    )
    with pytest.warns(
        pl.EnergyWarning, match=r"swing: t = \S+ s: the energy error has come to"
    ) as caught:
        result = pl.simulate(system, 5.0, 0.1, output="x.h5")
    told = [warning for warning in caught if warning.category is pl.EnergyWarning]
    assert len(told) == 1
    assert told[0].filename == __file__
    (text,) = result.warnings
    # leapfrog's energy of a vibration goes up and down by (h omega / 2)^2
    assert "come to 25 % of the energy that moved: do not trust this run; take a shorter" in text
    assert "'pliant check' names the limit" in text
    assert Result.load("x.h5").warnings == result.warnings
    assert pl.simulate(system, 5.0, 1e-3).warnings == ()


@pytest.mark.parametrize("where", ["name", "key", "value", "channel", "unit", "ended", "warning"])
@pytest.mark.parametrize("text", ["a\0b", "a\ud800"])
@pytest.mark.parametrize("name", ["x.h5", "x.csv"])
def test_texts_that_no_file_can_hold_are_refused_in_partial_files(
    name: str, text: str, where: str
) -> None:
    here = {where: text}
    head = journal_head(
        here.get("name", "x"),
        {here.get("key", "k"): here.get("value", "v")},
        [Channel(here.get("channel", "a"), here.get("unit", "m"), ("time", 0), 0)],
    )
    status = journal_status(here.get("ended"), [here.get("warning", "w")])
    partial = Path(f"{name}.partial")
    partial.write_bytes(status + head[len(status) :] + np.arange(20.0).tobytes())
    code, _, err = call("recover", partial)
    assert code == 1
    assert f"{partial}: not a readable result file: " in err
    assert sorted(os.listdir()) == ["arm.yaml", partial.name]


@pytest.mark.parametrize("name", ["x.h5", "x.csv"])
@pytest.mark.parametrize(
    ("kind", "ended"),
    [
        (RuntimeError, "RuntimeError: bo?om ? there"),
        (KeyboardInterrupt, "interrupted by bo?om ? t"),
    ],
)
def test_how_a_run_ended_is_kept_whatever_the_exception_says(
    kind: type[BaseException], ended: str, name: str
) -> None:
    def controller(sim: pl.Simulation) -> None:
        if sim.time > 0.1:
            raise kind("bo\0om \ud800\n there")

    with pytest.raises(kind, match="bo"):
        pl.simulate("arm.yaml", 1.0, controller=controller, output=name)
    assert len(Result.load(name)) > 100
    if name == "x.h5":
        assert str(Result.load(name).info["ended"]).startswith(ended)


@pytest.mark.parametrize("name", ["x.h5", "x.csv"])
def test_a_file_that_appears_while_a_run_goes_on_is_not_replaced(name: str) -> None:
    def controller(sim: pl.Simulation) -> None:
        if sim.time > 0.1:
            Path(name).write_text("precious")

    said = (
        rf"{re.escape(name)}: cannot be written: it was not there before, and is now; 201 rows up "
        rf"to t = 0\.2 s are in {re.escape(name)}\.partial \('pliant recover "
    )
    with pytest.raises(pl.ModelError, match=said) as caught:
        pl.simulate("arm.yaml", 0.2, controller=controller, output=name)
    assert len(caught.value.result) == 201  # type: ignore[attr-defined]
    assert Path(name).read_text() == "precious"
    assert call("recover", f"{name}.partial")[0] == 1
    assert call("recover", f"{name}.partial", "--force")[0] == 0
    assert len(Result.load(name)) == 201
    pl.simulate("arm.yaml", 0.2, controller=controller, output=name, overwrite=True)
    assert len(Result.load(name)) == 201


def test_an_exception_tells_of_the_file_that_has_the_rows() -> None:
    def controller(sim: pl.Simulation) -> None:
        if sim.time > 0.05:
            Path("x.h5").write_text("precious")
            raise ValueError("no")

    with (
        pytest.warns(pl.PliantWarning, match="not there before"),
        pytest.raises(ValueError, match="no") as e,
    ):
        pl.simulate("arm.yaml", 0.1, controller=controller, output="x.h5")
    if sys.version_info >= (3, 11):
        (note,) = e.value.__notes__
        assert re.fullmatch(r"51 rows up to t = 0\.05 s are kept in .*x\.h5\.partial", note)
    assert Path("x.h5").read_text() == "precious"


def test_recovery_does_not_write_over_what_it_reads(here: Path) -> None:
    pl.simulate("arm.yaml", 0.1, output="x.csv")
    Path("x.csv").rename("x.csv.partial")
    Path("y.csv").symlink_to("x.csv.partial")
    code, _, err = call("recover", "x.csv.partial", "-o", "y.csv", "--force")
    assert code == 1
    assert err.endswith("y.csv: it is x.csv.partial itself; give another name\n")
    assert len(Result.load("x.csv.partial")) == 101


@pytest.mark.parametrize("name", ["x.h5", "x.csv", "x.h5.partial"])
def test_what_is_no_file_is_not_waited_for(name: str) -> None:
    os.mkfifo(name)
    with pytest.raises(pl.ModelError, match="not an ordinary file"):
        Result.load(name)
    assert call("plot", name)[0] == call("channels", name)[0] == 1


@pytest.mark.parametrize("name", ["", ".", "folder", "a" * 300 + ".h5", "loop.h5"])
def test_names_that_no_file_can_have_are_refused_in_a_sentence(here: Path, name: str) -> None:
    (here / "folder").mkdir()
    Path("loop.h5").symlink_to("loop.h5")
    code, _, err = call("run", "arm.yaml", "-d", "0.1", "-q", "-o", name)
    assert code == 1
    assert len(err.splitlines()) == 1
    assert err.startswith(f"{name or '.'}: ")


def test_rows_that_are_not_lines_are_refused() -> None:
    Path("x.csv").write_text('time,a\n0,1\n"1\n\n\n",2\n2,3\n')
    with pytest.raises(pl.ModelError, match="not a readable result file"):
        _ = Result.load("x.csv").data


def test_a_sector_lost_in_a_finished_file_is_answered_at_once(here: Path) -> None:
    """HDF5 itself looks for text in a damaged heap for ever."""
    pl.simulate("arm.yaml", 0.1, output="x.h5")
    program = """if True:
        import pathlib, warnings
        import pliant as pl
        whole, answers = pathlib.Path("x.h5").read_bytes(), []
        for first in range(0, len(whole), 512):
            damaged = bytearray(whole)
            damaged[first : first + 512] = bytes(512)
            pathlib.Path("y.h5").write_bytes(damaged)
            try:
                answers.append(len(pl.Result.load("y.h5").data))
            except pl.ModelError:
                answers.append(0)
        print(len(answers), set(answers))
    """
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    sectors = -(-Path("x.h5").stat().st_size // 512)
    assert done.stdout == f"{sectors} {{0, 101}}\n", done.stderr


def test_an_exception_says_where_the_rows_are() -> None:
    def control(sim: pl.Simulation) -> None:
        if sim.time > 0.0305:
            raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom") as caught:
        pl.simulate("arm.yaml", 0.1, every=1, controller=control, output="x.h5")
    if sys.version_info >= (3, 11):
        assert caught.value.__notes__ == ["31 rows up to t = 0.03 s are kept in x.h5"]


def test_what_is_saved_and_drawn_replaces_a_file_only_when_whole(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = pl.simulate("arm.yaml", 0.1)
    result.plot(path="x.png")
    before = {name: Path(name).read_bytes() for name in ("x.png", "arm.yaml")}
    arm = pl.load("arm.yaml")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pliant.aside.os.fsync", full)
    for write in (lambda: result.plot(path="x.png"), lambda: pl.save(arm, "arm.yaml")):
        with pytest.raises(pl.ModelError, match="cannot be written: No space left on device"):
            write()
    assert {name: Path(name).read_bytes() for name in before} == before
    assert sorted(os.listdir()) == ["arm.yaml", "x.png"]
    with pytest.raises(pl.ModelError, match="there is no folder none"):
        pl.save(arm, "none/arm.yaml")


def test_channels_of_csv_and_partial_results_are_listed() -> None:
    pl.simulate("arm.yaml", 0.1, output=["x.csv", "x.h5"])
    Path("x.csv").rename("x.csv.partial")
    for name in ("x.csv.partial", "x.h5"):
        code, out, _ = call("channels", name, "energy.kinetic")
        assert code == 0
        assert "energy.kinetic" in out
