"""The native FMU against the bare kernel, both flavours through FMPy, sizes and export time."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import fmpy
import numpy as np
from bench_section import Goal, Results, Section, microseconds, ratio, table
from bench_timing import Timer
from build_tree import built
from fmpy.fmi2 import FMU2Slave
from fmpy.model_description import ModelDescription
from rich.table import Table

import pliant as pl
from pliant.demos.station_arm import MODEL_FILE

HERE = Path(__file__).parent
STEP = 1e-3
BATCH = 200  # steps in one call from Python, which thus adds nothing to them
SPEED = 0.01  # rad/s of every joint at the start: at rest all numbers would be zero
EXPORTS = 5

_INCLUDES = (Path(fmpy.__file__).parent / "c-code", HERE.parent / "tests" / "fmu" / "host")


# ---------------------------------------------------------------------------------------- the hosts


def compiled_host(folder: Path) -> ctypes.CDLL:
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        raise SystemExit("the benchmark of the FMU needs a C compiler")
    library = folder / "host.so"
    flags = ["-std=c11", "-O2", "-shared", "-fPIC", *(f"-I{path}" for path in _INCLUDES)]
    source = HERE / "bench_fmu_host.c"
    subprocess.run([compiler, *flags, "-o", library, source, "-ldl"], check=True)
    return ctypes.CDLL(str(library))


def references(description: ModelDescription, causality: str) -> list[int]:
    return [
        v.valueReference
        for v in description.modelVariables
        if v.causality == causality and v.type == "Real"
    ]


def start_speeds(description: ModelDescription) -> list[int]:
    return [v.valueReference for v in description.modelVariables if v.name.endswith(".qd_start")]


def open_in_c(host: ctypes.CDLL, folder: Path) -> None:
    """The FMU in ``folder`` in a host written in C, arm in motion."""
    description = fmpy.read_model_description(folder, validate=False)
    identifier = description.coSimulation.modelIdentifier
    library = folder / "binaries" / fmpy.platform / (identifier + fmpy.sharedLibraryExtension)

    def listed(values: list[int]) -> ctypes.Array[ctypes.c_uint]:
        return (ctypes.c_uint * len(values))(*values)

    starts = start_speeds(description)
    inputs, outputs = (references(description, kind) for kind in ("input", "output"))
    failed = host.host_open(
        str(library).encode(),
        (folder / "resources").as_uri().encode(),
        description.guid.encode(),
        listed(starts),
        (ctypes.c_double * len(starts))(*[SPEED] * len(starts)),
        ctypes.c_size_t(len(starts)),
        listed(inputs),
        ctypes.c_size_t(len(inputs)),
        listed(outputs),
        ctypes.c_size_t(len(outputs)),
    )
    if failed:
        raise SystemExit("the FMU could not be started")


def moving_simulation() -> pl.Simulation:
    """The same model and motion."""
    sim = pl.Simulation(MODEL_FILE, step=STEP)
    u = sim.u.copy()
    for joint in sim.model.joints:
        if joint.u.stop - joint.u.start == 1:
            u[joint.u] = SPEED
    sim.set_state(u=u)
    return sim


def kernel_in_cpp(sim: pl.Simulation) -> ctypes.CDLL:
    """The kernel alone in a host written in C++, one step a call."""
    host = ctypes.CDLL(str(built("bench_kernel_host", "bench")))
    blob = sim.model.blob
    speeds = (ctypes.c_double * len(sim.u))(*sim.u)
    if host.host_open(blob, ctypes.c_size_t(len(blob)), speeds, ctypes.c_double(STEP)):
        raise SystemExit("the kernel could not read the model")
    return host


@contextmanager
def in_fmpy(fmu: Path) -> Iterator[Callable[[], None]]:
    """A step through FMPy, with all inputs set before and all outputs read after it."""
    folder = Path(fmpy.extract(fmu))
    description = fmpy.read_model_description(fmu, validate=False)
    slave = FMU2Slave(
        guid=description.guid,
        unzipDirectory=str(folder),
        modelIdentifier=description.coSimulation.modelIdentifier,
        instanceName="bench",
    )
    slave.instantiate()
    slave.setupExperiment(startTime=0.0)
    starts = start_speeds(description)
    slave.setReal(starts, [SPEED] * len(starts))
    slave.enterInitializationMode()
    slave.exitInitializationMode()
    into, out = references(description, "input"), references(description, "output")
    nothing, steps = [0.0] * len(into), iter(range(10**9))

    def step() -> None:
        slave.setReal(into, nothing)
        slave.doStep(next(steps) * STEP, STEP)
        slave.getReal(out)

    yield step
    slave.terminate()
    slave.freeInstance()
    shutil.rmtree(folder)


# ----------------------------------------------------------------------------------------- measured


def measure(timer: Timer) -> Results:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        native = pl.export_fmu(MODEL_FILE, folder / "native.fmu", step=STEP)
        python = pl.export_fmu(MODEL_FILE, folder / "python.fmu", flavour="python", step=STEP)
        with zipfile.ZipFile(native) as archive:
            archive.extractall(folder / "native")
            model = archive.getinfo("resources/model.pliant").file_size
            libraries = [i.file_size for i in archive.infolist() if "binaries/" in i.filename]
        host = compiled_host(folder)
        open_in_c(host, folder / "native")
        sim = moving_simulation()
        kernel = kernel_in_cpp(sim)
        compiled = timer.best(
            {
                "kernel": lambda: kernel.host_step(BATCH),
                "batch": lambda: sim.kernel.step(BATCH),
                "step": lambda: host.host_step(BATCH),
                "exchange": lambda: host.host_exchange(BATCH),
            }
        )
        with in_fmpy(native) as native_step, in_fmpy(python) as python_step:
            through = timer.best({"native": native_step, "python": python_step})
        description = fmpy.read_model_description(native)
        return {
            "arm": {
                "inputs": len(references(description, "input")),
                "outputs": len(references(description, "output")),
                "kernel_step_us": microseconds(compiled["kernel"] / BATCH),
                "do_step_us": microseconds(compiled["step"] / BATCH),
                "ratio_kernel": ratio(compiled["step"], compiled["kernel"]),
                "kernel_batch_us": microseconds(compiled["batch"] / BATCH),
                "exchange_us": microseconds(compiled["exchange"] / BATCH),
                "fmpy_native_us": microseconds(through["native"]),
                "fmpy_python_us": microseconds(through["python"]),
            },
            "size": {
                "native_fmu_bytes": native.stat().st_size,
                "python_fmu_bytes": python.stat().st_size,
                "library_bytes": sum(libraries),
                "model_bytes": model,
            },
            "export": {
                f"{flavour}_s": round(export_seconds(folder / "again.fmu", flavour), 3)
                for flavour in ("native", "python")
            },
        }


def export_seconds(target: Path, flavour: str) -> float:
    """From the model file to the FMU, in a process that has pliant loaded: median of some."""
    times = []
    for _ in range(EXPORTS):
        start = perf_counter()
        pl.export_fmu(MODEL_FILE, target, flavour=flavour)
        times.append(perf_counter() - start)
    return float(np.median(times))


def tables(results: Results) -> list[Table]:
    arm, size, export = results["arm"], results["size"], results["export"]
    steps = [
        ["bare kernel, one step a call", f"{arm['kernel_step_us']:.2f}", "1"],
        ["fmi2DoStep in a C host", f"{arm['do_step_us']:.2f}", f"{arm['ratio_kernel']:.3f}"],
        *(
            [what, f"{arm[key]:.2f}", f"{arm[key] / arm['kernel_step_us']:.2f}"]
            for what, key in (
                (f"bare kernel, {BATCH} steps a call", "kernel_batch_us"),
                ("  with inputs set and outputs read", "exchange_us"),
                ("  the same through FMPy", "fmpy_native_us"),
                ("Python flavour through FMPy", "fmpy_python_us"),
            )
        ),
    ]
    caption = f"{arm['inputs']} inputs, {arm['outputs']} outputs; one internal step a step."
    files = [
        ["native", f"{size['native_fmu_bytes']:,}", f"{export['native_s']:.2f} s"],
        ["python", f"{size['python_fmu_bytes']:,}", f"{export['python_s']:.2f} s"],
    ]
    about = f"Library {size['library_bytes']:,} bytes, model {size['model_bytes']:,}, unpacked."
    return [
        table(
            "The arm as an FMU: a step of 1 ms, us", ["", "us", "of the kernel's"], steps, caption
        ),
        table("FMU files", ["flavour", "bytes", "export"], files, about),
    ]


SECTION = Section(
    "fmu",
    measure,
    tables,
    (Goal("fmu.arm.ratio_kernel", 1.05), Goal("fmu.export.native_s", 1.0)),
)
