"""Slips of units and of typing are named, each by its trace; models that are meant are not."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from cases.fmu_models import craft, driven, pendulum
from pliant.compile import compile_model
from pliant.demos.platform import h49, h128, platform
from pliant.demos.station_arm import MODEL_FILE, STEP
from pliant.plausibility import implausible
from pliant.report import ModelReport
from pliant.stability import suggested_step

README = Path(__file__).parents[2] / "README.md"

CRANE = """\
pliant: 1
name: crane
gravity: [0, 0, -9.81]
bodies:
  post: {mass: 60, com: [0, 0, 0.6], inertia: [8, 8, 2], nodes: {top: {at: [0, 0, 1.2]}}}
  boom: {beam: {length: 4, mass_per_length: 3, EI: 2.0e4, radius: 0.05, damping: 0.01,
                modes: {bending: 1}}}
  load: {mass: 20, com: [0, 0, -0.8], inertia: [0.5, 0.5, 0.5]}
joints:
  slew: {type: revolute, axis: z, child: post, rotation: {axis: z, angle: 0.5}}
  luff: {type: revolute, axis: y, parent: post.top, child: boom, start: 0.1,
         spring: {stiffness: 2.0e4, rest: -0.05},
         stops: {lower: -0.5, upper: 1.2, stiffness: 1.0e4}}
  hook: {type: universal, axes: [x, y], parent: boom.tip, child: load, start: [0.2, 0]}
