"""Words of other programs and textbooks are answered with what they are called here."""

from __future__ import annotations

import pytest

import pliant as pl
from pliant.joint import JOINT_TYPES
from pliant.part import suggest
from pliant.synonyms import _MEANINGS

BODY = {"mass": 1.0, "inertia": [1.0, 1.0, 1.0]}

TYPES = {
    "ball": "spherical",
    "ball-and-socket": "spherical",
    "Ball Joint": "spherical",
    "hinge": "revolute",
    "pin": "revolute",
    "continuous": "revolute",
    "slider": "prismatic",
    "weld": "fixed",
    "6dof": "free",
    "6-DOF": "free",
    "floating": "free",
    "cardan": "universal",
    "Hooke's": "universal",
    "Revolute": "revolute",
    "revolut": "revolute",
}


@pytest.mark.parametrize(("word", "meant"), TYPES.items())
@pytest.mark.parametrize("part", [pl.Joint, pl.Loop])
def test_types_of_joints_by_other_names_are_answered_with_ours(part, word, meant):
    said = rf"type: .* is not one of the choices; did you mean '{meant}'\? known: fixed"
    with pytest.raises(pl.ModelError, match=said):
        part(type=word, child="rod")


@pytest.mark.parametrize(
    ("part", "word", "meant"),
    [
        (pl.Joint, "velocity", "speed"),
        (pl.Joint, "damping", "friction"),
        (pl.Joint, "limits", "stops"),
        (pl.Joint, "initial_position", "start"),
        (pl.Joint, "position", "at"),
        (pl.Joint, "orientation", "rotation"),
        (pl.Joint, "k", "spring"),
        (pl.Spring, "k", "stiffness"),
        (pl.Friction, "damping", "viscous"),
        (pl.Beam, "density", "rho"),
        (pl.Beam, "youngs_modulus", "E"),
        (pl.Beam, "L", "length"),
        (pl.Beam, "lenght", "length"),
        (pl.Body, "center_of_mass", "com"),
        (pl.Body, "markers", "nodes"),
        (pl.Body, "Mass", "mass"),
        (pl.System, "constraints", "loops"),
        (pl.System, "links", "bodies"),
    ],
)
def test_keys_by_other_names_are_answered_with_ours(part, word, meant):
    with pytest.raises(pl.ModelError, match=rf"{word}: unknown key; did you mean '{meant}'\?"):
        part(**{word: 1.0})


def test_the_world_is_called_ground_where_something_may_stand_on_it():
    def system(parent, child="rod"):
        joint = {"type": "fixed", "parent": parent, "child": child}
        return pl.System(name="s", bodies={"rod": BODY}, joints={"j": joint})

    with pytest.raises(pl.ModelError, match="no body 'world'; did you mean 'ground'"):
        system("world").validate_model()
    with pytest.raises(pl.ModelError, match=r"child: 'world': no body 'world'; known: rod$"):
        system("ground", "world").validate_model()


def test_an_axis_in_capitals_is_answered_with_the_small_letter():
    with pytest.raises(pl.ModelError, match="'-Z' is not an axis; did you mean '-z'"):
        pl.Joint(type="revolute", axis="-Z", child="rod")


def test_a_word_is_only_answered_with_what_is_known_where_it_stands():
    assert suggest("hinge", ["a", "b"]) == "known: a, b"
    assert suggest("hinge", ["hinges", "revolute"]).startswith("did you mean 'revolute'")
    assert suggest("Hinge", ["hinge", "revolute"]).startswith("did you mean 'hinge'")


def test_no_type_of_joint_is_another_name_of_another():
    assert not set(JOINT_TYPES) & set(_MEANINGS)
