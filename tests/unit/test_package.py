"""The names of the package."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import pytest

import pliant as pl


def test_no_module_hides_a_public_name():
    # importing pliant.x sets the attribute x of the package: it would hide a function x
    modules = {module.name for module in pkgutil.iter_modules(pl.__path__)}
    assert not modules & set(pl.__all__)


def test_load_is_the_function_whatever_was_used_before():
    code = "import pliant as pl; pl.Simulation; assert callable(pl.load)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_that_the_package_has_not_is_answered_with_the_nearest():
    with pytest.raises(AttributeError, match="no attribute 'simulat'; did you mean 'simulate'"):
        _ = pl.simulat
    assert not hasattr(pl, "__path_of_nothing__")


def test_the_help_of_the_command_is_there_at_once():
    code = "import sys, pliant.cli; sys.exit(any(m in sys.modules for m in ('numpy', 'pydantic')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