"""
STEEL = "E: 2.1e11, Iy: 2.0e-7, rho: 7800, A: 4.0e-4"
TUBE = CRANE.replace("mass_per_length: 3, EI: 2.0e4, radius: 0.05", STEEL)


def warnings_of(text: str, folder: Path) -> list[str]:
    path = folder / "model.yaml"
    path.write_text(text)
    return ModelReport(path).warnings()


@pytest.mark.parametrize("text", [CRANE, TUBE])
def test_the_models_that_slip_below_are_plausible_themselves(text: str, tmp_path: Path) -> None:
    assert warnings_of(text, tmp_path) == []


@pytest.mark.parametrize(
    ("right", "slip", "warning"),
    [
        (
            "start: 0.1",
            "start: 30",
            "joints.luff.start: 30 rad is more than a turn; give radians (30 degrees are "
            "0.5236 rad)",
        ),
        (
            "rest: -0.05",
            "rest: -45",
            "joints.luff.spring.rest: -45 rad is more than a turn; give radians (-45 degrees are "
            "-0.7854 rad)",
        ),
        (
            "upper: 1.2",
            "upper: 120",
            "joints.luff.stops.upper: 120 rad is more than 2 turns; give radians (120 degrees are "
            "2.094 rad)",
        ),
        (
            "angle: 0.5",
            "angle: 90",
            "joints.slew.rotation.angle: 90 rad is more than a turn; give radians (90 degrees are "
            "1.571 rad)",
        ),
        (
            "start: 0.1",
            "start: 1.4",
            "joints.luff.start: 1.4 rad is beyond its stop at 1.2 rad, which pushes back from the "
            "first moment; start within its stops",
        ),
        (
            "damping: 0.01",
            "damping: 2",
            "bodies.boom: the damping of mode 1 is 2 of critical, which no structure has; "
            "give a ratio, 0.02 for 2 %",
        ),
        ("gravity: [0, 0, -9.81]", "gravity: [0, 0, -9810]", "gravity: 9810 m/s2 is that of no"),
        ("length: 4,", "length: 4000,", "bodies.boom: its lowest frequency is 2.9e-06 Hz"),
        ("EI: 2.0e4", "EI: 2.0e-2", "bodies.boom: it bends by "),
        (
            "radius: 0.05",
            "radius: 50",
            "bodies.boom.beam: its section, 70.7 m across by its rotary",
        ),
    ],
)
def test_a_slip_is_named_with_its_place_the_value_and_what_would_be_right(
    right: str, slip: str, warning: str, tmp_path: Path
) -> None:
    assert right in CRANE
    found = warnings_of(CRANE.replace(right, slip), tmp_path)
    assert [text for text in found if text.startswith(warning)] != [], found


@pytest.mark.parametrize(
    ("right", "slip", "warning"),
    [
        ("E: 2.1e11", "E: 2.1e5", "bodies.boom.beam.E: 210000 is softer than rubber; give Pa (1"),
        ("E: 2.1e11", "E: 2.1e14", "bodies.boom.beam.E: 2.1e+14 is stiffer than diamond"),
        ("rho: 7800", "rho: 7.8", "bodies.boom.beam.rho: 7.8 is lighter than foam; give kg/m3"),
        ("rho: 7800", "rho: 7.8e6", "bodies.boom.beam.rho: 7.8e+06 is denser than osmium"),
        ("Iy: 2.0e-7", "Iy: 2.0e5", "bodies.boom.beam: its section, "),
    ],
)
def test_materials_that_there_are_not_are_named(
    right: str, slip: str, warning: str, tmp_path: Path
) -> None:
    found = warnings_of(TUBE.replace(right, slip), tmp_path)
    assert [text for text in found if text.startswith(warning)] != [], found


def test_a_beam_is_bent_as_far_as_statics_has_it() -> None:
    """Clamped and loaded by P at its tip: slope P L^2 / 2 EI, deflection P L^3 / 3 EI; with its
    static shape kept the reduction is exact."""
    beam = {"length": 2.0, "mass_per_length": 1e-6, "EI": 100.0, "modes": {"count": 2}}
    beam["modes"]["static"] = ["force_z", "force_y"]
    P = 18.0  # slope 0.36 rad, deflection 0.48 m

    def system(force: float) -> pl.System:
        return pl.System(
            name="bent",
            gravity=[0, 0, -1e-9],
            bodies={"rod": pl.Body(beam=beam)},
            joints={"root": pl.Joint(type="fixed", child="rod")},
            loads={"tip": pl.Load(node="rod.tip", force=[0, 0, -force])},
        )

    (text,) = implausible(compile_model(system(P)))
    assert text.startswith("bodies.rod: it bends by 0.48 m and 0.36 rad under weight and loads")
    assert list(implausible(compile_model(system(0.8 * P)))) == []


def test_a_soft_rod_that_falls_is_not_taken_for_a_clamped_one() -> None:
    """Released from rest, a hinged uniform rod bends by w L^4 / EI times 1/27 of what it would
    clamped at most; hanging it does not bend at all."""
    rod = {"length": 1.0, "mass_per_length": 0.5, "EI": 0.5, "modes": {"bending": 2}}
    for start, joint, bends in (
        (0.0, {"type": "fixed"}, True),
        (0.0, {"type": "revolute", "axis": "y"}, False),
        (np.pi / 2, {"type": "revolute", "axis": "y"}, False),
    ):
        turned = {"start": start} if joint["type"] == "revolute" else {}
        system = pl.System(
            name="rod",
            gravity=[0, 0, -9.81],
            bodies={"rod": pl.Body(beam=rod)},
            joints={"hinge": pl.Joint(child="rod", **joint, **turned)},
        )
        assert bool(list(implausible(compile_model(system)))) is bends


def test_in_orbit_a_beam_is_soft_only_beyond_what_flies() -> None:
    """Booms of solar sails (100 m, 0.1 kg/m, 5e3 N m2) would sag by 25 lengths on Earth; a steel
    rod whose modulus is in N/mm2 by hundreds."""

    def system(length: float, mass_per_length: float, EI: float) -> pl.System:
        beam = {"length": length, "mass_per_length": mass_per_length, "EI": EI}
        return pl.System(
            name="orbit",
            bodies={"boom": pl.Body(beam={**beam, "modes": {"bending": 2}})},
            joints={"root": pl.Joint(type="fixed", child="boom")},
        )

    assert list(implausible(compile_model(system(100.0, 0.1, 5e3)))) == []
    steel = np.pi * 0.02**4 / 4 * 2.1e5
    (text,) = implausible(compile_model(system(1.0, 9.9, steel)))
    assert text.startswith("bodies.boom: on Earth it would bend by 4.6e+02 m under its own weight")


# ---------------------------------------------------------------------------------- no false alarm


def test_the_crane_of_the_readme_is_plausible(tmp_path: Path) -> None:
    (text,) = re.findall(r"^```yaml\n(.*?)^```$", README.read_text(), re.M | re.S)
    assert warnings_of(text, tmp_path) == []


@pytest.mark.parametrize("case", range(1, 17))
def test_the_platforms_are_plausible(case: int) -> None:
    system = platform(case)
    step = min(1e-3, suggested_step(compile_model(system)) or 1e-3)  # as an FMU of it has
    assert ModelReport(system, step).warnings() == []


@pytest.mark.parametrize("make", [h49, h128, pendulum, craft, driven])
def test_other_models_of_demos_and_tests_are_plausible(make) -> None:
    assert list(implausible(compile_model(make()))) == []


def test_what_stands_within_or_on_its_stops_is_plausible() -> None:
    """A loop stands where the tree has it; a joint that rests on a stop presses it in."""
    slide = {"type": "prismatic", "axis": "x"}
    body = pl.Body(mass=1.0, inertia=[1, 1, 1])
    stops = {"lower": 0.4, "upper": 0.6, "stiffness": 1e4}
    system = pl.System(
        name="stops",
        gravity=[-9.81, 0, 0],
        bodies={"left": body, "right": body},
        joints={
            "a": pl.Joint(**slide, child="left", start=-9.81e-4, stops={**stops, "lower": 0.0}),
            "b": pl.Joint(**slide, child="right", start=0.5),
        },
        loops={"tie": pl.Loop(**slide, parent="left", child="right", stops=stops)},
    )
    assert list(implausible(compile_model(system))) == []


def test_the_station_arm_is_plausible_in_orbit() -> None:
    assert ModelReport(MODEL_FILE, STEP).warnings() == []


def test_check_always_says_what_gravity_it_has(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(CRANE)
    assert "gravity [0, 0, -9.81] m/s2" in list(ModelReport(tmp_path / "a.yaml").summary())
    assert "no gravity" in list(ModelReport(MODEL_FILE).summary())
