"""FMUs of both flavours that start at rest, as FMPy runs them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant.fmu.run import run_fmu

G, MASS, STIFFNESS, LENGTH, EI, PER_LENGTH = 9.81, 3.0, 400.0, 2.0, 5e3, 1.0
SAG = PER_LENGTH * G * LENGTH**4 / (8 * EI)  # of a cantilever under its own weight


@pytest.fixture
def system() -> pl.System:
    """A weight on a spring, and a cantilever beside it."""
    beam = pl.Beam(length=LENGTH, mass_per_length=PER_LENGTH, EI=EI, modes={"bending": 3})
    return pl.System(
        name="hanging",
        start="equilibrium",
        gravity=[0, 0, -G],
        bodies={"weight": pl.Body(mass=MASS, inertia=[1, 1, 1]), "beam": pl.Body(beam=beam)},
        joints={
            "rail": pl.Joint(
                type="prismatic", axis="z", child="weight", spring={"stiffness": STIFFNESS}
            ),
            "clamp": pl.Joint(type="fixed", child="beam"),
        },
    )


@pytest.mark.parametrize("flavour", ["native", "python"])
def test_an_fmu_starts_and_stays_where_its_model_rests(
    system: pl.System, flavour: str, tmp_path: Path
):
    fmu = pl.export_fmu(system, tmp_path / "rest.fmu", flavour=flavour, include=["node.beam.tip"])
    result = run_fmu(fmu, 1.0, record=["joint.rail.q", "node.beam.tip.r[3]"])
    assert result["joint.rail.q"] == pytest.approx(-MASS * G / STIFFNESS, rel=1e-9)
    tip = result["node.beam.tip.r[3]"]
    assert tip == pytest.approx(tip[0], rel=1e-9)
    assert tip[0] == pytest.approx(-SAG, rel=2e-3)  # three modes a plane


@pytest.mark.parametrize("flavour", ["native", "python"])
def test_a_parameter_changed_later_leaves_the_exported_start(
    system: pl.System, flavour: str, tmp_path: Path
):
    fmu = pl.export_fmu(system, tmp_path / "rest.fmu", flavour=flavour)
    values = {"body.weight.m": str(2 * MASS)}
    result = run_fmu(fmu, 2.0, start_values=values, every=1, record=["joint.rail.q"])
    q, rest = result["joint.rail.q"], -MASS * G / STIFFNESS
    # twice as heavy it swings about twice the sag, from the old one to three times that
    assert q[0] == pytest.approx(rest, rel=1e-12)
    assert np.min(q) == pytest.approx(3 * rest, rel=1e-4)
