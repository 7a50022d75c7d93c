"""How a model is exported as an FMU: the ``fmu:`` section of a model file."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import PlainValidator

from pliant.fields import Flag, choice, positives
from pliant.limits import STEP
from pliant.options import ALGORITHMS, INTEGRATORS
from pliant.part import Part, fail, show

NAMINGS = ("structured", "flat")


def _patterns(value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, (list, tuple)):
        raise fail(f"{show(value)} is not a list; write [joint.elbow, node.*.r]")
    for item in value:
        if not isinstance(item, str) or not item:
            raise fail(f"{show(item)} is not a pattern; give names of variables such as node.*.r")
    return tuple(value)


Patterns: TypeAlias = Annotated[list[str] | tuple[str, ...], PlainValidator(_patterns)]


class Fmu(Part):
    """What an FMU of the model exposes, and how it is solved inside.

    ``include`` adds to what is exposed by default, ``exclude`` takes away. Both hold names of
    variables, with ``*`` and ``?``, or beginnings of them. By default there are all joint efforts
    and states, wheels, contact nodes with their loads and motion, energies, momentum and the
    parameters. On request: reactions, modes, energy accounts, loads on and motion of any other
    node, and inverse inertia.

    >>> Fmu(include=["node.boom.tip", "joint.*.reaction"], exclude=["momentum"]).include
    ('node.boom.tip', 'joint.*.reaction')
    """

    step: Annotated[float, positives(STEP)] | None = None
    """Internal step, s; the FMU's parameter solver.h changes it. Left out: a millisecond, or what
    the model needs to be followed and stable if that is shorter."""
    integrator: Annotated[
        Literal["euler_cromer", "leapfrog", "rk4"], PlainValidator(choice(*INTEGRATORS))
    ] = "leapfrog"
    """The integrator: leapfrog, rk4 or euler_cromer."""
    algorithm: Annotated[Literal["order_n", "dense"], PlainValidator(choice(*ALGORITHMS))] = (
        "order_n"
    )
    """The algorithm: order_n or dense."""
    naming: Annotated[Literal["structured", "flat"], PlainValidator(choice(*NAMINGS))] = (
        "structured"
    )
    """How variables are named: structured (joint.elbow.q) or flat (joint_elbow_q), for tools
    that make buses out of structured names."""
    defaults: Flag = True
    """Whether to begin with what is exposed by default; false: with nothing."""
    include: Patterns = ()
    """Variables to expose as well, such as [node.boom.tip, joint.*.reaction]."""
    exclude: Patterns = ()
    """Variables not to expose, such as [energy, momentum]."""
