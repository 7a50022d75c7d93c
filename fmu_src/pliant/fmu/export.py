"""From a model to an FMU file.

An FMU is a zip archive. The native flavour holds

    modelDescription.xml          the variables, for importers
    binaries/linux64/arm.so       the slave: the same library for every model, prebuilt
    resources/model.pliant        the compiled model and the variable table, for the slave

and needs nothing else to run. The Python flavour has pythonfmu's library in place of the slave and
runs ``pliant.fmu.python_slave`` in the Python of the machine, where pliant must be installed.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pliant.data_file import pack
from pliant.errors import ModelError
from pliant.fmu.binaries import native_binaries
from pliant.fmu.python_flavour import PYTHON_CAPABILITIES, python_files
from pliant.fmu_settings import Fmu
from pliant.model import Model
from pliant.model_description import (
    Capabilities,
    TableOptions,
    VariableTable,
    model_description_xml,
    model_identifier,
    table_sections,
)
from pliant.modes import highest_frequency, suggested_step
from pliant.part import suggest
from pliant.simulation import as_model
from pliant.system import System

FLAVOURS = ("native", "python")
MODEL_FILE = "model.pliant"  # in resources

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the oldest date of a zip: the same model is the same file


def export_fmu(
    system: System | Model | str | Path,
    path: str | Path | None = None,
    *,
    flavour: str = "native",
    slave: str | Path | None = None,
    **settings: Any,
) -> Path:
    """Writes a model as an FMU and returns the path of the file.

    ``path`` is ``<model name>.fmu`` in the working folder if left out. ``settings`` are those of
    the model file's ``fmu:`` section (step, integrator, algorithm, naming, include, exclude,
    defaults) and take precedence over it. ``slave`` is a Python file with a subclass of
    ``PliantSlave``, for the Python flavour.

    >>> export_fmu("arm.yaml", "arm.fmu", include=["node.boom.tip"])      # doctest: +SKIP
    """
    if flavour not in FLAVOURS:
        raise ModelError.at("flavour", f"'{flavour}' is unknown; {suggest(flavour, FLAVOURS)}")
    if slave is not None and flavour != "python":
        raise ModelError.at("slave", "a slave of your own needs flavour='python'")
    if isinstance(system, (str, Path)):
        from pliant.model_file import load

        system = load(system)
    table = variable_table(system, **settings)
    identifier = model_identifier(table.model.name)
    target = Path(f"{identifier}.fmu" if path is None else path)
    if target.suffix.lower() != ".fmu":
        raise ModelError.at(str(target), "the name of an FMU ends in .fmu; give such a name")

    data = pack({**table.model.sections, **table_sections(table)})
    files: dict[str, bytes] = {f"resources/{MODEL_FILE}": data}
    if flavour == "native":
        capabilities = Capabilities()
        files |= native_binaries(identifier)
    else:
        capabilities = PYTHON_CAPABILITIES
        files |= python_files(identifier, None if slave is None else Path(slave))
    description = model_description_xml(table, capabilities)
    _write(target, {"modelDescription.xml": description, **files})
    return target


def variable_table(system: System | Model, **settings: Any) -> VariableTable:
    """The table that an FMU of a system has; ``settings`` as those of ``export_fmu``."""
    model = as_model(system)
    given = system.fmu if isinstance(system, System) and system.fmu is not None else Fmu()
    for key in settings:
        if key not in Fmu.model_fields:
            raise ModelError.at(key, f"unknown setting; {suggest(key, Fmu.model_fields)}")
    chosen = Fmu(**{**given.plain(), **settings})
    values = {key: getattr(chosen, key) for key in Fmu.model_fields}
    options = TableOptions(**values, h_suggested=_suggested_step(model))
    return VariableTable.build(model, options)


def _suggested_step(model: Model) -> float | None:
    omega = highest_frequency(model)
    return suggested_step(omega) if omega > 0.0 and np.isfinite(omega) else None


def _write(target: Path, files: Mapping[str, bytes]) -> None:
    """Writes beside the target first, so that a failure leaves an old file as it was."""
    if not target.absolute().parent.is_dir():
        raise ModelError.at(str(target), f"there is no folder {target.parent}; make it first")
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
            for info, content in _entries(files):
                archive.writestr(info, content)
        partial.replace(target)
    except OSError as error:
        raise ModelError.at(str(target), f"cannot be written: {error.strerror}") from None
    finally:
        partial.unlink(missing_ok=True)


def _entries(files: Mapping[str, bytes]) -> Iterator[tuple[zipfile.ZipInfo, bytes]]:
    for name, content in files.items():
        info = zipfile.ZipInfo(name, _EPOCH)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = (0o755 if name.startswith("binaries/") else 0o644) << 16
        yield info, content
