"""The slave of the Python flavour, to be subclassed for laws of one's own inside the step.

A file with

    from pliant.fmu.python_slave import PliantSlave

    class Slave(PliantSlave):
        def actuate(self, time: float) -> None:
            self["joint.elbow.tau"] = -200.0 * self["joint.elbow.qd"]

becomes part of an FMU by ``pliant export arm.yaml --flavour python --slave law.py``. ``actuate`` is
called before every internal step. What it remembers between calls belongs into ``self.memory``, a
dict that is saved and restored with the state of the FMU.

pythonfmu 0.7, which loads this, answers a method that raises with fmi2Fatal, and a ``do_step``
that returns False with fmi2Discard; there is nothing between. It also lets go of what it does not
own, see ``_hold``, and passes messages on only while debug logging is on: they go to stderr too.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import json
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pythonfmu import Fmi2Slave
from pythonfmu.enums import Fmi2Status

from pliant.fmu._slave import Slave
from pliant.part import show, suggest

_MODEL_FILE = "model.pliant"
_STEP = ("solver.h", "solver_h")  # structured and flat names
_ROUNDING = 16.0 * sys.float_info.epsilon  # as in the native slave

# Where in its life an instance is; text for messages.
_INSTANTIATED = "before initialization"
_INITIALIZING = "in initialization mode"
_STEPPING = "while stepping"
_TERMINATED = "after fmi2Terminate"
_ANY = (_INSTANTIATED, _INITIALIZING, _STEPPING, _TERMINATED)
_READABLE = (_INITIALIZING, _STEPPING, _TERMINATED)
_SETTABLE = (_INSTANTIATED, _INITIALIZING, _STEPPING)

# A saved state: this mark, the digest of the rest, the length of the native slave's state, that
# state, and the phase, commands and memory as JSON.
_MARK = b"pliant P"
_DIGEST = 16
_HEAD = len(_MARK) + _DIGEST + 8

_hold = ctypes.pythonapi.Py_IncRef
_hold.argtypes = [ctypes.py_object]
_hold.restype = None


class RefusedError(Exception):
    """A call that was refused; its text is all that pythonfmu tells the importer."""

    def __repr__(self) -> str:
        return str(self).replace("%", "%%")  # importers read it as a format


_Method = TypeVar("_Method", bound=Callable[..., Any])


def _allowed(*phases: str) -> Callable[[_Method], _Method]:
    """A method that pythonfmu calls, and in which phases it may."""

    def decorate(method: _Method) -> _Method:
        @functools.wraps(method)
        def guarded(self: PliantSlave, *arguments: Any) -> Any:
            try:
                if self._phase not in phases:
                    raise RefusedError(f"{method.__name__} is not allowed {self._phase}")
                return method(self, *arguments)
            except Exception as error:
                raise self._refusal(error) from None

        return guarded  # type: ignore[return-value]

    return decorate


class PliantSlave(Fmi2Slave):  # type: ignore[misc]
    """A pliant model driven by pythonfmu. Override ``actuate``."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # for every instance pythonfmu runs the module of its class once more and then releases
        # the module's namespace, which it only borrowed
        _hold(vars(sys.modules[cls.__module__]))

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        resources = Path(self.resources)
        self._slave = Slave((resources / _MODEL_FILE).read_bytes())
        self.guid = self._slave.guid
        _check_guid(resources.parent / "modelDescription.xml", self.guid)
        self._references = {name: i for i, name in enumerate(self._slave.names)}
        self._phase = _INSTANTIATED
        self._commands: dict[int, float] = {}
        self.memory: dict[str, Any] = {}
        self.step_size = 0.0
        # pythonfmu has put it in front and leaves it there, also when the folder is long gone
        with suppress(ValueError):
            sys.path.remove(self.resources)

    # ------------------------------------------------------------------- for a law of one's own

    def actuate(self, time: float) -> None:
        """Called before every internal step, of ``self.step_size`` seconds; set inputs here."""

    def __getitem__(self, name: str) -> float:
        """The value of a variable now; of an input, what acts."""
        reference = self._reference(name)
        try:
            return self._slave.get_real([reference])[0]
        except ValueError as error:
            if "Boolean" not in str(error):
                raise
            return bool(self._slave.get_boolean([reference])[0])

    def __setitem__(self, name: str, value: float) -> None:
        """Sets an input until it is set again, here or by the importer; a lock by True or False."""
        reference = self._reference(name)
        if isinstance(value, bool):
            self._slave.set_boolean([reference], [int(value)])
            return
        if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
            raise TypeError(f"{name}: {show(value)} is no number")
        self._commands.setdefault(reference, self[name])
        self._slave.set_real([reference], [float(value)])

    def commanded(self, name: str) -> float:
        """What the importer set an input to, whatever a law has made of it since."""
        reference = self._reference(name)
        return self._commands[reference] if reference in self._commands else self[name]

    def _reference(self, name: str) -> int:
        if name not in self._references:
            hint = suggest(name, self._references)
            raise KeyError(f"{name}: not in this FMU; export it with include, or {hint}")
        return self._references[name]

    # ----------------------------------------------------------------------- called by pythonfmu

    @_allowed(_INSTANTIATED)
    def setup_experiment(
        self, start_time: float, stop_time: float | None = None, tolerance: float | None = None
    ) -> None:
        self._slave.set_start_time(start_time)

    @_allowed(_INSTANTIATED)
    def enter_initialization_mode(self) -> None:
        self._phase = _INITIALIZING

    @_allowed(_INITIALIZING)
    def exit_initialization_mode(self) -> None:
        self._slave.initialize()
        self._phase = _STEPPING
        self._tell_warnings()

    @_allowed(_STEPPING)
    def do_step(self, current_time: float, step_size: float) -> bool:
        """False, and all as before, if the motion failed on the way."""
        length, count = self._internal_steps(step_size)
        acts = type(self).actuate is not PliantSlave.actuate
        # the native slave stays at the last good internal step, but pythonfmu tells the importer
        # of the time before all of them
        before = self._saved() if acts or count > 1 else None
        try:
            if not acts:
                done = self._slave.step(current_time, step_size)
            else:
                self.step_size = length
                done = all(self._act(current_time + i * length, length) for i in range(count))
        except Exception:
            if before is not None:
                self._restore(before)
            raise
        self._tell_warnings()
        if not done:
            self._tell(self._slave.message, Fmi2Status.discard)
            if before is not None:
                self._restore(before)
        return done

    @_allowed(_STEPPING)
    def terminate(self) -> None:
        self._phase = _TERMINATED

    @_allowed(*_READABLE)
    def get_real(self, vrs: Sequence[int]) -> list[float]:
        return self._slave.get_real(vrs)

    @_allowed(*_SETTABLE)
    def set_real(self, vrs: Sequence[int], values: Sequence[float]) -> None:
        self._slave.set_real(vrs, values)
        for reference in self._commands.keys() & vrs:
            self._commands[reference] = values[vrs.index(reference)]

    @_allowed(*_READABLE)
    def get_integer(self, vrs: Sequence[int]) -> list[int]:
        return self._slave.get_integer(vrs)

    @_allowed(*_SETTABLE)
    def set_integer(self, vrs: Sequence[int], values: Sequence[int]) -> None:
        self._slave.set_integer(vrs, values)

    @_allowed(*_READABLE)
    def get_boolean(self, vrs: Sequence[int]) -> list[bool]:
        return [bool(value) for value in self._slave.get_boolean(vrs)]

    @_allowed(*_SETTABLE)
    def set_boolean(self, vrs: Sequence[int], values: Sequence[bool]) -> None:
        self._slave.set_boolean(vrs, [int(value) for value in values])

    @_allowed(*_READABLE)
    def get_string(self, vrs: Sequence[int]) -> list[str]:
        raise RefusedError("this model has no variables of type String")

    @_allowed(*_SETTABLE)
    def set_string(self, vrs: Sequence[int], values: Sequence[str]) -> None:
        raise RefusedError("this model has no variables of type String")

    # ---------------------------------------------------------------------------------- states

    @_allowed(*_ANY)
    def _get_fmu_state(self) -> bytes:
        return self._saved()

    @_allowed(*_ANY)
    def _set_fmu_state(self, saved: bytes) -> None:
        self._restore(saved)

    # What is wrong with a state is found when it is set: an error in these two would end an
    # instance that they do not know.
    @staticmethod
    def _fmu_state_to_bytes(state: bytes) -> bytes:
        return state

    @staticmethod
    def _fmu_state_from_bytes(state: bytes) -> bytes:
        return state

    def _saved(self) -> bytes:
        state = self._slave.save()
        try:
            text = json.dumps([self._phase, list(self._commands.items()), self.memory])
        except (TypeError, ValueError) as error:
            raise RefusedError(
                f"self.memory cannot be saved: {error}; keep numbers, texts, lists and dicts in it"
            ) from None
        body = len(state).to_bytes(8, "little") + state + text.encode()
        return _MARK + _digest(body) + body

    def _restore(self, saved: bytes) -> None:
        body = saved[_HEAD - 8 :]
        if len(saved) < _HEAD or not saved.startswith(_MARK):
            raise RefusedError("this is not a saved state of a pliant FMU in Python")
        if saved[len(_MARK) : _HEAD - 8] != _digest(body):
            raise RefusedError("this state is damaged: its checksum does not match")
        end = 8 + int.from_bytes(body[:8], "little")
        phase, commands, memory = json.loads(body[end:])
        self._slave.restore(body[8:end])
        self._phase, self._commands, self.memory = phase, dict(commands), memory

    # --------------------------------------------------------------------------------- stepping

    def _internal_steps(self, size: float) -> tuple[float, int]:
        """Length and number of the steps that the native slave divides a step into."""
        step = next((self[name] for name in _STEP if name in self._references), size)
        if not 0.0 < size < float("inf"):
            return size, 1  # refused by the native slave
        count = max(1, round(size / step))
        if abs(count * step - size) <= _ROUNDING * (abs(self._slave.time) + size):
            return step, count
        count = max(1, -int(-(size / step - 1e-9) // 1))
        return size / count, count

    def _act(self, time: float, length: float) -> bool:
        try:
            self.actuate(time)
        except Exception:
            raise RefusedError(f"actuate, t = {time:.12g} s: {traceback.format_exc()}") from None
        return self._slave.step(time, length)

    # --------------------------------------------------------------------------------- messages

    def _tell_warnings(self) -> None:
        for message in self._slave.warnings():
            self._tell(message, Fmi2Status.warning)

    def _tell(self, message: str, status: Fmi2Status) -> None:
        print(f"{self.instance_name}: {message}", file=sys.stderr)
        self.log(message.replace("%", "%%"), status)

    def _refusal(self, error: Exception) -> RefusedError:
        """The error as it is to be raised: the last thing before pythonfmu sees it."""
        expected = isinstance(error, (RefusedError, ValueError))
        message = str(error) if expected else traceback.format_exc()
        print(f"{self.instance_name}: {message}", file=sys.stderr)
        # pythonfmu now releases these three, and again when it frees the instance
        for owned in (self, type(self), self.log_queue):
            _hold(owned)
        return RefusedError(message)


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST).digest()


def _check_guid(description: Path, guid: str) -> None:
    """pythonfmu does not pass on the importer's GUID; the description, if unpacked, has it."""
    if not description.is_file():
        return
    found = re.search(r'\bguid="([^"]*)"', description.read_text(encoding="utf-8"))
    if found is None or found[1] != guid:
        raise RefusedError(
            f"modelDescription.xml is not of the model in resources, GUID {guid}: they are of "
            "different exports"
        )
