"""What ``pliant check`` says about a model: its tree, mass, freedoms, and what looks wrong."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from pliant.channels import axis_text
from pliant.closing import loop_jacobian
from pliant.errors import PliantWarning
from pliant.mechanism import TreeBody, TreeJoint, TreeLoop
from pliant.model_file import load
from pliant.modes import highest_frequency
from pliant.motion_tables import motion_curves, outruns, swings
from pliant.plausibility import implausible, implausible_parts
from pliant.reduced import Array
from pliant.shape_check import (
    ShapeComparison,
    compare_shapes,
    shapes_summary,
    shapes_warnings,
)
from pliant.simulation import Simulation
from pliant.stability import ACCURATE, step_fault, step_limit, suggested_step, turning_step
from pliant.system import System

_LIGHT = 1e-5  # of the heaviest body: a mass worth a question
_LINED_UP = 0.1  # smallest singular value of three rotation axes: about 6 degrees from gimbal lock


class ModelReport:
    """Answers about a model at its start."""

    def __init__(self, system: System | str | Path, step: float | None = None) -> None:
        self.system = system if isinstance(system, System) else load(system)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PliantWarning)  # these are among the report's own
            self.sim = Simulation(self.system, step)
        self.model = self.sim.model
        self._omega = highest_frequency(self.model)
        self._limit = step_limit(self.model, self.sim.integrator)

    def tree(self) -> Tree:
        """Bodies under the joints that carry them, from the ground outward.

        A body that is alone on its parent stands below it without indentation, so that a long
        chain stays on the page.
        """
        bodies = self.model.mechanism.bodies
        children: dict[int, list[int]] = {}
        for i, body in enumerate(bodies):
            children.setdefault(body.parent, []).append(i)
        root = Tree(_styled(f"[bold]{self.model.name}[/bold] (ground)"), guide_style="dim")
        pending = [(root, i) for i in reversed(children.get(-1, []))]
        while pending:
            at, i = pending.pop()
            lines = [_line(bodies[i])]
            while len(children.get(i, ())) == 1:
                (i,) = children[i]
                lines.append(f"[dim]↳[/dim] {_line(bodies[i])}")
            branch = at.add(_styled("\n".join(lines)))
            pending += [(branch, child) for child in reversed(children.get(i, []))]
        for loop in self.model.mechanism.loops:
            root.add(_styled(_loop_line(loop, bodies)))
        return root

    def summary(self) -> Iterator[str]:
        model = self.model
        mass, centre = self.mass_and_centre()
        x, y, z = centre
        yield f"mass {mass:.6g} kg, centre of mass at start [{x:.6g}, {y:.6g}, {z:.6g}] m"
        roots = sum(body.parent < 0 for body in model.mechanism.bodies)
        groups = "" if roots == 1 else f" in {roots} groups"
        counts = {
            "of joints": sum(j.u.stop - j.u.start for j in model.joints),
            "modes": sum(b.eta.stop - b.eta.start for b in model.bodies),
            "wheels": len(model.wheels),
        }
        parts = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
        bodies = "1 body" if len(model.bodies) == 1 else f"{len(model.bodies)} bodies"
        freedoms = "1 freedom" if len(self.sim.u) == 1 else f"{len(self.sim.u)} freedoms"
        yield f"{bodies}{groups}, {freedoms} ({parts or 'none'})"
        if model.loops:
            yield self._loops()
        gravity = model.mechanism.gravity
        yield f"gravity [{_numbers(gravity)}] m/s2" if gravity.any() else "no gravity"
        if self._limit.cause.endswith("(spin)"):
            follows = suggested_step(self.model, self.sim.integrator)
            yield (
                f"{self._limit.cause.removesuffix(' (spin)')} spins at the start: steps up to "
                f"{follows:g} s follow it, {self._limit.step:.2g} s is the limit"
            )
        elif self._omega > 0.0:
            yield (
                f"highest frequency {self._omega / (2 * np.pi):.4g} Hz: steps up to "
                f"{ACCURATE / self._omega:.2g} s follow it, {self._limit.step:.2g} s is the limit"
            )
        turning = turning_step(self.model, self.sim.integrator)
        if turning < self.sim.step_size:
            yield f"bodies turn fast at the start: steps up to {turning:.2g} s follow them"
        yield from shapes_summary(self.shapes)

    @cached_property
    def shapes(self) -> tuple[ShapeComparison, ...]:
        """What richer shapes of the beams would change, by the state of the joints."""
        return compare_shapes(self.system, self.model)

    def _loops(self) -> str:
        """How many freedoms loops take, and whether more is held than need be."""
        count, held = len(self.model.loops), self.model.loops[-1].rows.stop
        taken = len(loop_jacobian(self.sim.kernel, live=True))
        spare, left = held - taken, len(self.sim.u) - taken
        text = f"{count} loop{'s'[: count > 1]} with {held} held directions"
        text += f", {spare} of them redundant" if spare else ""
        return f"{text}: {left} freedom{'s are' if left != 1 else ' is'} left"

    def mass_and_centre(self) -> tuple[float, Array]:
        """Of the whole model at its start, world axes."""
        total, moment = 0.0, np.zeros(3)
        for body, slots in zip(self.model.mechanism.bodies, self.model.bodies, strict=True):
            reduced, eta = body.reduced, self.sim.q[slots.eta]
            head = self.sim.body(body.name).head
            points = reduced.point_position + reduced.point_phi @ eta
            moment_B = reduced.point_mass @ points
            total += reduced.mass
            moment += reduced.mass * head.position + head.rotation @ moment_B
        return total, moment / total

    def freedoms(self) -> Table:
        """A row for every joint that moves; columns that would be empty are left out."""
        columns: dict[str, list[str]] = {"joint": [], "type": [], "start": []}
        extra: dict[str, list[str]] = {"speed": [], "spring": [], "motion": []}
        for slots in self.model.joints:
            joint = self.model.mechanism.bodies[slots.body].joint
            if joint.dof_count == 0:
                continue
            columns["joint"].append(joint.name)
            columns["type"].append(joint.type)
            columns["start"].append(_numbers(joint.start))
            extra["speed"].append(_numbers(joint.speed) if np.any(joint.speed) else "")
            extra["spring"].append(_numbers(joint.stiffness) if np.any(joint.stiffness) else "")
            extra["motion"].append("prescribed" if joint.prescribed else "")
        columns |= {heading: cells for heading, cells in extra.items() if any(cells)}
        table = plain_table("joints that move, m and rad")
        for heading in columns:
            table.add_column(heading, overflow="fold")
        for row in zip(*columns.values(), strict=True):
            table.add_row(*row)
        return table

    def warnings(self) -> list[str]:
        return [
            *self._fast(),
            *shapes_warnings(self.shapes, self.system),
            *implausible(self.model),
            *implausible_parts(self.system),
            *self._light(),
            *self._lined_up(),
            *self._moving_ends(),
        ]

    def _fast(self) -> Iterator[str]:
        omega, step = self._omega, self.sim.step_size
        fault = step_fault(self.model, step, self.sim.integrator)
        if fault is not None:
            yield fault
        elif step * omega > ACCURATE:
            yield (
                f"the highest frequency is {omega / (2 * np.pi):.4g} Hz ({omega:.4g} rad/s): "
                f"stable at a step of {step:g} s, but the phase of the fastest modes will drift; "
                f"{suggested_step(self.model, self.sim.integrator):g} s follows them"
            )

    def _light(self) -> Iterator[str]:
        masses = {body.name: body.reduced.mass for body in self.model.mechanism.bodies}
        heaviest = max(masses, key=lambda name: masses[name])
        for name, mass in masses.items():
            if mass < _LIGHT * masses[heaviest]:
                yield (
                    f"bodies.{name}: {mass:.3g} kg is very light against {heaviest} "
                    f"({masses[heaviest]:.3g} kg); merge it with a neighbour if it was meant to "
                    "have no mass"
                )

    def _lined_up(self) -> Iterator[str]:
        for body in self.model.mechanism.bodies:
            joint = body.joint
            if len(joint.rotations) == 3 and _axes_spread(joint) < _LINED_UP:
                yield (
                    f"joints.{joint.name}: its three rotation axes nearly lie in a plane at the "
                    "start (gimbal lock); change their order, or make it spherical"
                )

    def _moving_ends(self) -> Iterator[str]:
        """Tables that swing beyond their rows, or do not begin or end at rest: the joint is in
        motion outside them too."""
        for where, curve in motion_curves(self.model.mechanism):
            yield from swings(where, curve)
            yield from outruns(where, curve, self.sim.step_size)
            first, last = (curve.coefficients[i, :, 1] for i in (0, -1))
            if curve.times[0] > 0.0 and first.any():
                yield (
                    f"{where}: begins at t = {curve.times[0]:g} s with the rate {_numbers(first)} "
                    "and so moves at that rate before; begin with the rate 0 if it shall stand "
                    "until then"
                )
            if last.any():
                yield (
                    f"{where}: ends at t = {curve.times[-1]:g} s with the rate {_numbers(last)} "
                    "and goes on at that rate; end with the rate 0 if it shall stop"
                )


def _axes_spread(joint: TreeJoint) -> float:
    """Smallest singular value of the rotation axes as they stand at the start."""
    turned, axes = np.eye(3), []
    angles = joint.start[len(joint.translations) :]
    for axis, angle in zip(joint.rotations, angles, strict=True):
        axes.append(turned @ axis)
        x = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
        turned = turned @ (np.eye(3) + np.sin(angle) * x + (1 - np.cos(angle)) * x @ x)
    return float(np.linalg.svd(np.array(axes), compute_uv=False)[-1])


def plain_table(title: str) -> Table:
    """A table with a line under its headings and no other."""
    return Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)


def _styled(markup: str) -> Text:
    """Text of a line with styles; names hold no brackets, so that none is taken for a style."""
    return Text.from_markup(markup, emoji=False)


def _line(body: TreeBody) -> str:
    node = "" if body.parent < 0 else f"[dim]{body.parent_node}:[/dim] "
    return f"{node}{_joint_text(body.joint)} → {_body_text(body)}"


def _loop_line(loop: TreeLoop, bodies: Sequence[TreeBody]) -> str:
    parent = "ground" if loop.parent < 0 else f"{bodies[loop.parent].name}.{loop.parent_node}"
    child = f"{bodies[loop.child].name}.{loop.child_node}"
    return f"[dim]loop:[/dim] {parent} — {_joint_text(loop.joint)} — {child}"


def _joint_text(joint: TreeJoint) -> str:
    axes = [*joint.translations, *joint.rotations]
    axis = f" about {axis_text(axes[0])}" if len(axes) == 1 and len(joint.rotations) else ""
    axis = f" along {axis_text(axes[0])}" if len(axes) == 1 and len(joint.translations) else axis
    held = ", prescribed" if joint.prescribed else ""
    return f"[cyan]{joint.name}[/cyan] ({joint.type}{axis}{held})"


def _body_text(body: TreeBody) -> str:
    modes = body.reduced.mode_count
    flexible = f", {modes} modes" if modes else ""
    wheels = f", {len(body.wheels)} wheels" if body.wheels else ""
    return f"[bold]{body.name}[/bold] {body.reduced.mass:.6g} kg{flexible}{wheels}"


def _numbers(values: Array) -> str:
    return ", ".join(f"{value:.4g}" for value in values)
