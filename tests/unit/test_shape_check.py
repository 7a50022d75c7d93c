"""What ``pliant check`` says about the shapes of beams, against errors that are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import pliant as pl
from cases.elastica import frequency_errors, welded
from pliant.cli import app
from pliant.report import ModelReport
from pliant.shape_check import compare_shapes


@pytest.mark.parametrize("shapes", ["loaded", "cantilever"])
@pytest.mark.parametrize("count", [2, 4, 8])
@pytest.mark.parametrize("bending", [1, 2])
def test_the_measured_excess_is_the_true_error(shapes: str, count: int, bending: int):
    """Against the exact frequencies of the cantilever, wherever the error is above that of the
    mesh."""
    options = {"shapes": shapes, "modes": {"bending": bending}}
    (found,) = compare_shapes(welded(count, **options))
    if found.number <= 3:
        exact = frequency_errors(count, **options)[found.number - 1]
        assert found.excess == pytest.approx(exact, rel=0.06)


def test_modes_of_the_beams_alone_are_warned_of():
    (warning,) = ModelReport(welded(4, shapes="cantilever", modes={"bending": 1})).warnings()[-1:]
    assert warning.startswith("bodies.beam2.beam.modes: frequency 2 of the model is ")
    assert ", 22 % above the " in warning
    assert "for want of bending shapes" in warning
    assert warning.endswith("leave shapes: cantilever out")


def test_the_default_shapes_are_not_warned_of():
    report = ModelReport(welded(4), step=1e-5)
    assert not [text for text in report.warnings() if "shapes" in text]
    line = (
        "shapes of beams: the first 3 frequencies are within 0.47 % of those of a richer reduction"
    )
    assert line in list(report.summary())


def twisted(modes: dict[str, int] | None) -> pl.System:
    """A beam along x that twists more easily than it bends, with a box beside its tip."""
    beam = pl.Beam(length=1, mass_per_length=1, EI=1e4, GJ=10, radius=0.02, modes=modes)
    box = pl.Body(mass=2.0, com=[0, 0.3, 0], inertia=[0.1, 0.1, 0.1])
    return pl.System(
        name="twisted",
        bodies={"beam": pl.Body(beam=beam), "box": box},
        joints={
            "root": pl.Joint(type="fixed", child="beam"),
            "weld": pl.Joint(type="fixed", parent="beam.tip", child="box"),
        },
    )


def test_a_kind_of_shape_that_is_missing_is_named():
    (found,) = compare_shapes(twisted({"bending": 2}))
    assert (found.beam, found.kind) == ("beam", "torsion")
    # sqrt(GJ / (L J)) with the box's 0.1 + 2 * 0.3^2 about the axis; bending adds little
    expected = np.sqrt(10 / 0.28) / (2 * np.pi)
    assert found.richer == pytest.approx(expected, rel=0.01)
    (kept,) = compare_shapes(twisted(None))
    assert kept.excess < 1e-4


def hinged(friction: float, bending: int) -> pl.System:
    """Eight rods in a row on hinges with friction: the shapes expect the hinges to hold."""
    rod = pl.Body(
        beam=pl.Beam(length=1, mass_per_length=1, EI=[100.0, None], modes={"bending": bending})
    )
    parents = ["ground", *(f"rod{i}.tip" for i in range(7))]
    return pl.System(
        name="hinged",
        bodies={f"rod{i}": rod for i in range(8)},
        joints={
            f"hinge{i}": pl.Joint(
                type="revolute",
                axis="y",
                parent=parent,
                child=f"rod{i}",
                friction=pl.Friction(viscous=friction) if friction else None,
            )
            for i, parent in enumerate(parents)
        },
    )


def excess(system: pl.System) -> dict[str, float]:
    return {found.state: found.excess for found in compare_shapes(system)}


def test_joints_that_may_hold_or_yield_are_looked_at_both_ways():
    rubbing = excess(hinged(0.1, 2))
    assert list(rubbing) == ["free", "held"]  # all are held: there is no third state
    assert rubbing["free"] > 0.05
    assert rubbing["held"] < 0.02
    assert max(excess(hinged(0.1, 3)).values()) < 0.02


def test_joints_on_which_nothing_acts_are_expected_to_yield():
    passive = excess(hinged(0.0, 2))
    assert list(passive) == ["free", "locked"]
    assert passive["free"] < 0.02
    assert passive["locked"] > 0.05
    report = ModelReport(hinged(0.0, 2), step=1e-5)
    assert not [text for text in report.warnings() if "shapes" in text]
    (line,) = (text for text in report.summary() if text.startswith("shapes of beams"))
    assert "with all joints locked within " in line


def test_beams_that_are_meant_to_be_rigid_are_left_alone():
    assert compare_shapes(welded(3, modes={"count": 0})) == ()
    rigid = pl.System(
        name="rigid",
        bodies={"box": pl.Body(mass=1, inertia=[1, 1, 1])},
        joints={"float": pl.Joint(type="free", child="box")},
    )
    assert compare_shapes(rigid) == ()


def test_the_command_prints_it(tmp_path: Path):
    path = tmp_path / "row.yaml"
    pl.save(welded(4, shapes="cantilever"), path)
    outcome = CliRunner().invoke(
        app, ["check", str(path), "--step", "1e-5"], env={"COLUMNS": "200"}
    )
    assert outcome.exit_code == 0
    assert "shapes of beams: the first 3 frequencies are within 10 % of" in outcome.stdout
    assert "warning: bodies.beam3.beam.modes: frequency 3 of the model is " in outcome.stdout
