"""The commands on channels: what there is to record, and pictures of what was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from pliant.cli_options import console, is_fmu, reported
from pliant.completion import channel_names, files_ending
from pliant.errors import ModelError, Problem

if TYPE_CHECKING:
    from pliant.channels import Channel

_RESULTS = (".h5", ".hdf5")
_MATRIX = ".inverse_inertia"  # 21 numbers a node, of three units
_ANY = (".yaml", ".yml", ".fmu", *_RESULTS)


@reported
def channels(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Model file, FMU or result, such as arm.yaml, arm.fmu or arm.h5.",
            show_default=False,
            autocompletion=files_ending(*_ANY),
        ),
    ],
    patterns: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATTERN",
            help="Only these, such as 'joint.*.q' or node.hand.",
            show_default=False,
            autocompletion=channel_names("file"),
        ),
    ] = None,
) -> None:
    """Lists what can be recorded: names, units and what they mean.

    Of a model: everything that 'pliant run --record' can choose, and what it records by default
    (inverse inertias of nodes if the pattern says so: 'node.*.inverse_inertia'). Of an FMU: its
    variables. Of a result: what was recorded, and between which values it was.

    A pattern is a name with * and ? in it, or the beginning of one up to a dot: joint.elbow is all
    of that joint, node.*.r the positions of all nodes. Names with [1..3] have three components.

    \b
    Examples:
      pliant channels arm.yaml
      pliant channels arm.yaml node.hand 'joint.*.tau'
      pliant channels arm.h5
    """
    from pliant.report import plain_table
    from pliant.result_files import ENDINGS
    from pliant.rows import PARTIAL

    if is_fmu(file):
        headings, rows = ["name", "unit", "kind", "description"], _of_fmu(file, patterns)
    elif file.suffix.lower() in (*ENDINGS, PARTIAL):
        headings, rows = ["name", "unit", "lowest", "highest"], _of_result(file, patterns)
    else:
        headings, rows = ["name", "unit", "default", "description"], _of_model(file, patterns)
    table = plain_table("")
    table.title = None
    for heading in headings:
        right = "right" if heading in ("lowest", "highest") else "left"
        table.add_column(heading, justify=right, no_wrap=heading == "name")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*map(escape, row))
    console().print(table)


def _of_model(path: Path, patterns: Sequence[str] | None) -> list[list[str]]:
    from pliant.channels import is_default, recordable_channels
    from pliant.simulation import as_model

    found = _chosen(recordable_channels(as_model(path)), patterns)
    return [
        [*_name_and_unit(group), "yes" if is_default(group[0].name) else "", text]
        for group, text in _groups(found)
    ]


def _of_fmu(path: Path, patterns: Sequence[str] | None) -> list[list[str]]:
    from pliant.channels import Channel
    from pliant.fmu.inspect import FmuFile

    causality = {"input": "input", "output": "output", "local": "local"}
    given = [v for v in FmuFile(path).description.modelVariables if v.causality in causality]
    kinds = {v.name: v.causality for v in given}
    listed = [
        Channel(v.name, (v.unit or "").replace(".", " "), ("fmu", 0), i, v.description or "")
        for i, v in enumerate(given)
    ]
    return [
        [*_name_and_unit(group), kinds[group[0].name], text]
        for group, text in _groups(_chosen(listed, patterns))
    ]


def _of_result(path: Path, patterns: Sequence[str] | None) -> list[list[str]]:
    from pliant.results import Result

    result = Result.load(path)
    rows = []
    for group, _ in _groups(_chosen(result.channels, patterns)):
        values = [result[channel.name] for channel in group]
        span = ["", ""]
        if len(result):
            span = [f"{min(v.min() for v in values):.5g}", f"{max(v.max() for v in values):.5g}"]
        rows.append([*_name_and_unit(group), *span])
    return rows


def _chosen(channels: Sequence[Channel], patterns: Sequence[str] | None) -> Sequence[Channel]:
    if patterns:
        from pliant.channels import choose

        return choose(channels, patterns, "channels")
    return [channel for channel in channels if not channel.base.endswith(_MATRIX)]


def _groups(channels: Sequence[Channel]) -> list[tuple[list[Channel], str]]:
    """The components of a vector together, with one description; apart if their units differ."""
    from pliant.fmu.inspect import merged

    runs: dict[tuple[str, str], list[Channel]] = {}
    for channel in channels:
        unit = "" if channel.base.endswith(_MATRIX) else channel.unit
        runs.setdefault((channel.base, unit), []).append(channel)
    groups: list[tuple[list[Channel], str]] = []
    for run in runs.values():
        if run[0].base.endswith(_MATRIX):
            first = _told(run[0]).partition(", row")[0]
            groups.append((run, f"{first}, lower triangle of 6 x 6, row by row"))
            continue
        text = merged([_told(channel) for channel in run])
        groups += [([c], _told(c)) for c in run] if text is None else [(run, text)]
    return groups


def _told(channel: Channel) -> str:
    """The description without the element that the name begins with."""
    words = channel.base.split(".")
    text = channel.description
    for end in range(2, len(words)):
        element = f"{words[0]} {'.'.join(words[1:end])}"
        if text.startswith((f"{element}: ", f"{element}, ")):
            return text[len(element) + 2 :]
    return text


def _name_and_unit(group: Sequence[Channel]) -> list[str]:
    first, last = group[0], group[-1]
    name = first.name
    if len(group) > 1:
        name = f"{first.base}[{first.component}..{last.component}]"
    units = dict.fromkeys(channel.unit for channel in group)
    return [name, ", ".join(unit for unit in units if unit != "1")]


@reported
def plot(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT",
            help="What a run wrote, such as arm.h5.",
            show_default=False,
            autocompletion=files_ending(*_RESULTS),
        ),
    ],
    patterns: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATTERN",
            help="What to draw, such as 'joint.*.q' or energy; without any, a useful choice.",
            show_default=False,
            autocompletion=channel_names("file"),
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The picture: x.png, .pdf, .svg; otherwise the result's name with .png.",
        ),
    ] = None,
) -> None:
    """Draws what a run recorded.

    There is a panel for each quantity, with its unit, over time. Without patterns: joint positions
    and efforts, modal coordinates, energies. What there is to draw is listed by
    'pliant channels arm.h5'.

    \b
    Examples:
      pliant run arm.yaml -d 30 -o arm.h5
      pliant plot arm.h5
      pliant plot arm.h5 'joint.*.q' node.hand.pad.r -o motion.pdf
    """
    from pliant.plots import check_picture
    from pliant.results import Result

    picture = file.with_suffix(".png") if output is None else output
    check_picture(picture)
    result = Result.load(file)
    try:
        result.plot(patterns or None, path=picture)
    except ModelError as error:
        raise ModelError([*error.problems, *_where_to_look(file, error.problems)]) from None
    console().print(f"wrote {picture}", markup=False)


def _where_to_look(file: Path, problems: Sequence[Problem]) -> list[Problem]:
    missed = any("matches nothing" in problem.message for problem in problems)
    return [Problem(str(file), f"'pliant channels {file}' lists all of it")] if missed else []
