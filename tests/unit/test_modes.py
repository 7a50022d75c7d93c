"""Frequencies of bodies and of assembled models against textbook values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import pliant as pl

EI, MASS, LENGTH = 200.0, 0.8, 3.0
# roots of cos(x) cosh(x) = -1 (clamped) and = 1 (free-free)
CLAMPED = np.array([1.8751040687, 4.6940911330])
FREE_FREE = np.array([4.7300407449, 7.8532046241])


def beam_system(joint: pl.Joint, **options: object) -> pl.System:
    beam = pl.Beam(length=LENGTH, mass_per_length=MASS, EI=EI, radius=0.01, modes={"count": 16})
    return pl.System(
        name="beam", bodies={"beam": pl.Body(beam=beam)}, joints={"root": joint}, **options
    )


def bending_hz(roots: np.ndarray) -> np.ndarray:
    return roots**2 * math.sqrt(EI / MASS) / LENGTH**2 / (2 * math.pi)


def pendulum(start: float, gravity: float = 9.81, **joint: object) -> pl.System:
    """1 kg at 0.5 m, 0.1 kg m2 about its centre: 0.35 kg m2 about the hinge."""
    return pl.System(
        name="pendulum",
        gravity=[0, 0, -gravity],
        bodies={"rod": pl.Body(mass=1.0, com=[0.5, 0, 0], inertia=[0.01, 0.1, 0.1])},
        joints={"hinge": pl.Joint(type="revolute", axis="y", child="rod", start=start, **joint)},
    )


def test_a_beam_on_a_fixed_joint_has_its_clamped_frequencies():
    system = beam_system(pl.Joint(type="fixed", child="beam"))
    (body,) = pl.body_modes(system)
    assert body.clamped[[0, 2]] == pytest.approx(bending_hz(CLAMPED), rel=1e-4)
    for locked in (False, True):
        assembled = pl.assembled_modes(system, locked=locked)
        assert assembled.rigid == 0
        assert assembled.frequencies == pytest.approx(body.clamped, rel=1e-9)


def test_a_beam_on_a_free_joint_has_its_free_free_frequencies_even_when_locked():
    system = beam_system(pl.Joint(type="free", child="beam"))
    (body,) = pl.body_modes(system)
    for locked in (False, True):
        assembled = pl.assembled_modes(system, locked=locked)
        assert assembled.rigid == 6
        assert assembled.frequencies == pytest.approx(body.free_free, rel=1e-9)
    # clamped shapes converge slowly to free ends: 8 a plane
    assert body.free_free[[0, 2]] == pytest.approx(bending_hz(FREE_FREE), rel=2e-2)


def test_locking_a_hinge_clamps_the_beam():
    system = beam_system(pl.Joint(type="revolute", axis="y", child="beam"))
    free, locked = pl.assembled_modes(system), pl.assembled_modes(system, locked=True)
    assert (free.rigid, locked.rigid) == (1, 0)
    assert locked.frequencies[0] == pytest.approx(bending_hz(CLAMPED)[0], rel=1e-4)
    # interlacing: taking a constraint away lowers no frequency but the one that becomes zero
    assert np.all(free.frequencies >= locked.frequencies[: len(free.frequencies)] * (1 - 1e-9))


def test_a_prescribed_joint_is_held():
    joint = pl.Joint(type="revolute", axis="y", child="beam", motion=lambda t: (t, 1.0, 0.0))
    assembled = pl.assembled_modes(beam_system(joint))
    assert assembled.rigid == 0
    assert assembled.frequencies[0] == pytest.approx(bending_hz(CLAMPED)[0], rel=1e-4)


def test_a_joint_spring_and_its_damper():
    system = pendulum(0.0, gravity=0.0, spring={"stiffness": 14.0}, friction={"viscous": 0.7})
    (mode,) = pl.assembled_modes(system).modes
    omega = math.sqrt(14.0 / 0.35)
    assert mode.frequency == pytest.approx(omega / (2 * math.pi), rel=1e-12)
    assert mode.damping == pytest.approx(0.7 / (2 * 0.35 * omega), rel=1e-12)
    assert mode.shares == {"joint hinge": pytest.approx(1.0)}


def test_gravity_holds_a_hanging_pendulum_and_topples_a_standing_one():
    omega = math.sqrt(9.81 * 0.5 / 0.35)
    # about +y a positive angle points the rod down
    (hanging,) = pl.assembled_modes(pendulum(math.pi / 2)).modes
    (standing,) = pl.assembled_modes(pendulum(-math.pi / 2)).modes
    assert hanging.frequency == pytest.approx(omega / (2 * math.pi), rel=1e-7)
    assert standing.frequency == pytest.approx(-omega / (2 * math.pi), rel=1e-7)
    assert hanging.shares == {"gravity and loads": pytest.approx(1.0)}


def test_gravity_and_a_quaternion_joint():
    system = pendulum(0.0)
    turn = [math.cos(math.pi / 4), 0, math.sin(math.pi / 4), 0]  # rod down
    system.joints["hinge"] = pl.Joint(type="spherical", child="rod", start=turn)
    assembled = pl.assembled_modes(system)
    omega = math.sqrt(9.81 * 0.5 / 0.35)
    assert assembled.rigid == 1  # about the rod's own axis
    assert assembled.frequencies == pytest.approx([omega / (2 * math.pi)] * 2, rel=1e-7)


def test_the_weight_of_a_hanging_beam_stiffens_it_and_that_of_a_standing_one_softens_it():
    def first(rotation: float) -> float:
        joint = pl.Joint(type="fixed", child="beam", rotation={"axis": "y", "degrees": rotation})
        return float(pl.assembled_modes(beam_system(joint, gravity=[0, 0, -9.81])).frequencies[0])

    standing, hanging = first(-90.0), first(90.0)
    plain = bending_hz(CLAMPED)[0]
    assert standing < plain < hanging
    # Rayleigh's quotient with the first cantilever shape: omega^2 = omega0^2 +- 1.57 g / L
    shift = 1.57 * 9.81 / LENGTH / (2 * math.pi) ** 2
    assert hanging**2 == pytest.approx(plain**2 + shift, rel=5e-3)
    assert standing**2 == pytest.approx(plain**2 - shift, rel=5e-3)


def test_wheels_are_free_unless_locked():
    system = pl.System(
        name="satellite",
        bodies={
            "hub": pl.Body(
                mass=1.0, inertia=[1, 1, 1], wheels={"rw": pl.Wheel(axis="z", inertia=0.1)}
            )
        },
        joints={"orbit": pl.Joint(type="free", child="hub")},
    )
    assert pl.assembled_modes(system).rigid == 7
    assert pl.assembled_modes(system, locked=True).rigid == 6


def test_a_beam_without_rotary_inertia_has_frequencies_too():
    beam = pl.Beam(length=LENGTH, mass_per_length=MASS, EI=EI, modes={"count": 16})
    system = beam_system(pl.Joint(type="fixed", child="beam"))
    system.bodies["beam"] = pl.Body(beam=beam)
    (body,) = pl.body_modes(system)
    assert body.clamped[0] == pytest.approx(bending_hz(CLAMPED)[0], rel=1e-6)
    assert body.free_free[0] == pytest.approx(bending_hz(FREE_FREE)[0], rel=2e-2)


def column_roots(load: float, count: int) -> np.ndarray:
    """omega L^2 sqrt(m / EI) of a cantilever with the axial load P = load EI / L^2 at its tip.

    The load keeps its direction; compression is positive. EI v'''' + P v'' = m omega^2 v with
    v = v' = 0 at the root, v'' = 0 and EI v''' + P v' = 0 at the tip.
    """

    def determinant(root: float) -> float:
        middle = math.sqrt(load**2 / 4 + root**2)
        a, b = math.sqrt(middle - load / 2), math.sqrt(middle + load / 2)
        ch, sh, c, s = math.cosh(a), math.sinh(a), math.cos(b), math.sin(b)
        return float(
            np.linalg.det(
                [
                    [1, 0, 1, 0],
                    [0, a, 0, b],
                    [a**2 * ch, a**2 * sh, -(b**2) * c, -(b**2) * s],
                    [
                        a * (a**2 + load) * sh,
                        a * (a**2 + load) * ch,
                        b * (b**2 - load) * s,
                        -b * (b**2 - load) * c,
                    ],
                ]
            )
        )

    grid = np.linspace(0.1, 30.0, 300)
    signs = np.sign([determinant(root) for root in grid])
    places = np.flatnonzero(np.diff(signs))[:count]
    return np.array([brentq(determinant, grid[i], grid[i + 1]) for i in places])


@pytest.mark.parametrize("load", [1.0, -1.0])
@pytest.mark.parametrize(
    ("length", "EI", "mass"), [(1e-4, 1e-12, 1e-6), (1e-2, 1e-6, 1e-3), (1, 1, 1), (1e3, 1e9, 1e3)]
)
def test_a_loaded_column_has_its_frequencies_whatever_its_size(
    load: float, length: float, EI: float, mass: float
):
    # three welded beams: what the load adds comes from turning nodes, which is not quadratic
    count = 3
    modes = {"bending": 2, "static": ["force_y", "force_z", "moment_y", "moment_z"]}
    beam = pl.Beam(
        length=length / count, mass_per_length=mass, EI=EI, modes=modes, shapes="cantilever"
    )
    parents = ["ground", *(f"beam{i}.tip" for i in range(count - 1))]
    system = pl.System(
        name="column",
        bodies={f"beam{i}": pl.Body(beam=beam) for i in range(count)},
        joints={
            f"weld{i}": pl.Joint(type="fixed", parent=parent, child=f"beam{i}")
            for i, parent in enumerate(parents)
        },
        loads={"push": pl.Load(node=f"beam{count - 1}.tip", force=[-load * EI / length**2, 0, 0])},
    )
    roots = pl.assembled_modes(system).frequencies * (
        2 * math.pi * length**2 * math.sqrt(mass / EI)
    )
    exact = column_roots(load, 2)
    # both planes alike; what is left is that of three beams of six shapes a plane
    assert roots[[0, 1]] == pytest.approx(exact[0], rel=1e-6)
    assert roots[[2, 3]] == pytest.approx(exact[1], rel=3e-5)


@pytest.mark.parametrize("EI", [1e3, 1e9])
def test_a_slow_pendulum_is_a_vibration_however_stiff_the_beam_on_it(EI: float):
    beam = pl.Beam(length=1, mass_per_length=1, EI=EI, modes={"bending": 2})
    rod = pl.Body(mass=100, com=[0, 0, -1], inertia=[1, 1, 1])
    system = pl.System(
        name="pendulum",
        gravity=[0, 0, -1e-3],
        bodies={"rod": rod, "beam": pl.Body(beam=beam)},
        joints={
            "hinge": pl.Joint(type="revolute", axis="y", child="rod"),
            "weld": pl.Joint(type="fixed", parent="rod", child="beam"),
        },
    )
    assembled = pl.assembled_modes(system)
    assert assembled.rigid == 0
    # the beam, level with the hinge, adds its inertia (1/3) and no weight to the pendulum
    omega = math.sqrt(100 * 1e-3 / (1 + 100 + 1 / 3))
    assert 2 * math.pi * assembled.frequencies[0] == pytest.approx(omega, rel=1e-6)


def test_a_moving_motor_changes_nothing_at_rest():
    # centrifugal forces belong to the motion of the joint, not to the model at rest
    def first(rate: float) -> float:
        joint = pl.Joint(type="revolute", axis="y", child="beam", motion=lambda t: (0.0, rate, 0.0))
        system = beam_system(joint, gravity=[0, 0, -1.0])
        return float(pl.assembled_modes(system).frequencies[0])

    assert first(3.0) == first(0.0)
