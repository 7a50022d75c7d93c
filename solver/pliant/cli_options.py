"""What the commands have in common: kinds of options, how errors are printed."""

from __future__ import annotations

import functools
import io
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Annotated, ParamSpec, TextIO

import typer
from rich.console import Console

from pliant.completion import files_ending
from pliant.errors import ModelError, PliantError, PliantWarning, Problem

_P = ParamSpec("_P")


class Integrator(str, Enum):
    leapfrog = "leapfrog"
    rk4 = "rk4"
    euler_cromer = "euler_cromer"


class Algorithm(str, Enum):
    order_n = "order_n"
    dense = "dense"


class Start(str, Enum):
    equilibrium = "equilibrium"


class Flavour(str, Enum):
    native = "native"
    python = "python"


class Naming(str, Enum):
    structured = "structured"
    flat = "flat"


ModelFile = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="Model file, such as arm.yaml.",
        show_default=False,
        autocompletion=files_ending(".yaml", ".yml"),
    ),
]
ModelOrFmu = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="Model file or FMU, such as arm.yaml or arm.fmu.",
        show_default=False,
        autocompletion=files_ending(".yaml", ".yml", ".fmu"),
    ),
]
Step = Annotated[
    float | None,
    typer.Option(
        "--step",
        "-s",
        metavar="SECONDS",
        help="Internal step in seconds; otherwise 1 ms, or what the model needs if that is "
        "shorter.",
    ),
]


def reported(command: Callable[_P, None]) -> Callable[_P, None]:
    """Prints pliant's own warnings, and its errors, one problem a line, and exits with 1."""

    @functools.wraps(command)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> None:
        try:
            with _printed_warnings():
                command(*args, **kwargs)
        except PliantError as error:
            print(error, file=sys.stderr)
            raise typer.Exit(1) from None
        except OSError as error:  # of the terminal, or of what stands at its other end
            text = error.strerror or str(error)
            place = f"{error.filename}: " if error.filename else ""
            print(f"{place}{text}", file=sys.stderr)
            raise typer.Exit(1) from None

    return wrapped


@contextmanager
def _printed_warnings() -> Iterator[None]:
    """Warnings of pliant on stderr as ``check`` prints them, without the lines of Python."""
    with warnings.catch_warnings():
        others, errors = warnings.showwarning, console(stderr=True)

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if not issubclass(category, PliantWarning):
                others(message, category, filename, lineno, file, line)
                return
            errors.print("warning:", end=" ", style="yellow")
            errors.print(str(message), soft_wrap=True)

        warnings.simplefilter("always", PliantWarning)
        warnings.showwarning = show
        yield


def is_fmu(path: Path) -> bool:
    return path.suffix.lower() == ".fmu"


def was_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def refuse_options(context: typer.Context, names: Sequence[str], why: str) -> None:
    """For options that make no sense with the kind of file at hand."""
    parameters = {"input": "inputs", "set": "settings"}  # where they differ from the options
    wrong = [name for name in names if was_given(context, parameters.get(name, name))]
    if wrong:
        raise ModelError([Problem(f"--{name}", why.format(name)) for name in wrong])


def assignments(texts: Sequence[str]) -> dict[str, str]:
    wrong = [text for text in texts if "=" not in text]
    if wrong:
        raise ModelError([Problem(f"--set {text}", "write NAME=VALUE") for text in wrong])
    pairs = [text.partition("=") for text in texts]
    return {name.strip(): value for name, _, value in pairs}


def console(stderr: bool = False) -> Console:
    """Prints what it is given to the letter: names and texts may come from anybody. Where the
    terminal has no such letters it shows others."""
    stream = sys.stderr if stderr else sys.stdout
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)
