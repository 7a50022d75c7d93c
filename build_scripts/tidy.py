"""clang-tidy over the C++ of the kernel and the slave, a file once: part of ``make lint``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
# bindings.cpp is nanobind's templates for the most part
SOURCES = [
    *sorted((ROOT / "fmu_src" / "native").glob("*.cpp")),
    *sorted((ROOT / "solver" / "kernel").glob("*.cpp")),
]


def commands() -> list[dict[str, str]]:
    """How the installation compiles each file, the kernel for the baseline only."""
    (database, *_) = sorted((ROOT / "build").glob("editable-*/compile_commands.json"))
    found: dict[Path, dict[str, str]] = {}
    for entry in json.loads(database.read_text()):
        path = Path(entry["file"]).resolve()
        if (
            path in SOURCES
            and path.name != "bindings.cpp"
            and "PLIANT_ISA=v" not in entry["command"]
        ):
            found.setdefault(path, {**entry, "file": str(path)})
    return list(found.values())


def main() -> None:
    entries = commands()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "compile_commands.json").write_text(json.dumps(entries))

        def check(entry: dict[str, str]) -> subprocess.CompletedProcess[str]:
            tidy = Path(sys.executable).with_name("clang-tidy")
            command = [tidy, "--quiet", "-p", folder, entry["file"]]
            return subprocess.run(list(map(str, command)), capture_output=True, text=True)

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            results = list(pool.map(check, entries))
    for done in results:
        sys.stdout.write(done.stdout)
    sys.exit(any(done.returncode != 0 for done in results))


if __name__ == "__main__":
    main()
