"""Errors of pliant: what was wrong, where, and what would be right.

``ModelError`` is the author's to mend and lists every problem found, not only the first;
``SolverError`` stops a run and says when and on which element. What may be meant but is likely
not is a ``PliantWarning``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from typing_extensions import Self


class PliantError(Exception):
    """Everything pliant raises on purpose."""


class PliantWarning(UserWarning):
    """Everything pliant warns of.

    >>> import warnings
    >>> warnings.simplefilter("error", PliantWarning)             # doctest: +SKIP
    """


class StepWarning(PliantWarning):
    """A step beyond the limit of stability."""


class DeflectionWarning(PliantWarning):
    """A flexible body that was deflected further than its modes can carry."""


class EnergyWarning(PliantWarning):
    """A run whose energy error makes it doubtful."""


def warn(text: str, category: type[PliantWarning]) -> None:
    """Issues a warning at the line outside this package that led to it."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("pliant."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


@dataclass(frozen=True)
class Problem:
    """One thing to mend in a model.

    ``where`` is the element's path, with file and line in front if the model came from a file.

    >>> print(Problem("arm.yaml:7: joints.elbow.axis", "[0, 0, 0] has no length; give a direction"))
    arm.yaml:7: joints.elbow.axis: [0, 0, 0] has no length; give a direction
    """

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


class ModelError(PliantError):
    """A model that cannot be used, with all its problems, one a line.

    >>> error = ModelError([Problem("bodies.rod.mass", "-1.0 is not above zero")])
    >>> error.problems[0].where
    'bodies.rod.mass'
    >>> print(error)
    bodies.rod.mass: -1.0 is not above zero
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__(self.problems)

    @classmethod
    def at(cls, where: str, message: str) -> Self:
        """A single problem."""
        return cls([Problem(where, message)])

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class UnknownAttributeError(ModelError, AttributeError):
    """A name that an object does not have, or that cannot be set on it.

    >>> print(UnknownAttributeError.at("joint slew", "has no 'toque'; did you mean 'torque'?"))
    joint slew: has no 'toque'; did you mean 'torque'?
    """


class UnknownNameError(ModelError, KeyError):
    """A channel that a result does not have."""


class SolverError(PliantError):
    """A run that cannot go on.

    ``time`` is the time of the last good state, ``element`` the body, joint or node that failed
    and ``value`` the number that gave it away.

    >>> print(SolverError("speed is not finite", time=0.25, element="elbow", value=float("inf")))
    t = 0.25 s: elbow: speed is not finite (inf)
    """

    def __init__(self, message: str, *, time: float, element: str, value: float) -> None:
        super().__init__(message)
        self.message = message
        self.time = time
        self.element = element
        self.value = value

    def __str__(self) -> str:
        return f"t = {self.time:g} s: {self.element}: {self.message} ({self.value:g})"

    def __reduce__(self) -> tuple[object, ...]:
        # keyword arguments do not survive the default pickling of exceptions
        return _solver_error, (self.message, self.time, self.element, self.value)


def _solver_error(message: str, time: float, element: str, value: float) -> SolverError:
    return SolverError(message, time=time, element=element, value=value)
