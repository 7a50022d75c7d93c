"""A model in motion, advanced by the caller.

>>> sim = pl.Simulation("arm.yaml", step=1e-3)            # doctest: +SKIP
>>> sim.joint("elbow").torque = 12.0                      # doctest: +SKIP
>>> sim.advance(2.0)                                      # doctest: +SKIP
>>> sim.node("hand.pad").position                         # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Literal, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from pliant._kernel import (
    DOUBTFUL_ENERGY_ERROR,
    LARGEST_COORDINATE,
    LARGEST_INPUT,
    LARGEST_SPEED,
    LONGEST_STEP,
    SHORTEST_STEP,
    Kernel,
    Signals,
    Status,
)
from pliant.attributes import Guarded
from pliant.closing import LoopWatch
from pliant.compile import at_equilibrium, compile_model
from pliant.errors import EnergyWarning, ModelError, Problem, SolverError, warn
from pliant.handles import BodyHandle, JointHandle, LoopHandle, NodeHandle, WheelHandle
from pliant.inputs import Inputs, InputState, Motions, MotionState, as_numbers
from pliant.model import Model
from pliant.motion_tables import warn_of_tables
from pliant.options import ALGORITHMS, INTEGRATORS, NODE_ROTATIONS
from pliant.part import show, suggest
from pliant.reduced import Array
from pliant.stability import DEFAULT_STEP, default_step, warn_of_step
from pliant.system import System

_WHOLE_STEPS = 1e-6  # tolerance on a duration, in steps
_NOT_FINITE = 9  # of the kernel's codes


@dataclass(frozen=True)
class Energy:
    """Energies now, and what went in and out since the start, in J."""

    kinetic: float
    strain: float  # of the modes
    spring: float  # of joint springs and stops
    gravity: float  # potential, zero at the world origin
    total: float  # of those four
    work: float  # done by inputs, loads and prescribed motion since the start
    dissipated: float  # by damping and friction since the start
    error: float  # energy that appeared since the start without work: the integrator's error

    def __repr__(self) -> str:
        parts = (f"{name}={value:.6g}" for name, value in vars(self).items())
        return f"Energy({', '.join(parts)})"


class Momentum(NamedTuple):
    """Momentum, and angular momentum about the world origin, world axes."""

    linear: Array
    angular: Array


@dataclass(frozen=True)
class SavedState:
    """Everything a continuation depends on; made by ``save_state``."""

    digest: str
    step_size: float
    kernel: bytes
    inputs: InputState
    motions: MotionState


class Simulation(Guarded):
    """A model with a state, advanced in steps of fixed length.

    ``system`` is a System, a model file or a compiled Model. Without a ``step`` it is a
    millisecond, or what the model needs if that is shorter. ``algorithm`` is ``order_n`` or
    ``dense``, ``integrator`` ``leapfrog``, ``rk4`` or ``euler_cromer``. ``node_rotation="paper"``
    is the first-order approximation of the literature, for comparison only. ``loop_steps`` is the
    time, in steps, in which gaps of loops are closed (Baumgarte), at least 2; infinity leaves them
    alone, None is 3 for leapfrog and 10 for the others. ``project_loops`` moves positions and
    speeds onto the loops after every step, at about three times the cost.
    ``start="equilibrium"`` starts where the model rests under its weight and loads at t = 0, found
    downhill from its start; speeds stay as given.

    A step beyond the limit of stability is a StepWarning (``pliant.stability`` has the rule).

    ``model`` is the compiled model, ``step_size`` the step in s; they, ``algorithm``,
    ``integrator`` and ``node_rotation`` are those of the start and stay.
    """

    model: Final[Model]
    step_size: Final[float]
    algorithm: Final[str]
    integrator: Final[str]
    node_rotation: Final[str]
    kernel: Final[Kernel]
    motions: Final[Motions]
    accounts: int = 0
    """How often the account of energy was opened."""

    _instead: ClassVar[Mapping[str, str]] = {
        "": "it is computed as the model moves",
        "q": "use .set_state(q=...)",
        "u": "use .set_state(u=...)",
        "time": "use .advance(...) or .reset()",
        "t": "use .time",
        **dict.fromkeys(("dt", "h"), "use .step_size"),
        "step_size": "it is chosen once: Simulation(model, step=...)",
        "algorithm": "it is chosen once: Simulation(model, algorithm=...)",
        "integrator": "it is chosen once: Simulation(model, integrator=...)",
        "node_rotation": "it is chosen once: Simulation(model, node_rotation=...)",
        "model": "make another Simulation of another model",
        "gravity": "it is the model's: set it on the System and make a Simulation of that",
        "torque": "efforts belong to joints and wheels: .joint(...).torque",
        "force": "efforts belong to joints, loads to nodes: .joint(...).force, "
        ".node(...).apply(force=...)",
        "effort": "efforts belong to joints: .joint(...).effort",
        "joints": "use .joint(name); the names are [joint.name for joint in sim.model.joints]",
        "bodies": "use .body(name); the names are [body.name for body in sim.model.bodies]",
        "nodes": "use .node(name); the names are [node.name for node in sim.model.nodes]",
        "run": "use .advance(seconds), or pl.simulate(...) for a recorded run",
        "simulate": "use .advance(seconds), or pl.simulate(...) for a recorded run",
    }

    def __init__(
        self,
        system: System | Model | str | Path,
        step: float | None = None,
        *,
        algorithm: str = "order_n",
        integrator: str = "leapfrog",
        node_rotation: str = "exact",
        loop_steps: float | None = None,
        project_loops: bool = False,
        start: Literal["equilibrium"] | None = None,
    ) -> None:
        _check_options(
            DEFAULT_STEP if step is None else step,
            loop_steps,
            *([] if start is None else [("start", start, ("equilibrium",))]),
            ("algorithm", algorithm, ALGORITHMS),
            ("integrator", integrator, INTEGRATORS),
            ("node_rotation", node_rotation, NODE_ROTATIONS),
        )
        model = as_model(system)
        self.model = model if start is None else at_equilibrium(model)
        if step is None:
            step = default_step(self.model, integrator)
        else:
            warn_of_step(self.model, step, integrator)
        self.step_size = float(step)
        warn_of_tables(self.model.mechanism, self.step_size)
        self.algorithm = algorithm
        self.integrator = integrator
        self.node_rotation = node_rotation
        if not isinstance(project_loops, bool):
            raise ModelError.at("project_loops", f"{show(project_loops)} is not True or False")
        self.kernel = Kernel(self.model.blob)
        self.kernel.configure(
            step=self.step_size,
            integrator=integrator,
            algorithm=algorithm,
            node_rotation=node_rotation,
            loop_steps=0.0 if loop_steps is None else loop_steps,
            project_loops=project_loops,
        )
        self.motions = Motions(self.model, self.kernel)
        self._loop_watch = LoopWatch(self.model, self.kernel)
        self._joints = {slots.name: slots for slots in self.model.joints}
        self._nodes = {slots.name: i for i, slots in enumerate(self.model.nodes)}
        self._loops = {slots.name: i for i, slots in enumerate(self.model.loops)}
        self._wheels = {slots.name: slots for slots in self.model.wheels}
        self._bodies = {slots.name: slots for slots in self.model.bodies}
        self.reset()

    def __repr__(self) -> str:
        return f"Simulation({self.model.name!r} at t = {self.time:g} s, step {self.step_size:g} s)"

    def _called(self) -> str:
        return "the simulation"

    def _repr_html_(self) -> str:
        from pliant.notebook import simulation_table

        return simulation_table(self)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        # two that share one kernel would move each other
        raise TypeError(
            "a Simulation cannot be copied or pickled; save_state() keeps its state, and "
            "Simulation(sim.model, sim.step_size) is another one of the same model"
        )

    # ----------------------------------------------------------------------------------- state

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return self.kernel.time

    @property
    def q(self) -> Array:
        """Coordinates: for each body joint coordinates, then modes. Read only."""
        return _read_only(self.kernel.q)

    @property
    def u(self) -> Array:
        """Speeds: for each body joint speeds, modal rates, wheel speeds. Read only."""
        return _read_only(self.kernel.u)

    def set_state(self, q: ArrayLike | None = None, u: ArrayLike | None = None) -> None:
        """Puts the model elsewhere at the present time; what is not given stays.

        The account of energy starts anew from here. Prescribed joints stay where their motion
        has them; locked ones can be put elsewhere, but not in motion; loops must be closed there.
        Their angles count the turns of the straight way from q before to q now.
        """
        parts = []
        for what, given, view, limit in (
            ("q", q, self.kernel.q, LARGEST_COORDINATE),
            ("u", u, self.kernel.u, LARGEST_SPEED),
        ):
            if given is None:
                continue
            values = as_numbers(given)
            if values is None:
                raise ModelError.at(what, f"{show(given)} is no array of numbers")
            if values.shape != view.shape:
                raise ModelError.at(what, f"{values.shape} given; this model has {view.shape}")
            if not np.isfinite(values).all():
                raise ModelError.at(what, "it has entries that are not finite; give numbers")
            if not (np.abs(values) <= limit).all():
                worst = np.abs(values).max()
                raise ModelError.at(what, f"{worst:g} is beyond mechanics; give up to {limit:g}")
            parts.append((view, values))
        before, gaps = self.kernel.state(), self._loop_watch.look()
        start = self.kernel.q.copy()
        for view, values in parts:
            view[:] = values
        try:
            self._refuse_moving_locks()
            if not self.kernel.is_sane:
                raise ModelError.at("q", "a quaternion in it has not the length 1")
            self._loop_watch.count_turns(start)
            self.kernel.state_written()
            torn = self._loop_watch.torn(gaps)
            if problems := [Problem(f"loop {name}", text) for name, text in torn]:
                raise ModelError(problems)
        except ModelError:
            self.kernel.set_state(before)
            raise
        self._opens_account()

    def _refuse_moving_locks(self) -> None:
        for joint in self.model.joints:
            if self.kernel.is_locked(joint.body) and self.kernel.u[joint.u].any():
                raise ModelError.at(
                    "u", f"joint {joint.name} is locked, and stands; give it 0, or release it first"
                )

    @property
    def inputs(self) -> Inputs:
        """What acts on the model from outside, in the order of the kernel's inputs."""
        return self._inputs

    def evaluate(self) -> Array:
        """Accelerations of all speeds for the present state and inputs."""
        self.checked(self.kernel.evaluate())
        return self.kernel.udot

    def read(self, signals: Signals, out: Array) -> None:
        """Fills ``out`` with signals of the present state and inputs; see ``kernel.signals``."""
        self.checked(self.kernel.read(signals, out))

    def reset(self) -> None:
        """Back to the start of the model; inputs set from outside are taken away."""
        self._inputs = Inputs(self.kernel)
        self.kernel.reset()
        self.motions.reset()
        self.kernel.start_turns()
        self.kernel.open_account()
        self._opens_account()

    def save_state(self) -> SavedState:
        """The present state and inputs, to go back to later; what follows is then the same
        to the last bit.

        >>> before = sim.save_state()                             # doctest: +SKIP
        >>> sim.advance(0.5); sim.restore_state(before)           # doctest: +SKIP
        """
        return SavedState(
            self.model.digest,
            self.step_size,
            self.kernel.state(),
            self.inputs.save(),
            self.motions.save(),
        )

    def restore_state(self, saved: SavedState) -> None:
        """Goes back to a saved state of the same model and step."""
        if not isinstance(saved, SavedState):
            raise ModelError.at(
                "saved state", f"{show(saved)} is none; give what save_state() gave"
            )
        if saved.digest != self.model.digest:
            raise ModelError.at("saved state", "it belongs to another model")
        if saved.step_size != self.step_size:
            raise ModelError.at(
                "saved state",
                f"it was saved at a step of {saved.step_size:g} s, not {self.step_size:g} s",
            )
        before = self.kernel.state()
        try:
            self.kernel.set_state(saved.kernel)
            self.inputs.restore(saved.inputs, self.kernel.time)
        except BaseException:
            self.kernel.set_state(before)
            raise
        self.motions.restore(saved.motions)

    # -------------------------------------------------------------------------------- advancing

    def advance(self, seconds: float) -> None:
        """Goes on by a time, which must be a whole number of steps."""
        self.step(whole_steps(seconds, self.step_size, "advance"))

    def step(self, count: int = 1) -> None:
        """Goes on by a number of steps.

        A step that fails raises a SolverError; the state is then that of the last good step. An
        energy error that makes the run doubtful is an EnergyWarning, once.
        """
        if not is_count(count, 0):
            raise ModelError.at("step", f"{show(count)} is no number of steps; give 0 or more")
        if not (self.inputs.is_varying or self.motions):
            self.checked(self.kernel.step(count))
        else:
            for _ in range(count):
                start = self.kernel.time
                self.inputs.prepare(start, start + self.step_size)
                self.motions.prepare(start + self.step_size)
                self.checked(self.kernel.step(1))
        self.tell_doubt(self.doubt)

    def _opens_account(self) -> None:
        """Of energy: what was found of the one before is no more of interest."""
        self.accounts += 1
        self._told_doubt = False

    def tell_doubt(self, doubt: str | None) -> None:
        """Warns of what makes the run doubtful, once."""
        if doubt is not None and not self._told_doubt:
            self._told_doubt = True
            warn(f"{self.model.name}: {doubt}", EnergyWarning)

    def checked(self, status: Status) -> None:
        """Raises a SolverError if a call of the kernel failed."""
        if status.code:
            raise failure(self.model, status, self.time)

    # --------------------------------------------------------------------------------- elements

    def joint(self, name: str) -> JointHandle:
        """A joint by its name in the model."""
        return JointHandle(self, self._joints[self._known("joint", name, self._joints)])

    def loop(self, name: str) -> LoopHandle:
        """A loop by its name in the model."""
        index = self._loops[self._known("loop", name, self._loops)]
        return LoopHandle(self, self.model.loops[index], index)

    def node(self, name: str) -> NodeHandle:
        """A node by ``body.node``; the body's name alone means its head."""
        full = f"{name}.head" if name in self._bodies else name
        index = self._nodes[self._known("node", full, self._nodes)]
        return NodeHandle(self, self.model.nodes[index], index)

    def wheel(self, name: str) -> WheelHandle:
        """A wheel by ``body.wheel``."""
        return WheelHandle(self, self._wheels[self._known("wheel", name, self._wheels)])

    def body(self, name: str) -> BodyHandle:
        """A body by its name in the model."""
        return BodyHandle(self, self._bodies[self._known("body", name, self._bodies)])

    def _known(self, kind: str, name: str, here: Mapping[str, object]) -> str:
        """The name, if there is such an element."""
        if name in here:
            return name
        tables: dict[str, Mapping[str, object]] = {
            "joint": self._joints,
            "loop": self._loops,
            "node": self._nodes,
            "wheel": self._wheels,
            "body": self._bodies,
        }
        for other, table in tables.items():
            if name in table:
                hint = f"'{name}' is a {other}: use .{other}('{name}')"
                raise ModelError.at(f"{kind} '{name}'", f"there is none; {hint}")
        hint = suggest(name, here) if here else f"the model has no {kind}s"
        raise ModelError.at(f"{kind} '{name}'", f"there is none; {hint}")

    # ------------------------------------------------------------------------------ diagnostics

    @property
    def energy(self) -> Energy:
        """Energies now, and what went in and out since the start, J."""
        return Energy(*self.kernel.energy().tolist())

    @property
    def energy_error(self) -> float:
        """Energy in J that appeared since the start without work: the integrator's error."""
        return self.energy.error

    @property
    def energy_doubt(self) -> float:
        """Largest energy error since the start, relative to the energy that moved.

        Found every 64 steps in which the motion did not grow much. Above 0.1 (euler_cromer: 1) a
        run is not to be trusted; above 1 (euler_cromer: 100) a step fails with a SolverError.
        """
        return self.kernel.energy_doubt

    @property
    def doubt(self) -> str | None:
        """What makes the run doubtful, in a sentence; None if nothing does."""
        return self.doubt_of(self.energy_doubt)

    def doubt_of(self, error: float) -> str | None:
        """The same of an energy error, relative to the energy that moved."""
        if not error > DOUBTFUL_ENERGY_ERROR[self.integrator]:
            return None
        return (
            f"t = {self.time:g} s: the energy error has come to {100.0 * error:.3g} % of the "
            "energy that moved: do not trust this run; take a shorter step ('pliant check' names "
            "the limit)"
        )

    @property
    def momentum(self) -> Momentum:
        """Momentum, N s, and angular momentum about the world origin, N m s."""
        values = self.kernel.momentum()
        return Momentum(values[:3].copy(), values[3:].copy())


