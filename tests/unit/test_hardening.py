"""The built libraries carry what makes mistakes in them hard to exploit."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

READELF = shutil.which("readelf")
pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="flags of ELF files"),
    pytest.mark.skipif(READELF is None, reason="there is no readelf"),
    pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="a build with sanitizers has none"),
]


def library(name: str) -> Path:
    module = Path(
        import_module("pliant._kernel" if name == "_kernel" else "pliant.fmu._slave").__file__
    )
    if name != "pliant_fmu":
        return module
    (path,) = (module.parent / "binaries").glob("pliant_fmu.*")
    return path


@pytest.fixture(params=["_kernel", "_slave", "pliant_fmu"])
def elf(request) -> Path:
    return library(request.param)


def listed(elf: Path, *flags: str) -> str:
    assert READELF is not None
    return subprocess.run(
        [READELF, "-W", *flags, elf], capture_output=True, text=True, check=True
    ).stdout


def test_what_the_loader_fills_in_cannot_be_written_afterwards(elf):
    assert "GNU_RELRO" in listed(elf, "-l")
    dynamic = listed(elf, "-d")
    assert "BIND_NOW" in dynamic or ("FLAGS_1" in dynamic and "NOW" in dynamic)
    assert "TEXTREL" not in dynamic


def test_no_stack_can_be_executed(elf):
    (stack,) = [line for line in listed(elf, "-l").splitlines() if "GNU_STACK" in line]
    assert stack.split()[-2] == "RW"


def test_frames_with_arrays_are_guarded(elf):
    assert "__stack_chk_fail" in listed(elf, "--dyn-syms")
