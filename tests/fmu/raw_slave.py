"""A bare importer for the tests: FMI 2.0 functions by ctypes, statuses and messages as they come.

>>> slave = RawSlave(unzipped)                                            # doctest: +SKIP
>>> slave.initialize()                                                    # doctest: +SKIP
>>> slave.do_step(0.0, 1e-3)                                              # doctest: +SKIP
0
>>> slave.set_real([10**6], [1.0]), slave.messages[-1]                    # doctest: +SKIP
(3, 'fmi2SetReal: value reference 1000000 is unknown; ...')

FMPy raises on every status above warning and checks arguments itself; what an FMU does with wrong
calls is seen from here only.
"""

from __future__ import annotations

import ctypes
import zipfile
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_size_t, c_uint, c_void_p
from pathlib import Path
from typing import Any

import fmpy
from fmpy import read_model_description
from fmpy.fmi2 import (
    fmi2CallbackAllocateMemoryTYPE,
    fmi2CallbackFreeMemoryTYPE,
    fmi2CallbackFunctions,
    fmi2CallbackLoggerTYPE,
    fmi2StepFinishedTYPE,
)

OK, WARNING, DISCARD, ERROR, FATAL, PENDING = range(6)
DO_STEP_STATUS, PENDING_STATUS, LAST_SUCCESSFUL_TIME, TERMINATED = range(4)
MODEL_EXCHANGE, CO_SIMULATION = range(2)
OWN = "what belongs to the FMU"

_REFERENCES, _REALS, _INTEGERS = POINTER(c_uint), POINTER(c_double), POINTER(c_int)
_STRINGS, _STATE = POINTER(c_char_p), POINTER(c_void_p)

# Arguments after the component.
FUNCTIONS: dict[str, list[Any]] = {
    "fmi2SetDebugLogging": [c_int, c_size_t, _STRINGS],
    "fmi2SetupExperiment": [c_int, c_double, c_double, c_int, c_double],
    "fmi2EnterInitializationMode": [],
    "fmi2ExitInitializationMode": [],
    "fmi2Terminate": [],
    "fmi2Reset": [],
    "fmi2GetReal": [_REFERENCES, c_size_t, _REALS],
    "fmi2GetInteger": [_REFERENCES, c_size_t, _INTEGERS],
    "fmi2GetBoolean": [_REFERENCES, c_size_t, _INTEGERS],
    "fmi2GetString": [_REFERENCES, c_size_t, _STRINGS],
    "fmi2SetReal": [_REFERENCES, c_size_t, _REALS],
    "fmi2SetInteger": [_REFERENCES, c_size_t, _INTEGERS],
    "fmi2SetBoolean": [_REFERENCES, c_size_t, _INTEGERS],
    "fmi2SetString": [_REFERENCES, c_size_t, _STRINGS],
    "fmi2GetFMUstate": [_STATE],
    "fmi2SetFMUstate": [c_void_p],
    "fmi2FreeFMUstate": [_STATE],
    "fmi2SerializedFMUstateSize": [c_void_p, POINTER(c_size_t)],
    "fmi2SerializeFMUstate": [c_void_p, c_char_p, c_size_t],
    "fmi2DeSerializeFMUstate": [c_char_p, c_size_t, _STATE],
    "fmi2GetDirectionalDerivative": [
        *(_REFERENCES, c_size_t, _REFERENCES, c_size_t, _REALS, _REALS)
    ],
    "fmi2SetRealInputDerivatives": [_REFERENCES, c_size_t, _INTEGERS, _REALS],
    "fmi2GetRealOutputDerivatives": [_REFERENCES, c_size_t, _INTEGERS, _REALS],
    "fmi2DoStep": [c_double, c_double, c_int],
    "fmi2CancelStep": [],
    "fmi2GetStatus": [c_int, _INTEGERS],
    "fmi2GetRealStatus": [c_int, _REALS],
    "fmi2GetIntegerStatus": [c_int, _INTEGERS],
    "fmi2GetBooleanStatus": [c_int, _INTEGERS],
    "fmi2GetStringStatus": [c_int, _STRINGS],
}


