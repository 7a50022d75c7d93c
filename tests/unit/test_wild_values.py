"""Wild values anywhere in a model file: refused in words, or computed in finite numbers."""

from __future__ import annotations

import random

import pytest

import pliant as pl
from cases.wild_values import MODELS, listed, outcome, spoilt
from pliant import limits
from pliant.model_file import from_yaml


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model["name"])
def test_the_models_that_are_spoilt_here_are_good(model) -> None:
    assert outcome(listed(model)) == "computed"


# after the first: a spring beside whose shapes there is no stiffness, a mode that moves no mass
@pytest.mark.parametrize("seed", [*range(40), 314, 1278, 1310])
def test_a_model_with_a_wild_value_is_refused_in_words_or_computed(seed: int) -> None:
    model, done = spoilt(random.Random(seed))
    try:
        outcome(model)
    except Exception as error:
        pytest.fail(f"{done}: {type(error).__name__}: {error}")


PENDULUM = """\
pliant: 1
name: pendulum
gravity: [0, 0, -9.81]
bodies:
  rod: {mass: MASS, com: [LENGTH, 0, 0], inertia: [INERTIA, INERTIA, INERTIA]}
joints:
  hinge: {type: revolute, axis: y, child: rod, start: 0.3, spring: {stiffness: STIFFNESS}}
"""
BEAM = """\
pliant: 1
name: tether
bodies:
  b: {beam: {length: LENGTH, mass_per_length: MASS, EI: STIFFNESS, radius: 0.1, modes: {count: 2}}}
joints:
  j: {type: free, child: b}
"""


def filled(text: str, **values: float) -> str:
    for key, value in values.items():
        text = text.replace(key, f"{value:.1e}")
    return text


@pytest.mark.parametrize(
    "text",
    [
        filled(PENDULUM, MASS=1e-12, LENGTH=1e-9, INERTIA=1e-30, STIFFNESS=1e-20),
        filled(PENDULUM, MASS=1e9, LENGTH=1e3, INERTIA=1e15, STIFFNESS=1e15),
        filled(PENDULUM, MASS=4e5, LENGTH=50, INERTIA=1e8, STIFFNESS=0),
        filled(BEAM, MASS=1e-2, LENGTH=1e4, STIFFNESS=1e-3),
        filled(BEAM, MASS=1e-6, LENGTH=1e-4, STIFFNESS=1e-12),
    ],
)
def test_what_is_built_fits_whether_micro_machine_or_station(text: str) -> None:
    pl.Simulation(from_yaml(text), 1e-6).evaluate()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("MASS", "1.0e+300", "rod.mass: 1e+300 exceeds 1e+18 kg, the largest mass of a model"),
        ("MASS", "1.0e-300", "rod.mass: 1e-300 is below 1e-24 kg, the least mass of a model"),
        ("LENGTH", "-1.0e+12", "rod.com: entry [0], -1000000000000.0, exceeds 1e+09 m"),
        ("INERTIA", "1.0e+40", "rod.inertia: entry [0], 1e+40, exceeds 1e+36 kg m2"),
        ("INERTIA", "1.0e-60", "is below 1e-48 kg m2"),
        ("STIFFNESS", "1.0e+21", "spring.stiffness: 1e+21 exceeds 1e+20"),
    ],
)
def test_a_size_beyond_sense_is_named_with_line_and_limit(old: str, new: str, message: str) -> None:
    text = filled(PENDULUM.replace(old, new), MASS=1.0, LENGTH=1.0, INERTIA=1.0, STIFFNESS=1.0)
    with pytest.raises(pl.ModelError) as caught:
        from_yaml(text)
    assert message in str(caught.value)
    assert str(caught.value).startswith("model.yaml:")


@pytest.mark.parametrize(
    ("beam", "message"),
    [
        ("elements: 1000000", "elements: 1000000 is too large; give at most 200"),
        ("elements: 99999999999999999999", "is too large; give at most 200"),
        ("modes: {count: 1000000}", "count: 1000000 is too large; give at most 1000"),
        ("modes: {bending: 1000000}", "bending: 1000000 is too large"),
        ("modes: {torsion: 1000000}", "torsion: 1000000 is too large"),
        ("modes: {axial: 1000000}", "axial: 1000000 is too large"),
        ("elements: 55, modes: {below_hz: 1.0e+12}", "modes would be kept; keep at most 100"),
        ("lumps: [" + ", ".join(f"{{at: {i / 400}, mass: 1}}" for i in range(400)) + "]", "is cut"),
        (
            "stations: ["
            + ", ".join(f"{{at: {i / 400}, mass_per_length: 1}}" for i in range(400))
            + "]",
            "is cut at 401 stations, lumps and nodes; give at most 300",
        ),
    ],
)
def test_a_count_beyond_sense_is_refused_before_anything_is_made(beam: str, message: str) -> None:
    body = f"{{beam: {{length: 1, mass_per_length: 1, EI: 1, {beam}}}}}"
    text = f"pliant: 1\nname: n\nbodies: {{b: {body}}}\njoints: {{j: {{type: free, child: b}}}}\n"
    with pytest.raises(pl.ModelError) as caught:
        pl.Simulation(from_yaml(text), 1e-3)
    assert message in str(caught.value)


def test_products_of_the_limits_are_far_from_where_doubles_end() -> None:
    spans = [value for value in vars(limits).values() if isinstance(value, limits.Span)]
    assert len(spans) > 20
    for span in spans:
        assert 1e-50 < span.least < span.most < 1e40
    fourth = limits.SECTION_STIFFNESS.most / limits.MASS_PER_LENGTH.least / limits.LENGTH.least**4
    assert fourth**2 < 1e300  # the square of omega^2
