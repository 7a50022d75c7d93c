"""An FMU is stable as exported, and says so in its log when it no longer is."""

from __future__ import annotations

import re

import numpy as np
import pytest

import pliant as pl
from cases.fmu_models import pendulum
from fmu.raw_slave import DISCARD, OK, WARNING, Library, RawSlave
from pliant.data_file import pack
from pliant.demos.platform import h128, platform
from pliant.fmu._slave import Slave
from pliant.fmu.export import variable_table
from pliant.fmu.inspect import FmuFile
from pliant.fmu.run import run_fmu
from pliant.model_description import table_sections

MILLISECOND = 1e-3


def sprung(stiffness: float = 2e6, start: float = 0.0) -> pl.System:
    """A mass of 2 kg on a spring: 1000 rad/s, so that the limit of leapfrog is 2 ms."""
    rail = pl.Joint(
        type="prismatic", axis="x", child="cart", start=start, spring={"stiffness": stiffness}
    )
    cart = pl.Body(mass=2.0, inertia=[1, 1, 1])
    return pl.System(name="sprung", bodies={"cart": cart}, joints={"rail": rail})


def leaf() -> pl.System:
    """One mode of 10 rad/s; a force on its end bends it by 1.5 rad / m."""
    shape = {"at": [1, 0, 0], "phi": [[0], [0], [1]], "psi": [[0], [-1.5], [0]]}
    modal = pl.Modal(K=[[200.0]], points=[{**shape, "mass": 2.0}], nodes={"end": shape})
    return pl.System(
        name="leaf",
        bodies={"100 % leaf": pl.Body(modal=modal)},
        joints={"root": pl.Joint(type="fixed", child="100 % leaf")},
    )


@pytest.fixture(params=["native", "python"])
def start(request, tmp_path):
    """An initialized instance of a system's FMU; pythonfmu logs with debug logging only."""

    def made(system: pl.System, **settings: object) -> RawSlave:
        path = pl.export_fmu(system, tmp_path / "a.fmu", flavour=request.param, **settings)
        slave = RawSlave(Library.unzipped(path, tmp_path / "unzipped"), logging=True)
        slave.initialize()
        return slave

    return made


def warnings_of(slave: RawSlave) -> list[str]:
    return [text for status, category, text in slave.logged if category == "logStatusWarning"]


# --------------------------------------------------------------------------------- as exported


@pytest.mark.parametrize("flavour", ["native", "python"])
def test_the_flexible_platform_runs_as_exported(flavour: str, tmp_path) -> None:
    """At 1 ms it dies within 0.02 s."""
    path = pl.export_fmu(platform(13), tmp_path / "a.fmu", flavour=flavour)
    assert FmuFile(path).internal_step == 2e-4
    result = run_fmu(path, 0.5, record=["energy.total"])
    # its loads, of some N and N m, cannot do more work than this in half a second
    assert np.abs(result["energy.total"]).max() < 1.0


def test_the_long_chains_run_as_exported() -> None:
    """At 1 ms they die within 0.02 s. The slave alone: the description of 641 freedoms is long."""
    table = variable_table(h128(), defaults=False, include=["energy.total"])
    slave = Slave(pack({**table.model.sections, **table_sections(table)}))
    assert slave.internal_step == 2e-4
    slave.initialize()
    assert slave.step(0.0, 0.2)
    assert abs(slave.get_real([table.reference("energy.total")])[0]) < 1.0


@pytest.mark.parametrize(
    ("stiffness", "step"),
    [(2e6, 5e-4), (2e10, 5e-6), (2e4, MILLISECOND), (2.0, MILLISECOND)],
)
def test_the_step_is_a_millisecond_or_what_the_model_needs(stiffness: float, step: float) -> None:
    """Half a radian of the vibration, in round numbers, and never more than a millisecond."""
    table = variable_table(sprung(stiffness))
    assert table["solver.h"].start == step
    assert (MILLISECOND / step) == pytest.approx(round(MILLISECOND / step), abs=1e-9)


def test_a_model_that_does_not_vibrate_keeps_the_default() -> None:
    assert variable_table(pendulum())["solver.h"].start == MILLISECOND


