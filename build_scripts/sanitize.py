"""The kernel's tests with sanitizers, for every instruction set: ``make sanitize``.

    python build_scripts/sanitize.py              all of it
    python build_scripts/sanitize.py --only v3    one instruction set
    python build_scripts/sanitize.py --only threads

Addresses and undefined behaviour in the Python module, built for the baseline and each instruction
set that this machine has; races between instances in threads (two minutes). Compiling takes some
minutes for each instruction set.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import fmpy
from build_tree import built
from fuzz_fmu import gadget, listed

import pliant as pl
from pliant._kernel import Kernel
from pliant.compile import compile_model
from pliant.demos.station_arm import MODEL_FILE

HERE = Path(__file__).parent
ROOT = HERE.parent
TESTS = (
    "tests/oracle/test_kernel.py",
    "tests/oracle/test_loops.py",
    "tests/oracle/test_derivatives.py",
    "tests/physics/test_locks.py",
    "tests/physics/test_wheels.py",
    "tests/physics/test_motion_tables.py",
    "tests/unit/test_data_file.py",
    "tests/unit/test_forged_data_files.py",
    "tests/unit/test_corpus.py",
)
INSTANCES, STEPS = 64, 50


def runtime(name: str) -> str:
    """Where the compiler has a library."""
    compiler = os.environ.get("CXX", "c++")
    found = subprocess.run(
        [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
    )
    return found.stdout.strip()


def has(instruction_set: str) -> bool:
    """Whether this machine has an instruction set."""
    try:
        Kernel(compile_model(gadget()).blob, instruction_set)
    except ValueError:
        return False
    return True


def addresses(instruction_set: str) -> None:
    """Tests on the Python module with the address and undefined-behaviour sanitizers."""
    settings = {
        "PLIANT_SANITIZE": "address,undefined",
        "PLIANT_INSTRUCTION_SETS": ";".join(dict.fromkeys(["baseline", instruction_set])),
        "CMAKE_BUILD_TYPE": "RelWithDebInfo",
        "CMAKE_CXX_FLAGS_RELWITHDEBINFO": "-O1",
    }
    tree = built("_kernel", f"sanitized-{instruction_set}", **settings).parent
    built("_slave", f"sanitized-{instruction_set}", **settings)
    environment = {
        **os.environ,
        "PLIANT_BUILD": str(tree),
        "PYTHONPATH": str(HERE),
        "LD_PRELOAD": f"{runtime('libasan.so')}:{runtime('libubsan.so')}",
        # the interpreter keeps what it has until it ends
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "other_build"]
    command += ["-p", "no:cacheprovider", *TESTS]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)


def threads() -> None:
    """Instances side by side in threads of a host without Python, with the thread sanitizer."""
    library = built(
        "pliant_fmu",
        "sanitized-threads",
        PLIANT_SANITIZE="thread",
        CMAKE_BUILD_TYPE="RelWithDebInfo",
        CMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1",
    )
    with tempfile.TemporaryDirectory() as name:
        host = Path(name) / "threads"
        headers = Path(fmpy.__file__).parent / "c-code"
        compiler = [os.environ.get("CXX", "c++"), "-std=c++17", "-O1", "-g", "-pthread"]
        source = ROOT / "tests" / "fmu" / "host" / "threads.cpp"
        subprocess.run(
            [*compiler, "-fsanitize=thread", f"-I{headers}", "-o", host, source, "-ldl"], check=True
        )
        for system in (pl.load(MODEL_FILE), gadget()):
            model = listed(system, Path(name), library)
            path, folder, guid, *variables = model.listing.read_text().splitlines()
            inputs = sum(" input " in line for line in variables)
            arguments = [path, f"file://{folder}", guid, inputs, INSTANCES, STEPS]
            subprocess.run(
                [host, *map(str, arguments)],
                check=True,
                env={**os.environ, "TSAN_OPTIONS": "halt_on_error=1"},
            )


def main() -> None:
    choices = ["baseline", "v3", "v4", "threads"]
    parser = argparse.ArgumentParser(description="The kernel's tests with sanitizers.")
    parser.add_argument("--only", nargs="+", choices=choices, default=choices)
    for part in parser.parse_args().only:
        start = perf_counter()
        if part == "threads":
            threads()
        elif has(part):
            addresses(part)
        else:
            print(f"{part}: this machine does not have it")
            continue
        print(f"{part}: clean, {perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
