"""Order-N against dense on the papers' platform cases: ``pliant bench platform`` in short.

What was measured over a longer time with the same models and kernel stays.
"""

from __future__ import annotations

from bench_section import Goal, Results, Section
from bench_timing import Timer

from pliant.demos import platform_bench
from pliant.demos.platform_measure import ALGORITHMS, CASES, Case

STEPS = 200  # of each case in every round


def measure(timer: Timer) -> Results:
    return {str(number): measure_case(Case.of(number), timer.rounds * STEPS) for number in CASES}


def measure_case(case: Case, steps: int) -> Results:
    spans = dict.fromkeys(ALGORITHMS, steps * case.step)
    measured = platform_bench.measure(case, spans, lambda what, steps: None)
    return platform_bench.entry(case, measured)


def longer(old: Results, new: Results) -> Results:
    """Of every case the old figures, if they span more and belong to the same model and kernel."""

    def span(entry: Results) -> float:
        return min(float(entry.get(f"{name}_seconds_run", 0.0)) for name in ALGORITHMS)

    return {
        number: entry
        if span(old.get(number, {})) <= span(entry) or old[number]["stamp"] != entry["stamp"]
        else old[number]
        for number, entry in new.items()
    }


SECTION = Section(
    "platform", measure, platform_bench.tables, (Goal("platform.*.ratio", 1.0),), longer
)
