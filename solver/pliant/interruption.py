"""Ctrl-C and the signals that ask a process to end, as one kind of exception."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Any

from typing_extensions import Self

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")  # those that the system has


class Interruption:
    """While it lasts, TERM and HUP raise KeyboardInterrupt as Ctrl-C does, saying which it was.

    ``number`` is kept, since whoever is called back from C may swallow the exception. A signal that
    was ignored, as by nohup, stays so.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for name in _SIGNALS:
            which = getattr(signal, name, None)
            if which is None or signal.getsignal(which) == signal.SIG_IGN:
                continue
            try:
                self._before[which] = signal.signal(which, self._raise)
            except ValueError:  # only the main thread may
                return self
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for which, before in self._before.items():
            signal.signal(which, before)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        self.number = number
        raise KeyboardInterrupt(self.name)

    @property
    def name(self) -> str:
        """Of the signal that came."""
        return signal.Signals(self.number or signal.SIGINT).name

    @property
    def exit_code(self) -> int:
        """As shells have it."""
        return 128 + int(self.number or signal.SIGINT)
