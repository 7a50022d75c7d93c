"""The platform family against its papers and against data that pliant did not compute."""

from __future__ import annotations

import json
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant as pl
from pliant._kernel import QUANTITIES
from pliant.demos.platform import h49, h128, platform
from pliant.mechanism import Mechanism, TreeBody, resolve
from pliant.modes import highest_frequency

REFERENCE = Path(__file__).parent.parent / "data" / "reference"
CLOSED = range(9, 17)

# configuration: bodies, rigid dof, flexible dof
TABLE = {1: (23, 24, 24), 2: (29, 24, 48), 3: (32, 27, 48), 4: (53, 41, 80)}


# ------------------------------------------------------------------------------------- topology


@pytest.mark.parametrize("case", range(1, 17))
def test_a_case_has_the_bodies_and_freedoms_of_the_table(case: int) -> None:
    bodies, rigid, flexible = TABLE[1 + (case - 1) % 4]
    is_flexible = case in (5, 6, 7, 8, 13, 14, 15, 16)
    assert counts(platform(case)) == (bodies, rigid, flexible if is_flexible else 0)


def test_h49_and_h128_have_the_bodies_and_freedoms_of_the_table() -> None:
    assert counts(h49()) == (49, 41, 64)
    assert counts(h128()) == (128, 133, 508)


def counts(system: pl.System) -> tuple[int, int, int]:
    bodies = resolve(system).bodies
    rigid = sum(body.joint.dof_count for body in bodies)
    return len(bodies), rigid, sum(body.reduced.mode_count for body in bodies)


def test_a_case_outside_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="case 17 is not in the table; give 1 to 16"):
        platform(17)


def test_open_cases_have_no_loops() -> None:
    assert not any(platform(case).loops for case in range(1, 9))
    assert not h49().loops


@pytest.mark.parametrize("case", CLOSED)
def test_loops_close_in_the_start_position(case: int) -> None:
    system = platform(case)
    sim = pl.Simulation(system, step=1e-4)
    assert len(system.loops) == (3 if case in (12, 16) else 2)
    for loop in system.loops.values():
        a, b = sim.node(loop.parent), sim.node(loop.child)
        # 1e-12: rounding of positions of some 10 m reached over twenty joints
        np.testing.assert_allclose(a.position, b.position, rtol=0, atol=1e-12)
        np.testing.assert_allclose(a.rotation, b.rotation, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("case", "mobility"), [(9, 12), (10, 12), (11, 15), (12, 23)])
def test_a_closed_rigid_case_has_the_mobility_of_the_table(case: int, mobility: int) -> None:
    sim = pl.Simulation(platform(case))
    size = sim.model.u_size
    J = np.stack([loop_rates_for(sim, unit) for unit in np.eye(size)], axis=1)
    assert size - np.linalg.matrix_rank(J) == mobility


def loop_rates_for(sim: pl.Simulation, u: np.ndarray) -> np.ndarray:
    """How fast the held directions of all loops part, at rest, for a change of the speeds."""
    rows = sum(loop.rows.stop - loop.rows.start for loop in sim.model.loops)
    wanted = [(QUANTITIES.index("loop_rate"), 0, i) for i in range(rows)]
    return sim.kernel.derivative(sim.kernel.signals(np.array(wanted, np.int32)), u=u)


def test_rigid_and_flexible_rods_have_the_same_mass_and_inertia() -> None:
    # 9 Gauss-Lobatto points integrate polynomials up to degree 15 exactly, so also z^2
    pairs = zip(resolve(platform(4)).bodies, resolve(platform(8)).bodies, strict=True)
    for rigid, flexible in pairs:
        np.testing.assert_allclose(
            inertia_about_head(flexible), inertia_about_head(rigid), rtol=1e-13, atol=1e-12
        )


