"""The files of a Python-flavoured FMU: pythonfmu's library, and a slave in Python for it to load.

pythonfmu's own builder is not used: it knows no units, derivatives or dependencies and rewrites
capabilities, while the description here is the one of the native flavour.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from pliant.errors import ModelError
from pliant.model_description import Capabilities

# pythonfmu passes on neither derivatives of inputs nor of outputs.
PYTHON_CAPABILITIES = Capabilities(
    needsExecutionTool=True,
    canInterpolateInputs=False,
    maxOutputDerivativeOrder=0,
    providesDirectionalDerivative=False,
)

_MODULE = "pliant_slave"
_DEFAULT = '''"""Loaded by pythonfmu: the slave without additions."""

from pliant.fmu.python_slave import PliantSlave


class Slave(PliantSlave):
    pass
'''


def python_files(identifier: str, slave: Path | None) -> dict[str, bytes]:
    """Places in the archive and contents of what the Python flavour needs beside the model."""
    text = _DEFAULT
    if slave is not None:
        try:
            text = slave.read_text(encoding="utf-8")
        except OSError as error:
            raise ModelError.at(str(slave), f"cannot be read: {error.strerror}") from None
        if "PliantSlave" not in text:
            raise ModelError.at(
                str(slave),
                "has no subclass of PliantSlave; write class Slave(PliantSlave), from "
                "pliant.fmu.python_slave",
            )
    package = files("pythonfmu")
    result = {
        f"resources/{_MODULE}.py": text.encode(),
        "resources/slavemodule.txt": _MODULE.encode(),
    }
    for module in package.iterdir():
        if module.name.endswith(".py"):
            result[f"resources/pythonfmu/{module.name}"] = module.read_bytes()
    for platform in (package / "resources" / "binaries").iterdir():
        for library in platform.iterdir():
            suffix = library.name.rpartition(".")[2]
            if suffix in ("so", "dll", "dylib"):
                place = f"binaries/{platform.name}/{identifier}.{suffix}"
                result[place] = library.read_bytes()
    return result
