"""Spinning shafts, discs and blades (cases.spinning) against exact speeds."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl
from cases.spinning import (
    BLADE_AT_REST,
    WHIRL,
    blade,
    blade_speeds,
    speeds,
    spinning,
    vibrations,
    whirl_system,
)

EVERY_SPIN = [(name, spin["Omega"]) for name, model in WHIRL.items() for spin in model["spins"]]


@pytest.mark.parametrize(("name", "speed"), EVERY_SPIN)
def test_speeds_of_vibration_are_the_exact_ones_over_the_spin(name: str, speed: float) -> None:
    model = WHIRL[name]
    exact = next(spin["rotating"] for spin in model["spins"] if spin["Omega"] == speed)
    # the file's tolerances: rounding and the mass of the light shafts, five shapes a plane for the
    # others, whose sections turn against one another at high spin
    found = speeds(whirl_system(name, speed))[: len(exact)]
    assert found == pytest.approx(exact, rel=model["tolerance"])


@pytest.mark.parametrize(("name", "speed"), EVERY_SPIN)
def test_nothing_grows_without_damping(name: str, speed: float) -> None:
    values = vibrations(whirl_system(name, speed))
    # rounding of eigenvalues of up to 1e2 rad/s; with inertias fixed in the head frame 0.4 to 4
    assert np.abs(values.real).max() < 1e-12 * np.abs(values).max()


@pytest.mark.parametrize("axis", ["y", "z"])
@pytest.mark.parametrize("speed", [0.0, 5.0, 10.0, 15.0])
def test_torsion_of_a_turning_blade_agrees_with_a_ritz_solution_from_above(
    axis: str, speed: float
) -> None:
    found, exact = speeds(blade(axis, speed))[:2], blade_speeds(axis, speed)[:2]
    assert np.all(found > exact * (1 - 1e-8))
    # what twelve shapes of the blade at rest cannot twist at the highest spin: 2e-6, with six of
    # them 7e-5
    assert found == pytest.approx(exact, rel=3e-6)


def test_tension_and_propeller_moment_stiffen_torsion_as_in_closed_form() -> None:
    """With the shape at rest, sin(pi x / 2): w^2 = w0^2 + Omega^2 (1 + pi^2 / 12 + 1 / 4)."""
    speed = 10.0
    expected = BLADE_AT_REST**2 + speed**2 * (1.25 + np.pi**2 / 12)
    found = speeds(blade("z", speed, modes=1))
    assert found**2 == pytest.approx([expected], rel=1e-8)


# ------------------------------------------------------------------ a lump is a body welded on

# One element with all its shapes: both beams then bend and twist in the same space of functions.
# Lumps alone or in pairs on the axis or opposite each other keep the shaft straight as it spins.
SHAFT = {"length": 1.2, "mass_per_length": 0.7, "EI": [30.0, 50.0], "GJ": 12.0, "elements": 1}
SHAFT |= {"inertia_per_length": [0.02, 0.005, 0.015], "modes": {"count": 7}}
MASS, INERTIA = 2.0, np.diag([0.30, 0.12, 0.22])


def lumps(offsets: list[list[float]]) -> list[dict[str, object]]:
    return [{"at": 1.2, "mass": MASS, "inertia": INERTIA, "offset": offset} for offset in offsets]


def same_body(offsets: list[list[float]]) -> pl.Body:
    """All lumps as one rigid body on the tip, by the parallel axis theorem."""
    o = np.array(offsets)
    com = o.mean(axis=0)
    steiner = sum(np.dot(d, d) * np.eye(3) - np.outer(d, d) for d in o - com)
    return pl.Body(mass=MASS * len(o), com=com, inertia=len(o) * INERTIA + MASS * steiner)


def difference(one: pl.System, other: pl.System) -> float:
    """Largest difference of the speeds of vibration, relative to the largest of them."""
    return float(np.abs(speeds(one) - speeds(other)).max() / speeds(other).max())


# Eigenvalues of up to 3e2 rad/s of matrices with a condition of some 1e4.
ROUNDING = 1e-11


@pytest.mark.parametrize(
    ("offsets", "axes"),
    [
        ([[0, 0, 0]], "xyz"),
        ([[0.2, 0, 0]], "xyz"),
        ([[0, 0.25, 0], [0, -0.25, 0]], "xyz"),
        ([[0.1, 0.2, 0.15], [0.1, -0.2, -0.15]], "x"),
    ],
)
@pytest.mark.parametrize("stiffening", [True, False])
def test_a_lump_moves_as_the_same_body_welded_to_the_tip(
    offsets: list[list[float]], axes: str, stiffening: bool
) -> None:
    with_lumps = pl.Beam(**SHAFT, lumps=lumps(offsets), stiffening=stiffening)
    bare = pl.Beam(**SHAFT, stiffening=stiffening)
    for axis in axes:
        for speed in (0.0, 2.0, 5.0):
            welded = spinning(bare, axis, speed, tip=same_body(offsets))
            assert difference(spinning(with_lumps, axis, speed), welded) < ROUNDING, (axis, speed)


def test_lumps_off_the_axis_move_as_bodies_welded_to_nodes_there() -> None:
    offsets = [[0, 0.25, 0], [0, -0.25, 0]]
    for axis in "xyz":
        welded = spinning(pl.Beam(**SHAFT), axis, 5.0)
        places = {f"n{i}": {"at": [1.2, *o[1:]]} for i, o in enumerate(offsets)}
        welded.bodies["beam"] = pl.Body(beam=pl.Beam(**SHAFT), nodes=places)
        for node in places:
            welded.bodies[node] = pl.Body(mass=MASS, inertia=INERTIA)
            welded.joints[node] = pl.Joint(type="fixed", parent=f"beam.{node}", child=node)
        with_lumps = spinning(pl.Beam(**SHAFT, lumps=lumps(offsets)), axis, 5.0)
        assert difference(with_lumps, welded) < ROUNDING, axis


def test_a_heavy_disc_on_a_light_shaft_has_a_positive_mass_matrix_at_any_deflection() -> None:
    """The shaft lets the disc stand still while its head turns: what the head then feels is a
    difference of large numbers, which an inertia that turns to some order only makes negative."""
    disc = {"at": 1.0, "mass": 1.0, "inertia": [0.1, 0.05, 0.05]}
    modes = {"bending": 2, "torsion": 1}
    beam = pl.Beam(
        length=1.0, mass_per_length=1e-3, EI=1.0, GJ=1.0, radius=0.01, lumps=[disc], modes=modes
    )
    ball = pl.Joint(type="spherical", child="shaft")
    sim = pl.Simulation(
        pl.System(name="disc", bodies={"shaft": pl.Body(beam=beam)}, joints={"ball": ball})
    )
    psi = sim.model.mechanism.bodies[0].reduced.nodes["tip"].psi
    rng = np.random.default_rng(1)
    for turn in (0.1, 0.3, 1.0):
        for _ in range(10):
            eta = rng.normal(size=5)
            q = np.concatenate([[1, 0, 0, 0], turn * eta / np.linalg.norm(psi @ eta)])
            sim.set_state(q=q)
            sim.evaluate()
            assert np.linalg.eigvalsh(sim.kernel.mass_matrix())[0] > 0.0
