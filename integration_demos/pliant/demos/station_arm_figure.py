"""The picture of the station arm's run: six panels on one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pliant.demos.station_arm import BOOMS, JOINTS, ArmRun
from pliant.reduced import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#7a6a00")
_INK = "#333333"


def draw(run: ArmRun, path: Path) -> Path:
    """Draws the run and saves the picture."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    # A Figure of its own instead of pyplot: no global state, no window.
    figure = Figure(figsize=(13.0, 10.5), layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.10))
    grid = figure.subplots(3, 2, sharex=True)
    panels = (_angles, _errors, _booms, _attitude, _energy, _momentum)
    for axes, panel in zip(grid.flat, panels, strict=True):
        axes.axvspan(run.slew.begin, run.slew.end, color="#f1f3f6", zorder=-2)
        axes.grid(True, color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(x=0)
        panel(axes, run)
    for axes in grid[-1]:
        axes.set_xlabel("time [s]")
    payload = run.system.bodies["payload"].mass
    figure.suptitle(
        f"17 m station arm, driven as an FMU, moves {payload:,.0f} kg; shaded: the commanded slew",
        fontsize=14,
        fontweight="bold",
    )
    figure.savefig(path, dpi=150)
    return path


def _angles(axes: Axes, run: ArmRun) -> None:
    for i, name in enumerate(JOINTS):
        measured, commanded = (np.rad2deg(x[:, i]) for x in (run.measured, run.commanded))
        axes.plot(run.result.time, measured, color=_COLOURS[i], linewidth=2.4, label=_words(name))
        axes.plot(run.result.time, commanded, color=_INK, linewidth=0.9, linestyle=(0, (6, 5)))
    _head(axes, "joint angles [deg], and what was commanded (dashed)", columns=4)


def _errors(axes: Axes, run: ArmRun) -> None:
    for i, error in enumerate(np.rad2deg(run.commanded - run.measured).T):
        axes.plot(run.result.time, error, color=_COLOURS[i], linewidth=1.2, label=_words(JOINTS[i]))
    _head(axes, "tracking error [deg]", columns=4)


def _booms(axes: Axes, run: ArmRun) -> None:
    for boom, colours in zip(BOOMS, (_COLOURS[:2], _COLOURS[2:4]), strict=True):
        for k, direction in enumerate(("sideways", "in pitch")):
            values = 1e3 * run.deflection(boom)[:, k]
            label = f"{boom.removesuffix('_boom')}, {direction}"
            axes.plot(run.result.time, values, color=colours[k], linewidth=1.3, label=label)
    _head(axes, "bending of the booms, at their tips [mm]", columns=4)


def _attitude(axes: Axes, run: ArmRun) -> None:
    for i, angle in enumerate(np.rad2deg(run.attitude).T):
        label = f"about {'xyz'[i]}"
        axes.plot(run.result.time, angle, color=_COLOURS[i], linewidth=1.5, label=label)
    _head(axes, "the station gives way: its rotation [deg]", columns=3)


def _energy(axes: Axes, run: ArmRun) -> None:
    result = run.result
    lines = {
        "kinetic": result["energy.kinetic"],
        "strain of the booms": result["energy.strain"],
        "error, with work accounted for": np.abs(result["energy.error"]),
    }
    _logarithmic(axes, result.time, lines)
    _head(axes, "energy [J]", columns=3)


def _momentum(axes: Axes, run: ArmRun) -> None:
    lines = {
        "station alone": np.linalg.norm(run.station_momentum, axis=1),
        "together with arm and payload: should be zero": np.linalg.norm(
            run.result["momentum.p"], axis=1
        ),
    }
    _logarithmic(axes, run.result.time, lines)
    _head(axes, "momentum [N s]", columns=2)


def _logarithmic(axes: Axes, times: Array, lines: dict[str, Array]) -> None:
    """Ten powers of ten: what lies below says nothing."""
    for i, (label, values) in enumerate(lines.items()):
        axes.plot(times, values, color=_COLOURS[i], linewidth=1.2, label=label)
    axes.set_yscale("log")
    largest = max(float(values.max()) for values in lines.values())
    axes.set_ylim(1e-10 * largest, 10.0 * largest)


def _head(axes: Axes, title: str, columns: int) -> None:
    """Title, and under it the legend in rows."""
    rows = -(-len(axes.get_legend_handles_labels()[1]) // columns)
    axes.set_title(title, loc="left", fontweight="bold", pad=6.0 + 15.0 * rows)
    legend = axes.legend(
        loc="lower left",
        bbox_to_anchor=(-0.01, 1.0),
        ncols=columns,
        fontsize=8.5,
        frameon=False,
        handlelength=1.3,
        columnspacing=1.4,
        borderpad=0.2,
        labelspacing=0.3,
    )
    for line in legend.get_lines():
        line.set_linewidth(2.4)


def _words(name: str) -> str:
    return name.replace("_", " ")
