"""The command ``pliant``: check, modes, run, recover, channels, plot, export, demo, bench.

Errors are printed as ``arm.yaml:7: joints.elbow.axis: ...``, all of them, and end the command with
exit code 1; Ctrl-C ends a run with 130, TERM with 143.
"""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from pliant.cli_channels import channels, plot
from pliant.cli_fmu import check_fmu, export
from pliant.cli_options import (
    Algorithm,
    Integrator,
    ModelFile,
    ModelOrFmu,
    Start,
    Step,
    assignments,
    console,
    is_fmu,
    refuse_options,
    reported,
)
from pliant.cli_results import Force, recover, tell_outputs, told_interruption
from pliant.completion import channel_names
from pliant.errors import PliantError
from pliant.interruption import Interruption

if TYPE_CHECKING:
    from rich.table import Table

    from pliant.modes import AssembledModes
    from pliant.results import Result

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: rich's breaks lines in the middle of sentences
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Flexible multibody dynamics.

    A mechanism is described in a model file (YAML). A first session:

    \b
    pliant demo                                 see it work
    pliant check arm.yaml                       is it what I meant?
    pliant modes arm.yaml                       how does it vibrate?
    pliant run arm.yaml -d 10 --plot arm.png    let it move and look
    pliant run arm.yaml -d 10 -o arm.h5         keep the numbers
    pliant plot arm.h5 'joint.*.q'              draw some of them
    pliant channels arm.yaml                    what is there to record?
    pliant export arm.yaml -o arm.fmu           take it to Simulink, Dymola, FMPy, ...

    Every command explains itself: pliant run --help. The tab key completes commands, files and
    names of channels after 'pliant --install-completion'.
    """,
)

benches = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@benches.callback()
def _benches() -> None:
    """Times test systems of the literature.

    Example:  pliant bench platform --cases 9-12 --seconds 10
    """


app.add_typer(benches, name="bench")


def _version(wanted: bool) -> None:
    if wanted:
        from pliant import __version__

        print(f"pliant {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
@reported
def check(context: typer.Context, model_file: ModelOrFmu, step: Step = None) -> None:
    """Reads a model, draws its tree and says what looks wrong.

    Prints the tree of bodies and joints, mass and centre of mass at the start, gravity, the
    freedoms, and warnings: a step beyond the limit of stability or too long for the frequencies,
    beams that keep too few shapes, what degrees for radians, per cent for a ratio, mm for m or
    N/mm2 for N/m2 leave behind, joints that start beyond their stops or where their axes line up,
    bodies much lighter than the rest. All problems of a faulty model are listed at once.

    An FMU, of pliant or not, is validated, and its inputs, outputs and parameters are listed with
    units, start values and descriptions.

    \b
    Examples:
      pliant check arm.yaml --step 5e-4
      pliant check arm.fmu
    """
    if is_fmu(model_file):
        refuse_options(context, ("step",), "an FMU has its own step, the parameter solver.h")
        check_fmu(model_file)
        return
    from pliant.report import ModelReport

    out = console()
    report = ModelReport(model_file, step)
    out.print(report.tree(), soft_wrap=True)
    out.print()
    for line in report.summary():
        out.print(line, soft_wrap=True)
    out.print()
    out.print(report.freedoms())
    warnings = report.warnings()
    for warning in warnings:
        out.print("warning:", end=" ", style="yellow")
        out.print(warning, soft_wrap=True)
    if not warnings:
        out.print("no warnings", style="green")


@app.command()
@reported
def modes(
    model_file: ModelFile,
    count: Annotated[
        int,
        typer.Option(
            "--count", "-n", metavar="N", min=1, help="Modes shown of the assembled model."
        ),
    ] = 12,
) -> None:
    """Shows the frequencies of the bodies and of the assembled model.

    A body is shown held at its head (clamped) and with nothing holding it (free-free). The model
    is shown with its joints locked and with its joints free, at rest in its start position, with
    the damping ratio and where the potential energy is.

    Example:  pliant modes arm.yaml -n 20
    """
    from pliant.modes import assembled_modes, body_modes
    from pliant.report import plain_table
    from pliant.simulation import as_model

    out = console()
    model = as_model(model_file)
    bodies = body_modes(model)
    table = plain_table("bodies alone, Hz")
    for heading in ("body", "mode"):
        table.add_column(heading)
    for heading in ("clamped", "free-free"):
        table.add_column(heading, justify="right")
    for body in bodies:
        for i, (clamped, free) in enumerate(zip(body.clamped, body.free_free, strict=True)):
            name = body.name if i == 0 else ""
            table.add_row(name, str(i + 1), f"{clamped:.4g}", f"{free:.4g}")
    out.print(table if bodies else "no flexible bodies")
    for locked in (True, False):
        title = f"assembled, joints {'locked' if locked else 'free'}"
        out.print()
        out.print(_assembled_table(assembled_modes(model, locked=locked), title, count))


def _assembled_table(assembled: AssembledModes, title: str, count: int) -> Table:
    from rich.text import Text

    from pliant.notebook import energy_places
    from pliant.report import plain_table

    left = len(assembled.modes) - count
    footer = f"{assembled.rigid} rigid freedom{'' if assembled.rigid == 1 else 's'}"
    if left > 0:
        footer += f"; {left} more modes up to {assembled.frequencies[-1]:.4g} Hz"
    table = plain_table(title)
    table.caption, table.caption_justify = footer, "left"
    table.add_column("mode")
    table.add_column("Hz", justify="right")
    table.add_column("damping, %", justify="right")
    table.add_column("potential energy in")
    for i, mode in enumerate(assembled.modes[:count], start=1):
        where = energy_places(mode)
        frequency = Text(f"{mode.frequency:.4g}")
        if mode.frequency < 0.0:
            frequency = Text("unstable", style="red")
        table.add_row(str(i), frequency, f"{100 * mode.damping:.2g}", where)
    return table


@app.command()
@reported
def run(
    context: typer.Context,
    model_file: ModelOrFmu,
    duration: Annotated[
        float,
        typer.Option("--duration", "-d", metavar="SECONDS", help="Simulated time in seconds."),
    ] = 10.0,
    step: Annotated[
        float | None,
        typer.Option(
            "--step",
            "-s",
            metavar="SECONDS",
            help="Internal step in seconds, otherwise 1 ms, or what the model needs if that is "
            "shorter; of an FMU the communication step, otherwise the one it suggests.",
        ),
    ] = None,
    integrator: Annotated[
        Integrator,
        typer.Option(
            help="leapfrog: order 2, one evaluation of the forces a step; rk4: order 4, four; "
            "euler_cromer: order 1."
        ),
    ] = Integrator.leapfrog,
    algorithm: Annotated[
        Algorithm,
        typer.Option(
            help="order_n: cost grows with the number of bodies; dense: by a mass matrix, to "
            "compare with."
        ),
    ] = Algorithm.order_n,
    inputs: Annotated[
        Path | None,
        typer.Option(
            "--input",
            "-i",
            metavar="FILE",
            help="Inputs of an FMU over time: CSV with a column time and columns named as inputs.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Set a parameter of an FMU first; repeatable."
        ),
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the result: x.h5 or x.csv; repeatable."
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option("--plot", "-p", metavar="FILE", help="Draw the result: x.png, .pdf or .svg."),
    ] = None,
    record: Annotated[
        list[str] | None,
        typer.Option(
            "--record",
            "-r",
            metavar="CHANNELS",
            help="What to record, such as 'joint.*.q', 'node.hand.pad' or 'energy'; repeatable; "
            "'pliant channels' lists what there is. Without it all but reactions, loads on nodes "
            "and node accelerations.",
            autocompletion=channel_names("model_file"),
        ),
    ] = None,
    every: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Record every N-th step; otherwise at most 2000 rows in all."
        ),
    ] = None,
    force: Force = False,
    start: Annotated[
        Start | None,
        typer.Option(
            help="Start where the model rests under its weight and loads, found downhill from the "
            "start of its joints.",
            show_default=False,
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Lets a model move from its start and records it.

    The bar shows simulated time, speed against real time and the relative energy error; work of
    loads and dissipated energy are accounted for, so that the error is the integrator's own.
    Warnings tell of a step beyond the limit of stability, of bodies bent further than their modes
    can carry and of an energy error that makes the run doubtful.

    Rows go to disk as they come, into x.h5.partial, which becomes x.h5 when the run ends. A run
    that fails says when and where, and still writes what it recorded; so does one that is ended by
    Ctrl-C or TERM. Of one that was killed, 'pliant recover' makes a result.

    Names of channels may hold * and ?, or be beginnings up to a dot: joint.elbow is all of that
    joint. Results are kept as HDF5 (x.h5: all digits, units, how the run was made; 'pliant plot'
    draws it) or as CSV (x.csv).

    An FMU runs through FMPy, as in other tools: give it inputs over time and parameters. Its
    inputs go in straight lines between the rows of the file; two rows of one time make a jump.

    \b
    Examples:
      pliant run arm.yaml -d 30 -o arm.h5 --plot arm.png
      pliant run arm.yaml -r 'node.hand.*.r' -r energy --every 10 -o arm.csv
      pliant run arm.fmu --input torques.csv --set solver.integrator=rk4 --plot arm.png
    """
    from pliant.fmu.run import run_fmu
    from pliant.plots import check_picture
    from pliant.result_files import check_outputs
    from pliant.run import simulate

    outputs = output or []
    check_outputs(outputs, force)
    if picture is not None:
        check_picture(picture)
    out = console()
    started = time.perf_counter()
    result: Result | None = None
    failure: BaseException | None = None
    with Interruption() as interruption:
        try:
            if is_fmu(model_file):
                why = "an FMU has its own; give --set solver.{}=..."
                refuse_options(context, ("integrator", "algorithm"), why)
                why = "an FMU starts as it was exported; write start: equilibrium in its model file"
                refuse_options(context, ("start",), why)
                result = run_fmu(
                    model_file,
                    duration,
                    step,
                    inputs=inputs,
                    start_values=assignments(settings or ()),
                    every=every,
                    record=record or None,
                    progress=not quiet,
                    output=outputs,
                    overwrite=force,
                )
            else:
                refuse_options(context, ("input", "set"), "it is for FMUs; export the model first")
                result = simulate(
                    model_file,
                    duration,
                    step,
                    every=every,
                    record=record or None,
                    progress=not quiet,
                    integrator=integrator.value,
                    algorithm=algorithm.value,
                    start=None if start is None else "equilibrium",
                    output=outputs,
                    overwrite=force,
                )
        except (PliantError, KeyboardInterrupt) as error:
            failure, result = error, getattr(error, "result", None)
        elapsed = time.perf_counter() - started
        try:
            if result is not None:
                out.print(_run_summary(result, elapsed), soft_wrap=True)
                tell_outputs(out, outputs, result)
                if picture is not None and len(result):
                    result.plot(path=picture)
                    out.print(f"wrote {picture}")
        except KeyboardInterrupt as error:
            failure = error
    if interruption.number is not None or isinstance(failure, KeyboardInterrupt):
        print(told_interruption(interruption.name, outputs, result), file=sys.stderr)
        raise typer.Exit(interruption.exit_code)
    if failure is not None:
        raise failure


