"""Fuzzing the native FMU: ``make fuzz``.

    python build_scripts/fuzz_fmu.py                            the whole campaign
    python build_scripts/fuzz_fmu.py --only wild --wild 1000    a part of it
    python build_scripts/fuzz_fmu.py --only wild --wild 1 --seed 77
                                                                one sequence again, to look at

calls      random sequences of calls, right and wrong ones, against the standard
wild       allowed calls with numbers of any size, against a twin that gets no refused call
mutations  saved states and data files that are damaged
states     saved states with good checksums that no run left
files      data files with good checksums that no export wrote
cycles     instances that come and go, and their memory

All but the last run on a library built with the address and undefined-behaviour sanitizers; of the
long ones ``--sanitized`` says which share, the rest runs on an optimised library. The programs are
in ``build_scripts/fuzz``.
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
from collections.abc import Callable, Iterable, Iterator, Mapping
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
    settings = {"CMAKE_BUILD_TYPE": "RelWithDebInfo", "CMAKE_CXX_FLAGS_RELWITHDEBINFO": "-O2"}
    return built("pliant_fmu", "fuzz", PLIANT_SANITIZE=SANITIZERS, **settings)


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


# How the command of a program goes on after its name: seed, number of cases, a folder of its own.
Arguments = Callable[[int, int, Path], list[object]]

# The parts of the campaign, the programs they take and how long they are.
PROGRAMS = {
    "calls": ("calls", lambda seed, count, room: [seed, count]),
    "wild": ("wild", lambda seed, count, room: [seed, count]),
    "blobs": ("mutations", lambda seed, count, room: [seed, count, 0, room]),
    "damaged": ("mutations", lambda seed, count, room: [seed, 0, count, room]),
    "states": ("forgeries", lambda seed, count, room: [seed, count, 0, room]),
    "files": ("forgeries", lambda seed, count, room: [seed, 0, count, room]),
}
LENGTHS = {
    "calls": 200_000,
    "wild": 1_000_000,
    "blobs": 10_000,
    "damaged": 10_000,
    "states": 100_000,
    "files": 100_000,
    "cycles": 100_000,
}
CASES_A_PROCESS = 5_000


def in_parts(
    program: Path,
    arguments: Arguments,
    seed: int,
    cases: int,
    jobs: int,
    models: list[Listed],
    room: Path,
) -> dict[str, int]:
    """Cases shared among processes: number n has the seed ``seed + n`` in any sharing."""
    part = max(1, min(CASES_A_PROCESS, -(-cases // jobs)))
    listings = [model.listing for model in models]

    def one(first: int) -> dict[str, int]:
        own = room / str(first)
        own.mkdir(parents=True)
        counts = run(program, *arguments(seed + first, min(part, cases - first), own), *listings)
        shutil.rmtree(own)
        return counts

    with ThreadPoolExecutor(jobs) as pool:
        return total(pool.map(one, range(0, cases, part)))


def total(results: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The sums of counts of the same names."""
    sums: dict[str, int] = {}
    for result in results:
        for key, value in result.items():
            sums[key] = sums.get(key, 0) + value
    return sums


def systems() -> list[tuple[pl.System, dict[str, object]]]:
    """What is fuzzed, with the settings of its export; the first ones most."""
    return [
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


def campaign(
    *, seed: int = 1, jobs: int = 1, sanitized: float = 1.0, **cases: int
) -> Iterator[tuple[str, dict[str, float]]]:
    """Runs what is asked for; gives the counts of each part, or raises what was found.

    ``sanitized`` is the share that runs with sanitizers.
    """
    cycles = cases.pop("cycles", 0)
    first = {part: round(count * sanitized) for part, count in cases.items()}
    rest = {part: count - first[part] for part, count in cases.items()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if any(first.values()):
            place = folder / "sanitized"
            yield from _parts(place, dict.fromkeys(cases, seed), first, jobs, sanitized_library())
        if any(rest.values()):
            seeds = {part: seed + count for part, count in first.items()}
            yield from _parts(folder / "optimised", seeds, rest, jobs, None)
        if cycles > 0:
            yield from _cycles(folder / "cycles", cycles)


def _parts(
    folder: Path, seeds: Mapping[str, int], cases: Mapping[str, int], jobs: int, own: Path | None
) -> Iterator[tuple[str, dict[str, float]]]:
    """Parts of the campaign on a library of its own, with sanitizers, or on the one in use."""
    folder.mkdir()
    models = [listed(system, folder, own, **settings) for system, settings in systems()]
    for part, count in cases.items():
        if count > 0:
            name, arguments = PROGRAMS[part]
            program = compiled(name, folder, sanitized=own is not None)
            start = perf_counter()
            counts = in_parts(
                program, arguments, seeds[part], count, jobs, models, folder / "rooms" / part
            )
            seconds = round(perf_counter() - start, 1)
            yield f"{part}, {folder.name}", counts | {"seconds": seconds}


def _cycles(folder: Path, cycles: int) -> Iterator[tuple[str, dict[str, float]]]:
    folder.mkdir()
    program = compiled("cycles", folder, sanitized=False)
    for system in (rod(), pl.load(MODEL_FILE)):
        model = listed(system, folder, None)
        start = perf_counter()
        counts = run(program, cycles, model.listing)
        yield f"cycles of {system.name}", counts | {"seconds": round(perf_counter() - start, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description="Fuzz the native FMU.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=LENGTHS, default=list(LENGTHS))
    for part, length in LENGTHS.items():
        parser.add_argument(f"--{part}", type=int, default=length, help="cases")
    parser.add_argument("--sanitized", type=float, default=1.0, help="share with sanitizers")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    given = vars(parser.parse_args())
    only = given.pop("only")
    settings = {name: value for name, value in given.items() if name not in LENGTHS or name in only}
    try:
        for name, counts in campaign(**settings):
            print(name)
            for key, value in counts.items():
                print(f"  {key.replace('_', ' '):28} {value:>12,}", flush=True)
    except Found as found:
        sys.exit(f"FOUND something\n{found}")
    print("nothing found")


if __name__ == "__main__":
    main()
