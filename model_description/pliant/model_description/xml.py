"""Writing modelDescription.xml of FMI 2.0 for co-simulation.

ModelStructure tells of every output, state derivative and start value what it is computed from:
inputs and states at a communication point, inputs and parameters at the start. A list that would
hold all of them is left out, which by FMI means the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from lxml import etree

from pliant import __version__
from pliant.model_description.dependencies import Reach, Reads
from pliant.model_description.naming import model_identifier
from pliant.model_description.parameters import POSITIVE
from pliant.model_description.sections import table_guid
from pliant.model_description.table import VariableTable
from pliant.model_description.units import UNITS
from pliant.model_description.variable import (
    InputSlot,
    LockSlot,
    MotionSlot,
    Parameter,
    Signal,
    Variable,
)
from pliant.options import ALGORITHMS, INTEGRATORS

_LOG_CATEGORIES = {
    "logStatusWarning": "what works but may not be meant",
    "logStatusDiscard": "steps that could not be done",
    "logStatusError": "calls that were refused, and why",
    "logStatusFatal": "failures after which the instance cannot be used",
    "logEvents": "what the instance does",
    "logAll": "everything",
}
_ENUMERATIONS = {
    "Integrator": (
        "how the motion is advanced over a step",
        {
            "euler_cromer": "semi-implicit Euler, order 1",
            "leapfrog": "order 2, one evaluation a step",
            "rk4": "Runge-Kutta, order 4, four evaluations a step",
        },
    ),
    "Algorithm": (
        "how the accelerations are found",
        {
            "order_n": "recursion along the tree, cost in proportion to its size",
            "dense": "mass matrix and Cholesky factors",
        },
    ),
}
_STOP_TIME = 10.0
_COMMUNICATION_STEP = 1e-3  # s, at least; a whole number of internal steps


@dataclass(frozen=True)
class Capabilities:
    """What a slave can do: attributes of the element CoSimulation, by the names of FMI."""

    needsExecutionTool: bool = False  # noqa: N815
    canHandleVariableCommunicationStepSize: bool = True  # noqa: N815
    canInterpolateInputs: bool = True  # noqa: N815
    maxOutputDerivativeOrder: int = 1  # noqa: N815
    canRunAsynchronuously: bool = False  # noqa: N815  (so spelled in the standard)
    canBeInstantiatedOnlyOncePerProcess: bool = False  # noqa: N815
    canNotUseMemoryManagementFunctions: bool = False  # noqa: N815
    canGetAndSetFMUstate: bool = True  # noqa: N815
    canSerializeFMUstate: bool = True  # noqa: N815
    providesDirectionalDerivative: bool = True  # noqa: N815


def model_description_xml(
    table: VariableTable,
    capabilities: Capabilities | None = None,
    *,
    generated: str | None = None,
) -> bytes:
    """The text of modelDescription.xml; ``generated`` is a date and time such as
    2026-01-31T12:00:00Z.

    >>> model_description_xml(VariableTable.build(model))                     # doctest: +SKIP
    """
    model = table.model
    root = etree.Element(
        "fmiModelDescription",
        _text(
            fmiVersion="2.0",
            modelName=model.name,
            guid=table_guid(table),
            description=f"{len(model.bodies)} bodies, {model.u_size} freedoms",
            generationTool=f"pliant {__version__}",
            generationDateAndTime=generated,
            variableNamingConvention=table.options.naming,
        ),
    )
    can = Capabilities() if capabilities is None else capabilities
    flags = {field.name: getattr(can, field.name) for field in fields(can)}
    identifier = model_identifier(model.name)
    etree.SubElement(root, "CoSimulation", _text(modelIdentifier=identifier, **flags))
    _add_units(root, table.variables)
    _add_types(root, table.variables)
    categories = etree.SubElement(root, "LogCategories")
    for name, description in _LOG_CATEGORIES.items():
        etree.SubElement(categories, "Category", name=name, description=description)
    step = communication_step(table.options.step)
    experiment = _text(startTime=0.0, stopTime=_STOP_TIME, stepSize=step)
    etree.SubElement(root, "DefaultExperiment", experiment)
    variables = etree.SubElement(root, "ModelVariables")
    for reference, variable in enumerate(table.variables):
        _add_variable(variables, table, reference, variable)
    _add_structure(root, table)
    return bytes(etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True))


def communication_step(step: float) -> float:
    """A communication step of a millisecond or more that internal steps divide.

    >>> communication_step(1e-4), communication_step(3e-4), communication_step(0.02)
    (0.001, 0.0012, 0.02)
    """
    count = max(1, -int(-(_COMMUNICATION_STEP / step - 1e-9) // 1))
    return float(f"{count * step:.12g}")


# ----------------------------------------------------------------------------- units and types


def _add_units(root: Any, variables: Iterable[Variable]) -> None:
    used = {variable.unit for variable in variables} - {""}
    units = etree.SubElement(root, "UnitDefinitions")
    for name in sorted(used):
        unit = etree.SubElement(units, "Unit", name=name)
        definition = UNITS[name]
        exponents = {key: getattr(definition, key) for key in ("kg", "m", "s", "rad")}
        etree.SubElement(unit, "BaseUnit", _text(**{k: v for k, v in exponents.items() if v}))
        for display, factor in definition.display:
            etree.SubElement(unit, "DisplayUnit", _text(name=display, factor=factor))


def _add_types(root: Any, variables: Iterable[Variable]) -> None:
    used = {variable.declared_type for variable in variables} - {""}
    if not used:
        return
    types = etree.SubElement(root, "TypeDefinitions")
    for name in sorted(used):
        description, choices = _ENUMERATIONS[name]
        simple = etree.SubElement(types, "SimpleType", name=name, description=description)
        enumeration = etree.SubElement(simple, "Enumeration")
        # in the order of the kernel, counted from 1
        order = INTEGRATORS if name == "Integrator" else ALGORITHMS
        for value, choice in enumerate(order, start=1):
            item = _text(name=choice, value=value, description=choices[choice])
            etree.SubElement(enumeration, "Item", item)


# ------------------------------------------------------------------------------------ variables


def _add_variable(parent: Any, table: VariableTable, reference: int, variable: Variable) -> None:
    scalar = etree.SubElement(
        parent,
        "ScalarVariable",
        _text(
            name=variable.name,
            valueReference=reference,
            description=variable.description,
            causality=variable.causality,
            variability=variable.variability,
            # an input's start is always exact, and not to be said
            initial=None if variable.causality == "input" else variable.initial,
        ),
    )
    start = variable.start
    if variable.type == "Enumeration" and start is not None:
        start = int(start)
    if variable.type == "Boolean":
        start = bool(start)
    of = variable.derivative_of
    etree.SubElement(
        scalar,
        variable.type,
        _text(
            declaredType=variable.declared_type or None,
            unit=variable.unit or None,
            displayUnit=variable.display_unit or None,
            # the limit that must not be reached: the number next to it, 5e-324, is one that not
            # every importer can read
            min=0.0 if variable.min == POSITIVE else variable.min,
            max=variable.max,
            nominal=variable.nominal,
            start=start,
            derivative=table.reference(of) + 1 if of else None,
        ),
    )


# ------------------------------------------------------------------------------------ structure


def _add_structure(root: Any, table: VariableTable) -> None:
    structure = etree.SubElement(root, "ModelStructure")
    knowns = _Knowns(table)
    variables = enumerate(table.variables)
    outputs = [i for i, variable in variables if variable.causality == "output"]
    derivatives = sorted(table.states.values())
    unknown_at_start = {i for i in outputs if table.variables[i].initial == "calculated"}
    unknown_at_start |= set(table.states) | set(derivatives)
    for name, unknowns, dependencies in (
        ("Outputs", outputs, knowns.at_an_instant),
        ("Derivatives", derivatives, knowns.at_an_instant),
        ("InitialUnknowns", sorted(unknown_at_start), knowns.at_the_start),
    ):
        if not unknowns:
            continue
        element = etree.SubElement(structure, name)
        for i in unknowns:
            found = dependencies(i)
            listed = None if found is None else " ".join(str(k + 1) for k in found)
            etree.SubElement(element, "Unknown", _text(index=i + 1, dependencies=listed))


class _Knowns:
    """What is known when outputs are computed: value references of inputs, states, parameters."""

    def __init__(self, table: VariableTable) -> None:
        self._variables = table.variables
        self._inputs: dict[int, int] = {}
        self._states: dict[tuple[str, int], int] = {}
        self._parameters: dict[int, Parameter] = {}
        self._locks: set[int] = set()  # one that closes makes speeds jump
        self._motions: set[int] = set()  # felt from the next step on, but for the start
        for i, variable in enumerate(table.variables):
            source = variable.source
            if isinstance(source, InputSlot):
                self._inputs[source.index] = i
            elif isinstance(source, LockSlot):
                self._locks.add(i)
            elif isinstance(source, MotionSlot):
                self._motions.add(i)
            elif isinstance(source, Parameter):
                self._parameters[i] = source
        self._reach = Reach(table.model, can_lock=bool(self._locks))
        for i in table.states:
            source = table.variables[i].source
            assert isinstance(source, Signal)
            self._states[source.quantity, source.index] = i
        steering = self._locks | self._motions
        self._now = {*self._inputs.values(), *self._states.values()} | steering
        self._before = {*self._inputs.values(), *self._parameters} | steering

    def at_an_instant(self, i: int) -> list[int] | None:
        """Inputs and states that a variable depends on; None: all."""
        reads = self._reads(i)
        found = self._inputs_of(reads)
        found |= {self._states["q", k] for k in reads.q} | {self._states["u", k] for k in reads.u}
        found |= self._locks if reads.u or reads.inputs else set()
        return None if found == self._now else sorted(found)

    def at_the_start(self, i: int) -> list[int] | None:
        """Inputs and parameters that a variable depends on; None: all."""
        reads = self._reads(i)
        if not reads.at_start:
            return []
        found = self._inputs_of(reads) | self._motions
        found |= self._locks if reads.u or reads.inputs else set()
        for k, parameter in self._parameters.items():
            scope = parameter.scope
            if scope.kind in ("q", "u"):
                is_read = scope.index in (reads.q if scope.kind == "q" else reads.u)
            else:
                is_read = scope in reads.scopes
            if is_read:
                found.add(k)
        return None if found == self._before else sorted(found)

    def _reads(self, i: int) -> Reads:
        source = self._variables[i].source
        return self._reach.of(source) if isinstance(source, Signal) else Reads()

    def _inputs_of(self, reads: Reads) -> set[int]:
        return {self._inputs[k] for k in reads.inputs & self._inputs.keys()}


def _text(**attributes: Any) -> dict[str, str]:
    """Attributes as XML writes them; None is left out."""
    return {key: _one(value) for key, value in attributes.items() if value is not None}


def _one(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)
