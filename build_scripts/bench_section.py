"""What a section of the benchmark is made of, and the goals its figures are held against."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any, TypeAlias

from bench_timing import Timer
from rich import box
from rich.table import Table

Results: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Goal:
    """An upper limit on every figure whose key fits; ``*`` stands for any one part of the key.

    >>> Goal("rigid.*.ratio_pinocchio", 0.5).verdicts({"rigid": {"a": {"ratio_pinocchio": 0.4}}})
    [Verdict(key='rigid.a.ratio_pinocchio', limit=0.5, reached=0.4)]
    """

    key: str
    limit: float

    def verdicts(self, results: Results) -> list[Verdict]:
        parts = self.key.split(".")
        return [
            Verdict(".".join(path), self.limit, value)
            for path, value in leaves(results)
            if len(path) == len(parts) and all(map(fnmatch, path, parts))
        ]


@dataclass(frozen=True)
class Verdict:
    """A goal and the figure that was reached."""

    key: str
    limit: float
    reached: float

    @property
    def is_met(self) -> bool:
        return self.reached <= self.limit


@dataclass(frozen=True)
class Section:
    """``measure`` gives what stands under ``name`` in the results, ``tables`` shows it, ``combine``
    says what becomes of the figures that stood there before."""

    name: str
    measure: Callable[[Timer], Results]
    tables: Callable[[Results], list[Table]]
    goals: tuple[Goal, ...] = ()
    combine: Callable[[Results, Results], Results] = lambda old, new: new


def leaves(results: Results, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every figure with its key."""
    for name, value in results.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, name))
        else:
            yield (*path, name), value


def table(title: str, columns: list[str], rows: list[list[str]], caption: str = "") -> Table:
    """A table with a first column of names and numbers in the others."""
    made = Table(
        title=title,
        caption=caption,
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        min_width=72,
        pad_edge=False,
    )
    for i, column in enumerate(columns):
        made.add_column(column, justify="left" if i == 0 else "right", no_wrap=True)
    for row in rows:
        made.add_row(*row)
    return made


def judge(sections: Sequence[Section], results: Results) -> list[Verdict]:
    """What the goals of the sections say about the results."""
    goals = [goal for section in sections for goal in section.goals]
    return [verdict for goal in goals for verdict in goal.verdicts(results)]


def goal_table(verdicts: list[Verdict]) -> Table:
    rows = [
        [v.key, f"<= {v.limit:g}", f"{v.reached:.3f}", "yes" if v.is_met else "NO"]
        for v in verdicts
    ]
    return table("Goals", ["figure", "goal", "reached", "met"], rows)


def microseconds(seconds: float) -> float:
    """To four digits, which is more than repeats."""
    return float(f"{1e6 * seconds:.4g}")


def ratio(a: float, b: float) -> float:
    return float(f"{a / b:.4g}")
