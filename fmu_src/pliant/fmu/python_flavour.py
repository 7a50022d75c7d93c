"""The files of a Python-flavoured FMU: pythonfmu's library, and a slave in Python for it to load.

pythonfmu's own builder is not used: it knows no units, derivatives or dependencies and rewrites
capabilities, while the description here is the one of the native flavour.
"""

from __future__ import annotations

import ast
import hashlib
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

_BASE = "PliantSlave"
_DEFAULT = '''"""Loaded by pythonfmu: the slave without additions."""

from pliant.fmu.python_slave import PliantSlave


class Slave(PliantSlave):
    pass
'''


def python_files(identifier: str, slave: Path | None) -> dict[str, bytes]:
    """Places in the archive and contents of what the Python flavour needs beside the model."""
    text = _DEFAULT if slave is None else _checked(slave)
    # Two FMUs in one process share its modules: another law must be another module.
    module = f"pliant_slave_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    package = files("pythonfmu")
    result = {
        f"resources/{module}.py": text.encode(),
        "resources/slavemodule.txt": module.encode(),
    }
    for source in package.iterdir():
        if source.name.endswith(".py"):
            result[f"resources/pythonfmu/{source.name}"] = source.read_bytes()
    for platform in (package / "resources" / "binaries").iterdir():
        for library in platform.iterdir():
            suffix = library.name.rpartition(".")[2]
            if suffix in ("so", "dll", "dylib"):
                place = f"binaries/{platform.name}/{identifier}.{suffix}"
                result[place] = library.read_bytes()
    return result


def _checked(slave: Path) -> str:
    """The text of a user's slave, if it is one."""
    try:
        text = slave.read_text(encoding="utf-8")
        tree = ast.parse(text)
    except OSError as error:
        raise ModelError.at(str(slave), f"cannot be read: {error.strerror}") from None
    except SyntaxError as error:
        raise ModelError.at(f"{slave}:{error.lineno}", f"is not Python: {error.msg}") from None
    except ValueError as error:  # not UTF-8, or null bytes
        raise ModelError.at(str(slave), f"is not Python: {error}") from None
    bases = [base for item in tree.body if isinstance(item, ast.ClassDef) for base in item.bases]
    if not any(getattr(base, "id", getattr(base, "attr", "")) == _BASE for base in bases):
        raise ModelError.at(
            str(slave),
            f"has no subclass of {_BASE}; write class Slave({_BASE}), from pliant.fmu.python_slave",
        )
    return text
