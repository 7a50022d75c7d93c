"""Bad input: every fault is a ModelError that names file:line, element, value and remedy."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant.model_file import from_yaml
from pliant.simulation import as_model

GOOD = """\
pliant: 1
name: arm
gravity: [0, 0, -9.81]
bodies:
  upper: {mass: 4.0, com: [0.5, 0, 0], inertia: [0.1, 0.4, 0.4], nodes: {end: {at: [1, 0, 0]}}}
  boom: {beam: {length: 2.0, mass_per_length: 1.5, EI: 2.0e3, radius: 0.03, modes: {count: 2}}}
  bar:
    modal:
      K: [[4.0, 0.5], [0.5, 9.0]]
      points:
        - {at: [0, 0, 0], mass: 1, phi: [[0, 0], [0, 0], [0, 0]]}
        - {at: [1, 0, 0], mass: 2, inertia: [0.1, 0.1, 0.1], phi: [[0, 0], [0.1, 0], [0, 1]]}
joints:
  shoulder: {type: revolute, axis: y, child: upper, start: 0.3}
  elbow: {type: universal, axes: [y, z], parent: upper.end, child: boom}
  wrist: {type: general, translations: [x], rotations: [y], parent: boom.tip, child: bar}
loads:
  push: {node: boom.tip, times: [0, 1], force: [[0, 0, -5], [0, 0, 5]]}
