"""Models with one wild value in some place: what a hostile or careless hand may write.

``spoilt`` puts a value at a random place of a model; ``outcome`` follows it to the first evaluation
and tells whether it was refused in words or computed in finite numbers, and nothing else.
"""

from __future__ import annotations

import copy
import math
import random
import re
import warnings
from typing import Any

import numpy as np

import pliant as pl
from pliant.model_file import from_yaml
from pliant.report import ModelReport
from pliant.yaml_text import read

ARM = """\
pliant: 1
name: arm
gravity: [0, 0, -9.81]
bodies:
  upper:
    mass: 4.0
    com: [0.5, 0, 0]
    inertia: [0.1, 0.4, 0.4]
    nodes: {end: {at: [1, 0, 0], rotation: {axis: z, angle: 0.1}, contact: true}}
    wheels: {rotor: {axis: z, inertia: 0.01, speed: 10.0, node: end}}
  boom: {beam: {length: 2.0, mass_per_length: 1.5, EI: 2.0e3, radius: 0.03, modes: {count: 2},
    damping: 0.01, elements: 4}}
  bar:
    modal:
      K: [[4.0, 0.5], [0.5, 9.0]]
      D: [[0.1, 0.0], [0.0, 0.1]]
      points:
        - {at: [0, 0, 0], mass: 1, phi: [[0, 0], [0, 0], [0, 0]]}
        - {at: [1, 0, 0], mass: 2, inertia: [0.1, 0.1, 0.1], phi: [[0, 0], [0.1, 0], [0, 1]]}
joints:
  shoulder: {type: revolute, axis: y, child: upper, start: 0.3, speed: 0.1,
    spring: {stiffness: 10.0, rest: 0.1}, friction: {viscous: 0.1, coulomb: 0.2},
    stops: {lower: -1.0, upper: 1.0, stiffness: 1.0e+3, damping: 1.0}}
  elbow: {type: universal, axes: [y, z], parent: upper.end, child: boom}
  wrist: {type: general, translations: [x], rotations: [y], parent: boom.tip, child: bar,
    at: [0.1, 0, 0], friction: {viscous: [0.1, 0.1], coulomb: [1.0, 0.0], transition_speed: 0.01}}
loads:
  push: {node: boom.tip, times: [0, 1], force: [[0, 0, -5], [0, 0, 5]]}
  drive: {joint: shoulder, effort: 0.5}
  spin: {wheel: upper.rotor, torque: [0.01, 0.0], times: [0.0, 1.0], interpolation: hold}
fmu: {step: 1.0e-3, naming: flat, include: [energy]}
"""

TAPERED = """\
pliant: 1
name: tapered
gravity: [0, 0, -9.81]
bodies:
  mast:
    beam:
      length: 10.0
      E: 2.0e+11
      G: 8.0e+10
      rho: 7800.0
      A: 1.0e-3
      Iy: 1.0e-6
      Iz: 2.0e-6
      J: 1.0e-6
      shear_factor: 0.5
      polar_radius: 0.04
      shapes: cantilever
      modes: {bending: 1, torsion: 1, static: [force_z]}
      elements: 5
      stations: [{at: 0.0, A: 2.0e-3}, {at: 10.0, A: 1.0e-3}]
      lumps: [{at: 5.0, mass: 3.0, inertia: [0.1, 0.1, 0.1], offset: [0, 0.1, 0]}]
  pod: {mass: 100.0, inertia: [10.0, 10.0, 10.0, 0.1, 0.0, 0.0], nodes: {a: {at: [0, 1, 0]}}}
joints:
  float: {type: free, child: pod, start: [0, 0, 1, 1, 0, 0, 0], speed: [0, 0, 0, 0.1, 0, 0]}
  foot: {type: revolute, axis: [0, 0, 1.0], parent: pod, child: mast,
    motion: {times: [0, 2, 3.5], position: [0.0, 1.0, 0.5], rate: [0.0, 0.1, 0.0]}}
"""

