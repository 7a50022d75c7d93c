"""Reads tests/data/reference: trees with accelerations that were not computed with pliant.

``rigid_tree_*.json`` come from Pinocchio (checked there against MuJoCo), the others from a
Lagrangian of the node masses by automatic differentiation. Both become a `Case`, with states,
loads and results in pliant's conventions.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pliant.mechanism import Mechanism, TreeBody, TreeJoint, TreeLoop
from pliant.reduced import ReducedBody, ReducedNode, head_node, rigid_body

FOLDER = Path(__file__).parent.parent / "data" / "reference"
RIGID = ("rigid_tree_101", "rigid_tree_102", "rigid_tree_103")
FLEXIBLE = (
    "flex_chain",
    "flex_tree_free",
    "prism_spher_mix",
    "flex_tree_phi2",
    "platform_case5_state",
)
CLOSED = ("closed_loop_flex", "platform_case13_state")


@dataclass
class Case:
    """A mechanism, a state, loads, and what others found."""

    name: str
    mechanism: Mechanism
    q: np.ndarray
    u: np.ndarray
    tau: np.ndarray
    wrenches: dict[str, tuple[np.ndarray, np.ndarray]]
    udot: np.ndarray
    expected: dict[str, Any] = field(default_factory=dict)  # see rigid_case, flexible_case


def load(name: str) -> Case:
    """The case of tests/data/reference/<name>.json."""
    data = json.loads((FOLDER / f"{name}.json").read_text())
    return rigid_case(name, data) if name in RIGID else flexible_case(name, data)


def plain_joint(
    name: str,
    kind: str,
    translations: Any = (),
    rotations: Any = (),
    quaternion: bool = False,
    position: Any = (0.0, 0.0, 0.0),
    rotation: Any = None,
) -> TreeJoint:
    """A joint without spring, friction, stops and motion."""
    slides = np.array(translations, float).reshape(-1, 3)
    turns = np.array(rotations, float).reshape(-1, 3)
    nd = len(slides) + (3 if quaternion else len(turns))
    start = np.zeros(nd + quaternion)
    if quaternion:
        start[-4] = 1.0
    zero = np.zeros(nd)
    return TreeJoint(
        name=name,
        type=kind,
        position=np.array(position, float),
        rotation=np.eye(3) if rotation is None else np.array(rotation, float),
        translations=slides,
        rotations=turns,
        quaternion=quaternion,
        start=start,
        speed=zero,
        stiffness=zero,
        rest=zero,
        viscous=zero,
        coulomb=zero,
        transition_speed=np.full(nd, 1e-3),
        stop_lower=np.full(nd, -np.inf),
        stop_upper=np.full(nd, np.inf),
        stop_stiffness=zero,
        stop_damping=zero,
        prescribed=False,
        motion=None,
    )


def file_joint(name: str, kind: str, axis: Any, position: Any, rotation: Any) -> TreeJoint:
    """A joint of the types that the files have."""
    return plain_joint(
        name,
        kind,
        np.eye(3) if kind == "free" else [axis] if kind == "prismatic" else (),
        [axis] if kind == "revolute" else (),
        kind in ("spherical", "free"),
        position,
        rotation,
    )


def breadth_first(parents: list[int]) -> list[int]:
    """The bodies in pliant's order: roots, then children of the first, of the second, ..."""
    order = [i for i, parent in enumerate(parents) if parent < 0]
    for body in order:  # grows while it is walked
        order.extend(i for i, parent in enumerate(parents) if parent == body)
    return order


class Blocks:
    """Cuts the file's vectors into a block a body, and joins them in pliant's order."""

    def __init__(self, lengths: list[int], order: list[int]) -> None:
        self.ends = np.cumsum(lengths)[:-1]
        self.order = order

    def split(self, vector: Any) -> list[np.ndarray]:
        return np.split(np.array(vector, float), self.ends)

    def join(self, blocks: list[np.ndarray]) -> np.ndarray:
        return np.concatenate([blocks[i] for i in self.order])


