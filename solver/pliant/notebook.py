"""How results, systems and simulations look in a notebook: small tables in HTML.

Names come from model files of anybody: every text is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from pliant.channels import Channel
from pliant.part import Part, show
from pliant.reduced import Array

if TYPE_CHECKING:
    from pliant.body import Body
    from pliant.modes import AssembledModes, BodyModes, Mode
    from pliant.results import Result
    from pliant.simulation import Simulation
    from pliant.system import System

_ROWS = 40  # of a table; the rest is counted
_FEW = 10_000_000  # numbers of a result that are looked through for their range


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    title: str = "",
    note: str = "",
    text: Sequence[int] = (0,),
) -> str:
    """A table with a title above and a note below; the columns in ``text`` are not numbers.

    >>> table(["body", "kg"], [["<b>", 2.0]], note="one & all").count("&lt;b&gt;")
    1
    """
    given = list(rows)
    aligned = ["left" if i in text else "right" for i in range(len(headings))]
    more = f"and {len(given) - _ROWS} more" if len(given) > _ROWS else ""
    parts = [f"<p><b>{escape(title)}</b></p>"] if title else []
    if given:
        parts += [
            "<table><thead><tr>",
            *(_cell("th", name, side) for name, side in zip(headings, aligned, strict=True)),
            "</tr></thead><tbody>",
        ]
        for row in given[:_ROWS]:
            cells = (_cell("td", item, side) for item, side in zip(row, aligned, strict=True))
            parts.append(f"<tr>{''.join(cells)}</tr>")
        parts.append("</tbody></table>")
    parts += [f"<p>{escape(line)}</p>" for line in (more, *note.splitlines()) if line]
    return "<div>" + "".join(parts) + "</div>"


def _cell(tag: str, content: object, side: str) -> str:
    style = f"text-align:{side};padding:0.1em 0.7em"
    return f'<{tag} style="{style}">{escape(written(content))}</{tag}>'


def written(value: object) -> str:
    """A value as tables show it: numbers to five digits."""
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def in_notebook() -> bool:
    """Whether output goes to a notebook, which shows pictures and HTML."""
    import sys

    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython  # type: ignore[attr-defined, import-not-found, unused-ignore]

    shell = get_ipython()
    return shell is not None and shell.__class__.__name__ == "ZMQInteractiveShell"


# ------------------------------------------------------------------------------------ what is shown


def result_table(result: Result) -> str:
    """Quantities of a result, with units and between which values they were."""
    groups: dict[str, list[Channel]] = {}
    for channel in result.channels:
        groups.setdefault(channel.base, []).append(channel)
    small = len(result) * len(result.channels) <= _FEW
    rows = []
    for base, members in groups.items():
        units = dict.fromkeys(c.unit for c in members)
        row: list[object] = [_numbered(base, len(members)), ", ".join(units)]
        if small and len(result):
            values = result[base]
            row += [float(values.min()), float(values.max())]
        rows.append(row)
    headings = ["channel", "unit", "lowest", "highest"][: 4 if small and len(result) else 2]
    info = result.info
    how = [f"{info[key]}" for key in ("integrator", "algorithm") if key in info]
    if "step" in info:
        how.insert(0, f"step {written(float(info['step']))} s")
    notes = [", ".join(how), *(f"warning: {text}" for text in result.warnings)]
    return table(headings, rows, title=repr(result), note="\n".join(notes), text=(0, 1))


def _numbered(base: str, count: int) -> str:
    return base if count == 1 else f"{base}[1..{count}]"


def simulation_table(sim: Simulation) -> str:
    """Where the joints of a simulation are, and its energy."""
    joints = [sim.joint(slots.name) for slots in sim.model.joints]
    rows = [[j.name, j.type, _several(j.position), _several(j.rate)] for j in joints]
    energy = sim.energy
    note = (
        f"energy {written(energy.total)} J: kinetic {written(energy.kinetic)}, strain "
        f"{written(energy.strain)}, springs {written(energy.spring)}, gravity "
        f"{written(energy.gravity)}; error {energy.error:.2g} J"
    )
    headings = ["joint", "type", "position, m and rad", "rate"]
    return table(headings, rows, title=repr(sim), note=note, text=(0, 1))


def system_table(system: System) -> str:
    """Bodies of a system with what they hang on, then loops and loads."""
    # by the words that were written: a system may be shown before it is right
    carried = {joint.child.partition(".")[0]: name for name, joint in system.joints.items()}
    rows = []
    for name, body in system.bodies.items():
        joint = carried.get(name, "")
        kind, on = "", ""
        if joint:
            kind, on = system.joints[joint].type, system.joints[joint].parent
        rows.append([name, _body_text(body), joint, kind, on])
    gravity = _several(np.asarray(system.gravity))
    notes = [f"gravity {gravity} m/s2"]
    for what, named in (("loops", system.loops), ("loads", system.loads)):
        if named:
            notes.append(f"{what}: {', '.join(named)}")
    headings = ["body", "", "joint", "type", "on"]
    return table(headings, rows, title=repr(system), note="\n".join(notes), text=range(5))


def _body_text(body: Body) -> str:
    if body.beam is not None:
        return f"beam of {written(body.beam.length)} m"
    if body.modal is not None:
        return f"modal data, {body.modal.mode_count} modes"
    return f"{written(body.mass)} kg"


def part_table(part: Part) -> str:
    """The fields of an author's object that differ from their defaults."""
    rows = [[name, show(value, 100)] for name, value in part.__repr_args__()]
    return table(["field", "value"], rows, title=type(part).__name__, text=(0, 1))


def body_modes_table(bodies: Sequence[BodyModes]) -> str:
    """Frequencies of flexible bodies, held and free."""
    rows = [
        [body.name if i == 0 else "", str(i + 1), float(clamped), float(free)]
        for body in bodies
        for i, (clamped, free) in enumerate(zip(body.clamped, body.free_free, strict=True))
    ]
    headings = ["body", "mode", "clamped, Hz", "free-free, Hz"]
    return table(headings, rows, title="bodies alone" if rows else "no flexible bodies")


def assembled_modes_table(assembled: AssembledModes) -> str:
    """Vibrations of a model with damping and where their energy is."""
    rows = [
        [str(i), f"{mode.frequency:.4g}", f"{100 * mode.damping:.2g}", energy_places(mode)]
        for i, mode in enumerate(assembled.modes, start=1)
    ]
    headings = ["mode", "Hz", "damping, %", "potential energy in"]
    return table(headings, rows, title=repr(assembled), text=(0, 3))


def energy_places(mode: Mode) -> str:
    """Where the potential energy of a mode is, in words: the three largest shares."""
    shares = [(name, part) for name, part in mode.shares.items() if abs(part) >= 0.005]
    return ", ".join(f"{name} {part:.0%}" for name, part in shares[:3])


def coordinates_table(names: Sequence[tuple[str, str]], values: Array) -> str:
    """Coordinates of a model with their names and units."""
    rows = [[name, unit, float(x)] for (name, unit), x in zip(names, values, strict=True)]
    return table(["coordinate", "unit", "value"], rows, text=(0, 1))


def _several(values: float | Array) -> str:
    return ", ".join(written(float(value)) for value in np.atleast_1d(values))
