"""What the shell offers on tab: model files, and the channels of the file that was named.

Whatever goes wrong here is kept quiet: a half-typed line is no place for errors.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import typer

_KINDS = 400  # names offered at most: more is no help


def files_ending(*endings: str) -> Callable[[str], list[str]]:
    """Offers files with these endings, and folders on the way to them."""

    def complete(incomplete: str) -> list[str]:
        folder, _, start = incomplete.rpartition("/")
        base = Path(f"{folder}/" if incomplete.startswith("/") else folder or ".")
        try:
            found = sorted(base.iterdir())
        except OSError:
            return []
        before = f"{folder}/" if "/" in incomplete else ""
        return [
            f"{before}{path.name}" + ("/" if path.is_dir() else "")
            for path in found
            if path.name.startswith(start)
            and (start or not path.name.startswith("."))
            and (path.is_dir() or path.suffix.lower() in endings)
        ]

    return complete


def channel_names(parameter: str) -> Callable[[typer.Context, str], list[str]]:
    """Offers the channels of the file given as ``parameter``, a level at a time."""

    def complete(context: typer.Context, incomplete: str) -> list[str]:
        try:
            # of a line that breaks off after an option, click has not yet told files apart
            given = [context.params.get(parameter), *context.args]
            names = _names(next(Path(text) for text in given if text and Path(text).is_file()))
        except Exception:
            return []
        return levels(names, incomplete)[:_KINDS]

    return complete


def levels(names: list[str], incomplete: str) -> list[str]:
    """The names as far as to the next dot.

    >>> levels(["joint.elbow.q", "joint.elbow.qd", "energy.total"], "")
    ['joint', 'energy']
    >>> levels(["joint.elbow.q", "joint.elbow.qd", "energy.total"], "joint.elbow.")
    ['joint.elbow.q', 'joint.elbow.qd']
    """
    depth = incomplete.count(".") + 1
    offered = dict.fromkeys(
        ".".join(name.partition("[")[0].split(".")[:depth])
        for name in names
        if name.startswith(incomplete)
    )
    return list(offered)


def _names(path: Path) -> list[str]:
    if path.suffix.lower() == ".fmu":
        from pliant.fmu.inspect import FmuFile

        wanted = ("input", "output", "local")
        return [v.name for v in FmuFile(path).description.modelVariables if v.causality in wanted]
    if path.suffix.lower() in (".h5", ".hdf5"):
        from pliant.results import Result

        return list(Result.load(path).names)
    from pliant.channels import recordable_channels
    from pliant.simulation import as_model

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [channel.name for channel in recordable_channels(as_model(path))]
