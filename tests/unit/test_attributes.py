"""Names that are not there are refused on everything that is read and set while a model runs."""

from __future__ import annotations

import copy
import math
import pickle

import pytest

import pliant as pl

BODY = {"mass": 1.0, "inertia": [1.0, 1.0, 1.0]}


@pytest.fixture(scope="module")
def system() -> pl.System:
    return pl.System(
        name="crane",
        bodies={
            "post": {**BODY, "wheels": {"rw1": {"axis": "z", "inertia": 0.5}}},
            "sled": BODY,
            "cap": BODY,
            "hook": BODY,
        },
        joints={
            "slew": {"type": "revolute", "axis": "z", "child": "post", "speed": 1.0},
            "slide": {"type": "prismatic", "axis": "x", "child": "sled"},
            "lid": {"type": "fixed", "child": "cap"},
            "hang": {"type": "universal", "axes": ["x", "y"], "child": "hook"},
        },
        loops={"tie": {"type": "planar", "axis": "z", "parent": "post", "child": "sled"}},
    )


@pytest.fixture
def sim(system: pl.System) -> pl.Simulation:
    return pl.Simulation(system, step=1e-3)


HANDLES = {
    "joint slew": lambda sim: sim.joint("slew"),
    "loop tie": lambda sim: sim.loop("tie"),
    "node post.head": lambda sim: sim.node("post"),
    "wheel post.rw1": lambda sim: sim.wheel("post.rw1"),
    "body post": lambda sim: sim.body("post"),
    "the simulation": lambda sim: sim,
}


@pytest.mark.parametrize("name", HANDLES)
def test_an_unknown_name_is_refused_on_reading_and_setting_with_the_owner_named(sim, name):
    handle = HANDLES[name](sim)
    with pytest.raises(pl.ModelError, match=f"^{name}: has no 'colour'; "):
        handle.colour = 3
    with pytest.raises(AttributeError, match=f"^{name}: has no 'colour'; "):
        _ = handle.colour
    assert not hasattr(handle, "colour")
    assert "colour" not in vars(handle)


@pytest.mark.parametrize("name", HANDLES)
def test_every_name_that_tab_offers_can_be_read(sim, name):
    handle = HANDLES[name](sim)
    for known in dir(handle):
        if not known.startswith("__"):
            getattr(handle, known)


@pytest.mark.parametrize(
    ("path", "typed", "meant"),
    [
        ("joint slew", "toque", "did you mean 'torque'?"),
        ("joint slew", "Torque", "did you mean 'torque'?"),
        ("joint slew", "efort", "did you mean 'effort'?"),
        ("loop tie", "efort", "did you mean 'effort'?"),
        ("wheel post.rw1", "torqe", "did you mean 'torque'?"),
        ("node post.head", "force", r"loads are applied by \.apply\(force="),
        ("the simulation", "toque", r"efforts belong to joints and wheels: \.joint"),
        ("the simulation", "gravity", "it is the model's: set it on the System"),
    ],
)
def test_a_typo_is_answered_with_what_was_meant(sim, path, typed, meant):
    with pytest.raises(pl.ModelError, match=meant):
        setattr(HANDLES[path](sim), typed, 1.0)


@pytest.mark.parametrize(
    ("path", "typed", "meant"),
    [
        ("joint slew", "velocity", "use .rate"),
        ("joint slew", "q", "use .position"),
        ("joint slew", "tau", "use .effort"),
        ("joint slew", "xyz", "known: "),
        ("node post.head", "pos", "use .position"),
        ("node post.head", "omega", "use .angular_velocity"),
        ("wheel post.rw1", "velocity", "use .speed"),
        ("the simulation", "t", "use .time"),
        ("the simulation", "dt", "use .step_size"),
    ],
)
def test_a_name_of_other_programs_is_answered_with_ours(sim, path, typed, meant):
    with pytest.raises(pl.ModelError, match=f"has no '{typed}'; .*{meant}"):
        getattr(HANDLES[path](sim), typed)