CLOSED = """\
pliant: 1
name: closed
gravity: [0, 0, -9.81]
bodies:
  crank: {mass: 1, com: [0.1, 0, 0], inertia: [0.01, 0.01, 0.01], nodes: {end: {at: [0.2, 0, 0]}}}
  rod: {mass: 1, com: [0.3, 0, 0], inertia: [0.01, 0.02, 0.02], nodes: {end: {at: [0.6, 0, 0]}}}
  piston: {mass: 0.5, inertia: [0.01, 0.01, 0.01]}
joints:
  drive: {type: revolute, axis: y, child: crank, start: 0.5}
  pin: {type: revolute, axis: y, parent: crank.end, child: rod, start: 0.1}
  slide: {type: prismatic, axis: x, child: piston, start: 0.7}
loops:
  wrist: {type: revolute, axis: y, parent: piston, child: rod.end, closed_by: [pin, slide]}
"""

MODELS = tuple(read(text).value for text in (ARM, TAPERED, CLOSED))

NUMBERS = (
    *(sign * 10.0**power for sign in (1, -1) for power in (300, 200, 150, 100, 40, 20, 12, 8, 4)),
    *(sign * 10.0**-power for sign in (1, -1) for power in (4, 8, 12, 20, 40, 100, 150, 200, 300)),
    *(5e-324, -5e-324, 2.3e-308, 1.7976931348623157e308, 0.0, -0.0, 1.0, -1.0, 0.5, 2, 3, 7),
    *(math.nan, math.inf, -math.inf, 10**400, -(10**400), 2**63, 2**64, 1_000_000, -1),
)
OTHERS: tuple[Any, ...] = (
    *("", "x", "ground", "input", "\x1b[31m", "[bold]", "a" * 300, "upper.end", "no.where"),
    *(None, True, False, [], {}, [[]], [1], [1, 2, 3], [None], [[1, 2], [3]], {"a": 1}, {1: 2}),
    *([10**400, 0, 0], [1e300, 0, 0], [1e-300, 0, 0], [math.nan, 0, 0], [1, "a", None], [[[]]]),
)


def _places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [place] if place else []
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (dict, list)):
        return found
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        found += _places(item, (*place, key))
    return found


def _at(model: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        model = model[key]
    return model


def listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: listed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [listed(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def spoilt(rng: random.Random) -> tuple[dict[str, Any], str]:
    """A model with a wild value or two, and what was done to it."""
    model = copy.deepcopy(listed(rng.choice(MODELS)))
    done = []
    for _ in range(rng.choice((1, 1, 1, 2))):
        places = [place for place in _places(model) if place != ("pliant",)]
        if rng.random() < 0.8:  # more holders than numbers would be struck otherwise
            places = [p for p in places if isinstance(_at(model, p), (int, float))]
        place = rng.choice(places)
        holder = model
        for key in place[:-1]:
            holder = holder[key]
        wild = rng.choice(NUMBERS) if rng.random() < 0.8 else copy.deepcopy(rng.choice(OTHERS))
        now = holder[place[-1]]
        if isinstance(now, (int, float)) and abs(now) < 1e300 and rng.random() < 0.6:
            wild = (now or 1.0) * 10.0 ** rng.uniform(-20, 20)
        holder[place[-1]] = wild
        done.append(f"{model['name']}: {'.'.join(map(str, place))} = {wild!r:.60}")
    return model, "; ".join(done)


def outcome(model: dict[str, Any]) -> str:
    """ "refused: ..." or "computed"; an AssertionError for anything else that is not an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", pl.PliantWarning)
        try:
            system = from_yaml(flow(model))
            simulation = pl.Simulation(system, 1e-3)
            simulation.evaluate()
            accelerations = np.array(simulation.kernel.udot)
            report = ModelReport(system, None)
            told = [*report.summary(), *report.warnings()]
        except pl.PliantError as error:
            text = str(error)
            assert text.strip(), "an error without words"
            assert len(text) < 20_000, "an error of too many words"
            assert all(line.isprintable() for line in text.splitlines()), text
            return f"refused: {text}"
        for name in ("q", "u"):
            values = np.asarray(getattr(simulation, name))
            assert np.isfinite(values).all(), f"{name} is not finite"
        assert np.isfinite(accelerations).all(), "an acceleration is not finite"
        assert not any("nan" in line for line in told), told
    return "computed"


def flow(value: Any) -> str:
    """Any plain value as YAML of one line, also what no model file may hold."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(k)}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str):
        return '"' + "".join(c if c.isalnum() else f"\\u{ord(c):04x}" for c in value) + '"'
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    return re.sub(r"^(-?\d+)e", r"\1.0e", str(value))
