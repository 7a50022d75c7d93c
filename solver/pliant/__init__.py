"""pliant: flexible multibody dynamics.

    import pliant as pl
    arm = pl.load("arm.yaml")
    result = pl.simulate(arm, 30.0)
    result.plot(path="arm.png")

Describe a mechanism with ``System``, ``Body`` and ``Joint`` or in a model file, advance it with
``Simulation`` or run it with ``simulate``.
"""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

__version__ = version("pliant")

if TYPE_CHECKING:
    from pliant.body import Body, Node, Wheel
    from pliant.errors import (
        DeflectionWarning,
        EnergyWarning,
        ModelError,
        PliantError,
        PliantWarning,
        Problem,
        SolverError,
        StepWarning,
    )
    from pliant.flexible import Beam, Lump, Modal, ModalNode, ModalPoint, Modes, Station
    from pliant.fmu.export import export_fmu
    from pliant.fmu_settings import Fmu
    from pliant.joint import Friction, Joint, Spring, Stops
    from pliant.loads import Load
    from pliant.loop import Loop
    from pliant.model_file import load, save
    from pliant.modes import assembled_modes, body_modes
    from pliant.motion import Motion
    from pliant.results import Result
    from pliant.run import simulate
    from pliant.simulation import Simulation
    from pliant.statics import equilibrium
    from pliant.system import Attachment, Group, System

__all__ = [
    "Attachment",
    "Beam",
    "Body",
    "DeflectionWarning",
    "EnergyWarning",
    "Fmu",
    "Friction",
    "Group",
    "Joint",
    "Load",
    "Loop",
    "Lump",
    "Modal",
    "ModalNode",
    "ModalPoint",
    "ModelError",
    "Modes",
    "Motion",
    "Node",
    "PliantError",
    "PliantWarning",
    "Problem",
    "Result",
    "Simulation",
    "SolverError",
    "Spring",
    "Station",
    "StepWarning",
    "Stops",
    "System",
    "Wheel",
    "__version__",
    "assembled_modes",
    "body_modes",
    "equilibrium",
    "export_fmu",
    "load",
    "save",
    "simulate",
]

# The modules that hold the public names. They are imported when a name is first used: reading a
# result needs neither pydantic nor the kernel, and `pliant --help` is there at once.
_HOMES = {
    "fmu.export": ("export_fmu",),
    "errors": (
        "DeflectionWarning",
        "EnergyWarning",
        "ModelError",
        "PliantError",
        "PliantWarning",
        "Problem",
        "SolverError",
        "StepWarning",
    ),
    "model_file": ("load", "save"),
    "modes": ("assembled_modes", "body_modes"),
    "results": ("Result",),
    "run": ("simulate",),
    "simulation": ("Simulation",),
    "statics": ("equilibrium",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in __all__:
        near = [] if name.startswith("_") else get_close_matches(name, __all__, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise AttributeError(f"module 'pliant' has no attribute '{name}'{hint}")
    # what is not listed describes mechanisms, and system.py gathers all of that
    value = getattr(import_module(f"pliant.{_HOME.get(name, 'system')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