app.command()(channels)
app.command()(plot)
app.command()(recover)
app.command()(export)


@app.command()
@reported
def demo(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Which one; --list says what there is.", show_default=True
        ),
    ] = "station_arm",
    output_dir: Annotated[
        Path,
        typer.Option("--output-dir", "-o", metavar="FOLDER", help="Where its pictures are put."),
    ] = Path("build"),
    listed: Annotated[bool, typer.Option("--list", "-l", help="Only say what there is.")] = False,
) -> None:
    """Runs a demo that comes with pliant and leaves a picture.

    Example:  pliant demo station_arm --output-dir build
    """
    from pliant import demos

    if listed:
        for known, what in demos.DEMOS.items():
            print(f"{known:14s} {what}")
        return
    for path in demos.run(name, output_dir):
        print(f"wrote {path}")


@benches.command()
@reported
def platform(
    cases: Annotated[
        str, typer.Option(metavar="CASES", help="Numbers and ranges, such as 1-4,9.")
    ] = "1-16",
    seconds: Annotated[
        float, typer.Option("--seconds", "-d", metavar="SECONDS", help="Simulated time of a case.")
    ] = 100.0,
    dense_seconds: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Simulated time of dense, if less will do; its CPU time is scaled.",
            show_default=False,
        ),
    ] = None,
    only: Annotated[
        Algorithm | None, typer.Option(help="One algorithm instead of both.", show_default=False)
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Measure also what the file knows already.")
    ] = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="File of results, added to.")
    ] = Path("build/bench.json"),
) -> None:
    """The 16 cases of Ghosh & Quiocho's table by order_n and by dense.

    Rigid and flexible, open and with closed loops: CPU time of both algorithms beside the paper's,
    how far they differ, the gap of the loops and the balance of energy. A case is written to the
    file when it is done, and not run again while model and kernel are the same. All cases over
    100 s take minutes.

    \b
    Examples:
      pliant bench platform --cases 9-12
      pliant bench platform --seconds 1 --output short.json
    """
    from pliant.demos import platform_bench

    spans = {"order_n": seconds, "dense": seconds if dense_seconds is None else dense_seconds}
    if only is not None:
        spans = {only.value: spans[only.value]}
    platform_bench.run(platform_bench.choose_cases(cases), spans, output, console(), again)


def _run_summary(result: Result, elapsed: float) -> str:
    span = result.ends[1] - result.ends[0]
    text = f"{result.name}: {span:g} s in {elapsed:.2f} s, {len(result)} rows"
    if "energy.error" in result and "energy.kinetic" in result:
        text += f", energy error {result.energy_error:.1e}"
        if span > 0.0 and result.is_at_rest:
            text += "\nnothing moved: no speed at the start, no load, weight or spring moves it"
    return text


def _exit_by_signal(number: int, _: FrameType | None) -> NoReturn:
    """The end by a signal as an exception, so that temporary files are removed on the way out."""
    signal.signal(number, signal.SIG_IGN)  # a second one would stop that halfway
    raise SystemExit(128 + number)


def main() -> None:
    """Entry point of the command."""
    signal.signal(signal.SIGTERM, _exit_by_signal)
    app()
