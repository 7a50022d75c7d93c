"""Results: channels by name and pattern, files, plots."""

from __future__ import annotations

import csv

import h5py
import numpy as np
import pytest

import pliant as pl
from pliant.channels import Channel, all_channels, choose, default_channels
from pliant.compile import compile_model
from pliant.results import Result


@pytest.fixture(scope="module")
def system() -> pl.System:
    """One of everything that has channels."""
    return pl.System(
        name="craft",
        bodies={
            "hub": pl.Body(
                mass=50.0,
                inertia=[5, 6, 7],
                nodes={"mount": {"at": [0.5, 0, 0], "contact": True}},
                wheels={"rw": pl.Wheel(axis="z", inertia=0.1, speed=30.0)},
            ),
            "boom": pl.Body(
                beam=pl.Beam(length=2.0, mass_per_length=1.0, EI=100.0, modes={"count": 2})
            ),
            "cart": pl.Body(mass=1.0, inertia=[0.1, 0.1, 0.1]),
            "ball": pl.Body(mass=1.0, inertia=[0.1, 0.1, 0.1]),
        },
        joints={
            "orbit": pl.Joint(type="free", child="hub", speed=[0.1, 0, 0, 0, 0, 0.2]),
            "hinge": pl.Joint(type="revolute", axis="z", parent="hub.mount", child="boom"),
            "rail": pl.Joint(type="prismatic", axis="x", parent="hub", child="cart"),
            "socket": pl.Joint(type="spherical", parent="boom.tip", child="ball"),
        },
    )


@pytest.fixture(scope="module")
def result(system: pl.System) -> Result:
    return pl.simulate(system, 0.1, every=10)


def small(names: list[str]) -> Result:
    channels = [Channel(name, "m", ("q", 0), i) for i, name in enumerate(names)]
    rng = np.random.default_rng(1)
    return Result(
        "small", np.arange(3.0), rng.normal(size=(3, len(names))), channels, {"step": 0.1}
    )


# -------------------------------------------------------------------------------------- names


def test_the_names_are_those_of_the_variable_table(system):
    names = [c.name for c in all_channels(compile_model(system))]
    assert len(names) == len(set(names))
    for expected in (
        "joint.hinge.q",
        "joint.hinge.qd",
        "joint.hinge.qdd",
        "joint.hinge.tau",
        "joint.rail.f",
        "joint.orbit.q[3]",
        "joint.orbit.quat[4]",
        "joint.orbit.qd[6]",
        "joint.orbit.tau[6]",
        "joint.socket.quat[1]",
        "joint.socket.qd[3]",
        "joint.hinge.reaction.f[1]",
        "joint.hinge.reaction.t[3]",
        "body.boom.eta[2]",
        "body.boom.etad[1]",
        "node.hub.mount.r[1]",
        "node.boom.tip.quat[4]",
        "node.boom.tip.alpha[3]",
        "wheel.hub.rw.speed",
        "energy.kinetic",
        "energy.total",
        "momentum.p[1]",
        "momentum.L[3]",
    ):
        assert expected in names
    for absent in ("joint.socket.q[1]", "joint.orbit.q[4]", "joint.rail.tau", "body.hub.eta[1]"):
        assert absent not in names


def test_units_follow_the_kind_of_freedom(system):
    units = {c.name: c.unit for c in all_channels(compile_model(system))}
    assert units["joint.orbit.qd[3]"] == "m/s"
    assert units["joint.orbit.qd[4]"] == "rad/s"
    assert units["joint.orbit.tau[1]"] == "N"
    assert units["joint.orbit.tau[4]"] == "N m"
    assert units["joint.rail.q"] == "m"
    assert units["joint.hinge.qdd"] == "rad/s2"


def test_reactions_and_node_accelerations_are_recorded_only_when_asked_for(system):
    names = [c.name for c in default_channels(compile_model(system))]
    assert not [n for n in names if ".reaction." in n or ".a[" in n or ".alpha[" in n]
    record = ["joint.hinge.reaction", "node.boom.tip.a"]
    assert pl.simulate(system, 0.01, record=record).names == (
        *(f"joint.hinge.reaction.{part}[{i}]" for part in "ft" for i in (1, 2, 3)),
        *(f"node.boom.tip.a[{i}]" for i in (1, 2, 3)),
    )


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        ("joint.hinge.q", 1),
        ("joint.*.qd", 6 + 1 + 1 + 3),
        ("node.boom.tip.r[2]", 1),
        ("node.*.r", 3 * 6),
        ("node.boom.ti?.r", 3),
        ("energy", 8),
        ("momentum.?", 6),
    ],
)
def test_patterns_choose_whole_names_or_beginnings(system, pattern, count):
    assert len(choose(all_channels(compile_model(system)), [pattern])) == count


