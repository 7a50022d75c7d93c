"""The variable table: what an FMU of a model exposes, derived from the compiled model.

A variable's place in the table is its value reference. Every state and its derivative are there,
as locals if nobody asked for them, so that directional derivatives can name them.

By default an FMU has

- inputs: the efforts of all joints but those that let a body float freely, whose loads come in at
  nodes; the loads of contact nodes; the torques of wheels;
- outputs: position, speed and acceleration of every joint, of wheels and of contact nodes; the
  effort that a prescribed motion takes; energies, momentum, and the internal step to take;
- all parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from pliant.channels import Channel, Input, Named, all_channels, all_inputs, base_of, choose
from pliant.errors import ModelError, Problem
from pliant.model import Model
from pliant.model_description.naming import NAMINGS
from pliant.model_description.parameters import (
    POSITIVE,
    ParameterVector,
    all_parameters,
    floats,
)
from pliant.model_description.signals import Signals, signal_of
from pliant.model_description.steering import lock_inputs, motion_inputs
from pliant.model_description.units import unit_name
from pliant.model_description.variable import (
    Constant,
    InputSlot,
    Parameter,
    Setting,
    Signal,
    Variable,
    VariableType,
)
from pliant.motion import InputMotion
from pliant.options import ALGORITHMS, INTEGRATORS
from pliant.part import suggest
from pliant.stability import StepLimit

# Only on request: they are many, or cost something.
_ON_REQUEST = re.compile(
    r"joint\..*\.reaction\..*|body\..*\.eta(d|dd)?\[.*|energy\.(work|dissipated|error)"
    r"|node\..*\.inverse_inertia\[.*|joint\..*\.(lock|effort(\[.*)?)"
)
_LIVE = -1  # dof.drive of a freedom that is moved from outside


@dataclass(frozen=True)
class TableOptions:
    """What to expose, and the settings of the solver inside.

    ``include`` and ``exclude`` hold patterns as in ``pliant.channels``; without ``defaults``
    nothing is exposed but what is included. ``h_suggested`` is the internal step that follows the
    fastest vibration; None if there is none. ``step_limits`` are those of the integrators, for the
    FMU to warn of.
    """

    step: float = 1e-3
    integrator: str = "leapfrog"
    algorithm: str = "order_n"
    naming: str = "structured"
    defaults: bool = True
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    h_suggested: float | None = None
    step_limits: Mapping[str, StepLimit] = field(default_factory=dict)

    def __post_init__(self) -> None:
        problems = []
        if not (np.isfinite(self.step) and self.step > 0.0):
            problems.append(Problem("step", f"{self.step} is not a step; give a time above 0 s"))
        for where, value, known in (
            ("integrator", self.integrator, INTEGRATORS),
            ("algorithm", self.algorithm, ALGORITHMS),
            ("naming", self.naming, NAMINGS),
        ):
            if value not in known:
                problems.append(Problem(where, f"'{value}' is unknown; {suggest(value, known)}"))
        if problems:
            raise ModelError(problems)


@dataclass(frozen=True)
class VariableTable:
    """The variables of an FMU; a value reference is a row.

    >>> table = VariableTable.build(compile_model("arm.yaml"))                # doctest: +SKIP
    >>> table["joint.elbow.qd"].derivative_of                                 # doctest: +SKIP
    'joint.elbow.q'
    """

    model: Model
    options: TableOptions
    variables: tuple[Variable, ...]
    checks: tuple[tuple[int, int], ...]  # kind, number of the first parameter

    @classmethod
    def build(cls, model: Model, options: TableOptions | None = None) -> VariableTable:
        """Raises a ModelError if the model cannot be exported or a pattern matches nothing."""
        options = TableOptions() if options is None else options
        _refuse_functions(model)
        signals, channels = Signals(model), _outputs(model)
        inputs, vectors = all_inputs(model), all_parameters(model)
        solver = _solver_variables(options)
        steering = [*motion_inputs(model), *lock_inputs(model)]
        others = [*steering, *_parts(vectors), *solver]
        chosen = _chosen(model, options, [*inputs, *channels], others)

        shown = [c for c in channels if c.name in chosen]
        hidden = [c for c in channels if c.name not in chosen and _is_of_state(signals, c)]
        # the components of a parameter go together, so that they can be checked together
        kept = [v for v in vectors if all(c.path in chosen for c in v.components)]
        variables = [
            *(_input_variable(item) for item in inputs if item.name in chosen),
            *(variable for variable in steering if variable.path in chosen),
            *(signals.variable(channel, "output") for channel in shown),
            *(signals.variable(channel, "local") for channel in hidden),
            *_parts(kept),
            *(variable for variable in solver if variable.path in chosen),
        ]
        return cls(model, options, _named(variables, signals, options.naming), _checks(kept))

    def __len__(self) -> int:
        return len(self.variables)

    def __getitem__(self, name: str) -> Variable:
        return self.variables[self.reference(name)]

    def reference(self, name: str) -> int:
        """The value reference of a variable."""
        return self._references[name]

    @cached_property
    def _references(self) -> dict[str, int]:
        return {variable.name: i for i, variable in enumerate(self.variables)}

    @cached_property
    def states(self) -> dict[int, int]:
        """Value references of the continuous states, each with that of its derivative."""
        signals = Signals(self.model)
        pairs = {}
        for i, variable in enumerate(self.variables):
            if variable.derivative_of:
                state = self.reference(variable.derivative_of)
                source = self.variables[state].source
                if isinstance(source, Signal) and signals.is_state(source):
                    pairs[state] = i
        return pairs


def _refuse_functions(model: Model) -> None:
    problems = [
        Problem(
            f"joints.{joint.name}.motion",
            "is a Python function, which an FMU cannot hold; give a table, "
            "pl.Motion(times=..., position=...), or write motion: input",
        )
        for joint in model.joints
        if np.any(model.sections["dof.drive"][joint.input] == _LIVE)
        and not isinstance(model.mechanism.bodies[joint.body].joint.motion, InputMotion)
    ]
    if problems:
        raise ModelError(problems)


def _outputs(model: Model) -> list[Channel]:
    """What can be an output. The effort of a joint is an input unless its motion is prescribed;
    what actuator and lock together do is then ``joint.elbow.effort``."""
    outputs = []
    for channel in all_channels(model):
        quantity, body = channel.source
        if quantity == "effort" and not model.mechanism.bodies[body].joint.prescribed:
            base, bracket, index = channel.name.partition("[")
            name = f"{base.rpartition('.')[0]}.effort{bracket}{index}"
            channel = replace(channel, name=name, description=f"{channel.description}, and lock")
        outputs.append(channel)
    return outputs


# -------------------------------------------------------------------------------------- selection


@dataclass(frozen=True)
class _Path:
    """The name of a parameter, for patterns to match."""

    name: str


def _chosen(
    model: Model,
    options: TableOptions,
    signals: Sequence[Channel | Input],
    parameters: Sequence[Variable],
) -> set[str]:
    """Paths of the variables to expose."""
    every: list[Named] = [*signals, *(_Path(variable.path) for variable in parameters)]
    chosen = set(_default_paths(model, every)) if options.defaults else set()
    problems: list[Problem] = []
    found: dict[str, set[str]] = {"include": set(), "exclude": set()}
    for what, patterns in (("include", options.include), ("exclude", options.exclude)):
        try:
            found[what] = {item.name for item in choose(every, patterns, f"fmu {what}")}
        except ModelError as error:
            problems += error.problems
    if problems:
        raise ModelError(problems)
    return (chosen | found["include"]) - found["exclude"]


def _default_paths(model: Model, every: Sequence[Named]) -> Iterator[str]:
    contacts = {node.name for node in model.nodes if node.contact}
    afloat = {j.name for j in model.joints if floats(model.mechanism.bodies[j.body])}
    for item in every:
        kind, *element, _ = base_of(item.name).split(".")
        is_idle_node = kind == "node" and ".".join(element) not in contacts
        pushes_afloat = isinstance(item, Input) and kind == "joint" and element[0] in afloat
        if not (is_idle_node or pushes_afloat or _ON_REQUEST.fullmatch(item.name)):
            yield item.name


def _is_of_state(signals: Signals, channel: Channel) -> bool:
    """Whether a channel is a state or the derivative of one."""
    signal = signal_of(channel)
    of = signals.derivative_of(signal)
    return signals.is_state(signal) or (of is not None and signals.is_state(of))


# ------------------------------------------------------------------------------------------- rows


def _input_variable(item: Input) -> Variable:
    return Variable(
        path=item.name,
        name=item.name,
        type="Real",
        causality="input",
        variability="continuous",
        initial="exact",
        description=item.description,
        source=InputSlot(item.index),
        start=0.0,
        unit=unit_name(item.unit),
    )


def _solver_variables(options: TableOptions) -> list[Variable]:
    """Settings, and the step that would do."""

    def setting(number: int, name: str, start: float, description: str) -> Variable:
        kind: VariableType = "Real" if number == 0 else "Enumeration"
        return Variable(
            path=f"solver.{name}",
            name=f"solver.{name}",
            type=kind,
            causality="parameter",
            variability="tunable" if number == 0 else "fixed",
            initial="exact",
            description=description,
            source=Setting(number),
            start=start,
            unit="s" if number == 0 else "",
            min=POSITIVE if number == 0 else None,
            declared_type="" if number == 0 else name.capitalize(),
        )

    suggested = options.step if options.h_suggested is None else options.h_suggested
    # enumerations of FMI count from 1
    integrator = INTEGRATORS.index(options.integrator) + 1
    algorithm = ALGORITHMS.index(options.algorithm) + 1
    return [
        setting(0, "h", options.step, "longest internal step; it divides the communication step"),
        setting(1, "integrator", integrator, "how the motion is advanced over a step"),
        setting(2, "algorithm", algorithm, "how the accelerations are found"),
        Variable(
            path="solver.h_suggested",
            name="solver.h_suggested",
            type="Real",
            causality="output",
            variability="constant",
            initial="exact",
            description="internal step that follows the fastest vibration of the model as exported",
            source=Constant(suggested),
            start=suggested,
            unit="s",
        ),
    ]


def _parts(vectors: Sequence[ParameterVector]) -> list[Variable]:
    return [component for vector in vectors for component in vector.components]


def _checks(vectors: Sequence[ParameterVector]) -> tuple[tuple[int, int], ...]:
    checks, number = [], 0
    for vector in vectors:
        if vector.check is not None:
            checks.append((vector.check, number))
        number += len(vector.components)
    return tuple(checks)


def _named(variables: Sequence[Variable], signals: Signals, naming: str) -> tuple[Variable, ...]:
    """With the names of the FMU, and derivatives linked by them."""
    names = NAMINGS[naming]([variable.path for variable in variables])
    name_of = {v.source: names[v.path] for v in variables if isinstance(v.source, Signal)}
    result = []
    for variable in variables:
        of = None
        if isinstance(variable.source, Signal):
            of = signals.derivative_of(variable.source)
        linked = name_of.get(of, "") if of is not None else ""
        result.append(replace(variable, name=names[variable.path], derivative_of=linked))
    return tuple(result)


def parameter_variables(table: VariableTable) -> list[Variable]:
    """The parameters of the model in the order of their numbers."""
    return [v for v in table.variables if isinstance(v.source, Parameter)]
