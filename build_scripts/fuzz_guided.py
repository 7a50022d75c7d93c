"""Fuzzing what reads bytes, guided by coverage: ``make fuzz-guided``; takes clang.

    python build_scripts/fuzz_guided.py                      a minute for each target
    python build_scripts/fuzz_guided.py --seconds 3600 --keep
                                                             an hour; the corpus is replaced by the
                                                             least that reaches as much

The corpus is ``tests/data/corpus``; the tests replay it. The targets are in
``build_scripts/fuzz/guided.cpp``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from build_tree import built
from fuzz_fmu import gadget, rod, stone

import pliant as pl
from pliant.compile import compile_model
from pliant.data_file import pack
from pliant.fmu._slave import Slave
from pliant.model_description import TableOptions, VariableTable, table_sections

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / "tests" / "data" / "corpus"
# longest input; models of some kB are found more in than larger ones
TARGETS = {"data_file": 40_000, "state": 8_000, "uri": 200}
URIS = (
    "file:///tmp/x/resources",
    "file:/C:/x%20y",
    "file://localhost/a%2Fb",
    "/plain",
    "file://host/x",
    "http://x",
    "file:///%zz",
    "file:///%00",
)


def data_file(system: pl.System) -> bytes:
    """As in an FMU of the system with everything that can be steered."""
    model = compile_model(system)
    locks = ("joint.*.lock",) if system.name == "gadget" else ()
    table = VariableTable.build(model, TableOptions(include=locks))
    return pack({**model.sections, **table_sections(table)})


def saved_state() -> bytes:
    """Of the model that the target of states has."""
    slave = Slave(data_file(gadget()))
    slave.initialize()
    slave.step(0.0, 1e-3)
    return slave.save()


def seeds(target: str) -> dict[str, bytes]:
    """What is always there, beside the corpus."""
    if target == "data_file":
        return {system.name: data_file(system) for system in (rod(), stone(), gadget())}
    if target == "state":
        return {"moving": saved_state()}
    return {str(i): uri.encode() for i, uri in enumerate(URIS)}


def corpus(target: str) -> dict[str, bytes]:
    """The stored inputs of a target."""
    path = CORPUS / f"{target}.zip"
    if not path.exists():
        return {}
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def store(target: str, folder: Path) -> None:
    """Replaces the corpus of a target by the files of a folder."""
    CORPUS.mkdir(parents=True, exist_ok=True)
    kept = zipfile.ZipFile(CORPUS / f"{target}.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9)
    with kept as archive:
        for path in sorted(folder.iterdir()):
            archive.writestr(zipfile.ZipInfo(path.name), path.read_bytes(), zipfile.ZIP_DEFLATED)


def main() -> None:
    parser = argparse.ArgumentParser(description="Fuzz what reads bytes, guided by coverage.")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--only", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--keep", action="store_true", help="store the least corpus afterwards")
    arguments = parser.parse_args()
    if shutil.which("clang++") is None:
        sys.exit("fuzzing that is guided by coverage takes clang++ with its libFuzzer")
    settings = {
        "PLIANT_GUIDED": "ON",
        "PLIANT_INSTRUCTION_SETS": "baseline",
        "CMAKE_CXX_COMPILER": "clang++",
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_CXX_FLAGS_RELEASE": "-O1",
    }
    for target in arguments.only:
        program = built(f"guided_{target}", "guided", **settings)
        room = program.parent / "corpora" / target
        least = room.with_name(f"{target}-least")
        for folder in (room, least):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        for name, data in {**seeds(target), **corpus(target)}.items():
            (room / name).write_bytes(data)
        model = room.with_name("model.pliant")
        model.write_bytes(data_file(gadget()))
        environment = {**os.environ, "PLIANT_FUZZ_MODEL": str(model)}
        common = ["-timeout=20", f"-max_len={TARGETS[target]}", "-print_final_stats=1"]
        command = [program, room, f"-max_total_time={arguments.seconds}", *common]
        # what ends it is left beside the corpora
        where = {"env": environment, "cwd": room.parent}
        if subprocess.run([str(part) for part in command], **where).returncode != 0:
            sys.exit(f"FOUND something: guided_{target} (see {room.parent})")
        if arguments.keep:
            merge = [program, "-merge=1", *common, least, room]
            subprocess.run([str(part) for part in merge], check=True, **where)
            store(target, least)
    print("nothing found")


if __name__ == "__main__":
    main()
