"""The native FMU in a host that is no Python: compiled here, run with an empty environment."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import fmpy
import numpy as np
import pytest

from fmu.raw_slave import FUNCTIONS
from fmu.twin import Twin

HOST = Path(__file__).parent / "host"
HEADERS = Path(fmpy.__file__).parent / "c-code"  # those of the FMI project
NATIVE = Path(__file__).parents[2] / "fmu_src" / "native"
KERNEL = Path(__file__).parents[2] / "solver" / "kernel"
STRICT = ["-Wall", "-Wextra", "-Werror", f"-I{HEADERS}"]

CC = shutil.which(os.environ.get("CC", "cc"))
CXX = shutil.which(os.environ.get("CXX", "c++"))
pytestmark = pytest.mark.skipif(CC is None or CXX is None, reason="there is no C compiler")


def compiled(source: str, target: Path) -> Path:
    compiler = [CC, "-std=c11"] if source.endswith(".c") else [CXX, "-std=c++17", "-pthread"]
    subprocess.run([*compiler, *STRICT, "-o", target, HOST / source, "-ldl"], check=True)
    return target


def run(program: Path, *arguments: object) -> str:
    """With no environment at all, in the root folder."""
    done = subprocess.run(
        [program, *map(str, arguments)], env={}, cwd="/", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    # the two calls that never work say so
    assert all(re.search("CancelStep|IntegerStatus", line) for line in done.stderr.splitlines())
    return done.stdout


def test_a_host_without_python_gets_the_motion_of_the_simulation_bitwise(arm, arm_system, tmp_path):
    inputs = [v.name for v in arm.variables.values() if v.causality == "input"]
    outputs = [v.name for v in arm.variables.values() if v.causality == "output"][:-1]
    assert [arm.reference[name] for name in inputs] == list(range(len(inputs)))
    first, steps = arm.reference[outputs[0]], 500
    assert [arm.reference[name] for name in outputs] == list(range(first, first + len(outputs)))

    host = compiled("run.c", tmp_path / "run")
    text = run(host, arm.path, arm.uri, arm.guid, len(inputs), first, len(outputs), steps)
    lines = text.splitlines()
    assert "version 2.0 default" in lines
    rows = [[float.fromhex(x) for x in line.split()[1:]] for line in lines if line[:3] == "row"]

    twin = Twin(arm_system, outputs, step=1e-3)
    for step in range(steps):
        twin.set(inputs, [(step * 7 + i * 13) % 101 - 50 for i in range(len(inputs))])
        twin.step()
        assert rows[step] == twin.read().tolist()
    assert np.ptp(rows, axis=0).max() > 1.0

    # neither Python nor the compiler's own runtime
    loaded = {Path(line.split()[1]).name for line in lines if line.startswith("loaded")}
    assert arm.path.name in loaded
    strangers = [name for name in loaded if re.search(r"python|stdc\+\+|gcc", name)]
    assert strangers == []


def test_64_instances_in_threads_end_bitwise_as_one_alone(arm, tmp_path):
    inputs = len(arm.named("input"))
    host = compiled("threads.cpp", tmp_path / "threads")
    text = run(host, arm.path, arm.uri, arm.guid, inputs, 64, 200)
    assert text == "64 of 64 equal, histories differ: 1\n"


def test_every_function_is_defined_with_the_official_signature(tmp_path):
    # The slave's source with the FMI project's declarations in place of its own: functions of C
    # cannot be overloaded, so that any difference is an error.
    shutil.copy(NATIVE / "fmi2.cpp", tmp_path)
    (tmp_path / "fmi2.h").write_text('#include "fmi2Functions.h"\n')
    check = [CXX, "-std=c++17", "-fsyntax-only", f"-I{HEADERS}", f"-I{NATIVE}", f"-I{KERNEL}"]
    subprocess.run([*check, tmp_path / "fmi2.cpp"], check=True)
    official = (HEADERS / "fmi2Functions.h").read_text()
    source = (NATIVE / "fmi2.cpp").read_text()
    defined = set(re.findall(r"^[\w ]+\*? ?\*?(fmi2\w+)\(", source, re.MULTILINE))
    assert defined >= set(FUNCTIONS) | {"fmi2Instantiate", "fmi2FreeInstance", "fmi2GetVersion"}
    assert all(f"{name}TYPE " in official for name in defined)


def test_nothing_but_fmi_functions_is_visible(arm):
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("there is no nm")
    listed = subprocess.run([nm, "-D", "--defined-only", arm.path], capture_output=True, text=True)
    names = {line.split()[-1] for line in listed.stdout.splitlines()}
    others = {"fmi2Instantiate", "fmi2FreeInstance", "fmi2GetVersion", "fmi2GetTypesPlatform"}
    assert names == set(FUNCTIONS) | others
