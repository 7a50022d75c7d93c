"""Every way in which a data file can contradict itself is refused in words, before it is used."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pliant._kernel import Kernel
from pliant.compile import compile_model
from pliant.data_file import fnv1a, pack, text_section
from pliant.fmu._slave import Slave
from pliant.model_description import TableOptions, VariableTable, table_sections

sys.path.insert(0, str(Path(__file__).parents[2] / "build_scripts"))
gadget = pytest.importorskip("fuzz_fmu").gadget

Sections = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def model():
    return compile_model(gadget())


@pytest.fixture(scope="module")
def fmu_sections(model) -> Sections:
    table = VariableTable.build(model, TableOptions(include=("joint.*.lock",)))
    return {**model.sections, **table_sections(table)}


def changed(sections: Sections, **values: object) -> Sections:
    """With elements of sections changed, added or cut off.

    ``name=(place, value)``, ``name=list`` for all of it, ``name=None`` to leave it out; a double
    underscore stands for the point in a name.
    """
    result = dict(sections)
    for key, value in values.items():
        name = key.replace("__", ".")
        if value is None:
            del result[name]
        elif isinstance(value, tuple):
            result[name] = result[name].copy()
            result[name][value[0]] = value[1]
        elif isinstance(value, str):
            result[name] = text_section(value)
        else:
            result[name] = np.array(value, result[name].dtype)
    return result


INCONSISTENT = "body 1 is inconsistent"
LOOP = "loop 0 is inconsistent"
INTEGRALS = "body 1: bad modal integrals"

CONTRADICTIONS: list[tuple[str, dict[str, object]]] = [
    ("no bodies, or too many", {"body__parent": []}),
    ("'body.modes' is missing", {"body__modes": None}),
    ("'body.modes' holds 3 values, 9 expected", {"body__modes": [0, 0, 0]}),
    ("'body.mass' holds a value that is not finite", {"body__mass": (0, np.inf)}),
    ("'gravity' holds a value that is not finite", {"gravity": (2, np.nan)}),
    ("'body.mass' holds a value that is beyond mechanics", {"body__mass": (0, 1e71)}),
    ("'joint.position' holds a value that is beyond", {"joint__position": (0, -1e300)}),
    ("'dof.axis' holds a direction of length 1.1", {"dof__axis": (slice(18, 21), [0, 1.1, 0])}),
    ("'dof.axis' holds a value that is beyond mechanics", {"dof__axis": (18, -2.1)}),
    ("'joint.rotation' holds a matrix that is no rotation", {"joint__rotation": (4, 1.00001)}),
    ("'node.rotation' holds a matrix that is no rotation",
     {"node__rotation": (slice(0, 9), np.diag([1, 1, -1]).ravel())}),
    ("'loop.rotation' holds a matrix that is no rotation", {"loop__rotation": (slice(0, 9), 0.0)}),
    *((INCONSISTENT, {f"body__{name}": (1, value)}) for name, value in [
        ("parent", -2), ("parent", 1), ("translations", -1), ("translations", 4),
        ("rotations", -1), ("rotations", 4), ("quaternion", 2), ("quaternion", -1),
        ("quaternion", 1), ("modes", -1), ("modes", 1001), ("modes", 0), ("pairs", -1),
        ("pairs", 100001), ("mass_pairs", -1), ("mass_pairs", 5), ("slots", -1),
        ("slots", 20000001), ("gyroscopics", -1), ("gyroscopics", 20000001), ("turnings", -1),
        ("turnings", 2000001), ("points", -1), ("points", 100001), ("wheels", -1), ("wheels", 65),
    ]),
    ("'dof.axis' holds 45 values, 48 expected", {"body__rotations": (1, 2)}),
    ("'start.q' holds 3 values, 20 expected", {"start__q": [0, 0, 0]}),
    ("node 3 is on no body", {"node__body": (3, 9)}),
    ("node 3 is on no body", {"node__body": (3, -1)}),
    ("'node.phi' holds 42 values", {"node__body": (0, 1)}),
    ("body 2 hangs on a node that is not its parent's", {"body__parent_node": (2, 17)}),
    ("body 2 hangs on a node that is not its parent's", {"body__parent_node": (2, -1)}),
    ("body 2 hangs on a node that is not its parent's", {"body__parent_node": (2, 8)}),
    ("body 1: Coulomb friction needs a transition speed", {"dof__passive": (slice(54, 63), 0.0)}),
    ("body 1: its joint is moved by an unknown motion", {"dof__drive": (6, 1)}),
    ("body 1: its joint is moved by an unknown motion", {"dof__drive": (6, -3)}),
    ("body 0: its joint is moved by an unknown motion", {"dof__drive": (3, -1)}),
    (INTEGRALS, {"slot__field": (0, -1)}),
    (INTEGRALS, {"slot__field": (0, 7)}),
    (INTEGRALS, {"slot__component": (0, 9)}),
    (INTEGRALS, {"slot__component": (0, -1)}),
    (INTEGRALS, {"slot__component": (0, 8)}),
    (INTEGRALS, {"slot__entries": (0, -1)}),
    (INTEGRALS, {"slot__entries": (0, 59)}),
    (INTEGRALS, {"entry__field": (0, 7)}),
    (INTEGRALS, {"entry__field": (0, -1)}),
    (INTEGRALS, {"gyroscopic__fields": (0, 7)}),
    (INTEGRALS, {"gyroscopic__fields": (1, -1)}),
    (INTEGRALS, {"body__turnings": (1, 1), "turning__fields": [0, 3], "turning__value": [1, 1, 1]}),
    ("body 1: bad second-order pair", {"pair__modes": (0, 3)}),
    ("body 1: bad second-order pair", {"pair__modes": (2, 3)}),
    ("body 0: bad wheel", {"wheel__node": (0, -1)}),
    ("body 0: bad wheel", {"wheel__node": (0, 17)}),
    ("body 0: bad wheel", {"wheel__node": (0, 5)}),
    ("body 0: bad wheel", {"wheel__inertia": (0, 0.0)}),
    (LOOP, {"loop__node_a": (0, -2)}),
    (LOOP, {"loop__node_a": (0, 17)}),
    (LOOP, {"loop__node_b": (0, -1)}),
    (LOOP, {"loop__node_b": (0, 17)}),
    (LOOP, {"loop__rows": (0, -1)}),
    (LOOP, {"loop__rows": (0, 6)}),
    (LOOP, {"loop__freedoms": (0, -1)}),
    (LOOP, {"loop__freedoms": (0, 2)}),
    (LOOP, {"loop__translations": (0, 2)}),
    (LOOP, {"loop__translations": (0, -1)}),
    ("loop 0: a held direction is inconsistent", {"row__kind": (0, 4)}),
    ("loop 0: a held direction is inconsistent", {"row__motion": (0, 1)}),
    *(("loop 0: its free directions are those of no joint", {"freedom__kind": (0, kind)})
      for kind in (4, -1, 0, 2, 3)),
    ("loop 0: a free direction is inconsistent", {"freedom__passive": (slice(3, 5), [1.0, 0.0])}),
    ("body 3 has less than no mass", {"body__mass": (3, -3.0)}),
    ("body 3 has less than no mass", {"body__inertia": (27, -3.0)}),
    ("times of a motion table do not increase", {"motion__values": (0, -1e70)}),
    ("bad motion table", {"motion__rows": (0, 1)}),
    ("bad motion table", {"motion__rows": (0, 4)}),
    ("times of a motion table do not increase", {"motion__values": (7, 0.0)}),
]  # fmt: skip


def load(input: int, rows: int, *values: float) -> dict[str, object]:
    return {
        "load__input": [input],
        "load__hold": [0],
        "load__rows": [rows],
        "load__values": list(values),
    }


CONTRADICTIONS += [
    ("bad load table", load(-1, 1, 0.0, 1.0)),
    ("bad load table", load(1000, 1, 0.0, 1.0)),
    ("bad load table", load(0, 0, 0.0, 1.0)),
    ("bad load table", load(0, 2, 0.0, 1.0)),
    ("times of a load table decrease", load(0, 2, 1.0, 1.0, 0.0, 1.0)),
]


def friction(sections: Sections, changes: dict[str, object]) -> Sections:
    """The first freedom of body 1 with Coulomb friction, and no speed at which it sets in."""
    result = changed(sections, **changes)
    if "dof__passive" in changes:
        result["dof.passive"][6 * 9 + 3] = 1.0
    return result


@pytest.mark.parametrize(("message", "changes"), CONTRADICTIONS)
def test_a_model_that_contradicts_itself_is_refused(model, message, changes):
    with pytest.raises(ValueError, match=message):
        Kernel(pack(friction(model.sections, changes)))


def test_what_contradicts_nothing_is_accepted(model):
    for changes in (
        load(0, 2, 0.0, 1.0, 1.0, 2.0),
        load(20, 1, 0.0, 1.0),
        {"loop__node_a": (0, -1)},
    ):
        Kernel(pack(changed(model.sections, **changes)))


def test_a_loop_holds_six_directions_at_most(model):
    # 255 of them, consistently: there is room for six in the columns of a loop
    rows = model.sections
    more = changed(
        rows,
        loop__rows=[255],
        row__kind=np.resize(rows["row.kind"], 255),
        row__motion=np.resize(rows["row.motion"], 255),
        row__direction=np.resize(rows["row.direction"], 3 * 255),
    )
    with pytest.raises(ValueError, match=LOOP):
        Kernel(pack(more))


def test_sizes_that_no_machine_has_are_refused_before_anything_is_allocated(model):
    # each with a matrix of 8 MB
    sections = {
        name: np.resize(values, len(values) // 9 * 300) if name.startswith("body.") else values
        for name, values in model.sections.items()
    }
    sections["body.parent"][:] = -1
    sections["body.modes"][:] = 1000
    with pytest.raises(ValueError, match="MB is the most"):
        Kernel(pack(sections))


def move(blob: bytearray, row: int, onto: int) -> None:
    """Lays a section onto the bytes of another: a parameter in one would change the other."""
    (place,) = struct.unpack_from("<Q", blob, 32 + 56 * onto + 40)
    struct.pack_into("<Q", blob, 32 + 56 * row + 40, place)


HEADER: list[tuple[str, Callable[[bytearray], object]]] = [
    ("not a pliant kernel data file", lambda b: b.__setitem__(0, 0)),
    ("not a pliant kernel data file", lambda b: b.__delitem__(slice(20, None))),
    ("of format 2", lambda b: b.__setitem__(8, 2)),
    ("truncated or appended to", lambda b: b.__delitem__(slice(-8, None))),
    ("checksum does not match", lambda b: b.__setitem__(100, b[100] ^ 1)),
    ("bad section table", lambda b: struct.pack_into("<I", b, 12, 2**32 - 1)),
    ("bad section table", lambda b: struct.pack_into("<I", b, 12, 257)),
    ("does not begin where the table ends", lambda b: struct.pack_into("<I", b, 12, 3)),
    ("does not begin where the one before it ends", lambda b: move(b, 1, 0)),
    ("does not begin where the one before it ends", lambda b: move(b, 40, 3)),
    ("section 'body.parent' is there twice", lambda b: b.__setitem__(slice(88, 120), b[32:64])),
    ("lies outside the file", lambda b: struct.pack_into("<I", b, 32 + 32, 3)),
    ("lies outside the file", lambda b: struct.pack_into("<Q", b, 32 + 40, 2**60)),
    ("lies outside the file", lambda b: struct.pack_into("<Q", b, 32 + 40, 4001)),
    ("lies outside the file", lambda b: struct.pack_into("<Q", b, 32 + 48, 2**61)),
]


@pytest.mark.parametrize(("message", "change"), HEADER)
def test_a_table_of_sections_that_makes_no_sense_is_refused(model, message, change):
    blob = bytearray(model.blob)
    change(blob)
    if "checksum" not in message and len(blob) > 32:
        struct.pack_into("<Q", blob, 24, fnv1a(bytes(blob[32:])))
    with pytest.raises(ValueError, match=message):
        Kernel(bytes(blob))


def place_of(sections: Sections, role: int) -> int:
    return int(np.flatnonzero(sections["variable.role"] == role)[0])


TABLE: list[tuple[str, dict[str, object]]] = [
    ("'fmu.guid' is missing", {"fmu__guid": None}),
    ("'fmu.names' has more lines than the 1 that belong there", {"variable__type": [0]}),
    ("'names.body' has more lines", {"names__body": "\n" * 1000}),
    ("'names.speed' has more lines", {"names__speed": "\n" * 1000}),
    ("'fmu.sections' has more lines than the 256", {"fmu__sections": "\n" * 1000}),
    ("'limit.cause' has more lines than the 3", {"limit__cause": "\n" * 4}),
    ("names for", {"fmu__names": "one"}),
    ("of no known kind", {"variable__tunable": ("parameter", 1)}),
    ("of no known kind", {"variable__role": (0, 7)}),
    ("of no known kind", {"variable__role": (0, -1)}),
    ("of no known kind", {"variable__type": (0, 1)}),
    ("stands for nothing", {"variable__index": ("input", 100000)}),
    ("stands for nothing", {"variable__index": ("input", -1)}),
    ("stands for nothing", {"variable__index": ("parameter", 100000)}),
    ("stands for nothing", {"variable__index": ("constant", 100000)}),
    ("of no known kind", {"variable__index": ("setting", 3)}),
    ("stands for nothing", {"variable__index": ("signal", 100000)}),
    ("stands for nothing", {"variable__quantity": ("signal", 99)}),
    ("stands for nothing", {"variable__index": ("lock", 100)}),
    ("stands for nothing", {"variable__index": ("motion", 3)}),
    ("starts outside its limits", {"parameter__min": (0, 1e59)}),
    ("starts outside its limits", {"parameter__max": (0, -1e59)}),
    ("bad parameter terms", {"parameter__terms": (0, -1)}),
    ("bad parameter terms", {"parameter__terms": (0, 100000)}),
    ("points outside the data", {"term__section": (0, 1000)}),
    ("points outside the data", {"term__section": (0, -1)}),
    ("points outside the data", {"term__index": (0, -1)}),
    ("points outside the data", {"term__index": (0, 100000)}),
    ("points outside the data", {"fmu__sections": "\n".join(["body.parent"] * 99)}),
    ("points outside the data", {"fmu__sections": "\n".join(["nothing"] * 99)}),
    ("bad parameter check", {"check__kind": (0, 2)}),
    ("bad parameter check", {"check__kind": (0, -1)}),
    ("bad parameter check", {"check__parameter": (0, -1)}),
    ("bad parameter check", {"check__parameter": (0, 100000)}),
    ("bad start of a motion", {"motion__start": (1, 1e9)}),
    ("bad settings", {"setting__default": (0, 0.0)}),
    ("bad settings", {"setting__default": (0, 1e7)}),
    ("bad settings", {"setting__default": (1, 3.0)}),
    ("bad settings", {"setting__default": (1, 0.5)}),
    ("bad settings", {"setting__default": (2, -1.0)}),
    ("bad settings", {"setting__default": (3, 2.0)}),
    ("bad step limits", {"limit__cause": "only one"}),
    ("belongs to another model", {"names__body": "one"}),
    ("belongs to another model", {"motion__start": [0.0] * 6}),
]

ROLES = ["signal", "input", "parameter", "setting", "constant", "lock", "motion"]


@pytest.mark.parametrize(("message", "changes"), TABLE)
def test_a_variable_table_that_contradicts_itself_is_refused(fmu_sections, message, changes):
    placed = {
        key: (place_of(fmu_sections, ROLES.index(value[0])), value[1])
        if isinstance(value, tuple) and isinstance(value[0], str)
        else value
        for key, value in changes.items()
    }
    with pytest.raises(ValueError, match=message):
        Slave(pack(changed(fmu_sections, **placed)))
