"""A progress bar of a run: simulated time, how fast it goes, and how well energy is kept."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from typing_extensions import Self

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from pliant.simulation import Simulation

_SECONDS_BETWEEN_UPDATES = 0.1


class Progress:
    """Shows a bar while a simulation advances; silent unless ``shown``.

    The energy error is relative to the largest kinetic, strain and spring energy so far.
    """

    def __init__(self, sim: Simulation, duration: float, *, shown: bool) -> None:
        self._sim = sim
        self._duration = duration
        self._shown = shown
        self._bar: RichProgress | None = None
        self._largest = 0.0
        self._started = self._updated = time.perf_counter()
        self._first = sim.time

    def __enter__(self) -> Self:
        self._started = self._updated = time.perf_counter()
        if self._shown:
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                BarColumn(bar_width=24),
                TextColumn("{task.percentage:>3.0f} %"),
                TextColumn("{task.description}"),
                TimeRemainingColumn(),
            )
            self._task = self._bar.add_task(self._text(), total=self._duration)
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=self._elapsed, description=self._text())
            self._bar.stop()

    def update(self) -> None:
        """Redraws, at most ten times a second."""
        now = time.perf_counter()
        if self._bar is None or now - self._updated < _SECONDS_BETWEEN_UPDATES:
            return
        self._updated = now
        self._bar.update(self._task, completed=self._elapsed, description=self._text())

    @property
    def _elapsed(self) -> float:
        return self._sim.time - self._first

    def _text(self) -> str:
        wall = time.perf_counter() - self._started
        factor = self._elapsed / wall if wall > 0 else 0.0
        energy = self._sim.energy
        self._largest = max(self._largest, energy.kinetic + energy.strain + energy.spring)
        error = abs(energy.error)
        relative = error / self._largest if self._largest > 0 else error
        return f"t = {self._sim.time:.3f} s, {factor:.3g} x real time, energy error {relative:.1e}"