def failure(model: Model, status: Status, time: float) -> SolverError:
    """What a failed call of the kernel means."""
    element, message = _describe(model, status)
    return SolverError(message, time=time, element=element, value=status.value)


def as_model(system: System | Model | str | Path) -> Model:
    """Loads and compiles as far as that is still to be done."""
    if isinstance(system, Model):
        return system
    if isinstance(system, (str, Path)):
        from pliant.model_file import load

        system = load(system)
    if not isinstance(system, System):
        raise ModelError.at(
            "system", f"{show(system)} is none; give a System, a Model or the path of a model file"
        )
    return compile_model(system)


def whole_steps(seconds: float, step: float, where: str) -> int:
    """The number of steps in a duration, which must be whole to a millionth of a step.

    >>> whole_steps(2.0, 1e-3, "advance")
    2000
    >>> whole_steps(0.5, 0.4, "advance")
    Traceback (most recent call last):
    pliant.errors.ModelError: advance: 0.5 s is no whole number of steps of 0.4 s; take 0.4 or 0.8 s
    """
    ratio = seconds / step if _is_number(seconds) and np.isfinite(seconds) else np.nan
    if not (0.0 <= ratio < 2**53):
        most = "less than 9e15 steps" if ratio > 0.0 else "a finite time of 0 or more"
        raise ModelError.at(where, f"{show(seconds)} s is not a duration; give {most}")
    count = round(ratio)
    if abs(ratio - count) > _WHOLE_STEPS:
        below = int(ratio)
        raise ModelError.at(
            where,
            f"{seconds:.12g} s is no whole number of steps of {step:g} s; "
            f"take {below * step:.12g} or {(below + 1) * step:.12g} s",
        )
    return count


