"""Fuzzing the native FMU: ``make fuzz``.

    python build_scripts/fuzz_fmu.py                              the whole campaign
    python build_scripts/fuzz_fmu.py --sequences 1000 --cycles 0  a part of it
    python build_scripts/fuzz_fmu.py --seed 77 --sequences 1 --blobs 0 --files 0 --cycles 0
                                                                  one sequence again

Random sequences of calls and mutated states and files run on a library built with the address and
undefined-behaviour sanitizers, cycles of instances (whose memory is watched) on the one in use.
The programs are in ``build_scripts/fuzz``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import fmpy
from build_tree import built

import pliant as pl
from pliant.demos.station_arm import MODEL_FILE

HERE = Path(__file__).parent
ROOT = HERE.parent
INCLUDES = (Path(fmpy.__file__).parent / "c-code", ROOT / "tests" / "fmu" / "host")
SANITIZERS = "address,undefined"

# A finding ends the program; a leak is one.
ENVIRONMENT = {
    "ASAN_OPTIONS": "detect_leaks=1:malloc_context_size=5:quarantine_size_mb=16",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}


# ------------------------------------------------------------------------------------------ models


def rod() -> pl.System:
    """The smallest model with a contact node."""
    body = pl.Body(
        mass=2.0,
        com=[0.1, 0.2, -0.5],
        inertia=[0.2, 0.3, 0.15],
        nodes={"tip": {"at": [0, 0, -1], "contact": True}},
    )
    hinge = pl.Joint(type="revolute", axis="y", child="rod", start=0.3, friction={"viscous": 0.4})
    return pl.System(
        name="rod", gravity=[0, 0, -9.81], bodies={"rod": body}, joints={"hinge": hinge}
    )


def stone() -> pl.System:
    """Nothing moves: no freedom, no speed, no effort."""
    body = pl.Body(mass=1.0, inertia=[1, 1, 1], nodes={"top": {"at": [0, 0, 1], "contact": True}})
    ground = pl.Joint(type="fixed", child="stone")
    return pl.System(name="stone", bodies={"stone": body}, joints={"ground": ground})


def gadget() -> pl.System:
    """One of everything: a free base with a wheel, a beam, a joint moved from outside, one moved by
    a table, a closed loop that is held more often than it need be."""
    link = {"mass": 1.5, "com": [0.1, 0.05, 0.2], "inertia": [0.05, 0.06, 0.05]}
    bar = pl.Body(**link, nodes={"pin": {"at": [0, 0, 0.4]}})
    boom = {"length": 2.0, "mass_per_length": 3.0, "EI": 900.0, "GJ": 400.0, "radius": 0.05}
    swing = {"type": "revolute", "axis": "y"}
    return pl.System(
        name="gadget",
        gravity=[0.1, 0.2, -1.6],
        bodies={
            "base": pl.Body(
                mass=50.0,
                inertia=[5, 6, 7],
                nodes={
                    "mount": {"at": [0.5, 0.1, 0]},
                    "left": {"at": [-0.5, 0, 0.3]},
                    "right": {"at": [0.5, 0, 0.3]},
                },
                wheels={"wheel": pl.Wheel(axis="z", inertia=0.1, speed=30.0)},
            ),
            "boom": pl.Body(beam=boom | {"modes": {"count": 3}, "damping": 0.01}),
            "hand": pl.Body(**link, nodes={"pad": {"at": [0.3, 0, 0.1], "contact": True}}),
            "crank": bar,
            "rocker": bar,
            "coupler": pl.Body(**link, nodes={"end": {"at": [1, 0, 0]}}),
            "ball": pl.Body(**link),
            "lid": pl.Body(**link),
            "flap": pl.Body(**link),
        },
        joints={
            "orbit": pl.Joint(type="free", child="base", speed=[0.1, 0, 0, 0, 0, 0.2]),
            "hinge": pl.Joint(**swing, parent="base.mount", child="boom"),
            "grip": pl.Joint(type="fixed", parent="boom.tip", child="hand"),
            "crank": pl.Joint(**swing, parent="base.left", child="crank"),
            "rocker": pl.Joint(**swing, parent="base.right", child="rocker"),
            "elbow": pl.Joint(**swing, parent="crank.pin", child="coupler"),
            "socket": pl.Joint(type="spherical", parent="base.mount", child="ball"),
            "lid": pl.Joint(**swing, parent="base", child="lid", motion="input"),
            "flap": pl.Joint(
                **swing,
                parent="base.left",
                child="flap",
                motion={"times": [0, 1, 3], "position": [0.1, 0.4, 0.0]},
            ),
        },
        loops={"knee": pl.Loop(**swing, parent="coupler.end", child="rocker.pin")},
    )


@dataclass(frozen=True)
class Listed:
    """An unzipped FMU and the file that tells the fuzzers of it."""

    name: str
    folder: Path
    listing: Path


def listed(system: pl.System, folder: Path, library: Path | None, **settings: object) -> Listed:
    """Exports a system; ``library`` in place of the FMU's own."""
    place = folder / system.name
    fmu = pl.export_fmu(system, folder / f"{system.name}.fmu", **settings)
    with zipfile.ZipFile(fmu) as archive:
        archive.extractall(place)
    description = fmpy.read_model_description(place, validate=False)
    own = place / "binaries" / fmpy.platform / f"{system.name}{fmpy.sharedLibraryExtension}"
    lines = [str(library or own), str(place / "resources"), description.guid]
    states = {v.derivative.name for v in description.modelVariables if v.derivative}
    lines += [
        f"{v.valueReference} {_kind(v, v.name in states)} {float(_start(v))!r}"
        for v in description.modelVariables
    ]
    listing = place / "listing.txt"
    listing.write_text("\n".join(lines) + "\n")
    return Listed(system.name, place, listing)


