"""The variable table: what is exposed, what it is called, and what parameters do to the data."""

from __future__ import annotations

import re

import numpy as np
import pytest

import pliant as pl
from cases.fmu_models import ODD_NAME, QUOTES, craft, driven, pendulum
from pliant._kernel import QUANTITIES, Kernel
from pliant.channels import all_channels
from pliant.compile import compile_model
from pliant.model import Model
from pliant.model_description import TableOptions, VariableTable, table_guid, table_sections
from pliant.model_description.variable import Parameter
from pliant.model_file import from_yaml, to_yaml


def table_of(system: pl.System | Model, **options) -> VariableTable:
    model = system if isinstance(system, Model) else compile_model(system)
    return VariableTable.build(model, TableOptions(**options))


def paths(table: VariableTable, causality: str | None = None) -> set[str]:
    return {v.path for v in table.variables if causality in (None, v.causality)}


def text(sections, name: str) -> list[str]:
    return sections[name].tobytes().decode().split("\n")


@pytest.fixture(scope="module")
def model() -> Model:
    return compile_model(craft())


@pytest.fixture(scope="module")
def table(model) -> VariableTable:
    return table_of(model)


# ------------------------------------------------------------------------------------- selection


def test_by_default_there_are_actuators_joints_wheels_contacts_and_diagnostics(table):
    inputs, outputs = paths(table, "input"), paths(table, "output")
    assert {"joint.hinge.tau", "joint.slide.f", "joint.screw.tau[2]"} <= inputs
    assert {"node.hub.dock.f[1]", "node.hub.dock.t[3]", "wheel.hub.rw 1.tau"} <= inputs
    for expected in (
        "joint.hinge.q",
        "joint.orbit.quat[4]",
        "joint.orbit.quatd[1]",
        "joint.orbit.qd[6]",
        "joint.any.qdd[4]",
        "joint.motor.tau",
        "wheel.hub.rw 1.speed",
        "wheel.hub.rw 1.acceleration",
        "node.hub.dock.r[1]",
        "node.hub.dock.quat[4]",
        f"node.{ODD_NAME}.pad.alpha[3]",
        "energy.total",
        "momentum.L[3]",
        "solver.h_suggested",
    ):
        assert expected in outputs


def test_what_is_many_or_moves_nothing_is_left_out_by_default(table):
    everything = paths(table, "input") | paths(table, "output")
    for part in (r"joint\.orbit\.tau", r"joint\.afloat\.tau", r"node\.boom", r"\.reaction\."):
        assert not [path for path in everything if re.search(part, path)]
    for path in ("joint.motor.f", "energy.work", "body.boom.eta[1]", "joint.grip.q"):
        assert path not in everything


def test_an_effort_is_an_input_or_what_a_prescribed_motion_takes(table):
    assert table["joint.motor.tau"].causality == "output"
    assert table["joint.hinge.tau"].causality == "input"
    assert not any(v.path.startswith("joint.motor.q_start") for v in table.variables)


def test_every_state_and_its_derivative_are_in_the_table_whatever_is_chosen(model):
    table = table_of(model, defaults=False, include=["joint.hinge.tau"])
    # freedoms, modes and wheels but the prescribed motor; one coordinate more for each quaternion
    assert len(table.states) == (model.q_size - 1) + (model.u_size - 1)
    assert paths(table, "output") == set()
    assert paths(table, "input") == {"joint.hinge.tau"}
    assert "body.boom.etadd[2]" in paths(table, "local")
    assert "joint.motor.q" not in paths(table)


def test_patterns_add_and_take_away(model):
    table = table_of(
        model,
        include=["node.boom.tip", "joint.hinge.reaction.f", "body.boom.eta", "joint.orbit.tau[1]"],
        exclude=["energy", "node.boom.tip.a", "body.*.J", "joint.*.qdd"],
    )
    inputs, outputs = paths(table, "input"), paths(table, "output")
    assert {"node.boom.tip.f[2]", "joint.orbit.tau[1]"} <= inputs
    assert "joint.orbit.tau[2]" not in inputs
    assert {"node.boom.tip.alpha[1]", "joint.hinge.reaction.f[3]", "body.boom.eta[4]"} <= outputs
    for absent in ("energy.total", "node.boom.tip.a[1]", "joint.hinge.reaction.t[1]"):
        assert absent not in outputs
    assert "joint.hinge.qdd" in paths(table, "local")
    assert not [path for path in paths(table, "parameter") if ".J[" in path]


