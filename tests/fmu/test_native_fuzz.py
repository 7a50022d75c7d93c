"""A short run of the fuzzers, without sanitizers; ``make fuzz`` is the long one with them."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "build_scripts"))
fuzz_fmu = pytest.importorskip("fuzz_fmu")

pytestmark = pytest.mark.skipif(
    shutil.which(os.environ.get("CXX", "c++")) is None, reason="there is no C++ compiler"
)


def counts_of(**cases: int) -> dict[str, float]:
    """The counts of one part of the campaign."""
    (counts,) = dict(fuzz_fmu.campaign(sanitized=0.0, jobs=2, **cases)).values()
    return counts


def test_random_calls_get_the_statuses_of_the_standard_and_errors_change_nothing():
    counts = counts_of(calls=5000, seed=2026)
    assert counts["wrong"] == 0
    assert counts["calls"] > 100_000
    assert 0.2 < counts["refused"] / counts["calls"] < 0.8
    assert counts["states_compared"] > 10_000
    assert counts["discarded"] > 0


def test_numbers_of_any_size_are_refused_without_a_trace_or_give_finite_results():
    counts = counts_of(wild=3000, seed=2027)
    assert counts["wrong"] == counts["not_finite_with_ok"] == counts["unreadable_after_good"] == 0
    assert counts["refusals_compared"] > 3000
    assert counts["twins_compared"] > 3000
    assert counts["states_mirrored"] > 500
    assert counts["steps"] > 5000
    assert counts["steps_discarded"] > 100


def test_damaged_states_and_files_are_all_refused():
    counts = counts_of(blobs=1500, seed=7) | counts_of(damaged=900, seed=7)
    assert counts["blobs_accepted"] == counts["files_accepted"] == 0
    assert counts["instances_changed"] == 0


def test_what_forgers_make_with_the_right_checksum_is_refused_or_bears_being_used():
    states, files = counts_of(states=1500, seed=8), counts_of(files=1500, seed=8)
    assert (states["forged_states"], files["forged_files"]) == (1500, 1500)
    for counts in (states, files):
        assert counts["wrong"] == counts["not_finite_with_ok"] == 0
        assert counts["steps"] > 500
    assert states["refusals_compared"] > 300
    assert states["states_accepted"] > 300
    assert files["files_accepted"] > 300


def test_instances_that_come_and_go_leave_no_memory_behind():
    results = dict(fuzz_fmu.campaign(cycles=3000))
    for counts in results.values():
        grown = counts["resident_at_the_end"] - counts["resident_after_1_percent"]
        # a leak of one small state a cycle would be ten times that
        assert grown < 300_000
