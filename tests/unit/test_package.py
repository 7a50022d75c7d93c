"""The names of the package."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import pliant as pl


def test_no_module_hides_a_public_name():
    # importing pliant.x sets the attribute x of the package: it would hide a function x
    modules = {module.name for module in pkgutil.iter_modules(pl.__path__)}
    assert not modules & set(pl.__all__)


def test_load_is_the_function_whatever_was_used_before():
    code = "import pliant as pl; pl.Simulation; assert callable(pl.load)"
    subprocess.run([sys.executable, "-c", code], check=True)
