"""Files of results on the command line: what a run leaves, and what a killed run left."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from pliant.cli_options import console, reported
from pliant.errors import ModelError

if TYPE_CHECKING:
    from pliant.results import Result

Force = Annotated[
    bool,
    typer.Option(
        "--force", "-f", help="Replace results of that name, and what a killed run left of them."
    ),
]


def tell_outputs(out: Console, outputs: Sequence[Path], result: Result) -> None:
    """Where the rows of a run are."""
    from pliant.result_files import ended_early, partial_of

    for path in outputs:
        if partial_of(path).exists():
            continue  # what kept it from being finished says so
        told = f"wrote {path}"
        if ended_early(result.info):
            told += f": {extent(result)}, ended early"
        if len(result):
            out.print(told, soft_wrap=True)


def extent(result: Result | None) -> str:
    """How much there is."""
    if result is None or not len(result):
        return "no rows"
    rows = "1 row" if len(result) == 1 else f"{len(result)} rows"
    return f"{rows} up to t = {result.ends[1]:.12g} s"


def told_interruption(name: str, outputs: Sequence[Path], result: Result | None) -> str:
    """The line that an interrupted run ends with."""
    from pliant.result_files import partial_of

    if result is None or not len(result):
        # before the first row, or a second time while files were being finished
        left = [path for path in map(partial_of, outputs) if path.exists()]
        if not left:
            return f"interrupted by {name}: nothing was recorded"
        hint = f"'pliant recover {left[0]}' makes a file of them"
        return f"interrupted by {name}: rows are kept in {', '.join(map(str, left))}; {hint}"
    kept = [p if not partial_of(p).exists() else partial_of(p) for p in outputs]
    where = f"are kept in {', '.join(map(str, kept))}" if kept else "were recorded, and no -o given"
    return f"interrupted by {name}: {extent(result)} {where}"


@reported
def recover(
    partial: Annotated[
        Path, typer.Argument(metavar="FILE.partial", help="What is left.", show_default=False)
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to put it: x.h5 or x.csv; otherwise the name that the run was to write.",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Makes a result of what a killed run left.

    A run keeps its rows in x.h5.partial until it has ended; that is what is left of one that was
    killed or whose disk was full. It is removed when the result is written.

    \b
    Examples:
      pliant recover x.h5.partial
      pliant recover x.h5.partial -o /elsewhere/x.h5
    """
    from pliant.result_files import check_outputs, ended_early, hold, partial_of
    from pliant.results import NOT_SAID, Result
    from pliant.rows import PARTIAL

    if not partial.name.endswith(PARTIAL) or partial.name == PARTIAL:
        raise ModelError.at(str(partial), f"not the name of a partial file; they end in {PARTIAL}")
    target = partial.with_name(partial.name.removesuffix(PARTIAL)) if output is None else output
    result = Result.load(partial)
    if target.resolve() == partial.resolve():
        raise ModelError.at(str(target), f"it is {partial} itself; give another name")
    own = partial_of(target).absolute() == partial.absolute()
    check_outputs([target], force, but=partial if own else None)
    if not len(result):
        raise ModelError.at(str(partial), "there are no rows in it; delete it")
    with partial.open("r+b", buffering=0) as file:
        if not hold(file):
            raise ModelError.at(str(partial), "a run still writes it; wait for its end")
        if result.info["ended"] == NOT_SAID:
            result.info["ended"] = "the run was killed"
        try:
            result.save(target)
        except ModelError as error:
            why = error.problems[0].message
            raise ModelError.at(
                str(target), f"{why}; {partial} stays, -o puts the result elsewhere"
            ) from None
    early = ", ended early" if ended_early(result.info) else ""
    told = f"wrote {target}: {extent(result)}{early}"
    partial.unlink()
    console().print(told, soft_wrap=True)
