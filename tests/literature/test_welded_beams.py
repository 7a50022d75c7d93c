"""A cantilever cut into beams that are welded together again: it must stay the same cantilever.

Frequencies against the roots of cos(x) cosh(x) = -1, large deflections against the elastica, thrust
against Euler's load (cases.elastica has the formulas and their sources), a shear-flexible column
against Engesser's load.
"""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl
from cases.elastica import EULER_LOAD, buckling_load, frequency_errors, tip_error, welded


def slopes(errors: list[float]) -> np.ndarray:
    """Orders between numbers of beams that double."""
    return np.log2(np.array(errors[:-1]) / errors[1:])


# -------------------------------------------------------------------------------- frequencies


def test_four_welded_beams_at_default_settings_have_the_frequencies_of_one():
    first, second, third = frequency_errors(4)
    assert 0.0 < first < 1e-4  # found: 1.0e-6
    assert 0.0 < second < 5e-4  # found: 2.0e-4
    assert 0.0 < third < 1e-2  # found: 4.7e-3


def test_one_loaded_shape_a_beam_gives_the_first_frequency():
    assert 0.0 < frequency_errors(4, modes={"bending": 1})[0] < 1e-4  # found: 7.0e-5


def test_a_cantilever_converges_when_it_is_cut_into_more_beams():
    second = [float(frequency_errors(count)[1]) for count in (4, 8, 16)]
    assert np.all(slopes(second) > 3.5)  # found: 3.9, 3.9
    assert second[-1] < 1e-6


def test_modes_of_the_beams_alone_do_not_converge():
    """The literature's choice, which can be asked for: it gets worse with every cut."""
    first = [float(frequency_errors(n, shapes="cantilever")[0]) for n in (2, 4, 8)]
    assert first == pytest.approx([3.1e-2, 6.7e-2, 9.0e-2], rel=0.02)


def test_modes_below_a_frequency_are_those_that_the_assembled_model_needs():
    """Every frequency below it is there, and right to 5 % at worst."""
    exact = np.array([1.8751040687, 4.6940911330, 7.8547574382, 10.9955407349, 14.1371683911]) ** 2
    for count, limit in [
        (1, 30.0),
        (2, 30.0),
        (4, 25.0),
        (4, 30.0),
        (4, 150.0),
        (6, 70.0),
    ]:  # rad/s
        system = welded(count, modes={"below_hz": limit / (2 * np.pi)})
        found = 2 * np.pi * pl.assembled_modes(system).frequencies
        asked = exact[exact < limit]
        assert found[: len(asked)] == pytest.approx(asked, rel=0.05)  # found: 3.9 % at worst


@pytest.mark.parametrize(
    ("support", "roots"),
    [
        ({"type": "fixed"}, [4.7300407449, 7.8532046241, 10.9956078380]),
        ({"type": "revolute", "axis": "z"}, [3.9266023120, 7.0685827456, 10.2101761228]),
    ],
)
def test_beams_that_a_loop_holds_at_their_end_have_the_frequencies_of_one(support, roots):
    """Clamped at the other end too, or pinned (Blevins, table 8-1)."""
    system = welded(4)
    system.loops["wall"] = pl.Loop(parent="ground", child="beam4.tip", at=[1, 0, 0], **support)
    found = 2 * np.pi * pl.assembled_modes(system).frequencies[:3]
    errors = found / np.array(roots) ** 2 - 1
    assert np.all(errors > 0.0)
    assert np.all(errors < [1e-4, 1e-3, 1e-2])


def test_shear_flexible_beams_can_be_cut_too():
    """Against one such beam with many modes, which the tests of beam frequencies judge."""
    section = {"GAk": 400.0, "inertia_per_length": [0.0, 0.0, 1e-3]}
    whole = pl.assembled_modes(welded(1, **section, modes={"bending": 4}, elements=40))
    parts = pl.assembled_modes(welded(4, **section))
    errors = parts.frequencies[:3] / whole.frequencies[:3] - 1
    assert np.all(errors > 0.0)
    assert np.all(errors < [1e-5, 1e-3, 2e-2])  # found: 3.6e-6, 6.0e-4, 1.2e-2


# -------------------------------------------------------------------------- large deflections


@pytest.mark.parametrize(
    ("load", "at_16_beams"), [(1.0, 8e-6), (2.0, 3.7e-5), (5.0, 1.5e-4), (10.0, 3.1e-4)]
)
def test_the_elastica_is_met_with_order_3_in_the_number_of_beams(load: float, at_16_beams: float):
    errors = [tip_error(count, load) for count in (4, 8, 16)]
    assert slopes(errors) == pytest.approx(3.0, abs=0.2)
    assert errors[-1] < at_16_beams


def test_the_elastica_is_missed_with_modes_of_the_beams_alone():
    errors = [tip_error(count, 1.0, shapes="cantilever") for count in (4, 8, 16)]
    assert errors == pytest.approx([2.4e-2, 3.0e-2, 3.3e-2], rel=0.02)


def test_eulers_load_is_met_with_order_4_in_the_number_of_beams():
    errors = [buckling_load(count) / EULER_LOAD - 1 for count in (2, 4, 8)]
    assert np.all(slopes(errors) > 3.6)  # found: 3.7, 3.9
    assert 0.0 < errors[-1] < 5e-8


def test_a_shear_flexible_column_buckles_at_engessers_load():
    """P = P_E / (1 + P_E / GA): Timoshenko & Gere, "Theory of Elastic Stability", 2nd edition,
    McGraw-Hill 1961, section 2.17."""
    engesser = EULER_LOAD / (1 + EULER_LOAD / 20.0)
    errors = [buckling_load(count, GAk=20.0) / engesser - 1 for count in (1, 2, 4)]
    assert np.all(np.diff(errors) < 0.0)
    assert 0.0 < errors[-1] < 5e-5  # found: 3.0e-5
