"""Model files: lossless both ways, exact numbers, every problem with its file and line."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.errors import ModelError
from pliant.model_file import from_yaml, load, save, to_yaml
from pliant.system import Body, Joint, System
from pliant.yaml_text import read, write

EVERYTHING = """\
pliant: 1
name: "every kind of part"
gravity: [0.1, 0, -9.81]
bodies:
  base:
    mass: 4.0e5
    com: [0.1, 0.2, 0.30000000000000004]
    inertia: [1e8, 1.1e8, 1.2e8, 1e3, 0, -1e3]
    mass_at: mount
    nodes:
      mount: {at: [0, 0, 1.2], rotation: {axis: z, degrees: 30}}
      dock: {at: [1, 0, 0], rotation: [0.5, 0.5, 0.5, 0.5], contact: true}
    wheels:
      rw1: {axis: [1, 1, 0], inertia: 0.8, node: mount, speed: -600}
  boom:
    beam:
      length: 6.4
      E: 7.0e10
      G: 2.6e10
      rho: 2700
      shear_factor: 0.5
      J: 1.1e-5
      modes: {below_hz: 50, kinds: [bending, torsion]}
      stations:
        - {at: 0, A: 3.0e-3, Iy: 1.0e-5, Iz: 2.0e-5}
        - {at: 6.4, A: 2.0e-3, Iy: 5.0e-6, Iz: 1.0e-5}
      lumps: [{at: 3.2, mass: 5, inertia: [0.1, 0.1, 0.1], offset: [0, 0, 0.2]}]
      elements: 12
      damping: 0.005
      stiffening: false
      shapes: cantilever
    nodes: {tip: {contact: true}, camera: {at: [3, 0, 0.2], interface: true}}
  mast:
    beam: {length: 2, mass_per_length: 1.5, EI: 1.0e4}
  bar:
    modal:
      K: [[4.0, 0.5], [0.5, 9.0]]
      D: [[0.1, 0], [0, 0.2]]
      inertia: exact
      points:
        - {at: [0, 0, 0], mass: 1, phi: [[0, 0], [0, 0], [0, 0]]}
        - at: [1, 0, 0]
          mass: 2
          inertia: [0.1, 0.1, 0.1]
          phi: [[0, 0], [0.1, 0], [0, 1]]
          psi: [[0, 0], [0, 0.3], [0.2, 0]]
          phi2: [[[-1, 0], [0, -2]], [[0, 0], [0, 0]], [[0, 0], [0, 0]]]
      nodes: {end: {at: [1, 0, 0], phi: [[0, 0], [0.1, 0], [0, 1]]}}
