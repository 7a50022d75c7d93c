"""What every signal is computed from: states, inputs and parameters.

Structure, not numbers: a dependency is left out only if no geometry, no state and no value of a
parameter could make it felt. Two things decide beside the paths to the ground.

- *Driven bodies.* A body whose way to the ground holds no freedom but prescribed ones moves as it
  is told, whatever acts on it.
- *Islands.* What hangs together without a driven body between is an island: in it every load is
  felt by every acceleration, beyond it by none. A wheel on a body that cannot turn is on its own.
  A loop makes one island of the two it ties together.

The force in a joint balances all that acts outboard of it, also what moves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pliant.model import Model
from pliant.model_description.paths import Path, find_paths, flexes, has_arm, indices
from pliant.model_description.variable import Scope, ScopeKind, Signal
from pliant.reduced import ReducedNode

_GRAVITY = Scope("gravity", 0)


@dataclass
class Reads:
    """Indices of coordinates, speeds and inputs, and what parameters belong to.

    ``at_start`` is false for what has the same value at every start.
    """

    q: set[int] = field(default_factory=set)
    u: set[int] = field(default_factory=set)
    inputs: set[int] = field(default_factory=set)
    scopes: set[Scope] = field(default_factory=set)
    at_start: bool = True

    def add(self, other: Reads) -> None:
        self.q |= other.q
        self.u |= other.u
        self.inputs |= other.inputs
        self.scopes |= other.scopes


class Reach:
    """Answers what a signal of one model depends on; ``can_lock``: joints may be locked.

    >>> Reach(model).of(Signal("node", 3, 13)).inputs                         # doctest: +SKIP
    """

    def __init__(self, model: Model, can_lock: bool = False) -> None:
        self._model = model
        self._can_lock = can_lock
        self._bodies = model.mechanism.bodies
        self._paths = find_paths(model)
        self._nodes = _nodes_by_body(model)
        self._q, self._u = self._states()
        self._sprung = self._find_sprung()
        self._islands: list[Reads] = []
        self._island_of_u: dict[int, int] = {}
        self._island_of_head: list[int] = []  # -1: driven
        self._island_of_modes: list[int] = []  # -1: there are none
        self._alone: dict[int, Path] = {}  # wheels (by their number) that are felt by nothing else
        for i in range(len(self._bodies)):
            self._join(i)
        self._loop_nodes = self._find_loop_nodes()
        for loop in range(len(self._loop_nodes)):
            self._tie(loop)
        self._forces, self._torques = self._find_loads()

    def of(self, signal: Signal) -> Reads:
        """What a signal depends on at an instant."""
        quantity, element, index = signal.quantity, signal.element, signal.index
        if quantity == "q":
            return Reads(q={index} & self._q)
        if quantity == "u":
            return Reads(u={index} & self._u)
        if quantity == "quaternion_rate":
            return self._quaternion_rate(element)
        if quantity == "energy":
            return self._energy(index)
        if quantity == "momentum":
            return self._momentum(is_angular=index > 2)
        if quantity == "udot":
            return self._islands[self._island_of_u[index]] if index in self._u else Reads()
        if quantity == "effort" and not (self._bodies[element].joint.prescribed or self._can_lock):
            return Reads(inputs={self._model.joints[element].input.start + index})
        if quantity == "effort":
            is_torque = index >= len(self._bodies[element].joint.translations)
            reads = Reads(scopes={Scope("friction", element)})
            reads.add((self._torques if is_torque else self._forces)[element])
            return reads
        if quantity == "reaction":
            return (self._torques if index > 2 else self._forces)[element]
        if quantity == "node":
            return self._node_motion(element, index)
        if quantity == "inverse_inertia":
            return self._inverse_inertia(element, index)
        return self._loop(quantity, element, index)

    # ------------------------------------------------------------------------------------ states

    def _states(self) -> tuple[set[int], set[int]]:
        q, u = set(range(self._model.q_size)), set(range(self._model.u_size))
        for joint in self._model.joints:
            if self._bodies[joint.body].joint.prescribed:
                q -= indices(joint.q)
                u -= indices(joint.u)
        return q, u

    def _find_sprung(self) -> set[int]:
        """Coordinates of joints with springs or stops."""
        sprung: set[int] = set()
        for joint in self._model.joints:
            tree = self._bodies[joint.body].joint
            if tree.stiffness.any() or tree.stop_stiffness.any():
                sprung |= indices(joint.q)
        return sprung & self._q

    # ----------------------------------------------------------------------------------- islands

    def _join(self, i: int) -> None:
        """Puts the freedoms of a body into islands, with all that acts on them."""
        body, joint, modes = self._bodies[i], self._model.joints[i], self._model.bodies[i]
        head = -1
        if body.parent >= 0:
            carrier = self._bodies[body.parent].reduced.nodes[body.parent_node]
            head = self._island_at(body.parent, carrier)
        is_free = not body.joint.prescribed and joint.u.stop > joint.u.start
        if is_free and head < 0:
            head = self._new_island()
        self._island_of_head.append(head)
        if is_free:
            self._take(head, indices(joint.q), indices(joint.u), indices(joint.input))
        if head >= 0:
            kinds: tuple[ScopeKind, ...] = ("mass", "inertia", "friction")
            self._islands[head].scopes |= {Scope(kind, i) for kind in kinds}
        inside = -1
        if modes.etad.stop > modes.etad.start:
            inside = head if head >= 0 else self._new_island()
            self._take(inside, indices(modes.eta), indices(modes.etad))
            self._islands[inside].scopes.add(Scope("damping", i))
        self._island_of_modes.append(inside)
        for number, node in self._nodes[i].values():
            self._join_loads(i, number, node)
        for number, name in self._wheels_of(i):
            self._join_wheel(i, number, *self._nodes[i][name])

    def _join_loads(self, i: int, number: int, node: ReducedNode) -> None:
        """A force is felt where the node can move, a torque where it can turn."""
        island, path = self._island_at(i, node), self._paths.nodes[number]
        force, torque = _load(self._model, number)
        if path.drift:
            self._islands[island].inputs |= force
        if path.spin:
            self._islands[island].inputs |= torque

    def _join_wheel(self, i: int, number: int, at: int, node: ReducedNode) -> None:
        wheel, path = self._model.wheels[number], self._paths.nodes[at]
        if path.spin:
            self._take(self._island_at(i, node), frozenset(), {wheel.u}, {wheel.input})
        else:
            self._alone[number] = path
            self._island_of_u[wheel.u] = len(self._islands)
            self._islands.append(Reads(inputs={wheel.input}))

    def _island_at(self, i: int, node: ReducedNode) -> int:
        """The island that moves a node of a body; -1 if none does."""
        return self._island_of_modes[i] if any(flexes(node)) else self._island_of_head[i]

    def _new_island(self) -> int:
        self._islands.append(Reads(scopes={_GRAVITY}))
        return len(self._islands) - 1

    def _take(
        self,
        island: int,
        q: frozenset[int],
        u: set[int] | frozenset[int],
        inputs: set[int] | frozenset[int] = frozenset(),
    ) -> None:
        # accelerations do not depend on where a cyclic coordinate is, unless a spring pulls it
        self._islands[island].q |= q - (self._paths.cyclic - self._sprung)
        self._islands[island].u |= u
        self._islands[island].inputs |= inputs
        self._island_of_u |= dict.fromkeys(u, island)

    def _wheels_of(self, i: int) -> Iterator[tuple[int, str]]:
        """Numbers of the wheels of a body, each with the name of its node."""
        first = sum(len(body.wheels) for body in self._bodies[:i])
        for number, wheel in enumerate(self._bodies[i].wheels, start=first):
            yield number, wheel.node

    # ------------------------------------------------------------------------------------- loops

    def _find_loop_nodes(self) -> list[list[tuple[int, int, ReducedNode]]]:
        """The nodes that every loop ties together: body, number, node; none for the ground."""
        found = []
        for loop in self._model.mechanism.loops:
            ends = [(loop.parent, loop.parent_node), (loop.child, loop.child_node)]
            found.append([(i, *self._nodes[i][name]) for i, name in ends if i >= 0])
        return found

    def _tie(self, loop: int) -> None:
        """Makes one island of those that a loop ties together, pulled along its gap."""
        ends = self._loop_nodes[loop]
        tied = sorted({self._island_at(i, node) for i, _, node in ends} - {-1})
        if not tied:
            return
        island = self._islands[tied[0]]
        for other in (self._islands[k] for k in tied[1:]):
            island.add(other)
            self._islands = [island if each is other else each for each in self._islands]
        island.add(self._relative(loop, with_rate=True))
        island.inputs |= indices(self._model.loops[loop].input)

    def _relative(self, loop: int, with_rate: bool) -> Reads:
        """What the position, and the rate, of a loop's nodes to each other depends on."""
        reads = Reads()
        for _, number, _ in self._loop_nodes[loop]:
            path = self._paths.nodes[number]
            reads.q |= path.place | path.attitude
            if with_rate:
                reads.u |= path.drift | path.spin
        return reads

    def _loop(self, quantity: str, element: int, index: int) -> Reads:
        """Signals of loops; all but reactions are numbered through held or free directions."""
        is_free = quantity in ("loop_position", "loop_speed")
        loop = element
        if quantity != "loop_reaction":
            places = [slots.freedoms if is_free else slots.rows for slots in self._model.loops]
            loop = next(k for k, at in enumerate(places) if at.start <= index < at.stop)
        reads = self._relative(loop, with_rate=quantity not in ("loop_gap", "loop_position"))
        if quantity in ("loop_force", "loop_reaction"):
            for i, _, node in self._loop_nodes[loop]:
                if self._island_at(i, node) >= 0:
                    reads.add(self._islands[self._island_at(i, node)])
        return reads

    # ------------------------------------------------------------------------------------ forces

    def _find_loads(self) -> tuple[list[Reads], list[Reads]]:
        """What the force and the torque in every body's joint depend on, tips first."""
        count = len(self._bodies)
        forces = [self._common_load(i) for i in range(count)]
        torques = [self._common_load(i) for i in range(count)]
        for i in reversed(range(count)):
            torques[i].scopes.add(Scope("inertia", i))
            for number, node in self._nodes[i].values():
                force, torque = _load(self._model, number)
                forces[i].inputs |= force
                torques[i].inputs |= torque
                if has_arm(node):
                    torques[i].inputs |= force
            for number, _ in self._wheels_of(i):
                wheel = self._model.wheels[number]
                torques[i].inputs.add(wheel.input)
                if self._alone.get(number, Path(turns=True)).turns:
                    torques[i].u.add(wheel.u)  # its spin is turned about
            parent = self._bodies[i].parent
            if parent >= 0:
                forces[parent].add(forces[i])
                torques[parent].add(forces[i])
                torques[parent].add(torques[i])
                # a weight further out has a longer arm
                torques[parent].q |= indices(self._model.joints[i].q) & self._q
        return forces, torques

    def _common_load(self, i: int) -> Reads:
        """What every force in a body's joint depends on: all that accelerates the body, and the
        loops that pull at it."""
        reads = Reads(scopes={_GRAVITY, Scope("mass", i)})
        for island in {self._island_of_head[i], self._island_of_modes[i]} - {-1}:
            reads.add(self._islands[island])
        for loop, ends in enumerate(self._loop_nodes):
            if any(body == i for body, _, _ in ends):
                reads.add(self._loop("loop_reaction", loop, 0))
        return reads

    # ----------------------------------------------------------------------------------- answers

    def _node_motion(self, number: int, index: int) -> Reads:
        path = self._paths.nodes[number]
        if index < 3:
            return Reads(q=set(path.place))
        if index < 7:
            return Reads(q=set(path.attitude))
        if index < 10:
            return Reads(q=set(path.carried), u=set(path.drift))
        if index < 13:
            return Reads(q=set(path.attitude), u=set(path.spin))
        moves = path.drift if index < 16 else path.spin
        return self._islands[self._island_of_u[min(moves)]] if moves else Reads()

    def _inverse_inertia(self, number: int, index: int) -> Reads:
        path = self._paths.nodes[number]
        row = max(i for i in range(6) if i * (i + 1) // 2 <= index)
        column = index - row * (row + 1) // 2
        moves = [path.spin if axis > 2 else path.drift for axis in (row, column)]
        if not all(moves):
            return Reads()
        island = self._islands[self._island_of_u[min(moves[0])]]
        inertial = {scope for scope in island.scopes if scope.kind in ("mass", "inertia")}
        return Reads(q=set(island.q), scopes=inertial)

    def _quaternion_rate(self, element: int) -> Reads:
        turning = [j for j in self._model.joints if self._bodies[j.body].joint.quaternion]
        joint = turning[element]
        return Reads(
            q=set(range(joint.q.stop - 4, joint.q.stop)),
            u=set(range(joint.u.stop - 3, joint.u.stop)),
        )

    def _energy(self, part: int) -> Reads:
        bodies = range(len(self._bodies))
        masses = {Scope("mass", i) for i in bodies}
        inertias = {Scope("inertia", i) for i in bodies}
        kinetic = Reads(self._q - self._paths.cyclic, self._u, scopes=masses | inertias)
        strain = Reads(set().union(*(indices(slots.eta) for slots in self._model.bodies)))
        spring = Reads(self._sprung)
        gravity = Reads(self._q, scopes=masses | {_GRAVITY})
        parts = [kinetic, strain, spring, gravity]
        if part < 4:
            return parts[part]
        if part in (5, 6):
            return Reads()  # work and dissipated energy are accounts over time
        total = Reads(at_start=part == 4)  # the error begins at zero
        for each in parts:
            total.add(each)
        return total

    def _momentum(self, is_angular: bool) -> Reads:
        bodies = range(len(self._bodies))
        masses = {Scope("mass", i) for i in bodies}
        if is_angular:
            return Reads(self._q, self._u, scopes=masses | {Scope("inertia", i) for i in bodies})
        wheels = {wheel.u for wheel in self._model.wheels}
        return Reads(self._q - self._paths.cyclic, self._u - wheels, scopes=masses)


def _load(model: Model, number: int) -> tuple[frozenset[int], frozenset[int]]:
    """Force and torque on a node, as indices of the inputs."""
    first = model.nodes[number].input.start
    return frozenset(range(first, first + 3)), frozenset(range(first + 3, first + 6))


def _nodes_by_body(model: Model) -> list[dict[str, tuple[int, ReducedNode]]]:
    """The nodes of every body by name, each with its number in the model."""
    number = 0
    bodies: list[dict[str, tuple[int, ReducedNode]]] = []
    for body in model.mechanism.bodies:
        names = body.reduced.nodes
        bodies.append({name: (number + k, names[name]) for k, name in enumerate(names)})
        number += len(names)
    return bodies
