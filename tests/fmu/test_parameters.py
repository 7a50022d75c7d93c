"""Parameters of an FMU do to the kernel's data what the author would have done to the model."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl
from cases.fmu_models import craft, pendulum
from pliant import limits
from pliant.compile import compile_model
from pliant.model_description import VariableTable, table_sections


def table_of(system: pl.System) -> VariableTable:
    return VariableTable.build(compile_model(system))


def paths(table: VariableTable) -> set[str]:
    return {v.path for v in table.variables if v.causality == "parameter"}


def text(sections, name: str) -> list[str]:
    return sections[name].tobytes().decode().split("\n")


@pytest.fixture(scope="module")
def table() -> VariableTable:
    return table_of(craft())


def applied(table: VariableTable, values: dict[str, float]) -> dict[str, np.ndarray]:
    """The kernel's sections with parameters set, by the rule of the data file."""
    sections = table_sections(table)
    data = {name: np.array(values) for name, values in table.model.sections.items()}
    names = text(sections, "fmu.sections")
    ends = np.cumsum(sections["parameter.terms"])
    for name, value in values.items():
        number = sections["variable.index"][table.reference(name)]
        start = sections["parameter.start"][number]
        for k in range(ends[number] - sections["parameter.terms"][number], ends[number]):
            target, at = names[sections["term.section"][k]], sections["term.index"][k]
            data[target][at] += sections["term.slope"][k] * (value - start)
    return data


def change(system: pl.System, what: str) -> None:
    """The author's way of changing something."""
    rod, hinge = system.bodies["rod"], system.joints["hinge"]
    if what == "m":
        rod.mass = 3.7
    elif what == "J":
        rod.inertia = [0.21, 0.31, 0.16, -0.01, 0.015, 0.02]
    elif what == "g":
        system.gravity = [0.3, -0.2, -3.7]
    elif what == "viscous":
        hinge.friction = {"viscous": 1.3}
    else:
        hinge.start, hinge.speed = -1.1, 2.2


@pytest.mark.parametrize(
    ("what", "values"),
    [
        ("m", {"body.rod.m": 3.7}),
        (
            "J",
            dict(
                zip(
                    [f"body.rod.J[{i}]" for i in range(1, 7)],
                    [0.21, 0.31, 0.16, -0.01, 0.015, 0.02],
                    strict=True,
                )
            ),
        ),
        ("g", {"world.g[1]": 0.3, "world.g[2]": -0.2, "world.g[3]": -3.7}),
        ("viscous", {"joint.hinge.viscous": 1.3}),
        ("start", {"joint.hinge.q_start": -1.1, "joint.hinge.qd_start": 2.2}),
    ],
)
def test_a_parameter_does_what_the_author_would_do(what, values):
    table = table_of(pendulum())
    system = pendulum()
    change(system, what)
    expected, found = compile_model(system).sections, applied(table, values)
    assert_same_data(found, expected)
    changed = any(not np.array_equal(found[k], table.model.sections[k]) for k in found)
    assert changed


def test_mass_inertia_starts_and_damping_together_do_what_the_author_would_do():
    system, table = craft(), table_of(craft())
    system.bodies["lid"].mass = 2.5
    system.bodies["lid"].inertia = [0.03, 0.04, 0.03, 0.001, 0.002, 0.003]
    system.bodies["boom"].beam.damping = 0.04
    turned = np.array([0.5, -0.5, 0.5, 0.5])
    system.joints["orbit"].start = [1, 2, 3, *turned]
    system.joints["screw"].speed = [0.7, 0.8]
    system.bodies["hub"].wheels["rw 1"].speed = -12.0
    inertia = [0.03, 0.04, 0.03, 0.001, 0.002, 0.003]
    values = {
        "body.lid.m": 2.5,
        **{f"body.lid.J[{i + 1}]": value for i, value in enumerate(inertia)},
        "body.boom.zeta": 0.04,
        **{f"joint.orbit.q_start[{i + 1}]": float(i + 1) for i in range(3)},
        **{f"joint.orbit.quat_start[{i + 1}]": float(value) for i, value in enumerate(turned)},
        "joint.screw.qd_start[1]": 0.7,
        "joint.screw.qd_start[2]": 0.8,
        "wheel.hub.'rw 1'.speed_start": -12.0,
    }
    assert_same_data(applied(table, values), compile_model(system).sections)


def test_the_mass_of_a_body_held_by_another_node_or_described_in_it_is_the_same_parameter():
    def system(mass: float) -> pl.System:
        turned = {"at": [0.3, 0.1, 0], "rotation": {"axis": [1, 2, 3], "angle": 0.7}}
        body = pl.Body(
            mass=mass,
            com=[0.1, 0.2, 0.3],
            inertia=[0.3, 0.4, 0.5],
            mass_at="grip",
            nodes={
                "grip": turned,
                "hook": {"at": [0, 0, 1], "rotation": {"axis": "y", "degrees": 40}},
            },
        )
        hinge = pl.Joint(type="revolute", axis="y", child="tool.hook")
        return pl.System(name="t", bodies={"tool": body}, joints={"hinge": hinge})

    found = applied(table_of(system(2.0)), {"body.tool.m": 3.5})
    assert_same_data(found, compile_model(system(3.5)).sections)


def assert_same_data(found, expected) -> None:
    """To rounding of sums of a few terms, relative to the largest number of a section."""
    assert list(found) == list(expected)
    for name, values in expected.items():
        scale = np.abs(values).max(initial=0.0)
        # stops without limit are the largest number there is
        scale = 1.0 if scale > 1e300 else scale
        assert np.abs(found[name] - values).max(initial=0.0) <= 1e-14 * scale, name


def test_what_would_take_more_than_a_sum_is_not_offered(table):
    offered = paths(table)
    assert "body.boom.m" not in offered
    assert "body.hub.m" in offered
    assert "body.hub.J[1]" not in offered
    uneven = craft()
    uneven.bodies["boom"].beam.damping = [0.01, 0.02, 0.01, 0.01]
    assert "body.boom.zeta" not in paths(table_of(uneven))
    assert table["body.boom.zeta"].start == 0.01


def test_limits_of_parameters_keep_out_what_is_no_body(table):
    mass = table["body.lid.m"]
    assert (mass.min, mass.max) == (limits.MASS.least, limits.MASS.most)
    assert table["joint.hinge.viscous"].min == 0.0
    assert table["world.g[3]"].min == -limits.ACCELERATION.most
    sections = table_sections(table)
    number = sections["variable.index"][table.reference("body.lid.m")]
    assert sections["parameter.min"][number] == limits.MASS.least
    assert sections["parameter.max"][number] == limits.MASS.most