def test_every_pattern_without_a_match_is_reported(system):
    with pytest.raises(pl.ModelError) as caught:
        choose(all_channels(compile_model(system)), ["joint.hing.q", "energy", "nod"])
    assert [p.where for p in caught.value.problems] == ["record 'joint.hing.q'", "record 'nod'"]
    assert "did you mean 'joint.hinge.q'?" in caught.value.problems[0].message


# ------------------------------------------------------------------------------------- access


def test_a_component_is_a_column_and_a_vector_a_block(result):
    rows = len(result)
    assert result["time"] is result.time
    assert result["node.boom.tip.r[2]"].shape == (rows,)
    assert result["node.boom.tip.r"].shape == (rows, 3)
    assert np.array_equal(result["node.boom.tip.r"][:, 1], result["node.boom.tip.r[2]"])
    assert "node.boom.tip.r" in result
    assert "node.boom.tip.a" not in result


def test_a_name_that_was_not_recorded_is_answered_with_the_nearest(result):
    with pytest.raises(KeyError, match=r"was not recorded; did you mean 'joint.hinge.q'"):
        result["joint.hing.q"]


def test_the_state_comes_in_the_order_of_the_model(system, result):
    sim = pl.Simulation(system)
    sim.advance(0.1)
    assert np.array_equal(result.q[-1], sim.q)
    assert np.array_equal(result.u[-1], sim.u)
    joints = np.concatenate([np.arange(j.u.start, j.u.stop) for j in sim.model.joints])
    assert np.array_equal(result.qdd[-1], sim.evaluate()[joints])


def test_an_incomplete_state_is_refused(system):
    result = pl.simulate(system, 0.01, record="joint.hinge")
    with pytest.raises(pl.PliantError, match="q is not complete: 1 of"):
        _ = result.q


def test_the_energy_error_is_that_of_the_run_and_else_that_of_the_rows(result):
    assert 0.0 < result.energy_error < 1e-6
    assert result.energy_error == result.info["energy_error"]
    del result.info["energy_error"]
    scale = (result["energy.kinetic"] + result["energy.strain"]).max()
    assert result.energy_error == np.abs(result["energy.error"]).max() / scale


def test_the_energy_error_of_a_run_does_not_depend_on_what_is_recorded():
    rail = pl.Joint(
        type="prismatic", axis="x", child="cart", speed=1.0, spring={"stiffness": 400.0}
    )
    body = pl.Body(mass=1, inertia=[1, 1, 1])
    cart = pl.System(name="cart", bodies={"cart": body}, joints={"rail": rail})
    errors = [pl.simulate(cart, 5.0, 5e-3, every=every).energy_error for every in (1, 10, 1000)]
    assert errors[0] == pytest.approx((0.5 * 20.0 * 5e-3) ** 2, rel=0.05)  # (h omega / 2)^2
    assert errors[1:] == pytest.approx([errors[0]] * 2, rel=0.3)


# -------------------------------------------------------------------------------------- files


def test_hdf5_gives_everything_back(result, tmp_path):
    again = Result.from_hdf5(result.to_hdf5(tmp_path / "craft.h5"))
    assert again.name == result.name
    assert again.info == result.info
    assert again.channels == result.channels
    assert np.array_equal(again.time, result.time)
    assert np.array_equal(again.data, result.data)
    assert np.array_equal(again.u, result.u)


def test_hdf5_is_laid_out_by_element(result, tmp_path):
    with h5py.File(result.to_hdf5(tmp_path / "craft.h5")) as file:
        assert file["node/boom/tip/r"].shape == (len(result), 3)
        assert list(file["node/boom/tip/r"].attrs["unit"]) == ["m", "m", "m"]
        assert file["joint/hinge/q"].shape == (len(result),)
        assert file["info"].attrs["integrator"] == "leapfrog"


