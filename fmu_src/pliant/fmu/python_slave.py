"""The slave of the Python flavour, to be subclassed for laws of one's own inside the step.

A file with

    from pliant.fmu.python_slave import PliantSlave

    class Slave(PliantSlave):
        def actuate(self, time: float) -> None:
            self["joint.elbow.tau"] = -200.0 * self["joint.elbow.qd"]

becomes part of an FMU by ``pliant export arm.yaml --flavour python --slave law.py``. ``actuate`` is
called before every internal step. What it remembers between calls belongs into ``self.memory``, a
dict that is saved and restored with the state of the FMU.
"""

from __future__ import annotations

import base64
import json
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pythonfmu import Fmi2Slave
from pythonfmu.enums import Fmi2Status

from pliant.fmu._slave import Slave

_MODEL_FILE = "model.pliant"
_STEP = ("solver.h", "solver_h")  # structured and flat names
_TOLERANCE = 1e-9  # of an internal step


class PliantSlave(Fmi2Slave):  # type: ignore[misc]
    """A pliant model driven by pythonfmu."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        data = (Path(self.resources) / _MODEL_FILE).read_bytes()
        self._slave = Slave(data)
        self._references = {name: i for i, name in enumerate(self._slave.names)}
        self.guid = self._slave.guid
        self.memory: dict[str, Any] = {}

    # ------------------------------------------------------------------- for a law of one's own

    def actuate(self, time: float) -> None:
        """Called before every internal step; set inputs here."""

    def __getitem__(self, name: str) -> float:
        """The value of a variable now."""
        return self._slave.get_real([self._references[name]])[0]

    def __setitem__(self, name: str, value: float) -> None:
        """Sets an input."""
        self._slave.set_real([self._references[name]], [value])

    # ----------------------------------------------------------------------- called by pythonfmu

    def setup_experiment(
        self, start_time: float, stop_time: float | None = None, tolerance: float | None = None
    ) -> None:
        self._slave.set_start_time(start_time)

    def exit_initialization_mode(self) -> None:
        with _logged(self):
            self._slave.initialize()

    def do_step(self, current_time: float, step_size: float) -> bool:
        try:
            return self._advance(current_time, step_size)
        except Exception:  # pythonfmu would call it fatal and drop the cause
            self.log(traceback.format_exc(), Fmi2Status.error)
            return False

    def get_real(self, vrs: Sequence[int]) -> list[float]:
        with _logged(self):
            return self._slave.get_real(vrs)

    def set_real(self, vrs: Sequence[int], values: Sequence[float]) -> None:
        with _logged(self):
            self._slave.set_real(vrs, values)

    def get_integer(self, vrs: Sequence[int]) -> list[int]:
        with _logged(self):
            return self._slave.get_integer(vrs)

    def set_integer(self, vrs: Sequence[int], values: Sequence[int]) -> None:
        with _logged(self):
            self._slave.set_integer(vrs, values)

    def get_boolean(self, vrs: Sequence[int]) -> list[bool]:
        with _logged(self):
            return [bool(value) for value in self._slave.get_boolean(vrs)]

    def set_boolean(self, vrs: Sequence[int], values: Sequence[bool]) -> None:
        with _logged(self):
            self._slave.set_boolean(vrs, [int(value) for value in values])

    def _get_fmu_state(self) -> dict[str, Any]:
        return {"slave": self._slave.save(), "memory": json.dumps(self.memory)}

    def _set_fmu_state(self, state: dict[str, Any]) -> None:
        with _logged(self):
            self._slave.restore(state["slave"])
            self.memory = json.loads(state["memory"])

    @staticmethod
    def _fmu_state_to_bytes(state: dict[str, Any]) -> bytes:
        text = {"slave": base64.b64encode(state["slave"]).decode(), "memory": state["memory"]}
        return json.dumps(text).encode()

    @staticmethod
    def _fmu_state_from_bytes(state: bytes) -> dict[str, Any]:
        text = json.loads(state.decode())
        return {"slave": base64.b64decode(text["slave"]), "memory": text["memory"]}

    # --------------------------------------------------------------------------------- stepping

    def _advance(self, time: float, size: float) -> bool:
        if type(self).actuate is PliantSlave.actuate:
            return self._step(time, size)
        step = next((self[name] for name in _STEP if name in self._references), size)
        count = max(1, round(size / step))
        if abs(count * step - size) > _TOLERANCE * step:
            count = max(1, -int(-size // step))
            step = size / count
        for i in range(count):
            now = time + i * step
            self.actuate(now)
            if not self._step(now, step):
                return False
        return True

    def _step(self, time: float, size: float) -> bool:
        if self._slave.step(time, size):
            return True
        self.log(self._slave.message, Fmi2Status.discard)
        return False


class _logged:  # noqa: N801  reads as a statement
    """Logs an error before pythonfmu, which drops its message, makes it a fatal one."""

    def __init__(self, slave: Fmi2Slave) -> None:
        self._slave = slave

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self._slave.log(str(error), Fmi2Status.error)