def references(values: Sequence[int]) -> Any:
    return (c_uint * len(values))(*values)


def reals(values: Sequence[float]) -> Any:
    return (c_double * len(values))(*values)


def integers(values: Sequence[int]) -> Any:
    return (c_int * len(values))(*values)


class Library:
    """The shared library of an unzipped FMU, and what its description says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        description = read_model_description(folder, validate=False)
        self.guid: str = description.guid
        self.variables = {v.name: v for v in description.modelVariables}
        self.reference = {v.name: v.valueReference for v in description.modelVariables}
        identifier = description.coSimulation.modelIdentifier
        self.path = folder / "binaries" / fmpy.platform / (identifier + fmpy.sharedLibraryExtension)
        self.dll = ctypes.CDLL(str(self.path))
        self.dll.fmi2Instantiate.restype = c_void_p
        self.dll.fmi2Instantiate.argtypes = [
            *(c_char_p, c_int, c_char_p, c_char_p, POINTER(fmi2CallbackFunctions), c_int, c_int)
        ]
        self.dll.fmi2FreeInstance.restype = None
        self.dll.fmi2FreeInstance.argtypes = [c_void_p]
        for name, arguments in FUNCTIONS.items():
            function = getattr(self.dll, name)
            function.restype = c_int
            function.argtypes = [c_void_p, *arguments]

    @classmethod
    def unzipped(cls, fmu: Path, folder: Path) -> Library:
        """An FMU, taken apart into a folder."""
        with zipfile.ZipFile(fmu) as archive:
            archive.extractall(folder)
        return cls(folder)

    @property
    def uri(self) -> str:
        return (self.folder / "resources").as_uri()

    def named(self, causality: str, kind: str = "Real") -> list[int]:
        """Value references of the variables of one causality and type."""
        return [
            v.valueReference
            for v in self.variables.values()
            if v.causality == causality and v.type == kind
        ]


class RawSlave:
    """One instance. A call that the FMU refuses returns its status and leaves a message."""

    def __init__(
        self,
        library: Library,
        *,
        name: str | None = "slave",
        kind: int = CO_SIMULATION,
        guid: str | None = OWN,
        uri: str | bytes | None = OWN,
        logging: bool = False,
    ) -> None:
        """``guid`` and ``uri`` are the FMU's own if left out; None is a null pointer."""
        self.library = library
        self.messages: list[str] = []
        self.logged: list[tuple[int, str, str]] = []  # status, category, message
        self._callbacks = fmi2CallbackFunctions(
            fmi2CallbackLoggerTYPE(self._log),
            fmi2CallbackAllocateMemoryTYPE(),
            fmi2CallbackFreeMemoryTYPE(),
            fmi2StepFinishedTYPE(),
            None,
        )
        self.component = self.library.dll.fmi2Instantiate(
            _bytes(name),
            kind,
            _bytes(library.guid if guid is OWN else guid),
            _bytes(library.uri if uri is OWN else uri),
            byref(self._callbacks),
            0,
            int(logging),
        )

    def _log(self, _: Any, __: bytes, status: int, category: bytes, message: bytes) -> None:
        text = message.decode(errors="backslashreplace")
        self.logged.append((status, (category or b"").decode(), text))
        self.messages.append(text)

    def __del__(self) -> None:
        self.free()

    def free(self) -> None:
        if self.component is not None:
            self.library.dll.fmi2FreeInstance(self.component)
            self.component = None

    def call(self, name: str, *arguments: Any) -> int:
        status: int = getattr(self.library.dll, name)(self.component, *arguments)
        return status

    # ------------------------------------------------------------------------------- life cycle

    def initialize(self, start: float = 0.0, stop: float | None = None) -> None:
        """From instantiated to the first communication point."""
        assert self.setup(start, stop) == OK, self.messages
        assert self.call("fmi2EnterInitializationMode") == OK, self.messages
        assert self.call("fmi2ExitInitializationMode") == OK, self.messages

    def setup(self, start: float = 0.0, stop: float | None = None) -> int:
        defined, end = (0, 0.0) if stop is None else (1, stop)
        return self.call("fmi2SetupExperiment", 0, 0.0, start, defined, end)

    def do_step(self, time: float, size: float) -> int:
        return self.call("fmi2DoStep", time, size, 1)

    # ----------------------------------------------------------------------------------- values

    def refs(self, names: Sequence[str | int]) -> list[int]:
        return [self.library.reference[n] if isinstance(n, str) else n for n in names]

    def get_real(self, names: Sequence[str | int]) -> list[float]:
        values = reals([0.0] * len(names))
        status = self.call("fmi2GetReal", references(self.refs(names)), len(names), values)
        assert status == OK, self.messages
        return list(values)

    def set_real(self, names: Sequence[str | int], values: Sequence[float]) -> int:
        return self.call("fmi2SetReal", references(self.refs(names)), len(names), reals(values))

    def set_integer(self, names: Sequence[str | int], values: Sequence[int]) -> int:
        refs = references(self.refs(names))
        return self.call("fmi2SetInteger", refs, len(names), integers(values))

    def set_input_rates(self, names: Sequence[str | int], values: Sequence[float]) -> int:
        refs, orders = references(self.refs(names)), integers([1] * len(names))
        return self.call("fmi2SetRealInputDerivatives", refs, len(names), orders, reals(values))

    def output_rates(self, names: Sequence[str | int]) -> list[float]:
        refs, orders = references(self.refs(names)), integers([1] * len(names))
        values = reals([0.0] * len(names))
        status = self.call("fmi2GetRealOutputDerivatives", refs, len(names), orders, values)
        assert status == OK, self.messages
        return list(values)

    def directional(
        self, unknown: Sequence[str | int], known: Sequence[str | int], seed: Sequence[float]
    ) -> list[float]:
        out = reals([0.0] * len(unknown))
        status = self.call(
            "fmi2GetDirectionalDerivative",
            *(references(self.refs(unknown)), len(unknown)),
            *(references(self.refs(known)), len(known)),
            *(reals(seed), out),
        )
        assert status == OK, self.messages
        return list(out)

    @property
    def last_successful_time(self) -> float:
        value = c_double()
        assert self.call("fmi2GetRealStatus", LAST_SUCCESSFUL_TIME, byref(value)) == OK
        return value.value

    # ----------------------------------------------------------------------------------- states

    def save(self) -> c_void_p:
        state = c_void_p()
        assert self.call("fmi2GetFMUstate", byref(state)) == OK, self.messages
        return state

    def restore(self, state: c_void_p) -> int:
        return self.call("fmi2SetFMUstate", state)

    def free_state(self, state: c_void_p) -> None:
        assert self.call("fmi2FreeFMUstate", byref(state)) == OK
        assert state.value is None

    def bytes_of(self, state: c_void_p) -> bytes:
        size = c_size_t()
        assert self.call("fmi2SerializedFMUstateSize", state, byref(size)) == OK
        buffer = ctypes.create_string_buffer(size.value)
        assert self.call("fmi2SerializeFMUstate", state, buffer, size.value) == OK
        return buffer.raw

    def deserialize(self, data: bytes) -> tuple[int, c_void_p]:
        state = c_void_p()
        return self.call("fmi2DeSerializeFMUstate", data, len(data), byref(state)), state

    def state(self) -> bytes:
        """Everything of the instance that later answers depend on."""
        saved = self.save()
        try:
            return self.bytes_of(saved)
        finally:
            self.free_state(saved)


def _bytes(text: str | bytes | None) -> bytes | None:
    return text.encode() if isinstance(text, str) else text