def rotation_of(quaternion: np.ndarray) -> np.ndarray:
    """Matrix of a unit quaternion w, x, y, z."""
    w, x, y, z = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def rigid_case(name: str, data: dict[str, Any]) -> Case:
    """expected: mass_matrix, kinetic, com_velocity, momentum, and per body (pliant's order)
    R, r, v, w, a, alpha in world axes, reaction (force, torque on the body at its head, world).

    There a quaternion ends with its scalar, and a free joint's speed is the velocity of the
    child's origin in child axes: v = R_j^T dotdelta in terms of pliant's position rate, so that
    ddotdelta = R_j (vdot + w x v) and force_delta = R_j force_v.
    """
    bodies, result = data["bodies"], data["result"]
    order = breadth_first([body["parent"] for body in bodies])
    place = {old: new for new, old in enumerate(order)}
    q_blocks = Blocks([body["nq"] for body in bodies], order)
    u_blocks = Blocks([body["nv"] for body in bodies], order)
    q, u = q_blocks.split(data["q"]), u_blocks.split(data["v"])
    tau, udot = u_blocks.split(data["tau"]), u_blocks.split(result["qdd"])
    to_file = [np.eye(body["nv"]) for body in bodies]  # file speeds = to_file pliant speeds
    for i, body in enumerate(bodies):
        if body["joint"] in ("spherical", "freeflyer"):
            q[i] = np.concatenate([q[i][:-4], q[i][-1:], q[i][-4:-1]])
        if body["joint"] == "freeflyer":
            R_j = rotation_of(q[i][3:])
            udot[i][:3] = R_j @ (udot[i][:3] + np.cross(u[i][3:], u[i][:3]))
            u[i][:3], tau[i][:3] = R_j @ u[i][:3], R_j @ tau[i][:3]
            to_file[i][:3, :3] = R_j.T
    tree = []
    for i in order:
        body = bodies[i]
        kind = "free" if body["joint"] == "freeflyer" else body["joint"]
        place_in_parent = body["placement"]["p"], body["placement"]["R"]
        joint = file_joint(f"j{i}", kind, body["axis"], *place_in_parent)
        part = rigid_body(body["mass"], body["com"], body["inertia_com"])
        tree.append(TreeBody(body["name"], place.get(body["parent"], -1), "head", joint, part, ()))
    columns = u_blocks.join(u_blocks.split(np.arange(data["nv"]))).astype(int)
    change = np.zeros((data["nv"], data["nv"]))
    for block, where in zip(to_file, u_blocks.split(np.arange(data["nv"])), strict=True):
        change[np.ix_(where.astype(int), where.astype(int))] = block
    mass_matrix = (change.T @ np.array(result["mass_matrix"]) @ change)[np.ix_(columns, columns)]
    states = []
    for i in order:
        state = result["bodies"][i]
        R, wrench = np.array(state["R_world"]), state["joint_wrench_body"]
        states.append(
            {
                "R": R,
                "r": np.array(state["p_world"]),
                "v": np.array(state["v_lin_world"]),
                "w": np.array(state["v_ang_world"]),
                "a": np.array(state["a_origin_world"]),
                "alpha": np.array(state["alpha_world"]),
                "reaction": np.concatenate([R @ wrench["force"], R @ wrench["moment"]]),
            }
        )
    push = data["external_force"]
    R_push = np.array(result["bodies"][push["body"]]["R_world"])
    com, linear = np.array(result["com_world"]), np.array(result["linear_momentum_world"])
    spin = np.array(result["angular_momentum_about_com_world"])
    return Case(
        name,
        Mechanism(name, np.array(data["gravity"], float), tuple(tree), ()),
        q_blocks.join(q),
        u_blocks.join(u),
        u_blocks.join(tau),
        {f"{bodies[push['body']]['name']}.head": (R_push @ push["force"], R_push @ push["moment"])},
        u_blocks.join(udot),
        {
            "mass_matrix": mass_matrix,
            "kinetic": result["kinetic_energy"],
            "potential": result["potential_energy_pinocchio"],
            "momentum": np.concatenate([linear, spin + np.cross(com, linear)]),
            "bodies": states,
        },
    )