def _kind(variable: fmpy.model_description.ScalarVariable, is_state: bool) -> str:
    if variable.type == "Enumeration":
        return "enumeration"
    if variable.causality == "input":
        kinds = {"Boolean": "lock"}
        return kinds.get(variable.type, "motion" if ".motion." in variable.name else "input")
    if variable.variability == "constant":
        return "constant"
    if variable.causality == "parameter":
        return "step" if variable.variability == "tunable" else "parameter"
    # positions and speeds; the speed is a derivative too, but a state in its own right
    return "state" if is_state and variable.causality == "local" else variable.causality


def _start(variable: fmpy.model_description.ScalarVariable) -> float:
    if variable.start in (None, "", "false"):
        return 0.0
    return 1.0 if variable.start == "true" else float(variable.start)


# ------------------------------------------------------------------------------------------- build


def sanitized_library() -> Path:
    """pliant_fmu with sanitizers."""
    settings = {"PLIANT_SANITIZE": SANITIZERS, "CMAKE_BUILD_TYPE": "RelWithDebInfo"}
    return built("pliant_fmu", "fuzz", **settings)


def compiled(name: str, folder: Path, *, sanitized: bool) -> Path:
    """One of the programs in build_scripts/fuzz."""
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        sys.exit("fuzzing needs a C++ compiler")
    target = folder / f"{name}{'-sanitized' if sanitized else ''}"
    flags = ["-std=c++17", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]
    # numbers outside the enumerations of FMI are what it is to try
    flags += [f"-fsanitize={SANITIZERS}", "-fno-sanitize=enum"] if sanitized else []
    flags += [f"-I{path}" for path in INCLUDES]
    source = HERE / "fuzz" / f"{name}.cpp"
    subprocess.run([compiler, *flags, "-o", target, source, "-ldl"], check=True)
    return target


# ------------------------------------------------------------------------------------------ running


class Found(Exception):  # noqa: N818  what it is, no error of this program
    """A fuzzer found something; the text is what it said."""


def run(*command: object) -> dict[str, int]:
    """The counts that a program prints; raises what it found."""
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, env={**os.environ, **ENVIRONMENT}
    )
    if done.returncode != 0:
        raise Found(f"{Path(str(command[0])).name}: {done.stdout}\n{done.stderr}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def in_parts(program: Path, seed: int, sequences: int, jobs: int, models: list[Listed]) -> dict:
    """Sequences shared among processes: number n has the seed ``seed + n`` in any sharing."""
    part = max(1, min(20_000, -(-sequences // jobs)))
    starts = range(0, sequences, part)
    listings = [model.listing for model in models]
    with ThreadPoolExecutor(jobs) as pool:
        results = pool.map(
            lambda first: run(program, seed + first, min(part, sequences - first), *listings),
            starts,
        )
        total: dict[str, int] = {}
        for result in results:
            for key, value in result.items():
                total[key] = total.get(key, 0) + value
    return total


def campaign(
    *,
    seed: int = 1,
    sequences: int = 0,
    blobs: int = 0,
    files: int = 0,
    cycles: int = 0,
    jobs: int = 1,
    sanitized: bool = True,
) -> Iterator[tuple[str, dict[str, float]]]:
    """Runs what is asked for; gives the counts of each part, or raises what was found."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        library = sanitized_library() if sanitized and (sequences or blobs or files) else None
        systems: list[tuple[pl.System, dict[str, object]]] = [
            (rod(), {}),
            (gadget(), {"include": ["joint.*.lock"]}),
            # one output and no input or parameter: most lists are empty
            (
                rod().model_copy(update={"name": "mute"}),
                {"defaults": False, "include": ["*.hinge.q"]},
            ),
            (stone(), {}),
            (pl.load(MODEL_FILE), {}),
        ]
        models = [listed(system, folder, library, **settings) for system, settings in systems]
        if sequences:
            program = compiled("calls", folder, sanitized=sanitized)
            start = perf_counter()
            counts = in_parts(program, seed, sequences, jobs, models)
            yield "calls", counts | {"seconds": round(perf_counter() - start, 1)}
        if blobs or files:
            program = compiled("mutations", folder, sanitized=sanitized)
            room = folder / "mutated"
            room.mkdir()
            start = perf_counter()
            counts = run(program, seed, blobs, files, room, *(m.listing for m in models))
            yield "mutations", counts | {"seconds": round(perf_counter() - start, 1)}
        if cycles:
            program = compiled("cycles", folder, sanitized=False)
            plain = folder / "plain"
            plain.mkdir()
            for system in (rod(), pl.load(MODEL_FILE)):
                model = listed(system, plain, None)
                start = perf_counter()
                counts = run(program, cycles, model.listing)
                seconds = round(perf_counter() - start, 1)
                yield f"cycles of {system.name}", counts | {"seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description="Fuzz the native FMU.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sequences", type=int, default=1_000_000, help="of calls")
    parser.add_argument("--blobs", type=int, default=10_000, help="mutated states")
    parser.add_argument("--files", type=int, default=10_000, help="mutated model files")
    parser.add_argument("--cycles", type=int, default=100_000, help="of instances")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    arguments = parser.parse_args()
    try:
        for name, counts in campaign(**vars(arguments)):
            print(name)
            for key, value in counts.items():
                print(f"  {key.replace('_', ' '):28} {value:>12,}", flush=True)
    except Found as found:
        sys.exit(f"FOUND something\n{found}")
    print("nothing found")


if __name__ == "__main__":
    main()
