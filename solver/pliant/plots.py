"""Pictures of a result: one panel a quantity, a line a channel.

matplotlib is imported when the first picture is drawn, not before: it takes most of a second.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pliant.aside import replacing, write_all
from pliant.channels import Channel, choose
from pliant.errors import ModelError, PliantWarning, warn
from pliant.inert import inert

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pliant.results import Result

_QUANTITIES = {
    ("joint", "q"): "joint position",
    ("joint", "qd"): "joint rate",
    ("joint", "qdd"): "joint acceleration",
    ("joint", "quat"): "joint quaternion",
    ("joint", "quatd"): "joint quaternion rate",
    ("joint", "tau"): "joint effort",
    ("joint", "f"): "joint effort",
    ("reaction", "f"): "joint reaction force",
    ("reaction", "t"): "joint reaction torque",
    ("loop", "q"): "loop position",
    ("loop", "qd"): "loop rate",
    ("loop", "tau"): "loop effort",
    ("loop", "f"): "loop effort",
    ("loop", "gap"): "loop gap",
    ("loop", "gap_rate"): "rate of loop gap",
    ("node", "f"): "force applied at node",
    ("node", "t"): "torque applied at node",
    ("node", "r"): "node position",
    ("node", "quat"): "node quaternion",
    ("node", "v"): "node velocity",
    ("node", "w"): "node angular velocity",
    ("node", "a"): "node acceleration",
    ("node", "alpha"): "node angular acceleration",
    ("node", "inverse_inertia"): "node inverse inertia",
    ("body", "eta"): "modal coordinate",
    ("body", "etad"): "modal rate",
    ("body", "etadd"): "modal acceleration",
    ("wheel", "speed"): "wheel speed",
    ("wheel", "acceleration"): "wheel acceleration",
    ("wheel", "tau"): "wheel torque",
    ("momentum", "p"): "momentum",
    ("momentum", "L"): "angular momentum",
}
_DEFAULT = ("joint.*.q", "joint.*.tau", "joint.*.f", "wheel.*.tau", "body.*.eta", "energy")
_NO_PICTURES = {"gif", "raw", "rgba"}  # one frame of a film, bare bytes
_MOST_PANELS = 60  # more than anyone looks at, and each takes its time to draw
_LEGEND_ROWS = 14  # lines named in a panel's legend; the rest are counted


@dataclass
class _Panel:
    title: str
    unit: str
    channels: list[Channel] = field(default_factory=list)


def plot_result(
    result: Result, channels: Sequence[Channel] | None = None, path: str | Path | None = None
) -> Figure:
    """Draws the channels (None: a useful choice) and saves the figure if a path is given."""
    from pliant.picture import Picture

    if path is not None:
        check_picture(path)
    panels = _panels(_default_choice(result) if channels is None else channels)
    if not panels:
        raise ModelError.at("plot", "there is nothing to draw; record some channels")
    if len(panels) > _MOST_PANELS:
        warn(
            f"plot: {len(panels)} quantities; the first {_MOST_PANELS} are drawn, name channels "
            "to see others ('pliant channels' lists them)",
            PliantWarning,
        )
        panels = panels[:_MOST_PANELS]
    columns = 1 if len(panels) < 3 else 2
    rows = -(-len(panels) // columns)
    # A Figure of its own instead of pyplot: no global state, no window, works in any thread.
    figure = Picture(figsize=(7.5 * columns, 1.0 + 2.9 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True)
    for axes, panel in zip(grid.flat, panels, strict=False):
        _draw(axes, result, panel)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    for column in range(columns):
        last = (len(panels) - 1 - column) // columns
        grid[last, column].set_xlabel("time [s]")
        grid[last, column].tick_params(labelbottom=True)
    figure.suptitle(inert(result.name, 80), fontweight="bold", parse_math=False)
    if path is not None:
        picture = io.BytesIO()
        try:
            figure.savefig(picture, format=Path(path).suffix[1:].lower(), dpi=150)
        except (OSError, ValueError) as error:
            raise ModelError.at(str(path), f"the picture cannot be made: {error}") from None
        with replacing(Path(path)) as file:
            write_all(file, picture.getbuffer())
    return figure


def check_picture(path: str | Path) -> None:
    """Refuses a file that no picture can be written to: best before a long run."""
    from matplotlib.backend_bases import FigureCanvasBase

    path, known = Path(path), sorted(set(FigureCanvasBase.filetypes) - _NO_PICTURES)
    if path.suffix.lower().removeprefix(".") not in known:
        raise ModelError.at(
            str(path),
            "unknown kind of picture; end its name in .png, .pdf or .svg "
            f"(known: {', '.join(known)})",
        )
    if not path.absolute().parent.is_dir():
        raise ModelError.at(str(path), f"there is no folder {path.parent}; make it first")


def check_patterns(patterns: object) -> None:
    """A file's name where channels are chosen is a slip of the hand."""
    for pattern in patterns if isinstance(patterns, (list, tuple)) else [patterns]:
        ending = Path(str(pattern)).suffix.lower()
        if isinstance(pattern, Path) or ending in (".png", ".pdf", ".svg", ".jpg", ".gif"):
            raise ModelError.at(
                f"plot '{pattern}'",
                f"the first argument chooses channels; write plot(path='{pattern}')",
            )


