"""``pliant bench platform``: what it measures, keeps and shows."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from pliant.cli import app
from pliant.demos import bench_file, platform_bench
from pliant.demos.platform_measure import ALGORITHMS, Case, acceleration_difference, check, race

sys.path.insert(0, str(Path(__file__).parents[2] / "build_scripts"))
bench_platform = import_module("bench_platform")

KEYS = {
    "order_n_cpu_s",
    "dense_cpu_s",
    "ratio",
    "difference",
    "gap",
    "energy_balance",
    "paper_order_n_cpu_s",
    "paper_dense_cpu_s",
    "dense_seconds_run",
}


def bench(path: Path, *arguments: str) -> str:
    outcome = CliRunner().invoke(app, ["bench", "platform", "--output", str(path), *arguments])
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout


def entries(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())["platform"]
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "bench.json"


# -------------------------------------------------------------------------------------- command


def test_a_case_has_its_figures_beside_the_papers(path: Path) -> None:
    shown = bench(path, "--cases", "9", "--seconds", "0.2")
    (figures,) = entries(path).values()
    assert figures.keys() >= KEYS
    assert figures["paper_order_n_cpu_s"] == 40.7
    assert figures["ratio"] == pytest.approx(
        figures["order_n_cpu_s"] / figures["dense_cpu_s"], rel=1e-3
    )
    assert "40.7" in shown


def test_cases_are_added_to_what_is_there(path: Path) -> None:
    bench_file.write(path, {"runs": {"rigid": {}}, "rigid": {"x": 1}})
    for case in ("2", "1"):
        bench(path, "--cases", case, "--seconds", "0.01")
    results = json.loads(path.read_text())
    assert results["rigid"] == {"x": 1}
    assert list(results["platform"]) == ["1", "2"]
    assert set(results["runs"]) == {"rigid", "platform"}


def test_a_known_case_is_not_run_again(path: Path) -> None:
    bench(path, "--cases", "1", "--seconds", "0.02")
    before = path.read_text()
    shown = bench(path, "--cases", "1", "--seconds", "0.01")
    assert "known from before (--again measures anew): case 1\n" in shown
    assert path.read_text() == before
    bench(path, "--cases", "1", "--seconds", "0.01", "--again")
    assert entries(path)["1"]["order_n_seconds_run"] == 0.01


def test_figures_of_another_kernel_are_void(path: Path) -> None:
    bench(path, "--cases", "1", "--seconds", "0.02")
    results = json.loads(path.read_text())
    results["platform"]["1"]["stamp"]["kernel"] = "other"
    path.write_text(json.dumps(results))
    bench(path, "--cases", "1", "--seconds", "0.01", "--only", "order_n")
    assert entries(path)["1"]["order_n_seconds_run"] == 0.01
    assert "dense_cpu_s" not in entries(path)["1"]


def test_one_algorithm_after_the_other_makes_a_ratio(path: Path) -> None:
    bench(path, "--cases", "1", "--seconds", "0.02", "--only", "order_n")
    assert "ratio" not in entries(path)["1"]
    bench(path, "--cases", "1", "--seconds", "0.02", "--dense-seconds", "0.01", "--only", "dense")
    assert entries(path)["1"]["ratio"] > 0
    assert entries(path)["1"]["dense_seconds_run"] == 0.01


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cases", "0-3"], "--cases: '0-3' names no cases; give some of 1-16, as 1-4,9"),
        (["--cases", "five"], "'five' names no cases"),
        (["--seconds", "0"], "--seconds: 0 s is no time to run; give more than 0"),
        (["--seconds", "nan"], "--seconds: nan s is no time to run"),
        (["--seconds", "0.0105"], "0.0105 s is no whole number of steps of 0.001 s"),
    ],
)
def test_what_cannot_be_run_is_refused(path: Path, arguments: list[str], message: str) -> None:
    outcome = CliRunner().invoke(app, ["bench", "platform", "-o", str(path), *arguments])
    assert outcome.exit_code == 1
    assert message in outcome.stderr
    assert not path.exists()


# ---------------------------------------------------------------------------------- measurement


def test_times_are_counted_for_100_s_and_the_runs_are_compared() -> None:
    case = Case.of(1)
    done: list[int] = []
    figures = race(case, {"order_n": 0.2, "dense": 0.1}, lambda what, steps: done.append(steps))
    assert sum(done) == 300
    for algorithm in ALGORITHMS:
        # a step takes microseconds, 100 s are 1e5 of them
        assert 0.01 < figures[f"{algorithm}_cpu_s"] < 100.0
    assert figures["dense_seconds_run"] == 0.1
    assert set(figures["position_difference_m"]) == {"0.1"}
    assert figures["position_difference_m"]["0.1"] < 1e-14


def test_gap_is_told_of_closed_cases_only() -> None:
    closed, opened = (check(Case.of(n), 0.05, lambda what, steps: None) for n in (9, 1))
    assert 0.0 < closed["gap"] < 1e-9
    assert opened["gap"] is None
    for figures in (closed, opened):
        assert figures["difference"] < 1e-10
        # Euler-Cromer under constant loads from rest: step / time
        assert figures["energy_balance"] < 0.1


def test_accelerations_are_compared_for_the_same_time_too() -> None:
    """The loads change sign at 20 s, and with them all accelerations from rest."""
    case = Case.of(1)
    sim, other = case.simulation(), case.simulation("dense")
    before = sim.evaluate().copy()
    sim.kernel.time = 20.0
    assert acceleration_difference(sim, other) < 1e-11
    np.testing.assert_allclose(other.evaluate(), -before, rtol=1e-9)


def test_longer_runs_survive_a_short_one_of_make_bench() -> None:
    def entry(seconds: float, stamp: str) -> dict[str, Any]:
        return {**{f"{name}_seconds_run": seconds for name in ALGORITHMS}, "stamp": stamp}

    old = {"1": entry(100.0, "a"), "2": entry(100.0, "b"), "3": entry(0.1, "a")}
    new = {number: entry(5.0, "a") for number in ("1", "2", "3", "4")}
    kept = bench_platform.longer(old, new)
    spans = {number: figures["order_n_seconds_run"] for number, figures in kept.items()}
    assert spans == {"1": 100.0, "2": 5.0, "3": 5.0, "4": 5.0}


def test_tables_show_what_is_there() -> None:
    assert len(platform_bench.tables({"1": {}, "16": {"ratio": 0.3}})) == 2
