"""The variable table as sections of the FMU's data file, and the GUID that ties it to the XML.

``resources/model.pliant`` holds the kernel's own sections (``Model.sections``) and these; the
native slave reads both (``fmu_src/native/variables.h``). N variables, P parameters, int32 unless
said; text is UTF-8, lists of names are joined by line ends.

=========================  =======================================================================
fmu.guid, fmu.names        text: the GUID; N names
variable.type              0 Real, 1 Integer and Enumeration, 2 Boolean
variable.role              0 signal, 1 input, 2 parameter, 3 setting, 4 constant
variable.output, .tunable  1 if it is an output; if it may be set between steps
variable.quantity,         of a signal where the kernel has it; of the others the number of the
.element, .index           input, parameter, setting or constant in ``index``
parameter.start, .min,     float64, P; no limit is +-1e60; the number of terms of each in
.max, .terms               parameter.terms
term.section, .index,      data[section][index] = base + sum of slope (value - start); the section
.slope (float64)           as a number in fmu.sections
fmu.sections               text: names of the sections that terms point into
check.kind, .parameter     0: four parameters from there on are a unit quaternion; 1: six are an
                           inertia [xx, yy, zz, xy, xz, yz]
constant.value             float64
setting.default            float64: step, integrator, algorithm, node rotation (0 exact)
limit.step, .cause         float64, text: the longest stable step with each integrator, +1e60 if
                           there is none, and what sets it
names.body, .speed, .dof,  text: names of bodies, speeds, freedoms and inputs for messages
.input
=========================  =======================================================================
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from pliant._kernel import QUANTITIES
from pliant.data_file import NO_LIMIT, Section, text_section
from pliant.model_description.steering import motion_starts
from pliant.model_description.table import VariableTable, parameter_variables
from pliant.model_description.variable import (
    InputSlot,
    LockSlot,
    MotionSlot,
    Parameter,
    Setting,
    Signal,
    Source,
)
from pliant.options import ALGORITHMS, INTEGRATORS
from pliant.stability import StepLimit

_SIGNAL, _INPUT, _PARAMETER, _SETTING, _CONSTANT, _LOCK, _MOTION = range(7)
_TYPES = {"Real": 0, "Enumeration": 1, "Boolean": 2}


def table_sections(table: VariableTable) -> dict[str, Section]:
    """The sections of a table, with the GUID over them, the model's own and the description.

    >>> pack({**model.sections, **table_sections(table)})                     # doctest: +SKIP
    """
    sections = _sections(table)
    return {"fmu.guid": text_section(_guid(table, sections)), **sections}


def table_guid(table: VariableTable) -> str:
    """The GUID as it stands in the XML and in the data file."""
    return _guid(table, _sections(table))


def _guid(table: VariableTable, sections: Mapping[str, Section]) -> str:
    """Of everything that the XML or the data file say."""
    digest = hashlib.sha256(repr((table.model.name, table.variables)).encode())
    for name, values in {**table.model.sections, **sections}.items():
        digest.update(f"{name} {values.dtype} {values.size}\n".encode())
        digest.update(values.tobytes())
    d = digest.hexdigest()
    return f"{{{d[:8]}-{d[8:12]}-{d[12:16]}-{d[16:20]}-{d[20:32]}}}"


def _sections(table: VariableTable) -> dict[str, Section]:
    variables, model = table.variables, table.model
    rows, constants = _rows(table)
    return {
        "fmu.names": _lines(v.name for v in variables),
        "variable.type": _ints(_TYPES[v.type] for v in variables),
        "variable.role": rows[:, 0].copy(),
        "variable.output": _ints(v.causality == "output" for v in variables),
        "variable.tunable": _ints(v.variability == "tunable" for v in variables),
        "variable.quantity": rows[:, 1].copy(),
        "variable.element": rows[:, 2].copy(),
        "variable.index": rows[:, 3].copy(),
        **_parameter_sections(table),
        "check.kind": _ints(kind for kind, _ in table.checks),
        "check.parameter": _ints(first for _, first in table.checks),
        "constant.value": np.array(constants, float),
        "setting.default": np.array(_defaults(table)),
        "limit.step": np.array([min(limit.step, NO_LIMIT) for limit in _limits(table)]),
        "limit.cause": _lines(limit.cause for limit in _limits(table)),
        "motion.start": np.array(motion_starts(table.model)),
        "names.body": _lines(body.name for body in model.bodies),
        "names.speed": _lines(model.speed_names),
        "names.dof": _lines(model.freedom_names),
        "names.input": _lines(model.input_names),
        "names.row": _lines(model.row_names),
    }


def _rows(table: VariableTable) -> tuple[NDArray[np.int32], list[float]]:
    """(N, 4) role, quantity, element, index; and the constants."""
    rows: list[tuple[int, int, int, int]] = []
    parameters = 0
    constants: list[float] = []
    for variable in table.variables:
        source: Source = variable.source
        if isinstance(source, Signal):
            quantity = QUANTITIES.index(source.quantity)
            rows.append((_SIGNAL, quantity, source.element, source.index))
        elif isinstance(source, InputSlot):
            rows.append((_INPUT, 0, 0, source.index))
        elif isinstance(source, Parameter):
            rows.append((_PARAMETER, 0, 0, parameters))
            parameters += 1
        elif isinstance(source, Setting):
            rows.append((_SETTING, 0, 0, source.number))
        elif isinstance(source, LockSlot):
            rows.append((_LOCK, 0, 0, source.body))
        elif isinstance(source, MotionSlot):
            rows.append((_MOTION, 0, 0, source.index))
        else:
            rows.append((_CONSTANT, 0, 0, len(constants)))
            constants.append(source.value)
    return np.array(rows, np.int32).reshape(-1, 4), constants


def _parameter_sections(table: VariableTable) -> dict[str, Section]:
    variables = parameter_variables(table)
    sources = [v.source for v in variables if isinstance(v.source, Parameter)]
    terms = [term for source in sources for term in source.terms]
    targets = list(dict.fromkeys(term.section for term in terms))
    return {
        "parameter.start": np.array([v.start for v in variables], float),
        "parameter.min": np.array([-NO_LIMIT if v.min is None else v.min for v in variables]),
        "parameter.max": np.array([NO_LIMIT if v.max is None else v.max for v in variables]),
        "parameter.terms": _ints(len(source.terms) for source in sources),
        "term.section": _ints(targets.index(term.section) for term in terms),
        "term.index": _ints(term.index for term in terms),
        "term.slope": np.array([term.slope for term in terms], float),
        "fmu.sections": _lines(targets),
    }


def _defaults(table: VariableTable) -> list[float]:
    options = table.options
    return [
        float(options.step),
        float(INTEGRATORS.index(options.integrator)),
        float(ALGORITHMS.index(options.algorithm)),
        0.0,
    ]


def _limits(table: VariableTable) -> list[StepLimit]:
    unlimited = StepLimit(NO_LIMIT, "nothing")
    return [table.options.step_limits.get(name, unlimited) for name in INTEGRATORS]


def _ints(values: Iterable[int | bool]) -> NDArray[np.int32]:
    return np.array(list(values), np.int32)


def _lines(words: Iterable[str]) -> NDArray[np.uint8]:
    return text_section("\n".join(words))
