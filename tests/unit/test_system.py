"""The author's objects: what they accept, how they compare, how they answer to changes."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pliant.errors import ModelError, Problem, SolverError
from pliant.fields import inertia_matrix, rotation_matrix
from pliant.joint import planar_axes
from pliant.system import (
    Beam,
    Body,
    Friction,
    Group,
    Joint,
    Load,
    Modal,
    Motion,
    Node,
    Spring,
    Stops,
    System,
    Wheel,
)


def two_link_arm() -> System:
    return System(
        name="arm",
        gravity=[0, 0, -9.81],
        bodies={
            "boom": Body(beam=Beam(length=2.0, mass_per_length=3.0, EI=1e4, modes={"count": 2})),
            "hand": Body(mass=1.0, inertia=[1, 1, 1], nodes={"pad": Node(at=[0.1, 0, 0])}),
        },
        joints={
            "wrist": Joint(type="revolute", axis="y", parent="boom.tip", child="hand"),
            "shoulder": Joint(type="revolute", axis="y", child="boom", start=0.3),
        },
        loads={"push": Load(node="hand.pad", force=[0, 0, -5])},
    )


def test_objects_dicts_and_numpy_arrays_describe_the_same_system() -> None:
    as_dicts = System(
        name="arm",
        gravity=np.array([0, 0, -9.81]),
        bodies={
            "boom": {
                "beam": {
                    "length": np.float64(2.0),
                    "mass_per_length": 3,
                    "EI": np.float32(1e4),
                    "modes": {"count": np.int64(2)},
                }
            },
            "hand": {"mass": 1, "inertia": np.ones(3), "nodes": {"pad": {"at": (0.1, 0, 0)}}},
        },
        joints={
            "wrist": {"type": "revolute", "axis": "y", "parent": "boom.tip", "child": "hand"},
            "shoulder": {"type": "revolute", "axis": "y", "child": "boom", "start": 0.3},
        },
        loads={"push": {"node": "hand.pad", "force": np.array([0, 0, -5])}},
    )
    assert as_dicts == two_link_arm()
    as_dicts.validate_model()


def test_systems_differ_when_one_number_does() -> None:
    other = two_link_arm()
    other.joints["shoulder"].start = np.nextafter(0.3, 1.0)
    assert other != two_link_arm()
    assert other != "arm"


def test_systems_can_be_copied_and_pickled() -> None:
    system = two_link_arm()
    assert copy.deepcopy(system) == system
    assert pickle.loads(pickle.dumps(system)) == system


def test_arrays_are_read_only_copies() -> None:
    com = np.zeros(3)
    body = Body(mass=1, com=com, inertia=[1, 1, 1])
    com[0] = 5.0
    assert_array_equal(body.com, np.zeros(3))
    with pytest.raises(ValueError, match="read-only"):
        body.com[0] = 1.0  # type: ignore[index]


def test_attachments_and_groups_follow_the_joints() -> None:
    system = two_link_arm()
    system.bodies["free"] = Body(mass=1, inertia=[1, 1, 1])
    system.joints["float"] = Joint(type="free", child="free")
    wrist = system.attachments[0]
    assert (wrist.parent_body, wrist.parent_node) == ("boom", "tip")
    assert (wrist.child_body, wrist.child_node, wrist.joint) == ("hand", "head", "wrist")
    assert system.groups == (Group("boom", ("boom", "hand")), Group("free", ("free",)))


def test_assignment_is_checked_and_a_refused_one_changes_nothing() -> None:
    joint = Joint(type="revolute", axis="y", child="rod", start=0.3)
    joint.start = 0.4
    with pytest.raises(ModelError, match="has 2 numbers; a revolute joint has 1"):
        joint.start = [1, 2]
    with pytest.raises(ModelError, match=r"Joint\.axis.*has no length"):
        joint.axis = [0, 0, 0]
    with pytest.raises(ModelError, match="did you mean 'start'"):
        joint.strat = 1.0  # type: ignore[attr-defined]
    assert (joint.start, joint.axis) == (0.4, "y")


def test_a_part_put_into_a_system_as_dict_is_checked_with_the_system() -> None:
    system = two_link_arm()
    system.bodies["hand"].nodes["pad"] = {"at": [0, 0]}  # type: ignore[assignment]
    with pytest.raises(ModelError, match=r"^bodies\.hand\.nodes\.pad\.at: \[0, 0\] is 2 numbers"):
        system.validate_model()


def test_representation_shows_what_was_given_only() -> None:
    assert repr(Wheel(axis="z", inertia=2)) == "Wheel(axis='z', inertia=2.0)"


# ----------------------------------------------------------------------------------- notations


@pytest.mark.parametrize(
    "rotation",
    [
        [np.sqrt(0.5), 0, 0, np.sqrt(0.5)],
        [[0, -1, 0], [1, 0, 0], [0, 0, 1]],
        {"axis": "z", "degrees": 90},
        {"axis": [0, 0, -2], "angle": -np.pi / 2},
    ],
)
def test_all_notations_of_a_rotation_turn_x_into_y(rotation: object) -> None:
    node = Node(at=[0, 0, 0], rotation=rotation)
    assert_allclose(rotation_matrix(node.rotation) @ [1, 0, 0], [0, 1, 0], atol=1e-15)


def test_a_rotation_with_few_digits_becomes_orthonormal() -> None:
    c = round(float(np.cos(0.3)), 7)
    s = round(float(np.sin(0.3)), 7)
    R = rotation_matrix(Node(at=[0, 0, 0], rotation=[[c, -s, 0], [s, c, 0], [0, 0, 1]]).rotation)
    assert_allclose(R.T @ R, np.eye(3), atol=4 * np.finfo(float).eps)


def test_six_numbers_of_an_inertia_are_entries_of_the_tensor() -> None:
    full = [[2, 0.1, 0.2], [0.1, 3, 0.3], [0.2, 0.3, 4]]
    body = Body(mass=1, inertia=[2, 3, 4, 0.1, 0.2, 0.3])
    assert_array_equal(inertia_matrix(body.inertia), inertia_matrix(full))


def test_flat_and_slender_inertias_reach_the_triangle_equality() -> None:
    Body(mass=1, inertia=[1, 2, 3])
    Body(mass=1, inertia=[1e-9, 2, 2])


@pytest.mark.parametrize(
    ("normal", "e1", "e2"),
    [([0, 0, 1], "x", "y"), ([1, 0, 0], "y", "z"), ([0, 1, 0], "z", "x")],
)
def test_planar_joint_slides_along_the_axes_that_follow_its_normal(
    normal: list[int], e1: str, e2: str
) -> None:
    axes = {"x": [1, 0, 0], "y": [0, 1, 0], "z": [0, 0, 1]}
    assert_array_equal(planar_axes(np.array(normal, float)), [axes[e1], axes[e2]])


@pytest.mark.parametrize("normal", [[0, 0, -1], [1, 2, -3], [1, 1, 1]])
def test_planar_axes_are_right_handed_for_any_normal(normal: list[int]) -> None:
    n = np.array(normal) / np.linalg.norm(normal)
    e1, e2 = planar_axes(n)
    assert_allclose(np.cross(e1, e2), n, atol=1e-15)


@pytest.mark.parametrize(
    ("joint", "coordinates", "dofs"),
    [
        ({"type": "fixed"}, 0, 0),
        ({"type": "revolute", "axis": "x"}, 1, 1),
        ({"type": "prismatic", "axis": [1, 1, 0]}, 1, 1),
        ({"type": "cylindrical", "axis": "-z"}, 2, 2),
        ({"type": "universal", "axes": ["x", "y"]}, 2, 2),
        ({"type": "planar", "axis": "z"}, 3, 3),
        ({"type": "spherical"}, 4, 3),
        ({"type": "free"}, 7, 6),
        ({"type": "general"}, 0, 0),
        ({"type": "general", "translations": ["x"], "rotations": np.eye(3)}, 4, 4),
        ({"type": "general", "rotations": ["z", "x", "z"], "start": [0, 0.5, 0]}, 3, 3),
    ],
)
def test_joint_types_have_their_number_of_coordinates_and_dofs(
    joint: dict[str, object], coordinates: int, dofs: int
) -> None:
    made = Joint(child="b", **joint)
    assert made.layout.coordinate_count == len(made.start_position()) == coordinates
    assert made.layout.dof_count == len(made.start_speed()) == dofs


def test_springs_friction_and_stops_take_a_number_or_a_list() -> None:
    joint = Joint(
        type="cylindrical",
        axis="z",
        child="b",
        spring=Spring(stiffness=[100, 5], rest=[0.1, 0]),
        friction=Friction(viscous=[1, 2], coulomb=[0, 3]),
        stops=Stops(lower=[-1, None], upper=[1, None], stiffness=[1e4, 1], damping=[1, 0]),
    )
    assert joint.stops is not None
    assert joint.stops.limits()[0].tolist() == [-1, -np.inf]


# -------------------------------------------------------------------------- prescribed motion


def test_motion_table_of_two_times_goes_from_rest_to_rest() -> None:
    curve = Motion(times=[1, 3], position=[0, 4]).curve(1)
    # 4 (10 x^3 - 15 x^4 + 6 x^5) with x = (t - 1) / 2
    assert_allclose(np.ravel(curve(2.0)), [2, 3.75, 0], atol=1e-15)
    assert_allclose(np.ravel(curve(1.0)), [0, 0, 0], atol=1e-15)
    assert_allclose(np.ravel(curve(0.5)), [0, 0, 0], atol=1e-15)
    assert_allclose(np.ravel(curve(9.0)), [4, 0, 0], atol=1e-15)


def test_motion_table_goes_on_at_the_rates_of_its_ends() -> None:
    curve = Motion(times=[1, 3], position=[0, 4], rate=[1, -2]).curve(1)
    assert_allclose(np.ravel(curve(0.0)), [-1, 1, 0], atol=1e-15)
    assert_allclose(np.ravel(curve(5.0)), [0, -2, 0], atol=1e-15)


@pytest.mark.parametrize("degree", [3, 5])
def test_motion_table_reproduces_a_polynomial_of_its_own_degree(degree: int) -> None:
    # piecewise cubic with rates, piecewise quintic with accelerations too
    p = np.polynomial.Polynomial(np.arange(1.0, degree + 2))
    times = np.array([0.0, 0.7, 1.1, 2.0])
    tables = {"position": p(times), "rate": p.deriv()(times)}
    if degree == 5:
        tables["acceleration"] = p.deriv(2)(times)
    curve = Motion(times=times, **tables).curve(1)
    for t in (0.0, 0.3, 0.7, 1.5, 1.999):
        assert_allclose(
            np.ravel(curve(t)), [p(t), p.deriv()(t), p.deriv(2)(t)], rtol=1e-12, atol=1e-11
        )


def test_motion_table_of_positions_alone_is_a_smooth_spline_at_rest_at_its_ends() -> None:
    times = np.linspace(0, 2, 9)
    curve = Motion(times=times, position=np.stack([np.sin(times), times], axis=1)).curve(2)
    assert_allclose(curve(times[4])[0], [np.sin(times[4]), times[4]], rtol=1e-14)
    before, after = (curve(times[4] + d) for d in (-1e-9, 1e-9))
    assert_allclose(before[1], after[1], atol=1e-8)
    assert_allclose(before[2], after[2], atol=1e-6)
    for end in (times[0], times[-1] - 1e-15):
        assert_allclose(curve(end)[1:], np.zeros((2, 2)), atol=1e-12)


def test_start_of_a_prescribed_joint_is_that_of_its_motion() -> None:
    joint = Joint(type="revolute", axis="z", child="b", motion=lambda t: (1 + t, 1.0, 0.0))
    assert joint.start_position().tolist() == [1.0]
    assert joint.start_speed().tolist() == [1.0]


# -------------------------------------------------------------------------------- modal, errors


def test_modal_body_without_modes_is_rigid() -> None:
    modal = Modal(K=[], points=[{"at": [1, 0, 0], "mass": 1, "phi": [[], [], []]}])
    assert modal.mode_count == 0


def test_nodes_that_need_not_be_listed_are_known() -> None:
    beam = Beam(length=3, mass_per_length=1, EI=1, modes={"count": 1})
    body = Body(beam=beam, nodes={"tip": {"contact": True}})
    assert body.node_names == ("head", "tip")
    assert body.with_positions().nodes["tip"].at.tolist() == [3, 0, 0]  # type: ignore[union-attr]


def test_errors_survive_pickling() -> None:
    model = ModelError([Problem("a.b", "c"), Problem("d", "e")])
    assert str(pickle.loads(pickle.dumps(model))) == "a.b: c\nd: e"
    solver = SolverError("not finite", time=0.5, element="elbow", value=1.0)
    assert str(pickle.loads(pickle.dumps(solver))) == str(solver)
