"""Deflections beyond what modes can carry are named after a run, with body, time and value."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pliant as pl
from pliant.results import Result

STIFFNESS, MASS = 200.0, 2.0
OMEGA = np.sqrt(STIFFNESS / MASS)


def sprung(force: float, psi: float | None = 1.5) -> pl.System:
    """A body with one mode, a mass that moves along z and turns by psi with it, at 1 m, on which
    a force acts from the start: the mode goes to 2 force / stiffness at half a period."""
    point = {"at": [1, 0, 0], "phi": [[0], [0], [1]]}
    if psi is not None:
        point["psi"] = [[0], [-psi], [0]]
    modal = pl.Modal(K=[[STIFFNESS]], points=[{**point, "mass": MASS}], nodes={"end": point})
    return pl.System(
        name="sprung",
        bodies={"leaf": pl.Body(modal=modal)},
        joints={"root": pl.Joint(type="fixed", child="leaf")},
        loads={"push": pl.Load(node="leaf.end", force=[0, 0, force])},
    )


def test_a_rotation_above_the_limit_is_named_with_body_time_and_value() -> None:
    force = 26.0  # 0.26 m, 0.39 rad
    with pytest.warns(pl.DeflectionWarning, match="leaf") as caught:
        result = pl.simulate(sprung(force), 0.5, record="energy")
    (warning,) = caught
    assert warning.filename == __file__
    (text,) = result.warnings
    assert str(warning.message) == f"sprung: {text}"
    assert text == (
        f"bodies.leaf: it turned by 0.39 rad in itself at t = {round(np.pi / OMEGA, 3):.4g} s "
        "(deflected by 0.26 m of 1 m); modes carry about 0.3 rad: divide it into several bodies"
    )


def test_a_rotation_below_it_is_not() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = pl.simulate(sprung(19.0), 0.5)  # 0.285 rad
    assert result.warnings == ()


def test_shapes_without_rotations_count_by_the_slope_of_a_cantilever() -> None:
    """Slope times length over deflection at the tip of the first mode of a clamped-free beam is
    1.376 (Blevins, Formulas for Natural Frequency and Mode Shape, table 8-1)."""
    for deflection, goes_too_far in ((0.21, False), (0.225, True)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pl.DeflectionWarning)
            result = pl.simulate(sprung(deflection * STIFFNESS / 2.0, psi=None), 0.5)
        assert bool(result.warnings) is goes_too_far


def test_the_largest_is_found_wherever_it_falls_in_a_long_record() -> None:
    """200 rows and more, the largest in the middle: a force that swells and fades."""
    system = sprung(0.0)
    times = np.linspace(0.0, 4.0, 41)
    pulse = 100.0 * np.exp(-((times - 1.9) ** 2) / 0.5)  # slow: the mode follows force / stiffness
    force = np.column_stack([0 * times, 0 * times, pulse])
    system.loads["push"] = pl.Load(node="leaf.end", times=times, force=force)
    with pytest.warns(pl.DeflectionWarning):
        result = pl.simulate(system, 4.0, every=20, record="body")
    eta = np.abs(result["body.leaf.eta[1]"])
    (text,) = result.warnings
    assert f"{1.5 * eta.max():.2g} rad" in text
    assert f"t = {result.time[np.argmax(eta)]:.4g} s" in text


def test_warnings_are_kept_in_files(tmp_path) -> None:
    with pytest.warns(pl.DeflectionWarning):
        result = pl.simulate(sprung(25.0), 0.5)
    assert Result.from_hdf5(result.to_hdf5(tmp_path / "a.h5")).warnings == result.warnings


def test_a_run_that_fails_keeps_them_too() -> None:
    with pytest.warns(pl.StepWarning), pytest.raises(pl.SolverError) as caught:
        pl.simulate(sprung(25.0), 100.0, step=0.25, every=1)
    assert "bodies.leaf" in caught.value.result.warnings[0]  # type: ignore[attr-defined]