def test_what_is_set_as_a_whole_cannot_be_written_into(sim):
    """The write would be lost, and the motor dead without a word."""
    with pytest.raises(ValueError, match="read-only"):
        sim.joint("hang").effort[0] = 7.0
    with pytest.raises(ValueError, match="read-only"):
        sim.node("post.head").applied.force[0] = 7.0


def test_a_load_that_is_refused_in_part_is_refused(sim):
    node = sim.node("post.head")
    with pytest.raises(pl.ModelError, match="torque"):
        node.apply(force=[1, 2, 3], torque=[float("nan"), 0, 0])
    assert not node.applied.force.any()


@pytest.mark.parametrize("wrong", [True, [True], "1", None])
def test_true_and_texts_are_no_inputs(sim, wrong):
    with pytest.raises(pl.ModelError, match="is no input"):
        sim.joint("slew").torque = wrong


def test_things_of_another_kind_are_refused_in_words(sim):
    for call, message in (
        (lambda: pl.Simulation({"bodies": {}}), "give a System, a Model or the path"),
        (lambda: sim.restore_state(3), r"give what save_state\(\) gave"),
        (lambda: sim.set_state(u=["0.5"] * len(sim.u)), "no array of numbers"),
        (lambda: pl.simulate(sim.model, 0.1, record=3), "record: 3 names none"),
        (lambda: pl.simulate(sim.model, 0.1, output=3), "output: 3 is no file"),
        (lambda: pl.simulate(sim.model, 0.1, control_period=0.01), "there is no controller"),
    ):
        with pytest.raises(pl.ModelError, match=message):
            call()
    with pytest.raises(TypeError, match=r"Joint takes its fields by name: Joint\(type=\.\.\.\)"):
        pl.Joint("revolute")


@pytest.mark.parametrize(
    ("path", "name", "remedy"),
    [
        ("joint slew", "angle", r"'angle' can be read, not set; set torque, .* sim\.set_state"),
        ("joint slew", "locked", r"call \.lock\(\) or \.release\(\)"),
        ("joint slew", "lock", r"'lock' is called, not set; write \.lock\("),
        ("loop tie", "gap", "what can be set is the loop's effort"),
        ("node post.head", "position", r"loads are applied by \.apply\("),
        ("wheel post.rw1", "speed", "what can be set is the wheel's torque"),
        ("body post", "eta", "a body moves by its joint and its modes"),
        ("the simulation", "time", r"use \.advance"),
        ("the simulation", "step_size", r"it is chosen once: Simulation\(model, step=\.\.\.\)"),
        ("the simulation", "q", r"use \.set_state\(q=\.\.\.\)"),
    ],
)
def test_what_is_read_only_says_what_to_do_instead(sim, path, name, remedy):
    with pytest.raises(pl.ModelError, match=remedy):
        setattr(HANDLES[path](sim), name, 1.0)


def test_a_name_that_does_not_suit_the_joint_is_an_attribute_it_has_not(sim):
    assert not hasattr(sim.joint("slide"), "torque")
    assert not hasattr(sim.joint("slew"), "force")
    assert not hasattr(sim.joint("lid"), "angle")
    with pytest.raises(AttributeError, match=r"a prismatic joint does not only turn; use \.effort"):
        _ = sim.joint("slide").torque
    assert {"force", "torque"} & set(dir(sim.joint("slide"))) == {"force"}


@pytest.mark.parametrize("kind", ["joint", "loop", "node", "wheel", "body"])
def test_looking_up_a_name_that_is_none_names_the_nearest(sim, kind):
    known = {"joint": "slew", "loop": "tie", "node": "post.head", "wheel": "post.rw1"}
    right = known.get(kind, "post")
    with pytest.raises(pl.ModelError, match=f"did you mean '{right}'"):
        getattr(sim, kind)(right[:-1])


