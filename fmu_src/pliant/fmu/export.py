"""From a model to an FMU file.

An FMU is a zip archive. The native flavour holds

    modelDescription.xml          the variables, for importers
    binaries/linux64/arm.so       the slave: the same library for every model, prebuilt
    resources/model.pliant        the compiled model and the variable table, for the slave

and needs nothing else to run. The Python flavour has pythonfmu's library in place of the slave and
runs ``pliant.fmu.python_slave`` in the Python of the machine, where pliant must be installed.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pliant.aside import replacing
from pliant.data_file import pack
from pliant.errors import ModelError, Problem
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
from pliant.motion_tables import warn_of_tables
from pliant.part import suggest
from pliant.simulation import as_model
from pliant.stability import default_step, step_limits, suggested_step, warn_of_step
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
    """Writes a model as an FMI 2.0 co-simulation FMU and returns the path of the file.

    ``system`` is a System, a model file or a compiled Model, and ``path`` ``<model name>.fmu`` in
    the working folder if left out. ``flavour="native"`` runs on any machine; ``"python"`` needs
    pliant there and can hold a law of one's own: ``slave``, a Python file with a subclass of
    ``pliant.fmu.python_slave.PliantSlave``.

    ``settings`` are those of the model file's ``fmu:`` section, over which they take precedence:

    - ``step``, ``integrator``, ``algorithm``: of the solver inside; parameters of the FMU too. A
      step left out is a millisecond, or what the model needs if that is shorter; one beyond the
      limit of stability is a StepWarning
    - ``include``, ``exclude``: patterns of variables to expose as well, or not
    - ``defaults=False``: expose nothing but what is included
    - ``naming``: ``"structured"`` (joint.elbow.q) or ``"flat"`` (joint_elbow_q)

    A ModelError says what cannot be exported, and lists all of it: patterns that match nothing,
    unknown settings, joints moved by a Python function, a file that cannot be written.

    >>> import tempfile
    >>> from pliant.demos.station_arm import MODEL_FILE
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_fmu(MODEL_FILE, f"{folder}/arm.fmu", include=["node.upper_boom.tip.r"]).name
    'arm.fmu'
    """
    if flavour not in FLAVOURS:
        raise ModelError.at("flavour", f"'{flavour}' is unknown; {suggest(flavour, FLAVOURS)}")
    if slave is not None and flavour != "python":
        raise ModelError.at("slave", "a slave of your own runs in the flavour 'python' only")
    if isinstance(system, (str, Path)):
        from pliant.model_file import load

        system = load(system)
    if slave is not None:  # a law is called at the internal step: it must be able to know it
        settings["include"] = (*_chosen(system, settings).include, "solver.h")
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
    chosen, model = _chosen(system, settings), as_model(system)
    values = {key: getattr(chosen, key) for key in Fmu.model_fields}
    limits = step_limits(model)
    suggested = suggested_step(model, chosen.integrator)
    if chosen.step is None:
        values["step"] = default_step(model, chosen.integrator)
    else:
        warn_of_step(model, chosen.step, chosen.integrator)
    warn_of_tables(model.mechanism, values["step"])
    options = TableOptions(**values, h_suggested=suggested, step_limits=limits)
    return VariableTable.build(model, options)


def _chosen(system: System | Model, settings: Mapping[str, Any]) -> Fmu:
    """The settings given, and those of the model's own section for the rest."""
    section = system.fmu if isinstance(system, System) and system.fmu is not None else Fmu()
    unknown = [
        Problem(key, f"unknown setting; {suggest(key, Fmu.model_fields)}")
        for key in settings
        if key not in Fmu.model_fields
    ]
    if unknown:
        raise ModelError(unknown)
    return Fmu(**{**section.plain(), **settings})


def _write(target: Path, files: Mapping[str, bytes]) -> None:
    with replacing(target) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, content in _entries(files):
            archive.writestr(info, content)


def _entries(files: Mapping[str, bytes]) -> Iterator[tuple[zipfile.ZipInfo, bytes]]:
    for name, content in files.items():
        info = zipfile.ZipInfo(name, _EPOCH)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = (0o755 if name.startswith("binaries/") else 0o644) << 16
        yield info, content