def _check_options(
    step: float, loop_steps: float | None, *choices: tuple[str, str, Iterable[str]]
) -> None:
    problems = []
    if not (_is_number(step) and SHORTEST_STEP <= step <= LONGEST_STEP):
        span = f"{SHORTEST_STEP:g} to {LONGEST_STEP:g} s"
        problems.append(Problem("step", f"{show(step)} is not a step; give a time from {span}"))
    for where, value, known in choices:
        if value not in known:
            problems.append(Problem(where, f"'{value}' is unknown; {suggest(value, known)}"))
    if loop_steps is not None and not (_is_number(loop_steps) and loop_steps >= 2.0):
        problems.append(Problem("loop_steps", f"{loop_steps} is too few; give 2 steps or more"))
    if problems:
        raise ModelError(problems)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def is_count(value: object, least: int) -> bool:
    """Whether it is a whole number of at least so much."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return whole and int(value) >= least  # type: ignore[call-overload]


def _read_only(view: Array) -> Array:
    """Writing past the kernel's back would leave the integrator's memory of the past stale."""
    view = view[:]
    view.flags.writeable = False
    return view


def _describe(model: Model, status: Status) -> tuple[str, str]:
    """The element that a failed call points at, and what to do about it."""
    codes = {
        1: (
            model.freedom_names,
            "what hangs on this freedom has no inertia along it; give the bodies outboard of it "
            "mass or inertia, or make the joint fixed",
        ),
        2: (
            model.speed_names,
            "it has no inertia of its own; check the shapes and masses behind it",
        ),
        3: (
            model.speed_names,
            "the motion grew without bound; take a shorter step, fewer or lower modes, or look "
            "for loads and springs too stiff for the step ('pliant check' names the limit)",
        ),
        4: (
            model.input_names,
            f"the input is no number within {LARGEST_INPUT:g}; check what is applied there",
        ),
        5: (
            model.row_names,
            "it cannot be held: nothing moves it, or it contradicts the other directions that "
            "loops hold, and it is opening; change the joints on the loop's path, or its type",
        ),
        6: (
            model.row_names,
            "its force is lost in rounding: the bodies between the loop's ends are too light "
            "beside those that they connect; give them mass, or weld them together in the tree",
        ),
        7: (
            model.speed_names,
            "energy came out of nothing, as much as all that moved before; take a shorter step "
            "('pliant check' names the limit)",
        ),
        8: (
            model.freedom_names,
            "the axes of its joint line up (gimbal lock), where its angles describe no motion; "
            "use a spherical joint, other axes or a shorter step",
        ),
    }
    if status.code == _NOT_FINITE:
        return model.name, (
            "what was asked for is beyond the range of numbers; look for values of extreme size"
        )
    names, message = codes[status.code]
    return names[status.element], message