def test_looking_up_the_wrong_kind_of_thing_names_the_right_one(sim):
    with pytest.raises(pl.ModelError, match=r"'post' is a body: use \.body\('post'\)"):
        sim.joint("post")
    with pytest.raises(pl.ModelError, match=r"'tie' is a loop: use \.loop\('tie'\)"):
        sim.joint("tie")
    with pytest.raises(pl.ModelError, match=r"did you mean 'post\.rw1'"):
        sim.wheel("rw1")


def test_handles_are_copied_and_simulations_are_not(sim):
    assert copy.copy(sim.joint("slew")).rate == 1.0
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=r"save_state\(\) keeps its state"):
            attempt(sim)


def test_a_subclass_declares_names_of_its_own(system):
    class Counting(pl.Simulation):
        count: int = 0

    sim = Counting(system)
    sim.count = 3
    assert sim.count == 3
    with pytest.raises(pl.ModelError, match="has no 'cuont'; did you mean 'count'"):
        sim.cuont = 3


def test_results_and_systems_refuse_unknown_names_and_survive_copies(system):
    result = pl.simulate(system, 0.01)
    with pytest.raises(AttributeError, match="result crane: has no 'tme'; did you mean 'time'"):
        _ = result.tme
    with pytest.raises(pl.ModelError, match="result crane: has no 'tme'"):
        result.tme = 3
    with pytest.raises(
        KeyError, match=r"joint\.slw\.q: was not recorded; did you mean 'joint\.sle"
    ):
        result["joint.slw.q"]
    with pytest.raises(AttributeError, match="System: has no 'bodis'; did you mean 'bodies'"):
        _ = system.bodis
    with pytest.raises(AttributeError, match="unknown key; did you mean 'bodies'"):
        system.bodis = {}
    for remade in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))):
        assert remade(result).names == result.names
        assert remade(system) == system


# ----------------------------------------------------------------------------------- what is given


def test_a_controller_that_returns_something_is_named_before_anything_moved(system):
    seen = []

    def wrong(sim):
        seen.append(sim.time)
        return 3.0

    with pytest.raises(pl.ModelError, match=r"controller: it returned 3\.0, .*sim\.joint"):
        pl.simulate(system, 0.01, controller=wrong)
    assert seen == [0.0]
    with pytest.raises(pl.ModelError, match="controller: 5 is not a function"):
        pl.simulate(system, 0.01, controller=5)


@pytest.mark.parametrize("wrong", [None, "3", "fast", [1.0, 2.0], 1j, {}, math.nan, math.inf])
def test_an_effort_that_is_no_number_is_refused_and_the_old_one_stays(sim, wrong):
    slew = sim.joint("slew")
    slew.torque = 5.0
    with pytest.raises(pl.ModelError, match=r"^joint slew torque: .*; give a (finite )?number$"):
        slew.torque = wrong
    assert slew.torque == 5.0


@pytest.mark.parametrize("wrong", [None, "3", [1.0, 2.0], 1j])
def test_a_function_that_gives_no_number_is_refused_with_what_it_gave(sim, wrong):
    said = r"^joint slew torque: its function gives .* at t = 0 s; return a number$"
    with pytest.raises(pl.ModelError, match=said):
        sim.joint("slew").torque = lambda t: wrong
    with pytest.raises(pl.ModelError, match=r"node post\.head force: .* return 3 numbers"):
        sim.node("post").apply(force=lambda t: wrong)


def test_a_function_that_gives_nan_or_takes_no_time_is_named(sim):
    slew = sim.joint("slew")
    with pytest.raises(pl.SolverError, match="joint slew torque: its function of time does not"):
        slew.torque = lambda t: math.nan
    with pytest.raises(pl.ModelError, match=r"cannot be called with the time .*; write f\(t\)"):
        slew.torque = lambda: 3.0
    with pytest.raises(TypeError, match="unsupported"):  # the author's own mistake stays theirs
        slew.torque = lambda t: t + "x"
    sim.joint("hang").effort = lambda t: (1.0, t)
    with pytest.raises(pl.ModelError, match="lid effort: a fixed joint has no freedom"):
        sim.joint("lid").effort = 1.0
