"""Speed of pliant beside others, all in one run: ``make bench``.

    python build_scripts/bench.py                 everything, into build/bench.json
    python build_scripts/bench.py --only rigid    one section; the others stay as they are

Every timing is the best of several rounds in which the contestants take turns, on one thread.
Ratios of one run are what counts; microseconds are of one machine on one day.
"""

from __future__ import annotations

import argparse
from importlib.metadata import version
from pathlib import Path

import bench_flexible
import bench_fmu
import bench_platform
import bench_rigid
import bench_solver
from bench_models import chain, pliant_kernel
from bench_section import Results, goal_table, judge
from bench_timing import Timer
from rich.console import Console

from pliant.compile import compile_model
from pliant.demos.bench_file import merge, read, this_run, write

RESULTS = Path(__file__).parent.parent / "build" / "bench.json"

# A further section is a module that makes a Section, listed here.
SECTIONS = (
    bench_rigid.SECTION,
    bench_flexible.SECTION,
    bench_solver.ALGORITHMS,
    bench_solver.SCALING,
    bench_solver.STIFFENING,
    bench_solver.MEMORY,
    bench_platform.SECTION,
    bench_fmu.SECTION,
)


def main() -> None:
    names = [section.name for section in SECTIONS]
    parser = argparse.ArgumentParser(description="Speed of pliant beside others.")
    parser.add_argument("--only", nargs="+", choices=names, default=names, help="these sections")
    parser.add_argument("--rounds", type=int, default=Timer.rounds, help="rounds of each timing")
    parser.add_argument("--output", type=Path, default=RESULTS, help="the file of results")
    arguments = parser.parse_args()

    console = Console()
    timer = Timer(rounds=arguments.rounds)
    instruction_set = pliant_kernel(compile_model(chain(6))).instruction_set
    versions = {name: version(name) for name in ("pliant", "numpy", "pin", "mujoco")}
    run = this_run(instruction_set, versions)
    console.print(f"{run['cpu']}, build of the kernel: {instruction_set}\n", highlight=False)

    chosen = [section for section in SECTIONS if section.name in arguments.only]
    measured: Results = {}
    for section in chosen:
        with console.status(f"{section.name} ..."):
            figures = section.measure(timer)
        # after every section, so that an interruption costs one of them
        old = read(arguments.output)
        figures = measured[section.name] = section.combine(old.get(section.name, {}), figures)
        write(arguments.output, merge(old, section.name, figures, run, names))
        for shown in section.tables(figures):
            console.print(shown, "")
    verdicts = judge(chosen, measured)
    if verdicts:
        console.print(goal_table(verdicts), "")
    console.print(f"written to {arguments.output}", highlight=False)


if __name__ == "__main__":
    main()