def test_inverse_inertia_comes_only_by_its_name(model):
    assert not [p for p in paths(table_of(model, include=["node"])) if "inverse" in p]
    table = table_of(model, include=["node.hub.dock.inverse_inertia"])
    assert len([p for p in paths(table, "output") if "inverse_inertia" in p]) == 21
    units = [table[f"node.hub.dock.inverse_inertia[{i}]"].unit for i in (1, 7, 10, 21)]
    assert units == ["1/kg", "1/(kg.m)", "1/(kg.m2)", "1/(kg.m2)"]


def test_patterns_without_a_match_are_all_reported_with_the_nearest_name(model):
    with pytest.raises(pl.ModelError) as caught:
        table_of(model, include=["joint.hing.q", "energy"], exclude=["momentun"])
    problems = caught.value.problems
    assert [p.where for p in problems] == ["fmu include 'joint.hing.q'", "fmu exclude 'momentun'"]
    assert "did you mean 'joint.hinge.q'?" in problems[0].message


def test_a_motion_by_a_function_is_refused_with_the_remedy():
    system = pendulum()
    system.joints["hinge"] = pl.Joint(
        type="revolute", axis="y", child="rod", motion=lambda t: (t, 1.0, 0.0)
    )
    with pytest.raises(pl.ModelError, match=r"joints\.hinge\.motion: .* give a table"):
        table_of(system)


def test_unknown_settings_are_refused_together():
    with pytest.raises(pl.ModelError) as caught:
        TableOptions(step=0.0, integrator="rk5", naming="flatt")
    assert [p.where for p in caught.value.problems] == ["step", "integrator", "naming"]


# ------------------------------------------------------------------------------- the file's section

FILE = """\
pliant: 1
name: p
bodies:
  rod: {mass: 1.0, com: [0.5, 0, 0], inertia: [0.001, 0.08, 0.08]}
joints:
  hinge: {type: revolute, axis: y, child: rod, start: 0.3}
fmu:
  step: 2e-4
  integrator: rk4
  naming: flat
  include: ["node.*.r", joint.hinge.reaction]
  exclude: [energy]
"""


def test_the_section_of_a_model_file_is_read_and_written_back_equal():
    system = from_yaml(FILE)
    assert system.fmu == pl.Fmu(
        step=2e-4,
        integrator="rk4",
        naming="flat",
        include=["node.*.r", "joint.hinge.reaction"],
        exclude=["energy"],
    )
    assert from_yaml(to_yaml(system)) == system
    system.fmu = pl.Fmu()
    assert from_yaml(to_yaml(system)) == system
    system.fmu = None
    assert "fmu" not in to_yaml(system)


def test_faults_of_the_section_are_found_with_their_lines():
    text = FILE.replace("integrator", "integrater").replace("flat", "flatt")
    text = text.replace("[energy]", "energy").replace("2e-4", "-1")
    with pytest.raises(pl.ModelError) as caught:
        from_yaml(text, "p.yaml")
    assert [p.where for p in caught.value.problems] == [
        "p.yaml:8: fmu.step",
        "p.yaml:9: fmu.integrater",
        "p.yaml:10: fmu.naming",
        "p.yaml:12: fmu.exclude",
    ]
    assert "did you mean 'integrator'?" in str(caught.value)


# ------------------------------------------------------------------------------------------ names


def test_unusual_names_are_quoted_and_stay_different(table):
    by_path = {v.path: v.name for v in table.variables}
    assert by_path["joint.hinge.q"] == "joint.hinge.q"
    assert by_path[f"node.{ODD_NAME}.pad.r[1]"] == "node.'hand-1 a 2'.pad.r[1]"
    assert by_path["body.hand-1 a.m"] == "body.'hand-1 a'.m"
    assert by_path[f"body.{QUOTES}.m"] == r"body.'Ann\'s \"best\" \\ one'.m"
    assert by_path["wheel.hub.rw 1.speed"] == "wheel.hub.'rw 1'.speed"
    assert len(set(by_path.values())) == len(by_path)


def test_flat_names_are_different_identifiers(model):
    table = table_of(model, naming="flat")
    names = [v.name for v in table.variables]
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) for name in names)
    assert len(set(names)) == len(names)
    assert {"joint_hinge_q", "node_hub_dock_r_1", "wheel_hub_rw_1_speed"} <= set(names)
    assert table["joint_hinge_qd"].derivative_of == "joint_hinge_q"


