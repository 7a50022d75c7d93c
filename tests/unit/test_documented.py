"""Whatever is public says what it is."""

from __future__ import annotations

import inspect
import pydoc
import re
from collections.abc import Iterator

import pytest

import pliant as pl
from pliant import handles
from pliant.errors import Problem
from pliant.modes import AllBodyModes, AssembledModes, BodyModes, Mode
from pliant.part import Part
from pliant.picture import Picture
from pliant.run import RunError
from pliant.simulation import Energy, Momentum, SavedState
from pliant.statics import RestPosition

PUBLIC = {name: getattr(pl, name) for name in pl.__all__ if name != "__version__"}
RETURNED = (
    *(getattr(handles, f"{kind}Handle") for kind in ("Joint", "Loop", "Node", "Wheel", "Body")),
    handles.Wrench,
    Energy,
    Momentum,
    SavedState,
    RestPosition,
    BodyModes,
    AllBodyModes,
    AssembledModes,
    Mode,
    Problem,
    Picture,
    RunError,
)
CLASSES = {t.__name__: t for t in (*PUBLIC.values(), *RETURNED) if isinstance(t, type)}
PARTS = {name: t for name, t in CLASSES.items() if issubclass(t, Part)}


def members(cls: type) -> Iterator[tuple[str, object]]:
    """Public methods and properties that come from pliant."""
    for above in cls.__mro__:
        if above.__module__.startswith("pliant."):
            for name, value in vars(above).items():
                is_method = callable(value) or isinstance(value, (property, classmethod))
                if not name.startswith("_") and is_method:
                    yield name, value


@pytest.mark.parametrize("name", [*PUBLIC, *CLASSES])
def test_everything_public_has_a_docstring(name):
    thing = PUBLIC.get(name, CLASSES.get(name))
    assert (vars(thing) if isinstance(thing, type) else {"__doc__": thing.__doc__})["__doc__"]
    assert not thing.__doc__.startswith(f"{name}("), "the one that Python makes up"


@pytest.mark.parametrize("name", CLASSES)
def test_every_public_method_and_property_has_a_docstring(name):
    bare = [member for member, value in members(CLASSES[name]) if not value.__doc__]
    assert bare == []


@pytest.mark.parametrize("name", PARTS)
def test_help_on_a_part_shows_every_field_with_its_kind_and_description(name):
    cls, text = PARTS[name], pydoc.render_doc(PARTS[name], renderer=pydoc.plaintext)
    for key, field in cls.model_fields.items():
        assert field.description, f"{name}.{key} has no description"
        assert f"{key}: " in text
        assert field.description.splitlines()[0] in text
    for word in ("Annotated", "Validator", "ArrayLike", "**data"):
        assert word not in text.partition("Method resolution order")[0]


@pytest.mark.parametrize("name", PARTS)
def test_the_signature_of_a_part_has_its_fields_with_their_defaults(name):
    cls = PARTS[name]
    parameters = inspect.signature(cls).parameters
    assert set(parameters) == set(cls.model_fields)
    for key, field in cls.model_fields.items():
        assert (parameters[key].default is inspect.Parameter.empty) == field.is_required()


def test_what_a_field_takes_and_where_it_is_left_out_is_said_in_words():
    text = pl.Joint.__doc__
    assert "\nat: 3 numbers; [0, 0, 0] if left out\n    Origin of the joint frame" in text
    assert "\nparent: text; 'ground' if left out\n" in text
    assert "\nspring: Spring; may be left out\n" in text
    assert "\nbodies: dict by name of Body; {} if left out\n" in pl.System.__doc__
    assert str(inspect.signature(pl.Wheel)) == "(*, axis, inertia, node='head', speed=0.0)"


def test_descriptions_of_quantities_name_their_units():
    units = ("m", "kg", "N", "rad", "s", "Pa", "Hz", "m/s2", "rad/s", "kg/m", "kg/m3", "m4")
    for cls, keys in {
        pl.Body: ("mass", "com", "inertia"),
        pl.Joint: ("at",),
        pl.Spring: ("stiffness", "rest"),
        pl.Friction: ("viscous", "coulomb", "transition_speed"),
        pl.Stops: ("lower", "upper", "stiffness", "damping"),
        pl.Beam: ("length", "EI", "EA", "GJ", "GAk", "E", "rho", "Iy", "J", "mass_per_length"),
        pl.Load: ("force", "torque", "effort", "times"),
        pl.Motion: ("times", "position", "rate", "acceleration"),
        pl.Wheel: ("inertia", "speed"),
        pl.System: ("gravity",),
        pl.Node: ("at",),
    }.items():
        for key in keys:
            words = re.findall(r"[A-Za-z0-9/]+", cls.model_fields[key].description)
            assert set(words) & set(units), key
