"""How the benchmark takes time."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import repeat
from time import perf_counter
from typing import TypeVar

_Key = TypeVar("_Key")


@dataclass(frozen=True)
class Timer:
    """Times contestants in turns: one round lets each of them run for ``window`` seconds, and the
    best of all ``rounds`` counts, so that noise of the machine hits all of them alike.

    >>> best = Timer(rounds=2, window=1e-4).best({"sum": lambda: sum(range(100))})
    >>> 1e-8 < best["sum"] < 1e-3
    True
    """

    rounds: int = 25
    window: float = 0.01

    def best(self, contestants: Mapping[_Key, Callable[[], object]]) -> dict[_Key, float]:
        """Seconds for one call of each."""
        calls = {name: self._calls(function) for name, function in contestants.items()}
        best = dict.fromkeys(contestants, float("inf"))
        collecting = gc.isenabled()
        gc.disable()
        try:
            for _ in range(self.rounds):
                for name, function in contestants.items():
                    best[name] = min(best[name], _seconds(function, calls[name]) / calls[name])
        finally:
            if collecting:
                gc.enable()
        return best

    def best_in_groups(
        self, groups: Mapping[str, Mapping[str, Callable[[], object]]]
    ) -> dict[str, dict[str, float]]:
        """The same for several groups at once: their rounds are then spread over a longer time,
        in which the machine is quiet at some moment for each."""
        flat = {
            (group, name): function
            for group, contestants in groups.items()
            for name, function in contestants.items()
        }
        best: dict[str, dict[str, float]] = {group: {} for group in groups}
        for (group, name), seconds in self.best(flat).items():
            best[group][name] = seconds
        return best

    def _calls(self, function: Callable[[], object]) -> int:
        """Calls that fill the window; the first ones also warm the caches."""
        calls = 1
        while (seconds := _seconds(function, calls)) < 0.1 * self.window:
            calls *= 2
        return max(1, round(calls * self.window / seconds))


def _seconds(function: Callable[[], object], calls: int) -> float:
    start = perf_counter()
    for _ in repeat(None, calls):
        function()
    return perf_counter() - start
