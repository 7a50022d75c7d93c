"""Lines and branches of what reads bytes that tests run: ``make coverage``.

    python build_scripts/native_coverage.py                 the tests that reach it
    python build_scripts/native_coverage.py tests/unit      others

Counted by gcov in a build of its own; the arithmetic of the kernel is not instrumented.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from build_tree import built

HERE = Path(__file__).parent
ROOT = HERE.parent
FILES = ("solver/kernel/model.cpp", "solver/kernel/data_file.cpp", "fmu_src/native/variables.cpp")
TESTS = (
    "tests/unit/test_data_file.py",
    "tests/unit/test_forged_data_files.py",
    "tests/unit/test_corpus.py",
    "tests/fmu/test_variable_table.py",
    "tests/physics/test_motion_tables.py",
)


def main() -> None:
    settings = {
        "PLIANT_COVERAGE": "ON",
        "PLIANT_INSTRUCTION_SETS": "baseline",
        "CMAKE_BUILD_TYPE": "Debug",
        "CMAKE_CXX_FLAGS_DEBUG": "-O1",
    }
    tree = built("_kernel", "coverage", **settings).parent
    built("_slave", "coverage", **settings)
    for old in tree.rglob("*.gcda"):
        old.unlink()
    tests = sys.argv[1:] or [test for test in TESTS if (ROOT / test).exists()]
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "other_build", *tests],
        cwd=ROOT,
        env={**os.environ, "PLIANT_BUILD": str(tree), "PYTHONPATH": str(HERE)},
        check=True,
    )
    report = [sys.executable, "-m", "gcovr", "--root", ROOT, tree, "--txt-metric"]
    filters = [f"--filter={ROOT / file}" for file in FILES]
    # an exception that any call may throw is no branch of ours
    options = ["--exclude-throw-branches", "--gcov-ignore-parse-errors=all"]
    for metric in ("line", "branch"):
        subprocess.run([*report, metric, *filters, *options], check=True)


if __name__ == "__main__":
    main()