@pytest.mark.parametrize(
    ("case", "highest"),
    # rad/s; 8557 is the highest of the family, 8451 that of case 8
    [(6, 8557.0), (8, 8451.0)],
)
def test_the_highest_frequency_is_the_known_one(case: int, highest: float) -> None:
    system = platform(case)
    system.loads.clear()  # their change with position is no part of the frequency
    assert highest_frequency(system) == pytest.approx(highest, abs=0.5)


# ---------------------------------------------------------------------------------------- loads


def test_loads_switch_sign_every_20_s() -> None:
    loads = {load.name: load for load in resolve(platform(16)).loads}
    s = 0.03
    expected = {
        "top": [60, -40, 30, 50, 30, -40],
        "object": [-30, 20, 25, 20, -15, 10],
        "leg1_roll1": [8],
        "leg1_yaw1": [-6],
        "leg1_pitch1": [10],
        "leg1_pitch2": [-10],
        "leg1_pitch3": [5],
        "leg1_yaw2": [4],
        "leg1_roll2": [-3],
    }
    assert loads.keys() == expected.keys()
    for name, values in expected.items():
        for time, sign in ((0.0, 1), (19.99, 1), (20.0, -1), (39.99, -1), (40.0, 1), (99.0, 1)):
            np.testing.assert_allclose(loads[name].at(time), sign * s * np.array(values))


# ----------------------------------------------------------------------------- data of the files


@pytest.mark.parametrize("case", [5, 13])
def test_bodies_and_joints_are_those_of_the_file(case: int) -> None:
    data, mechanism = load(case), resolve(platform(case))
    bodies = data["model"]["bodies"]
    assert {body.name for body in mechanism.bodies} == {body["name"] for body in bodies}
    given = {body["name"]: body for body in bodies}
    for body in mechanism.bodies:
        file = given[body.name]
        assert body.joint.type == file["joint"]["type"]
        if body.joint.type == "revolute":
            np.testing.assert_array_equal(body.joint.rotations[0], file["joint"]["axis"])
        if body.parent >= 0:
            parent = mechanism.bodies[body.parent]
            assert parent.name == bodies[file["parent"]]["name"]
            node = parent.reduced.nodes[body.parent_node]
            at = bodies[file["parent"]]["nodes"][file["parent_node"]]["r0"]
            # a few roundings of cos and sin of the azimuths, and of the roots of the modes
            np.testing.assert_allclose(node.position, at, rtol=0, atol=1e-14)
            frame = node.rotation @ body.joint.rotation
            np.testing.assert_allclose(frame, file["joint"]["R0"], rtol=0, atol=1e-14)
        same_body(body, file)


def same_body(body: TreeBody, file: dict[str, Any]) -> None:
    reduced, nodes = body.reduced, file["nodes"]
    np.testing.assert_allclose(inertia_about_head(body), inertia_of(nodes), rtol=1e-13, atol=1e-12)
    assert reduced.mode_count == len(file["K"])
    if not reduced.mode_count:
        return
    assert len(reduced.point_mass) == len(nodes) == 9
    assert not len(reduced.pairs)
    for key, values in (
        ("r0", reduced.point_position),
        ("m", reduced.point_mass),
        ("J", reduced.point_inertia),
        ("phi", reduced.point_phi),
        ("psi", reduced.point_psi),
    ):
        expected = np.array([node[key] for node in nodes])
        # the modes subtract hyperbolic functions of up to 54: 54 eps ~ 1e-14
        np.testing.assert_allclose(values, expected, rtol=0, atol=2e-14 * np.abs(expected).max())
    for matrix, values in (("K", reduced.stiffness), ("D", reduced.damping)):
        expected = np.array(file[matrix])
        # sums of 2001 terms of both signs
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-13 * np.abs(expected).max())