def flexible_case(name: str, data: dict[str, Any]) -> Case:
    """expected, where the file has them: kinetic, potential (weight and strain), momentum.

    A free joint's position and its rate are along the axes of the joint frame, which R0 turns
    from the parent node's: energies, momentum and accelerations agree so, and only so.
    """
    bodies = data["model"]["bodies"]
    order = breadth_first([body["parent"] for body in bodies])
    place = {old: new for new, old in enumerate(order)}
    joints, parts = [], []
    for i, body in enumerate(bodies):
        joint, position = body["joint"], body.get("parent_pos", [0.0, 0.0, 0.0])
        joints.append(file_joint(f"j{i}", joint["type"], joint["axis"], position, joint["R0"]))
        parts.append(flexible_part(body))
    modes = [part.mode_count for part in parts]
    q_blocks = Blocks([len(j.start) + n for j, n in zip(joints, modes, strict=True)], order)
    u_blocks = Blocks([len(j.speed) + n for j, n in zip(joints, modes, strict=True)], order)
    names = [body.get("name", f"b{i}") for i, body in enumerate(bodies)]
    tree = []
    for i in order:
        parent = bodies[i]["parent"]
        node = node_name(bodies[i]["parent_node"]) if parent >= 0 else "head"
        tree.append(TreeBody(names[i], place.get(parent, -1), node, joints[i], parts[i], ()))
    efforts = [
        np.concatenate([effort, np.zeros(n)])
        for effort, n in zip(data["loads"]["tau"], modes, strict=True)
    ]
    wrenches = {
        f"{names[load['body']]}.{node_name(load['node'])}": (
            np.array(load["f"]),
            np.array(load["t"]),
        )
        for load in data["loads"]["node_forces"]
    }
    expected: dict[str, Any] = {}
    if "kinetic_energy" in data:
        momentum = data["momentum"]
        expected = {
            "kinetic": data["kinetic_energy"],
            "potential": data["potential_energy"],
            "momentum": np.array(momentum["linear"] + momentum["angular_about_origin"]),
        }
    if "constraint_multipliers" in data:
        expected["multipliers"] = np.array(data["constraint_multipliers"])
    return Case(
        name,
        Mechanism(
            name,
            np.array(data["model"]["gravity"], float),
            tuple(tree),
            loops=tuple(file_loop(loop, place) for loop in data["model"].get("loops", ())),
        ),
        q_blocks.join(q_blocks.split(data["q"])),
        u_blocks.join(u_blocks.split(data["u"])),
        u_blocks.join(efforts),
        wrenches,
        u_blocks.join(u_blocks.split(data["udot"])),
        expected,
    )


def file_loop(loop: dict[str, Any], place: dict[int, int]) -> TreeLoop:
    """All translations are held, and all rotations or none."""
    assert np.array_equal(loop["trans"], np.eye(3))
    is_weld = np.array_equal(loop["rot"], np.eye(3))
    assert is_weld or not np.size(loop["rot"])
    joint = plain_joint(
        loop.get("name", "loop"),
        "fixed" if is_weld else "spherical",
        quaternion=not is_weld,
        rotation=loop.get("R_ab"),
    )
    return TreeLoop(
        place[loop["body_a"]],
        node_name(loop["node_a"]),
        place[loop["body_b"]],
        node_name(loop["node_b"]),
        joint,
    )


def node_name(index: int) -> str:
    """Node 0 of a file is the head."""
    return "head" if index == 0 else f"n{index}"


def flexible_part(body: dict[str, Any]) -> ReducedBody:
    """Nodes that have mass are mass points; all of them are nodes."""
    n = len(body["K"])
    second = any("phi2" in node for node in body["nodes"])
    pairs = np.array([(i, j) for i in range(n) for j in range(i, n) if second], np.int64)
    pairs = pairs.reshape(-1, 2)

    def shapes(node: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        phi2 = np.array(node.get("phi2", np.zeros((3, n, n))), float).reshape(3, n, n)
        phi = np.array(node["phi"], float).reshape(3, n)
        psi = np.array(node["psi"], float).reshape(3, n)
        return phi, psi, phi2[:, pairs[:, 0], pairs[:, 1]]

    nodes = {"head": head_node(n, len(pairs))}
    for index, node in enumerate(body["nodes"][1:], start=1):
        nodes[node_name(index)] = ReducedNode(np.array(node["r0"], float), np.eye(3), *shapes(node))
    heavy = [node for node in body["nodes"] if node["m"] > 0]
    phi, psi, phi2 = (np.stack(each) for each in zip(*map(shapes, heavy), strict=True))
    return ReducedBody(
        point_position=np.array([node["r0"] for node in heavy], float),
        point_mass=np.array([node["m"] for node in heavy]),
        point_inertia=np.array([node.get("J") or np.zeros((3, 3)) for node in heavy], float),
        point_phi=phi,
        point_psi=psi,
        point_phi2=phi2,
        stiffness=np.array(body["K"], float).reshape(n, n),
        damping=np.array(body["D"], float).reshape(n, n),
        pairs=pairs,
        nodes=nodes,
        inertia_model=body.get("nodal_inertia", "linear"),
    )
