"""Demos: models that users want, run with one command.

    pliant demo --list
    pliant demo station_arm --output-dir build

A demo is a module of this package with a function ``main(output_dir)`` that runs it, prints what
came out and gives the files it wrote. Its model lies beside it.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from pliant.errors import ModelError
from pliant.part import suggest

DEMOS = {
    "station_arm": "a 17 m arm with two flexible booms, driven as an FMU, moves a payload",
}


def run(name: str, output_dir: str | Path) -> list[Path]:
    """Runs a demo, makes ``output_dir`` if need be, and gives the files written there."""
    if name not in DEMOS:
        raise ModelError.at(f"demo '{name}'", f"there is none; {suggest(name, DEMOS)}")
    folder = Path(output_dir)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError.at(
            str(folder), f"the folder cannot be made: {error.strerror}; choose another"
        ) from None
    written: list[Path] = import_module(f"pliant.demos.{name}").main(folder)
    return written