joints:
  float: {type: free, child: base, start: [1, 2, 3, 0.5, 0.5, -0.5, 0.5],
          speed: [0, 0, 0, 0.1, 0, 0]}
  shoulder:
    type: universal
    axes: [x, -y]
    parent: base.mount
    child: boom
    at: [0, 0, 0.1]
    rotation: [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    spring: {stiffness: [1e3, 2e3], rest: 0.1}
    friction: {viscous: 5.0, coulomb: [1, 2], transition_speed: 1e-2}
    stops: {lower: [null, -1], upper: 1.5, stiffness: 1e5, damping: 10}
  slide:
    type: general
    translations: [x, [0, 1, 1]]
    rotations: [z]
    parent: boom.tip
    child: bar
    motion: {times: [0, 1, 2], position: [[0, 0, 0], [1, 0, 0], [1, 0, 2]]}
  foot: {type: fixed, parent: base.dock, child: mast}
loads:
  push: {node: bar.end, times: [0, 20], force: [[1, 2, 3], [-1, -2, -3]], interpolation: hold}
  drive: {joint: shoulder, effort: [3, 4]}
  spin: {wheel: base.rw1, times: [0, 1], torque: [0.1, 0.2]}
"""


def test_every_kind_of_part_is_read_written_and_read_back_equal(tmp_path: Path) -> None:
    first = tmp_path / "first.yaml"
    first.write_text(EVERYTHING, encoding="utf-8")
    system = load(first)
    save(system, tmp_path / "second.yaml")
    again = load(str(tmp_path / "second.yaml"))
    assert again == system
    assert to_yaml(again) == to_yaml(system) == system.to_yaml()


def test_author_notation_is_kept() -> None:
    text = to_yaml(from_yaml(EVERYTHING))
    for piece in ('axes: [x, "-y"]', "rotation: {axis: z, degrees: 30.0}", "lower: [null, -1.0]"):
        assert piece in text


@given(st.lists(st.floats(-1e9, 1e9), min_size=3, max_size=3))
@settings(max_examples=50, deadline=None)
def test_numbers_are_read_back_bit_for_bit(numbers: list[float]) -> None:
    system = System(
        name="n",
        bodies={"b": Body(mass=1, com=numbers, inertia=[1, 1, 1])},
        joints={"j": Joint(type="free", child="b")},
    )
    back = np.asarray(from_yaml(to_yaml(system)).bodies["b"].com)
    assert back.tobytes() == np.array(numbers).tobytes()


@given(st.text(st.characters(exclude_characters=".[]", exclude_categories=["C"]), min_size=1))
@settings(max_examples=100, deadline=None)
def test_any_name_that_is_accepted_is_read_back(name: str) -> None:
    try:
        system = System(
            name=name,
            bodies={name: Body(mass=1, inertia=[1, 1, 1])},
            joints={name: Joint(type="free", child=name)},
        )
        system.validate_model()
    except ModelError:
        return
    assert from_yaml(to_yaml(system)) == system


@pytest.mark.parametrize("word", ["null", "true", "1", "1e5", "~", "- a", "a: b", "#x", "no", "é"])
def test_names_that_look_like_something_else_are_quoted(word: str) -> None:
    assert read(write({"name": word})).value == {"name": word}


def test_long_number_lists_are_read_like_short_ones() -> None:
    rows = "[[1.5, -2e-3, 3, 4.25],\n      [5, 6, 7, -8.125]]"
    text = f'a: {rows}\nb: {{c: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], d: x}}\ne: "{rows[:30]}"\nf: 1\n'
    document = read(text)
    assert document.value["a"].tolist() == [[1.5, -2e-3, 3, 4.25], [5, 6, 7, -8.125]]
    assert document.value["b"]["c"].tolist() == list(range(1, 11))
    assert document.value["e"] == rows[:30].replace("\n      ", " ")  # YAML folds line ends
    assert document.lines[("f",)] == text.count("\n")


def test_notations_of_numbers_that_only_yaml_knows_are_read() -> None:
    value = read("a: [+1, .5, 1_000, 0x10, 1., 2.5e+3, 7, 8, 9]\nb: .inf").value
    assert value == {"a": [1, 0.5, 1000, 16, 1.0, 2500.0, 7, 8, 9], "b": float("inf")}


def test_anchors_and_merged_mappings_are_understood() -> None:
    value = read("a: &rod {mass: 1, com: 2}\nb: {<<: *rod, mass: 3}\nc: *rod\n").value
    assert value["b"] == {"mass": 3, "com": 2}
    assert value["c"] == {"mass": 1, "com": 2}


def test_a_large_modal_body_is_read_in_reasonable_time() -> None:
    rng = np.random.default_rng(3)
    points = [
        {"at": rng.normal(size=3), "mass": 1.0, "phi": rng.normal(size=(3, 20))} for _ in range(500)
    ]
    system = System(
        name="large",
        bodies={"b": {"modal": {"K": np.eye(20), "points": points}}},
        joints={"j": {"type": "free", "child": "b"}},
    )
    text = to_yaml(system)
    start = time.perf_counter()
    assert from_yaml(text) == system
    # 30 000 numbers: 0.2 s measured; number by number it was over a second
    assert time.perf_counter() - start < 5.0


def test_problems_found_after_loading_still_name_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "arm.yaml"
    file.write_text(EVERYTHING, encoding="utf-8")
    system = load(file)
    system.joints["shoulder"].child = "bom"
    with pytest.raises(ModelError) as caught:
        system.validate_model()
    line = next(i for i, row in enumerate(EVERYTHING.splitlines(), 1) if "child: boom" in row)
    assert f"{file}:{line}: joints.shoulder.child: 'bom'" in str(caught.value)


def test_a_motion_function_cannot_be_saved(tmp_path: Path) -> None:
    hinge = Joint(type="revolute", axis="y", child="rod", motion=lambda t: (t, 1.0, 0.0))
    system = System(
        name="p", bodies={"rod": Body(mass=1, inertia=[1, 1, 1])}, joints={"hinge": hinge}
    )
    with pytest.raises(ModelError, match=r"^joints\.hinge\.motion: .*give a table"):
        save(system, tmp_path / "p.yaml")
    assert not (tmp_path / "p.yaml").exists()
