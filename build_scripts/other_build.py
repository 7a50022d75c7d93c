"""A pytest plugin: compiled modules of the build tree in PLIANT_BUILD, not the installed ones.

PLIANT_BUILD=build/coverage PYTHONPATH=build_scripts python -m pytest -p other_build
"""

from __future__ import annotations

import os
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def _load(name: str, folder: Path) -> None:
    (path,) = folder.glob(f"{name.rpartition('.')[2]}.*.so")
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no module")
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


for _name in ("pliant._kernel", "pliant.fmu._slave"):
    _load(_name, Path(os.environ["PLIANT_BUILD"]))
