"""modelDescription.xml: valid by FMI's own schema and by FMPy, and true in what it says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import fmpy
import numpy as np
import pytest
from fmpy.validation import validate_fmu
from lxml import etree

import pliant as pl
import pliant.demos
from cases.fmu_models import craft, driven, pendulum
from oracle.random_mechanisms import RandomCase, cases
from pliant._kernel import QUANTITIES, Kernel
from pliant.channels import base_of
from pliant.compile import compile_model
from pliant.data_file import pack
from pliant.mechanism import Mechanism
from pliant.model import Model
from pliant.model_description import (
    Capabilities,
    TableOptions,
    VariableTable,
    communication_step,
    model_description_xml,
    model_identifier,
    table_guid,
)
from pliant.model_description.variable import InputSlot, Parameter, Signal
from pliant.motion import MotionCurve

SCHEMA = Path(fmpy.__file__).parent / "schema" / "fmi2" / "fmi2ModelDescription.xsd"
ARM = Path(pliant.demos.__file__).parent / "station_arm.yaml"
EVERYTHING = ("*", "*.inverse_inertia")


def table_of(system: pl.System | Mechanism | Model | str, **options) -> VariableTable:
    model = system if isinstance(system, Model) else compile_model(system)
    return VariableTable.build(model, TableOptions(**options))


def still() -> pl.System:
    """Nothing moves but as it is told: no states at all."""
    system = pendulum()
    motion = {"times": [0, 1], "position": [0.0, 1.0]}
    system.joints["hinge"] = pl.Joint(type="revolute", axis="y", child="rod", motion=motion)
    return system


# ----------------------------------------------------------------------------------------- validity


@pytest.mark.parametrize("naming", ["structured", "flat"])
@pytest.mark.parametrize(
    "system",
    [pytest.param(make, id=make.__name__) for make in (pendulum, craft, driven, still)],
)
def test_the_description_is_valid(system, naming, tmp_path):
    assert problems_of(table_of(system(), naming=naming), tmp_path) == []


def test_the_description_with_everything_in_it_is_valid(tmp_path):
    assert problems_of(table_of(driven(), include=EVERYTHING), tmp_path) == []


def test_the_description_with_next_to_nothing_in_it_is_valid(tmp_path):
    table = table_of(pendulum(), defaults=False, include=["joint.hinge.tau"])
    assert problems_of(table, tmp_path) == []


def test_the_description_of_the_station_arm_is_valid(tmp_path):
    assert problems_of(table_of(str(ARM)), tmp_path) == []


def problems_of(table: VariableTable, folder: Path) -> list[str]:
    """What the schema and FMPy find."""
    xml = model_description_xml(table)
    schema = etree.XMLSchema(file=str(SCHEMA))
    schema.validate(etree.fromstring(xml))
    (folder / "modelDescription.xml").write_bytes(xml)
    return [str(error) for error in schema.error_log] + validate_fmu(str(folder))


# ------------------------------------------------------------------------------------------ content


def read(table: VariableTable, folder: Path, *args):
    (folder / "modelDescription.xml").write_bytes(model_description_xml(table, *args))
    return fmpy.read_model_description(str(folder), validate=False)


def test_an_importer_reads_what_the_table_holds(tmp_path):
    table = table_of(craft(), step=5e-4)
    description = read(table, tmp_path)
    assert description.guid == table_guid(table)
    assert description.modelName == "Träger 7 (test)"
    assert description.coSimulation.modelIdentifier == "Trager_7_test"
    assert description.defaultExperiment.stepSize == "0.001"
    assert len(description.modelVariables) == len(table)
    for i, (found, variable) in enumerate(
        zip(description.modelVariables, table.variables, strict=True)
    ):
        assert found.valueReference == i
        assert found.name == variable.name
        assert found.causality == variable.causality
        assert found.variability == variable.variability
        assert found.unit == (variable.unit or None)
        assert (found.derivative.name if found.derivative else "") == variable.derivative_of
        if variable.start is not None:
            assert float(found.start) == variable.start


def test_the_capabilities_are_those_of_the_native_slave_unless_told_otherwise(tmp_path):
    slave = read(table_of(pendulum()), tmp_path).coSimulation
    assert slave.canHandleVariableCommunicationStepSize
    assert slave.canGetAndSetFMUstate
    assert slave.canSerializeFMUstate
    assert slave.providesDirectionalDerivative
    assert slave.canInterpolateInputs
    assert slave.maxOutputDerivativeOrder == 1
    assert not slave.needsExecutionTool
    assert not slave.canBeInstantiatedOnlyOncePerProcess
    other = Capabilities(needsExecutionTool=True, providesDirectionalDerivative=False)
    slave = read(table_of(pendulum()), tmp_path, other).coSimulation
    assert slave.needsExecutionTool
    assert not slave.providesDirectionalDerivative


def test_units_are_defined_by_si_base_units(tmp_path):
    description = read(table_of(craft(), include=EVERYTHING), tmp_path)
    units = {unit.name: unit for unit in description.unitDefinitions}
    base = units["N.m"].baseUnit
    assert (base.kg, base.m, base.s) == (1, 2, -2)
    assert units["rad"].baseUnit.rad == 1
    degrees = {u.name: u.factor for u in units["rad"].displayUnits}["deg"]
    assert degrees * np.pi == pytest.approx(180.0, rel=1e-15)


def test_enumerations_count_from_one_in_the_order_of_the_kernel(tmp_path):
    table = table_of(pendulum(), integrator="rk4", algorithm="dense")
    description = read(table, tmp_path)
    types = {t.name: [item.name for item in t.items] for t in description.typeDefinitions}
    assert types["Integrator"] == ["euler_cromer", "leapfrog", "rk4"]
    assert types["Algorithm"] == ["order_n", "dense"]
    starts = {v.name: v.start for v in description.modelVariables}
    assert (starts["solver.integrator"], starts["solver.algorithm"]) == ("3", "2")


def test_no_limit_is_a_number_that_importers_cannot_read():
    xml = model_description_xml(table_of(craft()))
    for attribute in etree.fromstring(xml).xpath("//@min | //@max | //@start | //@nominal"):
        value = float(attribute)
        assert value == 0.0 or 1e-300 < abs(value) < 1e300


def test_the_text_is_the_same_every_time():
    assert model_description_xml(table_of(craft())) == model_description_xml(table_of(craft()))


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("station_arm", "station_arm"),
        ("7-joint arm", "m_7_joint_arm"),
        ("Größe (neu)", "Grosse_neu"),
        ("日本", "u65E5u672C"),
        ("nul", "m_nul"),
        ("...", "m_"),
        ("x" * 300, "x" * 64),
    ],
)
def test_a_model_identifier_is_a_c_identifier_and_a_file_name(name, identifier):
    assert model_identifier(name) == identifier


def test_the_communication_step_is_a_whole_number_of_internal_steps():
    assert communication_step(1e-3) == 1e-3
    assert communication_step(1e-4) == 1e-3
    assert communication_step(3e-4) == 1.2e-3
    assert communication_step(0.02) == 0.02


# ------------------------------------------------------------------------------------- dependencies


def structure(table: VariableTable, element: str) -> dict[int, set[int]]:
    """Value references of unknowns with those of their knowns, as the standard reads them."""
    variables = table.variables
    inputs = {i for i, v in enumerate(variables) if v.causality == "input"}
    exact = {i for i, v in enumerate(variables) if v.initial == "exact"}
    every = inputs | (exact if element == "InitialUnknowns" else set(table.states))
    found = {}
    root = etree.fromstring(model_description_xml(table))
    for unknown in root.iterfind(f"ModelStructure/{element}/Unknown"):
        listed = unknown.get("dependencies")
        knowns = every if listed is None else {int(k) - 1 for k in listed.split()}
        assert knowns <= every
        found[int(unknown.get("index")) - 1] = knowns
    return found


def loads(table: VariableTable) -> set[int]:
    """Value references of forces, torques and efforts."""
    return {i for i, v in enumerate(table.variables) if isinstance(v.source, InputSlot)}


def instant(table: VariableTable) -> dict[int, set[int]]:
    return {**structure(table, "Outputs"), **structure(table, "Derivatives")}


class Reader:
    """The kernel of a table at a state, with all signals of the table."""

    def __init__(self, table: VariableTable, blob: bytes | None = None) -> None:
        self.table = table
        self.kernel = Kernel(table.model.blob if blob is None else blob)
        self.kernel.configure(
            step=1e-3, integrator="leapfrog", algorithm="order_n", node_rotation="exact"
        )
        sources = {i: v.source for i, v in enumerate(table.variables)}
        self.rows = [i for i, source in sources.items() if isinstance(source, Signal)]
        where = [
            (QUANTITIES.index(source.quantity), source.element, source.index)
            for source in (sources[i] for i in self.rows)
        ]
        self.signals = self.kernel.signals(np.array(where, np.int32))

    def values(self, inputs: np.ndarray) -> dict[int, float]:
        self.kernel.input[:] = inputs
        out = np.zeros(len(self.rows))
        assert self.kernel.read(self.signals, out).code == 0
        return dict(zip(self.rows, out.tolist(), strict=True))

    def derivatives(self, known: int) -> dict[int, float]:
        """Of all signals by an input or a state."""
        source, kernel = self.table.variables[known].source, self.kernel
        if isinstance(source, InputSlot):
            part, size = "input", len(kernel.input)
        else:
            part, size = source.quantity, len(kernel.q if source.quantity == "q" else kernel.u)
        direction = np.zeros(size)
        direction[source.index] = 1.0
        column = kernel.derivative(self.signals, **{part: direction})
        return dict(zip(self.rows, column.tolist(), strict=True))


SEVERAL = list(cases(15, seed=3, largest=6, prescribed=True))


def with_tables(mechanism: Mechanism) -> Mechanism:
    """Prescribed motions as tables of the same polynomials."""
    bodies = []
    for body in mechanism.bodies:
        joint = body.joint
        if joint.prescribed:
            coefficients = np.zeros((2, joint.dof_count, 6))
            position, rate, acceleration = joint.motion(0.0)
            coefficients[0, :, :3] = np.transpose([position, rate, acceleration / 2])
            joint = replace(joint, motion=MotionCurve(np.array([0.0, 100.0]), coefficients))
        bodies.append(replace(body, joint=joint))
    return replace(mechanism, bodies=tuple(bodies))


def at_random_state(case: RandomCase) -> tuple[VariableTable, Reader]:
    table = table_of(with_tables(case.mechanism), include=EVERYTHING)
    reader = Reader(table)
    reader.kernel.q[:], reader.kernel.u[:] = case.q, case.u
    reader.kernel.state_written()
    reader.kernel.input[:] = np.random.default_rng(1).normal(size=len(reader.kernel.input))
    return table, reader


@pytest.mark.parametrize("case", SEVERAL, ids=lambda case: case[0].name)
def test_nothing_depends_on_what_is_not_listed(case):
    assert_nothing_else_is_felt(*at_random_state(case))


def assert_nothing_else_is_felt(table: VariableTable, reader: Reader) -> None:
    """Exactly: what does not enter the computation has a derivative of zero, not a small one."""
    listed = instant(table)
    variables = table.variables
    for known, variable in enumerate(variables):
        if not isinstance(variable.source, InputSlot) and known not in table.states:
            continue
        for row, value in reader.derivatives(known).items():
            if row in listed and known not in listed[row]:
                assert value == 0.0, (variables[row].name, variable.name)


def is_generic(case: RandomCase) -> bool:
    """Whether no joint hides a coupling by its geometry: axes in one line, or no force at all."""
    joints = [(body.parent, body.joint) for body in case.mechanism.bodies]
    no_line = all(joint.type != "cylindrical" for _, joint in joints)
    return no_line and all(parent < 0 or joint.dof_count < 6 for parent, joint in joints)


GENERIC = [case for case in cases(60, seed=4, largest=6, prescribed=True) if is_generic(case)]


@pytest.mark.parametrize("case", GENERIC, ids=lambda case: case[0].name)
def test_every_load_that_is_listed_is_felt(case):
    table, reader = at_random_state(case)
    felt = felt_by_vectors(table, reader)
    for row, knowns in instant(table).items():
        for known in knowns & loads(table):
            pair = vector_of(table, row), vector_of(table, known)
            assert felt[pair] > 0.0 or is_idle(case, pair[0]), pair


def vector_of(table: VariableTable, reference: int) -> str:
    return base_of(table.variables[reference].path)


def felt_by_vectors(table: VariableTable, reader: Reader) -> dict[tuple[str, str], float]:
    """Largest derivatives of whole vectors by whole vectors; single components may be at right
    angles to one another."""
    largest: dict[tuple[str, str], float] = {}
    for known in loads(table):
        for row, value in reader.derivatives(known).items():
            pair = vector_of(table, row), vector_of(table, known)
            largest[pair] = max(abs(value), largest.get(pair, 0.0))
    return largest


def is_idle(case: RandomCase, path: str) -> bool:
    """The reaction of a joint with six freedoms, which cannot hold anything, and the effort of a
    lock that is open."""
    afloat = [b.joint.name for b in case.mechanism.bodies if b.joint.dof_count == 6]
    holds_nothing = any(path.startswith(f"joint.{name}.reaction") for name in afloat)
    return holds_nothing or path.endswith(".effort")


def test_positions_and_velocities_depend_on_no_load():
    table = table_of(craft(), include=EVERYTHING)
    for row, knowns in structure(table, "Outputs").items():
        path = table.variables[row].path
        part = base_of(path).rpartition(".")[2]
        forces = ("tau", "effort", "f", "t")
        feeds_through = part in ("qdd", "etadd", "acceleration", "a", "alpha", *forces)
        assert feeds_through or not knowns & loads(table), path


def test_one_group_does_not_feel_what_acts_on_another():
    table = table_of(craft())
    knowns = structure(table, "Outputs")
    assert not knowns[table.reference("joint.afloat.qdd[1]")] & loads(table)
    assert knowns[table.reference("joint.orbit.qdd[1]")] >= {table.reference("joint.hinge.tau")}


def test_what_hangs_on_a_driven_body_does_not_feel_its_neighbours():
    table = table_of(driven(), include=EVERYTHING)
    knowns = instant(table)

    def loads_of(name: str) -> set[str]:
        found = knowns[table.reference(name)] & loads(table)
        return {vector_of(table, i) for i in found}

    assert "joint.hinge.tau" in loads_of("joint.hinge.qdd")
    assert "joint.rail.f" not in loads_of("joint.hinge.qdd")
    assert loads_of("wheel.cart.w.acceleration") == {"wheel.cart.w.tau"}
    # a torque on a cart that cannot turn moves nothing, but the axle has to hold it
    assert "node.cart.head.t" not in loads_of("joint.rail.qdd")
    assert {"node.cart.head.t", "wheel.cart.w.tau", "joint.hinge.tau"} <= loads_of("joint.axle.tau")


def ring() -> pl.System:
    """A four-bar linkage on a slide, its coupler also tied by a ball to a boom that floats."""
    bar = {"mass": 1.0, "com": [0.5, 0.02, 0.1], "inertia": [0.01, 0.1, 0.1]}
    end = {"nodes": {"end": {"at": [1.0, 0, 0]}}}
    part = pl.Body(**bar, **end)
    return pl.System(
        name="ring",
        bodies={
            "sled": pl.Body(mass=3.0, inertia=[1, 1, 1], nodes={"far": {"at": [1, 0, 0]}}),
            "crank": part,
            "coupler": part,
            "rocker": part,
            "boom": part,
            "alone": part,
        },
        joints={
            "rail": pl.Joint(type="prismatic", axis="x", child="sled"),
            "a": pl.Joint(type="revolute", axis="z", parent="sled", child="crank", start=np.pi / 2),
            "b": pl.Joint(
                type="revolute", axis="z", parent="crank.end", child="coupler", start=-np.pi / 2
            ),
            "c": pl.Joint(
                type="revolute", axis="z", parent="sled.far", child="rocker", start=np.pi / 2
            ),
            "d": pl.Joint(type="free", child="boom", start=[1, 1, 0, 1, 0, 0, 0]),
            "e": pl.Joint(type="free", child="alone"),
        },
        loops={
            "close": pl.Loop(type="revolute", axis="z", parent="rocker.end", child="coupler.end"),
            "ball": pl.Loop(type="spherical", parent="coupler.end", child="boom"),
        },
    )


def test_a_loop_makes_one_group_of_what_it_ties_together():
    table = table_of(ring(), include=EVERYTHING)
    reader = Reader(table)
    rng = np.random.default_rng(2)
    reader.kernel.u[:] = rng.normal(size=table.model.u_size)
    reader.kernel.state_written()
    reader.kernel.input[:] = rng.normal(size=table.model.input_size)
    assert_nothing_else_is_felt(table, reader)
    listed = instant(table)
    boom = listed[table.reference("joint.d.qdd[1]")]
    assert table.reference("joint.a.tau") in boom
    assert table.reference("joint.e.tau[1]") not in boom


def test_what_a_loop_ties_together_has_no_start_of_its_own():
    table = table_of(ring())
    offered = {v.path for v in table.variables if v.causality == "parameter"}
    assert {"joint.rail.q_start", "joint.e.quat_start[1]"} & offered == {"joint.e.quat_start[1]"}
    assert not {"joint.a.q_start", "joint.c.qd_start", "joint.d.q_start[1]"} & offered


# --------------------------------------------------------------------------------- initial unknowns


def at_start(model: Model, case: RandomCase) -> Model:
    """The model with a start at the state of a case, modes and all."""
    sections = {**model.sections, "start.q": case.q.copy(), "start.u": case.u.copy()}
    return replace(model, sections=sections, blob=pack(sections))


def with_parameter(table: VariableTable, number: int) -> bytes:
    """The data file with one parameter changed a little."""
    variable = table.variables[number]
    assert isinstance(variable.source, Parameter)
    data = {name: np.array(values) for name, values in table.model.sections.items()}
    for term in variable.source.terms:
        data[term.section][term.index] += term.slope * 0.01 * (1.0 + abs(variable.start))
    return pack(data)


@pytest.mark.parametrize("case", SEVERAL[:8], ids=lambda case: case[0].name)
def test_start_values_depend_on_the_parameters_that_are_listed_and_no_other(case):
    model = at_start(compile_model(with_tables(case.mechanism)), case)
    table = table_of(model, include=EVERYTHING)
    listed = structure(table, "InitialUnknowns")
    inputs = np.random.default_rng(1).normal(size=model.input_size)
    base = Reader(table).values(inputs)
    for number, variable in enumerate(table.variables):
        if not isinstance(variable.source, Parameter):
            continue
        values = Reader(table, with_parameter(table, number)).values(inputs)
        # (-g + a) + g leaves rounding of g where nothing depends on it
        changed = {
            row for row in listed if abs(values[row] - base[row]) > 1e-14 * (1.0 + abs(base[row]))
        }
        for row in changed:
            assert number in listed[row], (table.variables[row].name, variable.name)
        if variable.source.scope.kind in ("q", "u"):
            assert changed, variable.name


def test_a_state_starts_at_its_own_parameter():
    table = table_of(craft())
    listed = structure(table, "InitialUnknowns")
    for state, parameter in (
        ("joint.hinge.q", "joint.hinge.q_start"),
        ("joint.hinge.qd", "joint.hinge.qd_start"),
        ("joint.orbit.quat[2]", "joint.orbit.quat_start[2]"),
        ("body.boom.eta[1]", "body.boom.eta_start[1]"),
        ("wheel.hub.rw2.speed", "wheel.hub.rw2.speed_start"),
    ):
        assert listed[table.reference(state)] == {table.reference(parameter)}
    assert listed[table.reference("joint.motor.q")] == set()
