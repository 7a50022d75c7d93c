"""The prebuilt libraries that go into FMUs."""

from __future__ import annotations

from importlib.resources import files

from pliant.errors import PliantError

# FMI's name of a platform, and the library that the wheel for it holds.
_LIBRARIES = {"linux64": "pliant_fmu.so", "darwin64": "pliant_fmu.dylib", "win64": "pliant_fmu.dll"}


def native_binaries(identifier: str) -> dict[str, bytes]:
    """Places in the archive and contents of the slave's libraries, named as FMI wants."""
    folder = files("pliant.fmu") / "binaries"
    found = {}
    for platform, library in _LIBRARIES.items():
        source = folder / library
        if source.is_file():
            suffix = library.rpartition(".")[2]
            found[f"binaries/{platform}/{identifier}.{suffix}"] = source.read_bytes()
    if not found:
        raise PliantError(
            "this installation of pliant has no slave library; install it again from a wheel or "
            "with a C++17 compiler at hand"
        )
    return found