def _default_choice(result: Result) -> list[Channel]:
    chosen: dict[str, Channel] = {}
    for pattern in _DEFAULT:
        try:
            found = choose(result.channels, [pattern])
        except ModelError:
            continue
        for channel in found:
            # lines that are zero throughout only hide the others
            idle = pattern.endswith((".tau", ".f", "energy")) and not np.any(result[channel.name])
            if not idle and ".reaction." not in channel.name:
                chosen[channel.name] = channel
    return list(chosen.values() or result.channels)


def _panels(channels: Sequence[Channel]) -> list[_Panel]:
    panels: dict[tuple[str, str], _Panel] = {}
    for channel in channels:
        words = channel.base.split(".")
        kind, quantity = words[0], words[-1]
        if kind == "energy":
            title = "energy error" if quantity == "error" else "energy"
        elif len(words) == 1:  # of an FMU with flat names
            title = "variables"
        else:
            kind = "reaction" if words[-2] == "reaction" else kind
            title = _QUANTITIES.get((kind, quantity), channel.base)
        panel = panels.setdefault((title, channel.unit), _Panel(title, channel.unit))
        panel.channels.append(channel)
    return list(panels.values())


def _draw(axes: Axes, result: Result, panel: _Panel) -> None:
    from matplotlib import colormaps

    count = len(panel.channels)
    few = count <= 10
    colours = colormaps["tab10" if few else "turbo"](
        np.arange(count) if few else np.linspace(0.05, 0.95, count)
    )
    for i, channel in enumerate(panel.channels):
        label = inert(_label(channel) or channel.name, 60) if i < _LEGEND_ROWS else None
        if label is not None and label.startswith("_"):  # which matplotlib would leave out
            label = f" {label}"
        axes.plot(result.time, result[channel.name], color=colours[i], linewidth=1.3, label=label)
    if count > _LEGEND_ROWS:
        axes.plot([], [], " ", label=f"and {count - _LEGEND_ROWS} more")
    unit = f" [{panel.unit}]" if panel.unit not in ("", "1") else ""
    axes.set_title(inert(f"{panel.title}{unit}", 100), loc="left", fontsize=10, parse_math=False)
    axes.yaxis.set_major_formatter("{x:.6g}")  # no common factor, which would push the title up
    axes.grid(True, alpha=0.3)
    axes.margins(x=0)
    axes.spines[["top", "right"]].set_visible(False)
    if count > 1 or panel.title not in ("energy error",):
        legend = axes.legend(
            loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False, handlelength=1.2
        )
        for text in legend.get_texts():  # a $ in a name is a $
            text.set_parse_math(False)


def _label(channel: Channel) -> str:
    """``hand.pad z`` for ``node.hand.pad.r[3]``, ``elbow`` for ``joint.elbow.q``."""
    words = channel.base.split(".")
    if len(words) == 1:
        return channel.name
    if words[0] in ("energy", "momentum"):
        element = words[1]
    else:
        element = ".".join(words[1:-1]).removesuffix(".reaction")
    part = channel.component
    if not part:
        return element
    if words[-1] in ("quat", "quatd") and part <= 4:
        return f"{element} {'wxyz'[part - 1]}"
    if words[-1] == "inverse_inertia":
        return f"{element} [{part}]"
    if part <= 3 and (words[0] in ("node", "momentum") or ".reaction." in channel.name):
        return f"{element} {'xyz'[part - 1]}"
    return f"{element} [{part}]"