def test_names_that_would_fall_together_get_a_number():
    nodes = {"a": "b_c", "a_b": "c", "ä": "e", "å": "e"}
    system = pl.System(
        name="alike",
        bodies={
            name: pl.Body(
                mass=1, inertia=[1, 1, 1], nodes={node: {"at": [1, 0, 0], "contact": True}}
            )
            for name, node in nodes.items()
        },
        joints={name: pl.Joint(type="free", child=name) for name in nodes},
    )
    flat = {v.path: v.name for v in table_of(system, naming="flat").variables}
    assert flat["node.a.b_c.r[1]"] == "node_a_b_c_r_1"
    assert flat["node.a_b.c.r[1]"] == "node_a_b_c_r_2_1"
    structured = {v.path: v.name for v in table_of(system).variables}
    assert [structured[f"body.{name}.m"] for name in nodes] == [
        "body.a.m",
        "body.a_b.m",
        "body.'a 2'.m",
        "body.'a 3'.m",
    ]
    for names in (flat, structured):
        assert len(set(names.values())) == len(names)


# -------------------------------------------------------------------------------- rows of the table


def test_derivatives_are_linked(model):
    table = table_of(model, include=["body", "node.boom.tip"])
    for name, of in (
        ("joint.hinge.qd", "joint.hinge.q"),
        ("joint.hinge.qdd", "joint.hinge.qd"),
        ("joint.orbit.quatd[3]", "joint.orbit.quat[3]"),
        ("joint.orbit.qd[2]", "joint.orbit.q[2]"),
        ("joint.orbit.qd[5]", ""),  # an angular velocity is the derivative of nothing
        ("joint.orbit.qdd[5]", "joint.orbit.qd[5]"),
        ("body.boom.etad[2]", "body.boom.eta[2]"),
        ("body.boom.etadd[2]", "body.boom.etad[2]"),
        ("wheel.hub.rw2.acceleration", "wheel.hub.rw2.speed"),
        ("node.boom.tip.v[1]", "node.boom.tip.r[1]"),
        ("node.boom.tip.a[2]", "node.boom.tip.v[2]"),
        ("node.boom.tip.alpha[3]", "node.boom.tip.w[3]"),
        ("node.boom.tip.w[3]", ""),
    ):
        assert table[name].derivative_of == of


def test_derivatives_that_are_linked_are_derivatives(model):
    # Against central differences over the motion itself. The fastest vibration has 260 rad/s:
    # truncation (omega h)^2 / 6 = 1.1e-6; rounding of numbers up to 30 over 2 h: 3e-10.
    table = table_of(model, include=["body", "node"])
    kernel = Kernel(model.blob)
    rng = np.random.default_rng(5)
    h = 1e-5
    kernel.configure(step=h, integrator="rk4", algorithm="order_n", node_rotation="exact")
    kernel.input[:] = rng.normal(size=model.input_size)
    kernel.u[:] += 0.3 * rng.normal(size=model.u_size)
    kernel.state_written()
    sections = table_sections(table)
    rows = np.stack([sections[f"variable.{x}"] for x in ("quantity", "element", "index")], axis=1)
    is_signal = sections["variable.role"] == 0
    place = np.cumsum(is_signal) - 1
    signals = kernel.signals(np.ascontiguousarray(rows[is_signal]))
    samples = np.zeros((3, len(signals)))
    for sample in samples:
        assert kernel.read(signals, sample).code == 0
        kernel.step(1)
    for i, variable in enumerate(table.variables):
        if not variable.derivative_of:
            continue
        of = samples[:, place[table.reference(variable.derivative_of)]]
        slope, here = (of[2] - of[0]) / (2 * h), samples[1, place[i]]
        assert slope == pytest.approx(here, rel=1e-5, abs=1e-5), variable.name


def test_units_are_those_of_the_record_and_angles_are_shown_in_degrees(table, model):
    units = {c.name: c.unit.replace(" ", ".") for c in all_channels(model)}
    for variable in table.variables:
        if variable.path in units:
            assert variable.unit == units[variable.path]
    assert table["joint.hinge.q"].display_unit == "deg"
    assert table["joint.hinge.qd"].display_unit == "deg/s"
    assert table["joint.hinge.q_start"].display_unit == "deg"
    assert table["wheel.hub.rw2.speed"].display_unit == "rpm"
    assert table["joint.slide.q"].display_unit == ""


