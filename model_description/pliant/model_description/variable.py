"""One row of the variable table: what an importer sees, and what it means to the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

VariableType: TypeAlias = Literal["Real", "Enumeration", "Boolean"]
Causality: TypeAlias = Literal["input", "output", "local", "parameter"]
Variability: TypeAlias = Literal["constant", "fixed", "tunable", "discrete", "continuous"]
Initial: TypeAlias = Literal["exact", "calculated"]


@dataclass(frozen=True)
class Signal:
    """A number that the kernel computes: one of its quantities, of which element, which entry."""

    quantity: str
    element: int
    index: int


@dataclass(frozen=True)
class InputSlot:
    """A place in the kernel's inputs."""

    index: int


@dataclass(frozen=True)
class MotionSlot:
    """A place in the rows (position, rate, acceleration) of freedoms moved from outside."""

    index: int


@dataclass(frozen=True)
class LockSlot:
    """The lock of the joint that carries a body."""

    body: int


@dataclass(frozen=True)
class Term:
    """A number of the kernel's data that follows a parameter: data = base + slope (p - start)."""

    section: str
    index: int
    slope: float


ScopeKind: TypeAlias = Literal["q", "u", "mass", "inertia", "friction", "damping", "gravity"]


@dataclass(frozen=True)
class Scope:
    """What a parameter belongs to: a coordinate, a speed, a body (by its number), gravity."""

    kind: ScopeKind
    index: int


@dataclass(frozen=True)
class Parameter:
    """A parameter of the model, by the data that follow it."""

    scope: Scope
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Setting:
    """An option of the solver: 0 step, 1 integrator, 2 algorithm."""

    number: int


@dataclass(frozen=True)
class Constant:
    """A number fixed at export."""

    value: float


Source: TypeAlias = Signal | InputSlot | MotionSlot | LockSlot | Parameter | Setting | Constant


@dataclass(frozen=True)
class Variable:
    """A scalar variable of an FMU.

    ``path`` is the name that patterns match, as a record of a run has it; ``name`` is the one in
    the FMU, quoted or flattened. ``derivative_of`` is the name of the variable whose time
    derivative this one is. A limit may be the next number to one that must not be reached.
    """

    path: str
    name: str
    type: VariableType
    causality: Causality
    variability: Variability
    initial: Initial
    description: str
    source: Source
    start: float | None = None
    unit: str = ""
    display_unit: str = ""
    nominal: float | None = None
    min: float | None = None
    max: float | None = None
    declared_type: str = ""
    derivative_of: str = ""
