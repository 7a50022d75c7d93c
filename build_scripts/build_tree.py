"""CMake trees beside the one of the installation, for libraries that only benchmarks and fuzzers
use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def built(target: str, tree: str, **defines: str) -> Path:
    """Builds one target in ``build/<tree>`` and returns the library.

    cmake and ninja are those of this interpreter's environment, if it has any.
    """
    folder = HERE.parent / "build" / tree
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    settings = {"Python_EXECUTABLE": sys.executable, **defines}
    configure = ["cmake", "-S", HERE, "-B", folder, "-G", "Ninja"]
    configure += [f"-D{name}={value}" for name, value in settings.items()]
    for command in (configure, ["cmake", "--build", folder, "--target", target]):
        done = subprocess.run(
            list(map(str, command)),
            env={**os.environ, "PATH": tools},
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))} failed\n{done.stdout}\n{done.stderr}")
    (library,) = (
        path for path in folder.glob(f"{target}*") if path.suffix in ("", ".so", ".dylib")
    )
    return library
