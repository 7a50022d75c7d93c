"""A progress bar of a run: simulated time, how fast it goes, and how well energy is kept.

In a terminal rich draws it. In a notebook rich would need ipywidgets, and draws nothing without;
there a line of text is shown and replaced instead, which any notebook can.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from typing_extensions import Self

from pliant.notebook import in_notebook

if TYPE_CHECKING:
    from pliant.simulation import Simulation

_SECONDS_BETWEEN_UPDATES = 0.1
_CELLS = 24  # of the bar


class Progress:
    """Shows a bar while a simulation advances; silent unless ``shown``.

    The energy error is relative to all the energy that has moved so far.
    """

    def __init__(self, sim: Simulation, duration: float, *, shown: bool) -> None:
        self._sim = sim
        self._duration = duration
        self._shown = shown
        self._bar: _TerminalBar | _NotebookBar | None = None
        self._started = self._updated = time.perf_counter()
        self._first = sim.time

    def __enter__(self) -> Self:
        self._started = self._updated = time.perf_counter()
        if self._shown:
            self._bar = (_NotebookBar if in_notebook() else _TerminalBar)(self._duration)
            self._bar.show(0.0, self._text())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.show(self._elapsed, self._text())
            self._bar.stop()

    def update(self) -> None:
        """Redraws, at most ten times a second."""
        now = time.perf_counter()
        if self._bar is None or now - self._updated < _SECONDS_BETWEEN_UPDATES:
            return
        self._updated = now
        self._bar.show(self._elapsed, self._text())

    @property
    def _elapsed(self) -> float:
        return self._sim.time - self._first

    def _text(self) -> str:
        wall = time.perf_counter() - self._started
        factor = self._elapsed / wall if wall > 0 else 0.0
        largest, moved = self._sim.kernel.energy_error()
        error = largest / moved if moved > 0.0 else 0.0
        return f"t = {self._sim.time:.3f} s, {factor:.3g} x real time, energy error {error:.1e}"


class _TerminalBar:
    """Drawn by rich."""

    def __init__(self, total: float) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._rich = Progress(
            BarColumn(bar_width=_CELLS),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.description}"),
            TimeRemainingColumn(),
        )
        self._task = self._rich.add_task("", total=total)
        self._rich.start()

    def show(self, done: float, text: str) -> None:
        self._rich.update(self._task, completed=done, description=text)

    def stop(self) -> None:
        self._rich.stop()


class _NotebookBar:
    """A line below the cell that is replaced as the run goes on."""

    def __init__(self, total: float) -> None:
        self._total = total
        self._handle: Any = None

    def show(self, done: float, text: str) -> None:
        from IPython.display import display

        part = min(done / self._total, 1.0) if self._total > 0.0 else 1.0
        full = round(_CELLS * part)
        line = f"{'█' * full}{'░' * (_CELLS - full)} {100.0 * part:3.0f} %  {text}"
        show: Any = display
        if self._handle is None:
            self._handle = show({"text/plain": line}, raw=True, display_id=True)
        else:
            self._handle.update({"text/plain": line}, raw=True)

    def stop(self) -> None:
        """The last line stays."""
