"""pliant against itself: Order-N and dense, growth with size, stiffening, memory."""

from __future__ import annotations

from math import log

from bench_models import (
    beam_chain,
    chain,
    evaluate_call,
    pliant_call,
    pliant_kernel,
    random_state,
    tree,
)
from bench_section import Goal, Results, Section, microseconds, ratio, table
from bench_timing import Timer
from rich.table import Table

import pliant as pl
from pliant.compile import compile_model
from pliant.demos.platform import h49, h128, platform

# ---------------------------------------------------------------------------- order_n and dense


def growing_systems() -> list[pl.System]:
    """Rigid chains, then the flexible cases of the platform family."""
    return [*map(chain, (6, 16, 48, 128, 512)), *map(platform, range(5, 9)), h49(), h128()]


def measure_algorithms(timer: Timer) -> Results:
    models = {system.name: compile_model(system) for system in growing_systems()}
    calls = {
        name: {
            algorithm: pliant_call(model, random_state(model), algorithm)
            for algorithm in ("order_n", "dense")
        }
        for name, model in models.items()
    }
    return {
        name: {
            "dof": models[name].u_size,
            "order_n_us": microseconds(seconds["order_n"]),
            "dense_us": microseconds(seconds["dense"]),
            "ratio": ratio(seconds["order_n"], seconds["dense"]),
        }
        for name, seconds in timer.best_in_groups(calls).items()
    }


def algorithm_tables(results: Results) -> list[Table]:
    rows = [
        [name, str(r["dof"]), f"{r['order_n_us']:.2f}", f"{r['dense_us']:.2f}", f"{r['ratio']:.3f}"]
        for name, r in results.items()
    ]
    return [table("Order-N against dense, us", ["", "dof", "order_n", "dense", "ratio"], rows)]


ALGORITHMS = Section("order_n_vs_dense", measure_algorithms, algorithm_tables)

# ------------------------------------------------------------------------------ growth with size

SMALL, LARGE = 48, 512


def measure_scaling(timer: Timer) -> Results:
    contestants = {}
    for bodies in (SMALL, LARGE):
        model = compile_model(chain(bodies))
        contestants[f"chain{bodies}"] = evaluate_call(model, random_state(model))
    seconds = timer.best(contestants)
    small, large = seconds.values()
    return {
        "exponent": float(f"{log(large / small) / log(LARGE / SMALL):.3f}"),
        **{f"{name}_us": microseconds(value) for name, value in seconds.items()},
    }


def scaling_tables(results: Results) -> list[Table]:
    row = ["pliant", *(f"{results[f'chain{n}_us']:.2f}" for n in (SMALL, LARGE))]
    return [
        table(
            "Growth with size: time ~ bodies^exponent, us",
            ["", f"{SMALL} bodies", f"{LARGE} bodies", "exponent"],
            [[*row, f"{results['exponent']:.3f}"]],
            "Kernel.evaluate: passing arrays would flatter.",
        )
    ]


SCALING = Section("scaling", measure_scaling, scaling_tables, (Goal("scaling.exponent", 1.05),))

# ------------------------------------------------------------------------------------ stiffening


def measure_stiffening(timer: Timer) -> Results:
    models = {name: compile_model(beam_chain(16, name == "on")) for name in ("on", "off")}
    calls = {name: pliant_call(model, random_state(model)) for name, model in models.items()}
    seconds = timer.best(calls)
    return {
        "bodies": len(models["on"].bodies),
        "dof": models["on"].u_size,
        "on_us": microseconds(seconds["on"]),
        "off_us": microseconds(seconds["off"]),
        "ratio": ratio(seconds["on"], seconds["off"]),
    }


def stiffening_tables(results: Results) -> list[Table]:
    r = results
    row = [f"{r['bodies']} beams", str(r["dof"])]
    row += [f"{r['on_us']:.2f}", f"{r['off_us']:.2f}", f"{r['ratio']:.2f}"]
    caption = "Two bending modes in each plane and one of torsion a beam."
    return [
        table("Cost of stiffening, us", ["", "dof", "with", "without", "ratio"], [row], caption)
    ]


STIFFENING = Section("stiffening", measure_stiffening, stiffening_tables)

# ---------------------------------------------------------------------------------------- memory


def measure_memory(timer: Timer) -> Results:
    results = {}
    for system in [*growing_systems(), tree(5, 7)]:
        model = compile_model(system)
        results[system.name] = {
            "dof": model.u_size,
            "instance_bytes": pliant_kernel(model).bytes,
            "data_file_bytes": len(model.blob),
        }
    return results


def memory_tables(results: Results) -> list[Table]:
    rows = [
        [name, str(r["dof"]), f"{r['instance_bytes']:,}", f"{r['data_file_bytes']:,}"]
        for name, r in results.items()
    ]
    return [table("Bytes", ["", "dof", "per instance", "data file"], rows)]


MEMORY = Section("memory", measure_memory, memory_tables)
