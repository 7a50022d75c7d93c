"""Huynh's flexible systems: one evaluation, and the CPU time of a simulated second."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from bench_models import pliant_call, random_state
from bench_others import Pinocchio
from bench_section import Goal, Results, Section, microseconds, ratio, table
from bench_timing import Timer
from rich.table import Table

import pliant as pl
from pliant.compile import compile_model
from pliant.demos.platform import h49, h128
from pliant.model import Model
from pliant.modes import highest_frequency

INTEGRATORS = ("leapfrog", "rk4", "euler_cromer")
# The papers' step. Without their frequency limit both systems need a shorter one, and the cost of
# a step does not depend on its length: steps of STABLE_STEP are timed and counted as 1 ms.
PAPER_STEP = 1e-3
STABLE_STEP = 1e-4
STEPS = 20  # in one call
# CPU/simulated time at 1 ms of Huynh et al. 2016 on their machine, one branch.
HUYNH = {"h49": 0.256, "h128": 1.25}


def measure(timer: Timer) -> Results:
    return measure_systems([h49(), h128()], timer)


def measure_systems(systems: list[pl.System], timer: Timer) -> Results:
    models = {system.name: compile_model(system) for system in systems}
    best = timer.best_in_groups({name: contestants(model) for name, model in models.items()})
    results: Results = {}
    for system in systems:
        model, seconds = models[system.name], best[system.name]
        unloaded = system.model_copy(update={"loads": {}})
        results[system.name] = {
            "bodies": len(model.bodies),
            "dof": model.u_size,
            "highest_frequency_rad_s": float(f"{highest_frequency(unloaded):.5g}"),
            "evaluation_us": microseconds(seconds["evaluation"]),
            "pinocchio_rigid_us": microseconds(seconds["pinocchio_rigid"]),
            "ratio_pinocchio_rigid": ratio(seconds["evaluation"], seconds["pinocchio_rigid"]),
        }
        for integrator in INTEGRATORS:
            step = seconds[integrator] / STEPS
            results[system.name][integrator] = {
                "step_us": microseconds(step),
                "cpu_per_simulated_time": ratio(step, PAPER_STEP),
            }
    return results


def contestants(model: Model) -> dict[str, Callable[[], object]]:
    state = random_state(model)
    made: dict[str, Callable[[], object]] = {
        "evaluation": pliant_call(model, state),
        "pinocchio_rigid": Pinocchio(model).call(state),
    }
    for integrator in INTEGRATORS:
        sim = pl.Simulation(model, STABLE_STEP, integrator=integrator)
        made[integrator] = partial(sim.step, STEPS)
    return made


def tables(results: Results) -> list[Table]:
    evaluation = table(
        "Flexible trees: one evaluation, us",
        ["", "bodies", "dof", "pliant", "Pinocchio, rigid", "ratio"],
        [
            [
                name,
                str(r["bodies"]),
                str(r["dof"]),
                f"{r['evaluation_us']:.2f}",
                f"{r['pinocchio_rigid_us']:.2f}",
                f"{r['ratio_pinocchio_rigid']:.2f}",
            ]
            for name, r in results.items()
        ],
        "Kernel.accelerations of the flexible tree, pin.aba of the same tree made rigid.",
    )
    rows = []
    for name, r in results.items():
        for integrator in INTEGRATORS:
            own = r[integrator]
            rows.append(
                [
                    f"{name} {integrator}",
                    f"{own['step_us']:.2f}",
                    f"{own['cpu_per_simulated_time']:.4f}",
                    f"{HUYNH[name]:g}" if integrator == "euler_cromer" else "",
                ]
            )
    limits = ", ".join(
        f"{name} {2e3 / r['highest_frequency_rad_s']:.2f} ms" for name, r in results.items()
    )
    stepping = table(
        "Flexible trees: CPU/simulated time at a step of 1 ms",
        ["", "us/step", "CPU/time", "Huynh 2016"],
        rows,
        "From the cost of a step, timed at 0.1 ms through Simulation.step: the explicit limit "
        f"2/omega is {limits} without the papers' frequency limit.",
    )
    return [evaluation, stepping]


SECTION = Section("flexible", measure, tables, (Goal("flexible.h128.ratio_pinocchio_rigid", 1.0),))