def test_descriptions_tell_frame_and_point(table):
    assert table["joint.hinge.q"].description == (
        "joint hinge, rotation about 0.4364, 0.8729, 0.2182 of the joint frame: position"
    )
    assert table["node.hub.dock.f[2]"].description == (
        "node hub.dock: force on it, applied at the node, world axes, y"
    )
    assert all(variable.description for variable in table.variables)


# --------------------------------------------------------------------------------------- sections


def test_sections_are_what_the_native_slave_reads(table, model):
    sections = table_sections(table)
    count = len(table)
    assert text(sections, "fmu.names") == [v.name for v in table.variables]
    for name in ("type", "role", "output", "tunable", "quantity", "element", "index"):
        assert sections[f"variable.{name}"].dtype == np.int32
        assert len(sections[f"variable.{name}"]) == count
    row = table.reference("joint.hinge.tau")
    assert sections["variable.role"][row] == 1
    hinge = next(joint for joint in model.joints if joint.name == "hinge")
    assert sections["variable.index"][row] == hinge.input.start
    row = table.reference("node.hub.dock.v[2]")
    quantity = QUANTITIES[sections["variable.quantity"][row]]
    node = [n.name for n in model.nodes].index("hub.dock")
    where = (quantity, sections["variable.element"][row], sections["variable.index"][row])
    assert where == ("node", node, 8)
    assert sections["variable.output"][row] == 1
    tunable = np.flatnonzero(sections["variable.tunable"])
    assert [table.variables[i].name for i in tunable] == ["solver.h"]
    assert sections["variable.type"][table.reference("solver.integrator")] == 1
    assert sections["setting.default"].tolist() == [1e-3, 1.0, 0.0, 0.0]
    assert sections["constant.value"].tolist() == [1e-3]
    assert len(text(sections, "names.input")) == model.input_size
    assert len(text(sections, "names.speed")) == model.u_size
    assert "body boom mode 2" in text(sections, "names.speed")
    assert "wheel hub.rw2" in text(sections, "names.speed")


def test_parameters_start_at_the_data_they_stand_for(table, model):
    sections = table_sections(table)
    numbers = sections["variable.index"][sections["variable.role"] == 2]
    assert numbers.tolist() == list(range(len(sections["parameter.start"])))
    assert sections["parameter.terms"].sum() == len(sections["term.slope"])
    for variable in table.variables:
        if isinstance(variable.source, Parameter) and variable.path.endswith(
            (".m", ".viscous", "_start", ".g[1]")
        ):
            term = variable.source.terms[0]
            assert model.sections[term.section][term.index] == variable.start


def test_checks_stand_on_quaternions_and_inertias(table):
    sections = table_sections(table)
    parameters = [v for v in table.variables if isinstance(v.source, Parameter)]
    found = {
        (int(kind), parameters[first].path)
        for kind, first in zip(sections["check.kind"], sections["check.parameter"], strict=True)
    }
    assert {(0, "joint.orbit.quat_start[1]"), (0, "joint.socket.quat_start[1]")} <= found
    assert (1, "body.lid.J[1]") in found
    assert "body.hub.J[1]" not in {path for _, path in found}  # it must exceed its wheels'


def test_parameters_of_one_check_are_exposed_together_or_not_at_all(model):
    table = table_of(model, exclude=["body.lid.J[4]", "joint.orbit.quat_start[1]"])
    assert not [p for p in paths(table) if p.startswith(("body.lid.J", "joint.orbit.quat_start"))]
    assert "body.lid.m" in paths(table)


def test_the_guid_changes_with_anything_that_is_exposed_or_computed(model, table):
    guids = {
        table_guid(table),
        table_guid(table_of(model, naming="flat")),
        table_guid(table_of(model, step=2e-3)),
        table_guid(table_of(model, exclude=["energy"])),
        table_guid(table_of(model, h_suggested=5e-4)),
        table_guid(table_of(driven())),
    }
    heavier = craft()
    heavier.bodies["hub"].mass = 51.0
    guids.add(table_guid(table_of(heavier)))
    assert len(guids) == 7
    assert table_guid(table_of(craft())) == table_guid(table)
    assert re.fullmatch(r"\{[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\}", table_guid(table))
    assert text(table_sections(table), "fmu.guid") == [table_guid(table)]
