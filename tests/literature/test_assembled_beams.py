"""Classical frequencies of beams as parts of a mechanism: held, hinged, free, put together.

Source: Blevins, "Formulas for Natural Frequency and Mode Shape", Van Nostrand Reinhold 1979,
table 8-1.
"""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl

L, MASS, EI = 2.5, 3.0, 7.0e3
CLAMPED_FREE = [1.87510407, 4.69409113, 7.85475744, 10.99554073]
FREE_FREE = [4.73004074, 7.85320462, 10.99560784]
HINGED_FREE = [3.92660231, 7.06858275, 10.21017612]


def omega(beta_L: list[float]) -> np.ndarray:
    return np.array(beta_L) ** 2 * np.sqrt(EI / MASS) / L**2


def beam(length: float, modes: dict[str, object], shapes: str = "loaded") -> pl.Body:
    """It bends in the x-y plane only."""
    section = {"length": length, "mass_per_length": MASS, "EI": [None, EI]}
    return pl.Body(beam=pl.Beam(**section, modes=modes, shapes=shapes))


def frequencies(bodies: dict[str, pl.Body], joints: dict[str, pl.Joint]) -> np.ndarray:
    system = pl.System(name="beam", bodies=bodies, joints=joints)
    return 2 * np.pi * pl.assembled_modes(system).frequencies


def test_a_beam_on_a_fixed_joint_has_the_clamped_frequencies():
    found = frequencies(
        {"beam": beam(L, {"bending": 4})}, {"root": pl.Joint(type="fixed", child="beam")}
    )
    # 20 cubic elements: (beta h)^4 / 1440
    assert found == pytest.approx(omega(CLAMPED_FREE), rel=1e-4)


def test_a_beam_on_a_revolute_joint_has_the_hinged_frequencies():
    found = frequencies(
        {"beam": beam(L, {"bending": 12})},
        {"root": pl.Joint(type="revolute", axis="z", child="beam")},
    )
    # clamped modes have a moment at the hinge, which their sum cannot quite take away
    assert np.all(found[:3] > omega(HINGED_FREE))
    assert found[:3] == pytest.approx(omega(HINGED_FREE), rel=3e-4)


def test_a_beam_on_a_free_joint_has_the_free_frequencies():
    modes = pl.assembled_modes(
        pl.System(
            name="beam",
            bodies={"beam": beam(L, {"bending": 16})},
            joints={"root": pl.Joint(type="planar", axis="z", child="beam")},
        )
    )
    found = 2 * np.pi * modes.frequencies
    assert modes.rigid == 3
    assert np.all(found[:3] > omega(FREE_FREE))
    assert found[:3] == pytest.approx(omega(FREE_FREE), rel=5e-4)


TIP_LOADS = ("force_y", "moment_z")  # what the next part can do to a tip in this plane


def welded_cantilever(
    bending: int, static: tuple[str, ...] = (), shapes: str = "cantilever"
) -> np.ndarray:
    """Frequencies of three beams in a row."""
    names, parents = ["a", "b", "c"], ["ground", "a.tip", "b.tip"]
    modes = {"bending": bending, "static": static}
    return frequencies(
        {name: beam(L / 3, modes, shapes) for name in names},
        {
            f"weld_{name}": pl.Joint(type="fixed", parent=parent, child=name)
            for name, parent in zip(names, parents, strict=True)
        },
    )


def test_three_welded_beams_are_one_cantilever():
    found = welded_cantilever(6, TIP_LOADS)[:4]
    # measured 2.8e-6 at the third frequency; the roots are given to 8 digits
    assert np.all(found > omega(CLAMPED_FREE) * (1 - 1e-8))
    assert found == pytest.approx(omega(CLAMPED_FREE), rel=4e-6)


def test_static_modes_at_the_welds_make_the_modes_converge_fast():
    # without them every cantilever shape is free of stress where the next beam pulls: order 1 in
    # the number of modes; with them order 4 and better
    assert slope_over_modes(static=()) == pytest.approx(1.0, abs=0.15)
    assert slope_over_modes(static=TIP_LOADS) > 3.5


def test_modes_with_what_is_carried_converge_fast_without_static_ones():
    # 2, 3, 4 shapes: beyond them the error of the mesh, (beta h)^4 / 1440, is reached
    assert slope_over_modes(counts=(2, 3, 4), shapes="loaded") > 3.5


def slope_over_modes(counts: tuple[int, ...] = (2, 4, 8), **options: object) -> float:
    """Order in which the error of the second frequency falls with the number of modes."""
    exact = omega(CLAMPED_FREE)[1]
    errors = [welded_cantilever(n, **options)[1] / exact - 1 for n in counts]
    return -float(np.polyfit(np.log(counts), np.log(errors), 1)[0])


def test_two_beams_back_to_back_are_one_free_beam():
    half = beam(L / 2, {"bending": 8, "static": TIP_LOADS})
    found = frequencies(
        {"right": half, "left": half},
        {
            "middle": pl.Joint(type="planar", axis="z", child="right"),
            "weld": pl.Joint(
                type="fixed",
                parent="right",
                child="left",
                rotation={"axis": "z", "degrees": 180},
            ),
        },
    )[:3]
    # 2.5e-5 at the third frequency; two modes less make it 9e-5
    assert np.all(found > omega(FREE_FREE) * (1 - 1e-8))
    assert found == pytest.approx(omega(FREE_FREE), rel=3e-5)