def test_a_step_that_is_given_is_taken_and_warned_of() -> None:
    for given in ({"step": 3e-3}, {}):
        system = sprung()
        if not given:
            system.fmu = pl.Fmu(step=3e-3)
        with pytest.warns(pl.StepWarning, match="0.003 s is beyond the limit of leapfrog, 0.002 s"):
            assert variable_table(system, **given)["solver.h"].start == 3e-3
    assert variable_table(sprung(), step=1.5e-3)["solver.h"].start == 1.5e-3


# -------------------------------------------------------------------------------------- the log


def test_nothing_is_logged_within_the_limit(start) -> None:
    slave = start(sprung(), step=1.9e-3)
    assert slave.do_step(0.0, 0.019) == OK
    assert warnings_of(slave) == []


def test_a_vibration_that_the_step_does_not_follow_is_told_by_its_energy(start) -> None:
    """From rest at the end of its way, the energy of leapfrog's states swings to 1 / (1 - s^2) of
    what it was, s half the step times the frequency: by a third at 1 ms."""
    slave = start(sprung(start=1e-3), step=1e-3)
    assert slave.do_step(0.0, 0.1) == OK
    (text,) = warnings_of(slave)
    share = re.search(r"the energy error has come to (\S+) %% of the energy that moved", text)
    assert 20.0 < float(share[1]) < 33.4  # as much as was seen: not every step is judged
    assert text.endswith("take a shorter internal step (solver.h, 0.002 s is the limit)")


def test_a_vibration_whose_energy_multiplies_is_refused_with_the_step_to_take(start) -> None:
    """By 9, at a step within the limit of stability."""
    slave = start(sprung(start=1e-3), step=1.9e-3)
    assert slave.do_step(0.0, 0.1) == DISCARD
    assert "joint rail: energy came out of nothing" in slave.messages[-1]
    assert slave.last_successful_time < 0.01


def test_a_step_beyond_the_limit_is_logged_once_with_its_cause(start) -> None:
    with pytest.warns(pl.StepWarning):
        slave = start(sprung(), step=3e-3)
    assert slave.logged[-1][0] == WARNING
    (text,) = warnings_of(slave)
    assert text == (
        "solver.h = 0.003 s is beyond the limit of the integrator, 0.002 s for the model as "
        "exported, set by joints.rail.spring: the motion will grow or tremble; take a shorter one"
    )
    assert slave.do_step(0.0, 3e-3) == OK
    assert len(warnings_of(slave)) == 1


def test_a_step_that_is_changed_while_stepping_is_looked_at_again(start) -> None:
    slave = start(sprung())
    for i, (step, warned) in enumerate([(2.2e-3, 1), (1e-3, 1), (2.4e-3, 2)]):
        assert slave.set_real(["solver.h"], [step]) == OK
        assert slave.do_step(4.8e-3 * i, 4.8e-3) == OK
        assert len(warnings_of(slave)) == warned


def test_the_limit_is_that_of_the_integrator_in_use(start) -> None:
    """2.83 ms with rk4."""
    assert warnings_of(start(sprung(), step=2.5e-3, integrator="rk4")) == []


def test_a_deflection_beyond_what_modes_carry_is_logged_once(start) -> None:
    """A force of 21 N goes to 2 x 21 / 200 m, 0.315 rad, at half a period, 0.314 s."""
    slave = start(leaf(), include=["node.100 % leaf.end"])
    assert slave.set_real(["node.'100 % leaf'.end.f[3]"], [21.0]) == OK
    seen = []
    for i in range(100):
        assert slave.do_step(0.01 * i, 0.01) == OK
        seen.append(len(warnings_of(slave)))
    assert seen[-1] == 1
    first = 0.01 * (1 + seen.index(1))
    assert first == pytest.approx(np.arccos(1.0 - 0.3 / 0.1575) / 10.0, abs=0.01)
    (text,) = warnings_of(slave)
    assert text.startswith(f"t = {first:.2g} s: body 100 %% leaf turns by 0.3")