"""

# what is wrong: (text, replaced by, line, element, value that is shown, remedy)
FAULTS = {
    "duplicate body": (
        "  bar:\n",
        "  upper: {mass: 1, inertia: [1, 1, 1]}\n  bar:\n",
        (7, "bodies.upper", "duplicate key 'upper', already on line 5", "rename or remove"),
    ),
    "duplicate joint": (
        "loads:",
        "  elbow: {type: fixed, child: boom}\nloads:",
        (17, "joints.elbow", "duplicate key 'elbow', already on line 15", "rename or remove"),
    ),
    "unknown node of a parent": (
        "parent: upper.end",
        "parent: upper.edn",
        (15, "joints.elbow.parent", "no node 'edn'", "did you mean 'end'?"),
    ),
    "unknown node of a load": (
        "node: boom.tip",
        "node: boom.top",
        (18, "loads.push.node", "no node 'top'", "did you mean 'tip'?"),
    ),
    "missing parent": (
        "parent: upper.end",
        "parent: uper.end",
        (15, "joints.elbow.parent", "no body 'uper'", "did you mean 'upper'?"),
    ),
    "missing child": (
        "child: upper,",
        "child: lower,",
        (14, "joints.shoulder.child", "no body 'lower'", "known: upper, boom, bar"),
    ),
    "body held twice": (
        "  shoulder:",
        "  base: {type: fixed, child: bar}\n  shoulder:",
        (17, "joints.wrist.child", "'bar' hangs on joint 'base' already", "put it under loops"),
    ),
    "body without a joint": (
        GOOD[GOOD.index("  wrist:") : GOOD.index("loads:")],
        "",
        (7, "bodies.bar", "has no joint", "type free with child: bar"),
    ),
    "cycle among parents": (
        "child: upper, start",
        "parent: bar, child: upper, start",
        (14, "joints.shoulder.parent", "in a circle, upper on bar on boom on upper", "on ground"),
    ),
    "body on itself": (
        "parent: upper.end",
        "parent: boom.tip",
        (15, "joints.elbow.parent", "'boom.tip' is on the child", "name another body or ground"),
    ),
    "zero mass": (
        "mass: 4.0",
        "mass: 0",
        (5, "bodies.upper.mass", "0.0 is not above zero", "give a positive number"),
    ),
    "negative mass": (
        "mass: 4.0",
        "mass: -4.0",
        (5, "bodies.upper.mass", "-4.0 is not above zero", "give a positive number"),
    ),
    "no mass": (
        "mass: 4.0, ",
        "",
        (5, "bodies.upper.mass", "missing", "give the mass in kg"),
    ),
    "inertia not positive definite": (
        "[0.1, 0.4, 0.4]",
        "[0.4, 0.4, 0.4, 0.6, 0, 0]",
        (5, "bodies.upper.inertia", "0.6", "moments above zero"),
    ),
    "inertia against the triangle inequality": (
        "[0.1, 0.4, 0.4]",
        "[0.1, 0.2, 0.4]",
        (5, "bodies.upper.inertia", "[0.1, 0.2, 0.4] breaks", "about the centre of mass"),
    ),
    "axis of no length": (
        "axis: y",
        "axis: [0, 0, 0]",
        (14, "joints.shoulder.axis", "[0.0, 0.0, 0.0] has no length", "such as [0, 0, 1] or z"),
    ),
    "parallel rotation axes": (
        "axes: [y, z]",
        "axes: [y, -y]",
        (15, "joints.elbow.axes[1]", "'-y' is parallel", "another direction"),
    ),
    "dependent translations": (
        "translations: [x]",
        "translations: [x, y, [1, 1, 0]]",
        (16, "joints.wrist.translations", "[1.0, 1.0, 0.0]", "give directions of which none"),
    ),
    "gimbal lock at the start": (
        "translations: [x], rotations: [y]",
        "rotations: [z, y, z]",
        (16, "joints.wrist.start", "[0.0, 0.0, 0.0]", "choose other axes"),
    ),
    "K not symmetric": (
        "[0.5, 9.0]]",
        "[0.25, 9.0]]",
        (9, "bodies.bar.modal.K", "[0][1] is 0.5 but [1][0] is 0.25", "a symmetric matrix"),
    ),
    "K not positive definite": (
        "[0.5, 9.0]]",
        "[0.5, -9.0]]",
        (9, "bodies.bar.modal.K", "lowest eigenvalue -9.0", "modes clamped at the head"),
    ),
    "shape not zero at the head": (
        "[[0, 0], [0, 0], [0, 0]]",
        "[[0, 0], [0, 0.5], [0, 0]]",
        (11, "bodies.bar.modal.points[0].phi", "is 0.5 at the head", "subtract the head's"),
    ),
    "shapes for another number of modes": (
        "[[0, 0], [0.1, 0], [0, 1]]",
        "[[0], [0.1], [1]]",
        (12, "bodies.bar.modal.points[1].phi", "is 3 x 1", "give 3 x 2"),
    ),
    "more modes than the mesh has": (
        "count: 2",
        "count: 200",
        (6, "bodies.boom.beam.modes.count", "200 modes asked for, but the mesh has 80", "elements"),
    ),
    "modes of a stiffness that is not given": (
        "{count: 2}",
        "{torsion: 2}",
        (6, "bodies.boom.beam.modes", "asks for torsion modes", "give GJ"),
    ),
    "no number of modes": (
        "{count: 2}",
        "{static: [force_y]}",
        (6, "bodies.boom.beam.modes", "nothing says how many", "or leave modes out"),
    ),
    "unknown shapes": (
        "modes: {count: 2}",
        "shapes: canti",
        (6, "bodies.boom.beam.shapes", "'canti' is not one of", "did you mean 'cantilever'?"),
    ),
    "interface that is no flag": (
        "modes: {count: 2}}",
        "modes: {count: 2}}, nodes: {tip: {interface: maybe}}",
        (6, "bodies.boom.nodes.tip.interface", "'maybe'", "write true or false"),
    ),
    "unknown key": (
        "length: 2.0",
        "lenght: 2.0, length: 2.0",
        (6, "bodies.boom.beam.lenght", "unknown key", "did you mean 'length'?"),
    ),
    "unknown key at the top": (
        "gravity:",
        "gravty:",
        (3, "gravty", "unknown key", "did you mean 'gravity'?"),
    ),
    "unknown type": (
        "type: revolute",
        "type: hinge",
        (14, "joints.shoulder.type", "'hinge' is not one of the choices", "known: fixed, revolute"),
    ),
    "text for a number": (
        "mass: 4.0",
        'mass: "4.0"',
        (5, "bodies.upper.mass", "'4.0' is not a number", "give one number"),
    ),
    "start of the wrong size": (
        "start: 0.3",
        "start: [0.3, 0.1]",
        (14, "joints.shoulder.start", "[0.3, 0.1] has 2 numbers", "a revolute joint has 1"),
    ),
    "times that do not increase": (
        "times: [0, 1]",
        "times: [0, 0]",
        (18, "loads.push.times[1]", "0.0 does not come after 0.0", "strictly increasing"),
    ),
}


def problems(text: str) -> tuple[pl.Problem, ...]:
    """Of a model file with this text, up to what compiling finds."""
    with pytest.raises(pl.ModelError) as caught:
        as_model(from_yaml(text, "arm.yaml"))
    return caught.value.problems


def test_the_model_that_is_spoilt_here_is_good() -> None:
    pl.simulate(from_yaml(GOOD), 0.01)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_with_line_element_value_and_remedy(name: str) -> None:
    old, new, (line, element, value, remedy) = FAULTS[name]
    assert old in GOOD
    (problem,) = problems(GOOD.replace(old, new, 1))
    assert problem.where == f"arm.yaml:{line}: {element}"
    assert value in problem.message
    assert remedy in problem.message


def test_all_problems_come_in_one_go_in_the_order_of_the_file() -> None:
    chosen = (
        "zero mass",
        "more modes than the mesh has",  # found when the beam is meshed, long after reading
        "K not symmetric",
        "axis of no length",
        "unknown node of a parent",
        "dependent translations",
        "times that do not increase",
    )
    text = GOOD
    for name in chosen:
        text = text.replace(*FAULTS[name][:2], 1)
    expected = [f"arm.yaml:{line}: {where}" for line, where, *_ in (FAULTS[n][2] for n in chosen)]
    assert [problem.where for problem in problems(text)] == expected


def test_names_that_are_no_text_are_named() -> None:
    text = GOOD.replace("  upper: {mass", "  1: {mass").replace("  elbow: {type: ", "  2: {type: x")
    where = [problem.where for problem in problems(text)]
    for place in ("5: bodies[1]", "15: joints[2]", "15: joints[2].type"):
        assert f"arm.yaml:{place}" in where


NUMBERS = list(re.finditer(r"(?<=[\[ ])-?\d+(\.\d+)?(e\d+)?(?=[],}\n])", GOOD))[1:]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda m: f"{m.group()} at {m.start()}")
@pytest.mark.parametrize("word", [".nan", "-.inf"])
def test_a_number_that_is_not_finite_is_found_anywhere(number: re.Match[str], word: str) -> None:
    text = GOOD[: number.start()] + word + GOOD[number.end() :]
    line = GOOD.count("\n", 0, number.start()) + 1
    found = [p for p in problems(text) if p.where.startswith(f"arm.yaml:{line}: ")]
    assert len(found) == 1
    assert re.search(r"nan|inf|whole number", found[0].message)


# -------------------------------------------------------------------------------- whole files


@pytest.mark.parametrize("size", range(0, len(GOOD), 7))
def test_a_truncated_file_is_a_message_with_a_line_or_still_a_model(size: int) -> None:
    try:
        as_model(from_yaml(GOOD[:size], "arm.yaml"))
    except pl.ModelError as error:
        last = GOOD[:size].count("\n") + 1
        for problem in error.problems:
            place = re.match(r"arm\.yaml:(\d+)", problem.where)
            assert place is not None
            assert 1 <= int(place.group(1)) <= last
            assert problem.message


def test_a_file_cut_off_inside_brackets_says_so() -> None:
    text = GOOD[: GOOD.index("parent: upper.end")]
    (problem,) = problems(text)
    assert problem.where == "arm.yaml:15"
    assert "cut off here" in problem.message


def test_a_file_cut_off_before_its_joints_is_one_problem() -> None:
    (problem,) = problems(GOOD[: GOOD.index("joints:")])
    assert problem.where == "arm.yaml:1: joints"
    assert "there are none; give one for each body" in problem.message


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "the file is empty"),
        (b"PK\x03\x04 and so on", "a zip archive (an FMU?)"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file (a result?)"),
        (b"\x89PNG\r\n\x1a\n", "a picture"),
        (b"<robot name='arm'/>", "XML (URDF, SDF?)"),
        (b"\xff\xfe\x00\x01", "not UTF-8 text"),
        (b"name\0x", "no text"),
        (b"hello", "not a pliant model file"),
        (b"- 1\n- 2\n", "not a pliant model file"),
        (b"robot: {name: arm}", "not a pliant model file"),
        (b"a: [1, 2", "not a pliant model file"),
        (b"pliant: 2\nname: x\n", "a newer format than this pliant reads"),
        (b"pliant: one\nname: x\nbodies: {}\n", "'one' is not a version"),
        (b"name: x\nbodies: {}\n", "begin the file with the line 'pliant: 1'"),
        (b"pliant: 1\nname: x\n\tbodies: {}\n", "blanks instead of tabs"),
    ],
)
def test_a_foreign_file_is_named(content: bytes, what: str, tmp_path: Path) -> None:
    path = tmp_path / "arm.yaml"
    path.write_bytes(content)
    with pytest.raises(pl.ModelError) as caught:
        pl.load(path)
    assert str(caught.value).startswith(f"{path}:")
    assert what in str(caught.value)


def test_a_file_that_is_not_there_is_named_with_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "arm.yaml").write_text(GOOD)
    with pytest.raises(pl.ModelError, match=r"amr\.yaml: there is no such file; .* arm\.yaml\?"):
        pl.load(tmp_path / "amr.yaml")


# -------------------------------------------------------------------- freedoms without inertia


def test_a_massless_leaf_on_a_free_axis_is_named() -> None:
    # a beam without radius has no inertia about its own axis
    text = GOOD.replace("radius: 0.03, ", "").replace("axes: [y, z]", "axes: [y, x]")
    text = text[: text.index("  wrist:")]
    text = text.replace(text[text.index("  bar:") : text.index("joints:")], "")
    (problem,) = problems(text)
    assert problem.where == "arm.yaml:9: joints.elbow"
    assert "nothing resists motion about [1.0, 0.0, 0.0] (in boom's frame)" in problem.message
    assert "give inertia" in problem.message


# ------------------------------------------------------------------------------------- running


@pytest.mark.parametrize("duration", [0.00015, -1.0, np.nan, np.inf])
def test_a_duration_that_is_no_number_of_steps_is_refused_with_a_remedy(duration: float) -> None:
    with pytest.raises(pl.ModelError, match=r"duration: .*; (take 0 or 0\.001 s|give a finite)"):
        pl.simulate(from_yaml(GOOD), duration)


@pytest.mark.parametrize("step", [0.0, -1e-3, np.nan, np.inf])
def test_a_step_that_is_none_is_refused_with_a_remedy(step: float) -> None:
    with pytest.raises(
        pl.ModelError, match=r"step: .* is not a step; give a time from 1e-09 to 1e\+06 s"
    ):
        pl.Simulation(from_yaml(GOOD), step)


def test_a_step_that_does_not_divide_the_time_to_advance_is_refused() -> None:
    sim = pl.Simulation(from_yaml(GOOD), step=4e-3)
    with pytest.raises(pl.ModelError, match=r"advance: 0\.05 s .* take 0\.048 or 0\.052 s"):
        sim.advance(0.05)
    assert sim.time == 0.0


def test_a_run_that_blows_up_names_time_and_element_and_keeps_what_it_recorded() -> None:
    from pliant.modes import highest_frequency

    system = from_yaml(GOOD)
    step = 1.5 * 2.0 / highest_frequency(system)  # half as long again as is stable
    with pytest.warns(pl.StepWarning), pytest.raises(pl.SolverError) as caught:
        pl.simulate(system, 2000 * step, step)
    error = caught.value
    assert 0.0 < error.time < 2000 * step
    assert re.match(r"(joint|body) (shoulder|elbow|wrist|boom|bar)", error.element)
    assert "take a shorter step" in str(error)
    kept = error.result  # type: ignore[attr-defined]
    assert len(kept) > 1
    assert kept.time[-1] <= error.time + 1e-12
    assert np.isfinite(kept.data).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_inputs_that_are_not_finite_are_refused_and_change_nothing(value: float) -> None:
    sim = pl.Simulation(from_yaml(GOOD))
    sim.joint("shoulder").torque = 2.0
    with pytest.raises(pl.ModelError, match=r"joint shoulder torque: .* not finite"):
        sim.joint("shoulder").torque = value
    with pytest.raises(pl.ModelError, match=r"node boom\.tip force: .* not finite"):
        sim.node("boom.tip").apply(force=[0.0, value, 0.0])
    assert sim.joint("shoulder").torque == 2.0


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda sim: sim.advance("1"), r"advance: '1' s is not a duration; give a finite time"),
        (lambda sim: sim.advance(None), r"advance: None s is not a duration"),
        (lambda sim: sim.step(1.5), r"step: 1.5 is no number of steps; give 0 or more"),
        (lambda sim: sim.step(-1), r"step: -1 is no number of steps"),
        (lambda sim: pl.Simulation(sim.model, "0.001"), r"step: '0.001' is not a step; give a"),
        (lambda sim: pl.simulate(sim.model, 1, every=1.5), r"every: 1.5 is no number of steps"),
        (lambda sim: pl.simulate(sim.model, None), r"duration: None s is not a duration"),
        (
            lambda sim: pl.simulate(sim.model, 1e15),
            r"duration: 1\S+ s .*; give less than 9e15",
        ),
    ],
)
def test_times_and_counts_of_other_types_are_refused_in_words(call, said: str) -> None:
    with pytest.raises(pl.ModelError, match=said):
        call(pl.Simulation(from_yaml(GOOD), 1e-3))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda m: pl.simulate(m, 0.1, record=[5]), "record: 5 names none; give channels"),
        (
            lambda m: pl.simulate(m, 0.1, controller=lambda: 1),
            r"controller: it takes \(\); write",
        ),
        (
            lambda m: pl.simulate(m, 0.1, controller=lambda a, b: 1),
            r"controller: it takes \(a, b\)",
        ),
        (lambda m: pl.Simulation(m, project_loops=3), "project_loops: 3 is not True or False"),
        (lambda m: pl.load("a\0"), r"'a\\x00': no file has a zero in its name"),
        (lambda m: pl.Result.load("a\0"), r"'a\\x00': no file has a zero in its name"),
        (lambda m: pl.save(5, "x.yaml"), "save: 5 is no System; only these have a model file"),
        (lambda m: pl.simulate(m, 0.1)[0:3], r"slice\(0, 3, None\): a result is asked by names"),
    ],
)
def test_arguments_of_other_kinds_are_refused_in_words(call, said: str) -> None:
    with pytest.raises(pl.ModelError, match=said):
        call(as_model(from_yaml(GOOD)))


def test_controllers_that_are_wrapped_are_asked_what_the_wrapper_takes() -> None:
    def with_gain(inner: Callable[[pl.Simulation, float], None]) -> Callable[[pl.Simulation], None]:
        @functools.wraps(inner)
        def outer(sim: pl.Simulation) -> None:
            inner(sim, 3.0)

        return outer

    @with_gain
    def hold(sim: pl.Simulation, gain: float) -> None:
        assert gain == 3.0

    assert len(pl.simulate(from_yaml(GOOD), 0.01, controller=hold)) > 0
    partial = functools.partial(lambda gain, sim: None, 2.0)
    assert len(pl.simulate(from_yaml(GOOD), 0.01, controller=partial)) > 0