def test_a_plucked_cantilever_swings_with_the_classical_frequency():
    system = pl.System(
        name="plucked",
        bodies={"beam": beam(L, {"bending": 3})},
        joints={"root": pl.Joint(type="fixed", child="beam")},
    )
    sim = pl.Simulation(system, 2e-4, integrator="rk4")
    start = np.array([1e-4, 5e-5, 2e-5])  # small: second order is below 1e-8 of it
    sim.set_state(q=start)
    exact = omega(CLAMPED_FREE[:3])
    # cubic elements: a frequency errs by (beta h)^4 / 1440, which adds up in the phase
    phase_rate = exact * (np.array(CLAMPED_FREE[:3]) / 20) ** 4 / 1440
    for _ in range(10):
        sim.advance(0.1)
        error = np.abs(sim.q / start - np.cos(exact * sim.time))
        assert np.all(error < 1.1 * phase_rate * sim.time + 1e-6)


# ---------------------------------------------------------------------------------------- damping


def loaded_boom(beams: int, payload: float, ratio: float) -> pl.System:
    """A cantilever of 6 m, 18 kg in pieces, with a body of some mass welded to its end."""
    beam = pl.Beam(length=6.0 / beams, mass_per_length=3.0, EI=1500.0, damping=ratio)
    bodies = {f"beam{i}": pl.Body(beam=beam) for i in range(beams)}
    bodies["payload"] = pl.Body(mass=payload, com=[0.2, 0, 0], inertia=[1, 2, 2])
    parents = ["ground", *(f"beam{i}.tip" for i in range(beams))]
    joints = {
        f"weld{i}": pl.Joint(type="fixed", parent=parent, child=child)
        for i, (parent, child) in enumerate(zip(parents, bodies, strict=True))
    }
    return pl.System(name="boom", bodies=bodies, joints=joints)


@pytest.mark.parametrize("payload", [1.0, 30.0, 1000.0])
def test_a_boom_vibrates_with_the_damping_that_it_was_given_whatever_it_carries(payload):
    """The ratio is that of the vibration, not of the boom without its load, which is faster by up
    to twenty times here and would be damped by as much less."""
    for mode in pl.assembled_modes(loaded_boom(1, payload, 0.005)).modes:
        assert mode.damping == pytest.approx(0.005, rel=1e-3)


def test_a_boom_in_pieces_is_damped_nearly_as_the_whole_and_check_says_where_not():
    """Each piece has its ratio with the rest rigid: not exact, but not 50 times too little."""
    from pliant.report import ModelReport

    for beams in (2, 3, 4, 6):
        first = pl.assembled_modes(loaded_boom(beams, 30.0, 0.005)).modes[0]
        assert 0.0025 < first.damping < 0.005
    warnings = ModelReport(loaded_boom(6, 30.0, 0.005)).warnings()
    assert any(text.startswith("damping: that of vibration 3") for text in warnings), warnings
    assert not [w for w in ModelReport(loaded_boom(1, 30.0, 0.005)).warnings() if "damping" in w]


# ------------------------------------------------------------------------------- nodes on a beam


@pytest.mark.parametrize("at", [2.0, 1.93, 2.1])
def test_a_beam_that_is_clamped_at_a_node_on_the_way_has_the_frequency_of_what_sticks_out(at):
    """A cantilever of the rest, wherever the node is: it is a point of the mesh. Between two of
    them the element could not bend on either side of the clamp (+2.4 % at 2 m)."""
    beam = pl.Beam(length=3.0, mass_per_length=2.0, EI=1000.0, modes={"bending": 6})
    system = pl.System(
        name="clamped",
        bodies={"beam": pl.Body(beam=beam, nodes={"clamp": {"at": [at, 0, 0]}})},
        joints={"root": pl.Joint(type="fixed", child="beam")},
        loops={"clamp": pl.Loop(type="fixed", at=[at, 0, 0], child="beam.clamp")},
    )
    exact = 1.8751040687**2 / (2 * np.pi * (3.0 - at) ** 2) * np.sqrt(1000.0 / 2.0)
    assert pl.assembled_modes(system).frequencies[0] == pytest.approx(exact, rel=5e-4)


def test_a_beam_whose_torsion_is_given_twists_under_a_torque_that_comes_at_run_time():
    beam = pl.Beam(length=2.0, mass_per_length=0.5, EI=500.0, GJ=100.0, radius=0.02, damping=0.1)
    system = pl.System(
        name="twisted",
        bodies={"rod": pl.Body(beam=beam)},
        joints={"root": pl.Joint(type="fixed", child="rod")},
    )
    sim = pl.Simulation(system)
    sim.node("rod.tip").apply(torque=[10.0, 0, 0])
    sim.advance(1.0)
    turn = 2.0 * np.arcsin(sim.node("rod.tip").quaternion[1])
    # T L / GJ = 0.2; one shape has 8/pi^2 of it
    assert turn == pytest.approx(0.2 * 8.0 / np.pi**2, rel=1e-3)
