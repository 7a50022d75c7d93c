"""Ghosh & Quiocho's table again, every case by both algorithms: ``pliant bench platform``.

A case is written to the file of results as soon as it is done, under ``platform.<case>``. One that
the file has already, of the same model and the same build of the kernel and for at least as long,
is not run again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from pliant import __version__, _kernel
from pliant.demos.bench_file import Results, merge, read, this_run, write
from pliant.demos.platform_measure import (
    ALGORITHMS,
    CASES,
    PAPER,
    PAPER_SPAN,
    Case,
    Tick,
    check,
    digits,
    race,
)
from pliant.errors import ModelError
from pliant.report import plain_table

SECTION = "platform"


def run(
    cases: Sequence[int],
    spans: Mapping[str, float],
    path: Path,
    console: Console,
    again: bool = False,
) -> None:
    """Measures the cases, each algorithm over its span in s, into the file, and shows them."""
    for span in spans.values():
        if not span > 0.0:
            raise ModelError.at("--seconds", f"{span:g} s is no time to run; give more than 0")
    ready = [Case.of(number) for number in cases]
    todo = [case for case in ready if again or not is_known(known(path, case.number), case, spans)]
    if len(todo) < len(ready):
        left = ", ".join(str(case.number) for case in ready if case not in todo)
        console.print(f"known from before (--again measures anew): case {left}", soft_wrap=True)
    bar = Progress(
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
        console=console,
    )
    with bar:
        task = bar.add_task("", total=sum(_steps(case, spans) for case in todo))
        for case in todo:

            def tick(what: str, steps: int, case: Case = case) -> None:
                bar.update(task, advance=steps, description=f"case {case.number}, {what}")

            keep(path, case, measure(case, spans, tick))
    shown = {str(number): known(path, number) for number in cases}
    for table in tables(shown):
        console.print(table)
    console.print(f"written to {path}")


def measure(case: Case, spans: Mapping[str, float], tick: Tick) -> Results:
    figures = race(case, spans, tick)
    if "order_n" in spans:
        figures |= check(case, spans["order_n"], tick)
    return figures


def _steps(case: Case, spans: Mapping[str, float]) -> int:
    """Of a race and, along the run of order_n, the check."""
    return sum(case.steps(span) for span in spans.values()) + case.steps(spans.get("order_n", 0.0))


def choose_cases(text: str) -> list[int]:
    """Numbers of cases from numbers and ranges.

    >>> choose_cases("1-3,16")
    [1, 2, 3, 16]
    """
    chosen: set[int] = set()
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        try:
            found = range(int(first), int(last or first) + 1)
        except ValueError:
            found = range(0)
        if not found or found[0] not in CASES or found[-1] not in CASES:
            raise ModelError.at("--cases", f"'{part}' names no cases; give some of 1-16, as 1-4,9")
        chosen.update(found)
    return sorted(chosen)


# ------------------------------------------------------------------------------------ results


def stamp(case: Case) -> Results:
    """What figures belong to: another model or another kernel makes them void."""
    kernel = Path(str(_kernel.__file__)).read_bytes()
    return {"model": case.model.digest, "kernel": hashlib.sha256(kernel).hexdigest()[:16]}


def known(path: Path, number: int) -> Results:
    """What the file has about a case."""
    return dict(read(path).get(SECTION, {}).get(str(number), {}))


def is_known(found: Results, case: Case, spans: Mapping[str, float]) -> bool:
    """Whether an entry is of this model and kernel and spans at least so much."""
    has_spans = all(found.get(f"{name}_seconds_run", 0.0) >= span for name, span in spans.items())
    return has_spans and found.get("stamp") == stamp(case)


def entry(case: Case, measured: Results) -> Results:
    """What stands in the file about a case: what was measured, the ratio, the size of the case and
    the paper's times."""
    figures = {"bodies": len(case.model.bodies), "dof": case.model.u_size, **measured}
    if all(f"{algorithm}_cpu_s" in figures for algorithm in ALGORITHMS):
        figures["ratio"] = digits(figures["order_n_cpu_s"] / figures["dense_cpu_s"], 4)
    paper = PAPER.get(case.number)
    for algorithm in ALGORITHMS:
        figures[f"paper_{algorithm}_cpu_s"] = getattr(paper, algorithm) if paper else None
    return {**figures, "stamp": stamp(case)}


def keep(path: Path, case: Case, measured: Results) -> None:
    """Merges the figures of one case into the file."""
    old, before = read(path), known(path, case.number)
    if before.get("stamp") != stamp(case):
        before = {}
    cases = {**old.get(SECTION, {}), str(case.number): entry(case, {**before, **measured})}
    in_order = {number: cases[number] for number in sorted(cases, key=int)}
    run = this_run(case.simulation().kernel.instruction_set, {"pliant": __version__})
    write(path, merge(old, SECTION, in_order, run, list(old)))


# ------------------------------------------------------------------------------------- tables


def tables(results: Results) -> list[Table]:
    return [timing_table(results), agreement_table(results)]


def timing_table(results: Results) -> Table:
    made = _table(
        f"Platform cases, CPU s for {PAPER_SPAN:g} s",
        ["case", "dof", "order_n", "dense", "ratio", "paper order_n", "matrix", "ratio"],
    )
    for number, r in results.items():
        own = [_number(r.get(f"{algorithm}_cpu_s"), ".2f") for algorithm in ALGORITHMS]
        paper = [r.get(f"paper_{algorithm}_cpu_s") for algorithm in ALGORITHMS]
        theirs = paper[0] / paper[1] if all(paper) else None
        made.add_row(
            number,
            _number(r.get("dof"), "d"),
            *own,
            _number(r.get("ratio"), ".3f"),
            *(_number(value, ".1f") for value in paper),
            _number(theirs, ".2f"),
        )
    made.caption = (
        "Euler-Cromer, 1 ms (rigid: 1-4, 9-12) and 0.1 ms (flexible); 9-16 with loops. Stepping "
        "alone is timed. paper: Ghosh & Quiocho 2013, on their machine; 1-4 are lost."
    )
    return made


def agreement_table(results: Results) -> Table:
    made = _table(
        "Platform cases, what was computed",
        ["case", "span", "accelerations", "positions", "gap, m", "gap, rad", "energy"],
    )
    for number, r in results.items():
        keys = ("difference", "position_difference", "gap", "gap_rad", "energy_balance")
        made.add_row(
            number,
            _number(r.get("order_n_seconds_run"), "g"),
            *(_number(r.get(key), ".1e") for key in keys),
        )
    made.caption = (
        "accelerations: largest relative difference of order_n and dense for the same states: "
        "rounding. positions: largest distance between their runs over the largest distance "
        "travelled; it grows as for any two runs that start one rounding apart. gap: largest of "
        "the loops. energy: largest error of work in = energy + dissipated, over the largest "
        "energy; of order one in the step."
    )
    return made


def _table(title: str, columns: list[str]) -> Table:
    made = plain_table(title)
    made.caption_justify = "left"
    for column in columns:
        made.add_column(column, justify="right")
    return made


def _number(value: float | None, form: str) -> str:
    return "" if value is None else f"{value:{form}}"