@pytest.mark.parametrize("case", [5, 13])
@pytest.mark.parametrize("algorithm", ["order_n", "dense"])
def test_accelerations_are_those_of_the_file(case: int, algorithm: str) -> None:
    """The model's own loads at t = 0 are those of the file; its loops of case 13 are a little
    open and have speeds, which the file's equations do not close. The inertias of its nodes stay
    fixed in the head frame."""
    data, system = load(case), with_linear_inertia(platform(case))
    sim = pl.Simulation(system, 1e-4, algorithm=algorithm, loop_steps=np.inf)
    mechanism = sim.model.mechanism
    sim.set_state(vector(mechanism, data, "q"), vector(mechanism, data, "u"))
    udot, expected = sim.evaluate().copy(), vector(mechanism, data, "udot")
    # round-off grows with cond(M) = 8.5e6; the file of case 5 is itself 1.4e-11 from a solution
    # in extended precision
    tolerance = max(1e-12, 1e-16 * float(np.linalg.cond(sim.kernel.mass_matrix())))
    assert np.abs(udot - expected).max() < tolerance * np.abs(expected).max()


def test_loops_of_case_13_are_those_of_the_file() -> None:
    data, system = load(13), platform(13)
    bodies, nodes = data["model"]["bodies"], nodes_of(resolve(system))
    assert list(system.loops) == [loop["name"] for loop in data["model"]["loops"]]
    for loop, file in zip(system.loops.values(), data["model"]["loops"], strict=True):
        for name, body, node in (
            (loop.parent, file["body_a"], file["node_a"]),
            (loop.child, file["body_b"], file["node_b"]),
        ):
            assert name.partition(".")[0] == bodies[body]["name"]
            at = bodies[body]["nodes"][node]["r0"]
            np.testing.assert_allclose(nodes[name].position, at, rtol=0, atol=1e-14)
        # there node a keeps the axes of its body and R_ab turns them into those of node b
        np.testing.assert_allclose(nodes[loop.parent].rotation, file["R_ab"], rtol=0, atol=1e-14)


# ------------------------------------------------------------------------------------- reading


def with_linear_inertia(system: pl.System) -> pl.System:
    for body in system.bodies.values():
        if body.modal is not None:
            body.modal = body.modal.model_copy(update={"inertia": "linear"})
    return system


def load(case: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((REFERENCE / f"platform_case{case}_state.json").read_text())
    return found


def vector(mechanism: Mechanism, data: dict[str, Any], key: str) -> np.ndarray:
    """q, u or udot of a file in the order of the mechanism's bodies."""
    tree = {body.name: body for body in mechanism.bodies}
    names = [body["name"] for body in data["model"]["bodies"]]
    sizes = []
    for name in names:
        joint = tree[name].joint
        own = joint.coordinate_count if key == "q" else joint.dof_count
        sizes.append(own + tree[name].reduced.mode_count)
    ends = list(accumulate(sizes))
    assert ends[-1] == len(data[key])
    blocks = dict(zip(names, np.split(np.array(data[key]), ends[:-1]), strict=True))
    return np.concatenate([blocks[body.name] for body in mechanism.bodies])


def nodes_of(mechanism: Mechanism) -> dict[str, Any]:
    return {
        f"{body.name}.{name}": node
        for body in mechanism.bodies
        for name, node in body.reduced.nodes.items()
    }


def inertia_about_head(body: TreeBody) -> np.ndarray:
    reduced = body.reduced
    return rigid_inertia(reduced.point_mass, reduced.point_position, reduced.point_inertia)


def inertia_of(nodes: list[dict[str, Any]]) -> np.ndarray:
    heavy = [node for node in nodes if node["m"] > 0]
    return rigid_inertia(*(np.array([node[key] for node in heavy]) for key in ("m", "r0", "J")))


def rigid_inertia(m: np.ndarray, r: np.ndarray, J: np.ndarray) -> np.ndarray:
    """Mass, first moment and inertia about the head of the undeformed points."""
    second = np.einsum("k,ka,kb->ab", m, r, r)
    inertia = np.trace(second) * np.eye(3) - second + J.sum(axis=0)
    return np.concatenate([[m.sum()], m @ r, inertia.ravel()])
