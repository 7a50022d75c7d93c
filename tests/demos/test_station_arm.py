"""The station arm: a sound model, followed joints, booms that ring as they should."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import pliant as pl
from pliant.cli import app
from pliant.demos import station_arm, station_arm_fmu
from pliant.demos.control import Slew, reflected_inertia, servo_gains
from pliant.demos.station_arm import JOINTS, MODEL_FILE, SERVO_HZ, STEP, ArmRun
from pliant.demos.station_arm_figure import draw
from pliant.report import ModelReport


@pytest.fixture(scope="module")
def run() -> ArmRun:
    """The slew and 20 s of holding after it."""
    return station_arm.slew_arm(62.0)


# -------------------------------------------------------------------------------------- model


def test_the_model_has_no_warnings_at_the_step_of_the_demo() -> None:
    assert ModelReport(MODEL_FILE, STEP).warnings() == []


def test_the_arm_is_of_the_17_m_class() -> None:
    arm = pl.load(MODEL_FILE)
    for name in JOINTS:
        arm.joints[name].start = 0.0
    sim = pl.Simulation(arm)
    reach = sim.node("effector.grip").position - sim.node("station.mount").position
    # the arm stands on the station's +z: 0.64 + 2 (0.38 + 6.9 + 0.38) + 0.5 + 0.9 m
    np.testing.assert_allclose(reach, [0.0, 0.0, 17.36], atol=1e-12)


# ------------------------------------------------------------------------------------ control


def test_the_slew_is_smooth_and_its_rate_belongs_to_its_position() -> None:
    slew = Slew(np.array([0.2]), np.array([-0.7]), begin=1.0, duration=8.0, ramp=2.0)
    times = np.linspace(0.0, 10.0, 100_001)
    position, rate = (np.array(values).ravel() for values in zip(*map(slew, times), strict=True))
    dt = times[1]
    assert (position[0], position[-1]) == (0.2, -0.7)
    # central differences: error dt^2 / 6 times the largest jerk, 2 pi / ramp^2 * 0.9 / 6 = 0.24
    np.testing.assert_allclose(np.gradient(position, dt)[1:-1], rate[1:-1], atol=1e-9)
    # no jump of the acceleration: it changes by at most the largest jerk times dt
    assert np.abs(np.diff(np.gradient(rate, dt))).max() < 2 * 0.24 * dt


def test_reflected_inertia_is_what_the_mass_matrix_says() -> None:
    sim = pl.Simulation(MODEL_FILE)
    inverse = np.linalg.inv(sim.kernel.mass_matrix())
    index = [sim.model.joints[[j.name for j in sim.model.joints].index(n)].u.start for n in JOINTS]
    np.testing.assert_allclose(
        reflected_inertia(sim, JOINTS), 1.0 / np.diag(inverse)[index], rtol=1e-9
    )


# ---------------------------------------------------------------------------------------- run


def test_joints_follow_the_command(run: ArmRun) -> None:
    error = np.rad2deg(np.abs(run.measured - run.commanded))
    assert error.max() < 0.15  # measured 0.128; it is the boom's pull over the servo's stiffness
    travelled = np.rad2deg(np.abs(run.measured[-1] - run.measured[0]))
    assert travelled.min() > 8.0


def test_booms_ring_at_the_frequency_of_the_arm_on_its_servos(run: ArmRun) -> None:
    """The eigenvalue problem with the servos as springs knows nothing of the run."""
    arm = pl.load(MODEL_FILE)
    stiffness, _ = servo_gains(reflected_inertia(pl.Simulation(arm), JOINTS), SERVO_HZ)
    for i, name in enumerate(JOINTS):
        arm.joints[name].start = float(run.slew.goal[i])
        arm.joints[name].spring = pl.Spring(stiffness=stiffness[i], rest=float(run.slew.goal[i]))
    lowest = pl.assembled_modes(arm).frequencies[:2]
    strongest = station_arm.vibrations(run)[0]
    assert 2e-3 < strongest.amplitude < 10e-3  # visible
    # The spectrum of 20 s, not three periods, is seen through a window; two modes are close.
    nearest = lowest[np.argmin(np.abs(lowest - strongest.frequency))]
    assert strongest.frequency == pytest.approx(nearest, rel=0.03)


def test_energy_and_momentum_are_kept(run: ArmRun) -> None:
    # leapfrog at 0.5 ms: measured 1.2e-8 and 5e-9
    assert run.result.energy_error < 1e-7
    drift = np.linalg.norm(run.result["momentum.p"], axis=1).max()
    assert drift < 1e-7 * np.linalg.norm(run.station_momentum, axis=1).max()


# ---------------------------------------------------------------------------------- as an FMU


def test_driven_as_an_fmu_it_moves_as_in_the_simulation_bitwise(tmp_path) -> None:
    path = station_arm_fmu.export(tmp_path / "arm.fmu")
    driven = station_arm_fmu.drive(path, 4.0)
    assert np.ptp(driven.torque, axis=0).min() > 1.0  # the slew has begun
    simulated = station_arm.slew_arm(4.0, controller=driven.controller)
    assert np.array_equal(driven.result.time, simulated.result.time)
    assert set(driven.result.names) == set(simulated.result.names)
    assert station_arm.difference(driven, simulated) == 0.0


def test_gains_out_of_the_fmu_are_those_of_the_simulation(tmp_path) -> None:
    """Directional derivatives, against the answer to a torque of 1 N m. At rest nothing is
    subtracted: what is left is rounding, measured 1.7e-13."""
    with station_arm_fmu.ArmFmu(station_arm_fmu.export(tmp_path / "arm.fmu")) as arm:
        inertia = arm.reflected_inertia()
    np.testing.assert_allclose(
        inertia, reflected_inertia(pl.Simulation(MODEL_FILE), JOINTS), rtol=1e-12
    )


# ------------------------------------------------------------------------------------- output


def test_the_summary_says_what_matters(run: ArmRun) -> None:
    text = "\n".join(station_arm.summary(run))
    for words in ("x real time", "tracking error", "mm at", "energy error", "momentum drift"):
        assert words in text


def test_the_picture_is_drawn(run: ArmRun, tmp_path) -> None:
    path = draw(run, tmp_path / "arm.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size > 100_000


def test_the_command_runs_the_demo(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(station_arm, "DURATION", 3.0)
    outcome = CliRunner().invoke(app, ["demo", "--output-dir", str(tmp_path / "new")])
    assert outcome.exit_code == 0, outcome.output
    assert (tmp_path / "new" / "station_arm.png").is_file()
    assert (tmp_path / "new" / "station_arm.fmu").is_file()
    assert "agree bitwise" in outcome.stdout
    assert "wrote " in outcome.stdout
    assert "tracking error" in outcome.stdout
