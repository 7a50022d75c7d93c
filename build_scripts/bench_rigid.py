"""Forward dynamics of rigid trees: pliant, Pinocchio and MuJoCo, called from Python alike.

Pinocchio 4.1 takes 9 GB of memory for the chain of 512.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from bench_models import State, chain, evaluate_call, pliant_call, pliant_kernel, random_state, tree
from bench_others import MuJoCo, Pinocchio
from bench_section import Goal, Results, Section, microseconds, ratio, table
from bench_timing import Timer
from rich.table import Table

import pliant as pl
from pliant.compile import compile_model
from pliant.model import Model

CHAINS = (6, 16, 48, 128, 512)
OTHERS = ("pinocchio", "pinocchio_world", "mujoco")


def measure(timer: Timer) -> Results:
    return compare([*map(chain, CHAINS), tree(5, 7)], timer)


def compare(systems: list[pl.System], timer: Timer) -> Results:
    contestants: dict[str, dict[str, Callable[[], object]]] = {}
    results: Results = {}
    for system in systems:
        model = compile_model(system)
        state, pinocchio, mujoco = random_state(model), Pinocchio(model), MuJoCo(model)
        contestants[system.name] = {
            "pliant": pliant_call(model, state),
            "pinocchio": pinocchio.call(state),
            "pinocchio_world": pinocchio.call(state, convention="WORLD"),
            "mujoco": mujoco.call(state),
            "pliant_evaluate": evaluate_call(model, state),
        }
        results[system.name] = {
            "bodies": len(model.bodies),
            "dof": model.u_size,
            "difference": largest_difference(model, state, pinocchio, mujoco),
        }
    for name, seconds in timer.best_in_groups(contestants).items():
        own = seconds["pliant"]
        results[name] |= {f"{who}_us": microseconds(value) for who, value in seconds.items()}
        results[name] |= {f"ratio_{who}": ratio(own, seconds[who]) for who in OTHERS}
    return results


def largest_difference(model: Model, state: State, pinocchio: Pinocchio, mujoco: MuJoCo) -> float:
    """Of the accelerations, relative to the largest; the three must agree before they are timed.

    Round-off grows with the condition of the mass matrix: 1e-17 cond(M), ten times that allowed.
    """
    own = pliant_call(model, state)().copy()
    theirs = pinocchio.in_pliants_order(pinocchio.call(state)(), state)
    mujoco.call(state)()
    scale = np.abs(own).max()
    difference = max(
        float(np.abs(own - other).max() / scale) for other in (theirs, mujoco.in_pliants_order())
    )
    kernel = pliant_kernel(model)
    kernel.accelerations(state.q, state.u, state.tau)
    tolerance = max(1e-12, 1e-16 * float(np.linalg.cond(kernel.mass_matrix())))
    if not difference < tolerance:
        raise AssertionError(
            f"{model.name}: accelerations differ by {difference:.1e}, more than {tolerance:.1e}"
        )
    return float(f"{difference:.2g}")


def tables(results: Results) -> list[Table]:
    columns = ["", "pliant", "call", "aba", "WORLD", "MuJoCo", "/aba", "/WORLD", "/MuJoCo"]
    rows = []
    for name, r in results.items():
        call = max(r["pliant_us"] - r["pliant_evaluate_us"], 0.0)
        times = [r["pliant_us"], call, r["pinocchio_us"], r["pinocchio_world_us"], r["mujoco_us"]]
        ratios = [r["ratio_pinocchio"], r["ratio_pinocchio_world"], r["ratio_mujoco"]]
        rows.append([name, *(f"{t:.2f}" for t in times), *(f"{x:.2f}" for x in ratios)])
    caption = (
        "Kernel.accelerations, Pinocchio's pin.aba (as it is, and in the convention WORLD) and "
        "MuJoCo's mj_forward, called from Python; ratios of pliant to each. call: what "
        "Kernel.accelerations takes beyond Kernel.evaluate, which passes no arrays."
    )
    return [table("Forward dynamics of rigid trees, us", columns, rows, caption)]


SECTION = Section("rigid", measure, tables, (Goal("rigid.*.ratio_pinocchio", 0.5),))
