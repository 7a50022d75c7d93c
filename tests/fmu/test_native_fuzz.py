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


def test_random_calls_get_the_statuses_of_the_standard_and_errors_change_nothing():
    counts = dict(fuzz_fmu.campaign(sequences=5000, seed=2026, sanitized=False))["calls"]
    assert counts["wrong"] == 0
    assert counts["calls"] > 100_000
    assert 0.2 < counts["refused"] / counts["calls"] < 0.8
    assert counts["states_compared"] > 10_000
    assert counts["discarded"] > 0


def test_mutated_states_and_files_are_all_refused():
    counts = dict(fuzz_fmu.campaign(blobs=1500, files=900, seed=7, sanitized=False))["mutations"]
    assert (counts["blobs"], counts["files"]) == (1500, 900)
    assert counts["blobs_accepted"] == counts["files_accepted"] == 0
    # nor does a forger with the right checksum bring it down
    assert counts["forged"] == 600
    assert counts["instances_changed"] == 0


def test_instances_that_come_and_go_leave_no_memory_behind():
    results = dict(fuzz_fmu.campaign(cycles=3000, sanitized=False))
    for counts in results.values():
        grown = counts["resident_at_the_end"] - counts["resident_after_1_percent"]
        # a leak of one small state a cycle would be ten times that
        assert grown < 300_000