@pytest.mark.parametrize(
    "names",
    [
        ["node.a.b.r[2]"],
        ["node.a.b.r[3]", "node.a.b.v[1]"],
        ["joint.left/right.q", "joint.50%.q", "joint.größe, außen.q"],
        [],
    ],
)
def test_parts_of_vectors_and_unusual_names_survive_both_files(names, tmp_path):
    result = small(names)
    again = Result.from_hdf5(result.to_hdf5(tmp_path / "x.h5"))
    assert again.names == result.names
    assert np.array_equal(again.data, result.data)
    with result.to_csv(tmp_path / "x.csv").open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head == ["time", *names]
    assert np.array_equal(np.array(rows, dtype=float)[:, 1:], result.data)


def test_csv_has_all_digits(result, tmp_path):
    table = np.genfromtxt(result.to_csv(tmp_path / "craft.csv"), delimiter=",", skip_header=1)
    assert np.array_equal(table[:, 0], result.time)
    assert np.array_equal(table[:, 1:], result.data)


def test_save_goes_by_the_ending(result, tmp_path):
    assert h5py.is_hdf5(result.save(tmp_path / "x.hdf5"))
    assert result.save(tmp_path / "x.csv").read_text().startswith("time,joint.")
    with pytest.raises(pl.ModelError, match=r"end its name in \.h5 or \.hdf5 or \.csv"):
        result.save(tmp_path / "x.mat")


def test_a_result_replaces_no_file_of_another_kind(result, tmp_path):
    model = tmp_path / "arm.yaml"
    model.write_text("pliant: 1")
    for write in (result.to_hdf5, result.to_csv):
        with pytest.raises(pl.ModelError, match=r"arm.yaml: unknown kind of file; end its name"):
            write(model)
    with pytest.raises(pl.ModelError, match=r"x.csv: .*end its name in \.h5 or \.hdf5$"):
        result.to_hdf5(tmp_path / "x.csv")
    assert model.read_text() == "pliant: 1"
    assert not (tmp_path / "x.csv").exists()


def test_foreign_truncated_and_missing_files_are_refused(result, tmp_path):
    foreign = tmp_path / "foreign.h5"
    with h5py.File(foreign, "w") as file:
        file["time"] = [0.0]
    whole = result.to_hdf5(tmp_path / "whole.h5").read_bytes()
    (tmp_path / "half.h5").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.h5").write_text("time,x\n")
    for name, message in (
        ("foreign.h5", "not a result of pliant"),
        ("half.h5", "not a readable result"),
        ("text.h5", "not a readable result"),
        ("none.h5", "no such file"),
    ):
        with pytest.raises(pl.ModelError, match=message):
            Result.from_hdf5(tmp_path / name)


# -------------------------------------------------------------------------------------- plots


def test_a_plot_has_a_panel_for_each_quantity(result, tmp_path):
    path = tmp_path / "craft.png"
    figure = result.plot(["joint.*.q", "node.boom.tip.r", "energy"], path)
    titles = [axes.get_title(loc="left") for axes in figure.axes if axes.get_visible()]
    assert titles == [
        "joint position [m]",
        "joint position [rad]",
        "node position [m]",
        "energy [J]",
        "energy error [J]",
    ]
    assert path.read_bytes().startswith(b"\x89PNG")
    labels = [text.get_text() for text in figure.axes[2].get_legend().get_texts()]
    assert labels == ["boom.tip x", "boom.tip y", "boom.tip z"]


def test_the_default_plot_leaves_out_what_stays_zero(result):
    figure = result.plot()
    energy = next(a for a in figure.axes if a.get_title(loc="left") == "energy [J]")
    labels = [text.get_text() for text in energy.get_legend().get_texts()]
    assert "kinetic" in labels
    assert "gravity" not in labels


def test_more_panels_than_anyone_looks_at_are_left_out_with_a_warning():
    names = [f"other.tool{i}.quantity{i}" for i in range(200)]
    channels = [Channel(name, "", ("result", 0), i) for i, name in enumerate(names)]
    many = Result("many", np.zeros(2), np.zeros((2, 200)), channels, {})
    with pytest.warns(pl.PliantWarning, match=r"200 quantities; the first 60 are drawn, name ch"):
        assert sum(axes.get_visible() for axes in many.plot().axes) == 60
    assert sum(axes.get_visible() for axes in many.plot(names[:3]).axes) == 3


def test_a_picture_that_cannot_be_written_is_a_clear_error(result, tmp_path):
    with pytest.raises(pl.ModelError, match=r"there is no folder .*none; make it first"):
        result.plot("energy", tmp_path / "none" / "x.png")
