"""The commands on FMUs: export, and what check and run do with one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pliant.cli_options import (
    Algorithm,
    Flavour,
    Integrator,
    ModelFile,
    Naming,
    console,
    reported,
    was_given,
)
from pliant.completion import channel_names
from pliant.errors import PliantError


def check_fmu(path: Path) -> None:
    from pliant.fmu.inspect import FmuFile

    out = console()
    fmu = FmuFile(path)
    for line in fmu.summary():
        out.print(line, soft_wrap=True)
    for table in fmu.tables():
        out.print()
        out.print(table)
    out.print()
    if fmu.problems:
        raise PliantError("\n".join(f"{path}: {problem}" for problem in fmu.problems))
    out.print("valid", style="green")


@reported
def export(
    context: typer.Context,
    model_file: ModelFile,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The FMU; otherwise the model's name with .fmu."
        ),
    ] = None,
    flavour: Annotated[
        Flavour,
        typer.Option(
            help="native: runs anywhere; python: needs pliant where it runs, and can hold a law "
            "of your own."
        ),
    ] = Flavour.native,
    slave: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Python file with a subclass of PliantSlave, for the flavour python.",
        ),
    ] = None,
    step: Annotated[
        float | None,
        typer.Option(
            "--step",
            "-s",
            metavar="SECONDS",
            help="Internal step in seconds; otherwise a millisecond, or what the model needs if "
            "that is shorter.",
        ),
    ] = None,
    integrator: Annotated[Integrator, typer.Option(help="Of the solver inside.")] = (
        Integrator.leapfrog
    ),
    algorithm: Annotated[Algorithm, typer.Option(help="Of the solver inside.")] = Algorithm.order_n,
    naming: Annotated[
        Naming,
        typer.Option(
            help="structured: joint.elbow.q; flat: joint_elbow_q, for tools that make buses of "
            "dots."
        ),
    ] = Naming.structured,
    include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Expose these too, such as 'node.boom.tip' or 'joint.*.reaction'; repeatable.",
            autocompletion=channel_names("model_file"),
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN", help="Do not expose these, such as 'momentum'; repeatable."
        ),
    ] = None,
    bare: Annotated[bool, typer.Option("--bare", help="Expose only what is included.")] = False,
) -> None:
    """Writes a model as an FMU (FMI 2.0), for other tools to run.

    It is made for co-simulation, with the solver inside.

    Inputs are the efforts of joints and the loads on contact nodes; outputs the motion of joints
    and contact nodes, energies and momentum; parameters the start, masses, damping, gravity and
    the solver. More is exposed on request: loads and motion of other nodes, modes, reactions.
    Options given here take precedence over the section fmu of the model file.

    \b
    Examples:
      pliant export arm.yaml -o arm.fmu --include node.boom.tip.r
      pliant export arm.yaml -o arm.fmu --bare --include joint --exclude 'joint.*.qdd'
      pliant export arm.yaml -o arm.fmu --flavour python --slave law.py
    """
    from pliant.fmu import export_fmu
    from pliant.fmu.inspect import FmuFile
    from pliant.stability import DEFAULT_STEP

    given = {
        "step": step,
        "integrator": integrator.value,
        "algorithm": algorithm.value,
        "naming": naming.value,
        "include": include,
        "exclude": exclude,
        "defaults": not bare,
    }
    options = {"defaults": "bare"}  # the other settings have the names of their options
    chosen = {
        key: value for key, value in given.items() if was_given(context, options.get(key, key))
    }
    written = export_fmu(model_file, output, flavour=flavour.value, slave=slave, **chosen)
    fmu = FmuFile(written)
    print(f"wrote {written}: {fmu.size}, {flavour.value}, {fmu.counts}")
    if step is None and fmu.internal_step != DEFAULT_STEP:
        print(f"internal step {fmu.internal_step:g} s")
