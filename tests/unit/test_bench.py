"""The benchmark's own machinery: timing, results, goals, and that all solve the same problem."""

from __future__ import annotations

import doctest
import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pliant.compile import compile_model
from pliant.demos import bench_file

SCRIPTS = Path(__file__).parents[2] / "build_scripts"
sys.path.insert(0, str(SCRIPTS))

bench_models = import_module("bench_models")
bench_section = import_module("bench_section")
bench_timing = import_module("bench_timing")


def module_with_others(name: str) -> Any:
    """A module that needs Pinocchio and MuJoCo, which only `make bench` installs."""
    pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    return import_module(name)


@pytest.mark.parametrize("module", [bench_section, bench_timing])
def test_the_examples_of_the_docstrings_hold(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


# ---------------------------------------------------------------------------------------- timing


class Clock:
    """Time that passes only when a contestant lets it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.called: list[str] = []

    def contestant(self, name: str, durations: list[float]) -> Callable[[], None]:
        """Takes the given times in turn, the last one for ever."""
        left = list(durations)

        def call() -> None:
            self.called.append(name)
            self.now += left.pop(0) if len(left) > 1 else left[0]

        return call


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(bench_timing, "perf_counter", lambda: made.now)
    return made


def test_the_best_round_counts(clock: Clock) -> None:
    # the first call of each finds out how many calls fill a window: one
    slow_then_fast = clock.contestant("a", [1.0, 5.0, 2.0, 3.0])
    assert bench_timing.Timer(rounds=3, window=0.1).best({"a": slow_then_fast}) == {"a": 2.0}


def test_contestants_take_turns(clock: Clock) -> None:
    contestants = {name: clock.contestant(name, [1.0]) for name in "ab"}
    bench_timing.Timer(rounds=3, window=0.1).best(contestants)
    assert "".join(clock.called) == "ab" + "ababab"


def test_groups_are_timed_together(clock: Clock) -> None:
    groups = {group: {"x": clock.contestant(group, [1.0])} for group in "ab"}
    best = bench_timing.Timer(rounds=2, window=0.1).best_in_groups(groups)
    assert best == {"a": {"x": 1.0}, "b": {"x": 1.0}}
    assert "".join(clock.called) == "ab" + "abab"


def test_short_calls_are_repeated_until_they_fill_the_window(clock: Clock) -> None:
    quick = clock.contestant("a", [1e-3])
    assert bench_timing.Timer(rounds=1, window=0.1).best({"a": quick})["a"] == pytest.approx(1e-3)
    calibration = 1 + 2 + 4 + 8 + 16  # until a tenth of the window is seen
    assert len(clock.called) == calibration + 100


# --------------------------------------------------------------------------------------- results


def test_a_section_replaces_its_own_figures_only() -> None:
    old = {"runs": {"a": {"n": 1}, "b": {"n": 1}}, "a": {"x": 1, "gone": 0}, "b": {"x": 2}}
    merged = bench_file.merge(old, "a", {"x": 3}, {"n": 2}, ["a", "b"])
    assert merged == {"runs": {"a": {"n": 2}, "b": {"n": 1}}, "a": {"x": 3}, "b": {"x": 2}}


def test_the_file_is_the_same_whatever_is_measured_first(tmp_path: Path) -> None:
    files = []
    for index, names in enumerate((["a", "b", "c"], ["c", "a", "b"])):
        path = tmp_path / f"{index}" / "bench.json"
        for name in names:
            old = bench_file.read(path)
            merged = bench_file.merge(old, name, {"x": 1}, {}, ["b", "a"])
            bench_file.write(path, merged)
        files.append(path.read_text())
    assert files[0] == files[1]
    assert list(json.loads(files[0])) == ["runs", "b", "a", "c"]


def test_a_run_says_where_it_was_made() -> None:
    run = bench_file.this_run("v3", {"pin": "4.1"})
    assert run["instruction_set"] == "v3"
    assert run["pin"] == "4.1"
    assert run["cpu"]


# ----------------------------------------------------------------------------------------- goals


def test_a_goal_looks_at_every_figure_that_fits_and_no_other() -> None:
    results = {
        "rigid": {"a": {"ratio": 0.4, "other": 9.0}, "b": {"ratio": 0.6}},
        "ratio": 9.0,
        "flexible": {"a": {"ratio": 9.0}},
    }
    verdicts = bench_section.Goal("rigid.*.ratio", 0.5).verdicts(results)
    found = {verdict.key: verdict.is_met for verdict in verdicts}
    assert found == {"rigid.a.ratio": True, "rigid.b.ratio": False}


def test_a_goal_that_is_reached_exactly_is_met() -> None:
    assert bench_section.Verdict("x", limit=0.5, reached=0.5).is_met
    assert not bench_section.Verdict("x", limit=0.5, reached=float("nan")).is_met


# -------------------------------------------------------------------------- the same for all three


@pytest.mark.parametrize("system", [bench_models.chain(7), bench_models.tree(3, 4)])
def test_pliant_pinocchio_and_mujoco_find_the_same_accelerations(system: Any) -> None:
    bench_others = module_with_others("bench_others")
    bench_rigid = import_module("bench_rigid")
    model = compile_model(system)
    state = bench_models.random_state(model)
    others = bench_others.Pinocchio(model), bench_others.MuJoCo(model)
    # well-conditioned trees of a dozen bodies: some hundred roundings
    assert bench_rigid.largest_difference(model, state, *others) < 1e-13


def test_nothing_is_timed_that_disagrees() -> None:
    bench_others = module_with_others("bench_others")
    bench_rigid = import_module("bench_rigid")
    model = compile_model(bench_models.chain(3))
    weightless = compile_model(bench_models.chain(3).model_copy(update={"gravity": np.zeros(3)}))
    state = bench_models.random_state(model)
    others = bench_others.Pinocchio(weightless), bench_others.MuJoCo(model)
    with pytest.raises(AssertionError, match="chain3: accelerations differ by"):
        bench_rigid.largest_difference(model, state, *others)


def test_a_flexible_tree_is_given_to_pinocchio_as_its_rigid_twin() -> None:
    bench_others = module_with_others("bench_others")
    platform = import_module("pliant.demos.platform").platform
    unloaded = {"loads": {}}
    flexible, rigid = (compile_model(platform(c).model_copy(update=unloaded)) for c in (8, 4))
    state = bench_models.random_state(rigid)
    pinocchio = bench_others.Pinocchio(flexible)
    pinocchio.slots = {joint.name: joint for joint in rigid.joints}  # the state has no modes
    theirs = pinocchio.in_pliants_order(pinocchio.call(state)(), state)
    kernel = bench_models.pliant_kernel(rigid)
    own = kernel.accelerations(state.q, state.u, state.tau).copy()
    tolerance = max(1e-12, 1e-16 * float(np.linalg.cond(kernel.mass_matrix())))
    np.testing.assert_allclose(theirs, own, rtol=0, atol=tolerance * np.abs(own).max())


# -------------------------------------------------------------------------------------- sections


def test_sections_have_the_figures_that_goals_and_tables_look_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = module_with_others("bench")
    monkeypatch.setattr(bench.bench_solver, "growing_systems", lambda: [bench_models.chain(3)])
    timer = bench_timing.Timer(rounds=1, window=1e-6)
    h128 = import_module("pliant.demos.platform").platform(5).model_copy(update={"name": "h128"})
    results = {
        "rigid": bench.bench_rigid.compare([bench_models.chain(3)], timer),
        "flexible": bench.bench_flexible.measure_systems([h128], timer),
    }
    for section in bench.SECTIONS:
        if section.name not in ("rigid", "flexible"):  # small ones above
            results[section.name] = section.measure(timer)
        assert section.tables(results[section.name])
        for goal in section.goals:
            assert goal.verdicts(results), goal
    json.dumps(results)
