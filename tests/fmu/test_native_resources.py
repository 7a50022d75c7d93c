"""Where the model comes from: resource URIs, files missing, cut or changed, GUIDs, state blobs."""

from __future__ import annotations

import shutil
import struct
from ctypes import byref, c_size_t
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

from fmu.raw_slave import ERROR, MODEL_EXCHANGE, OK, RawSlave
from pliant.data_file import fnv1a

# ---------------------------------------------------------------------------------------- location


def placed(library, folder: Path) -> Path:
    """The resources in another folder."""
    shutil.copytree(library.folder / "resources", folder, dirs_exist_ok=True)
    return folder


@pytest.mark.parametrize(
    "folder",
    [
        "plain",
        "with space",
        "Träger ünd 腕",
        "100%",
        "a#b",
        "a?b",
        "a+b&c;d",
        "[x]",
        "%41",
        "a%2Fb",
    ],
)
def test_any_folder_is_found_by_its_uri(rod, tmp_path, folder):
    resources = placed(rod, tmp_path / folder / "resources")
    path = quote(str(resources))
    for uri in (
        resources.as_uri(),
        f"file://{path}",  # file:///...
        f"file:{path}",  # file:/...
        f"file://localhost{path}",
        f"file://{path}/",
        str(resources),  # no URI at all, but some importers give it
    ):
        slave = RawSlave(rod, uri=uri)
        assert slave.component is not None, slave.messages
        slave.initialize()


def test_reserved_characters_that_an_importer_did_not_encode_are_taken_as_they_are(rod, tmp_path):
    for folder in ("with space", "a#b", "Träger", "[x]"):
        resources = placed(rod, tmp_path / folder)
        assert RawSlave(rod, uri=f"file://{resources}").component is not None


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        (None, "no fmuResourceLocation"),
        ("", "no fmuResourceLocation"),
        ("http://example.org/resources", "not a file URI"),
        ("https:///tmp", "not a file URI"),
        ("resources", "not a file URI"),
        ("./resources", "not a file URI"),
        ("file:resources", "not an absolute path"),
        ("file:", "not an absolute path"),
        ("file://", "not on this machine"),
        ("file://elsewhere/tmp", "not on this machine"),
        ("file:///", "cannot open"),
        ("file:///nowhere/at/all", "cannot open"),
        ("file:///tmp/%", "bad percent-encoding"),
        ("file:///tmp/%4", "bad percent-encoding"),
        ("file:///tmp/%zz", "bad percent-encoding"),
        ("file:///tmp/%00/x", "bad percent-encoding"),
        ("file:///" + "x" * 100_000, "cannot open"),
        (b"file:///tmp/\xff\xfe", "cannot open"),
    ],
)
def test_a_location_that_is_none_is_refused(rod, uri, expected):
    slave = RawSlave(rod, uri=uri)
    assert slave.component is None
    (message,) = slave.messages
    assert message.startswith("fmi2Instantiate: ")
    assert expected in message


# ------------------------------------------------------------------------------------ model file


def instantiated(library, folder: Path, data: bytes | None) -> RawSlave:
    """With other contents of the model file; None: no file."""
    folder.mkdir(exist_ok=True)
    file = folder / "model.pliant"
    file.unlink(missing_ok=True)
    if data is not None:
        file.write_bytes(data)
    return RawSlave(library, uri=folder.as_uri())


@pytest.fixture(scope="module")
def model(rod) -> bytes:
    return (rod.folder / "resources" / "model.pliant").read_bytes()


def test_a_missing_model_is_named_with_its_path(rod, tmp_path):
    slave = instantiated(rod, tmp_path / "empty", None)
    assert slave.component is None
    assert f"cannot open {tmp_path}/empty/model.pliant: No such file" in slave.messages[0]


def test_a_folder_in_place_of_the_model_is_refused(rod, tmp_path):
    (tmp_path / "model.pliant").mkdir()
    slave = RawSlave(rod, uri=tmp_path.as_uri())
    assert slave.component is None
    assert "cannot read" in slave.messages[0]


def test_a_truncated_or_longer_model_is_refused(rod, model, tmp_path):
    assert instantiated(rod, tmp_path, model).component is not None
    rng = np.random.default_rng(1)
    cuts = {0, 1, 7, 8, 31, 32, 33, len(model) - 1, *rng.integers(0, len(model), 60).tolist()}
    for data in [*(model[:cut] for cut in cuts), model + b"\0", model + model]:
        slave = instantiated(rod, tmp_path, data)
        assert slave.component is None
        assert "resources/model.pliant: " in slave.messages[0]


def test_every_bit_of_the_header_and_table_and_samples_of_the_rest_are_guarded(
    rod, model, tmp_path
):
    rng = np.random.default_rng(2)
    places = [*range(32), *rng.integers(32, len(model), 150).tolist()]
    for place in places:
        for bit in range(8) if place < 32 else rng.integers(0, 8, 2).tolist():
            data = bytearray(model)
            data[place] ^= 1 << bit
            slave = instantiated(rod, tmp_path, bytes(data))
            assert slave.component is None, f"byte {place}, bit {bit}"
            assert "resources/model.pliant: " in slave.messages[0]


def test_a_model_that_says_it_has_fewer_or_more_sections_is_refused(rod, model, tmp_path):
    (count,) = struct.unpack_from("<I", model, 12)
    for wrong in (0, 1, count - 2, count - 1, count + 1, count + 2, 2**32 - 1):
        data = bytearray(model)
        struct.pack_into("<I", data, 12, wrong)
        assert instantiated(rod, tmp_path, bytes(data)).component is None


def test_a_foreign_file_is_refused(rod, tmp_path):
    for data in (b"PK\x03\x04" + bytes(1000), b"\x7fELF" + bytes(1000), b"pliant\0\0", b"{}"):
        slave = instantiated(rod, tmp_path, data)
        assert slave.component is None


# ------------------------------------------------------------------------------- GUID, name, type


def test_a_model_of_another_guid_is_refused(rod, arm):
    for guid in (arm.guid, "", rod.guid[:-1], rod.guid + " ", rod.guid.upper()):
        slave = RawSlave(rod, guid=guid)
        assert slave.component is None
        assert "description and data are of different exports" in slave.messages[0]
    assert RawSlave(rod, guid=None).component is None
    # the right description over the other's resources
    assert RawSlave(rod, uri=arm.uri).component is None


@pytest.mark.parametrize("name", [None, ""])
def test_an_instance_without_a_name_is_refused(rod, name):
    slave = RawSlave(rod, name=name)
    assert slave.component is None
    assert "needs a name" in slave.messages[0]


@pytest.mark.parametrize("kind", [MODEL_EXCHANGE, 2, -1, 2**31 - 1])
def test_anything_but_co_simulation_is_refused(rod, kind):
    slave = RawSlave(rod, kind=kind)
    assert slave.component is None
    assert "co-simulation only" in slave.messages[0]


# ------------------------------------------------------------------------------------ state blobs


def test_a_cut_flipped_or_foreign_state_is_refused(rod, arm):
    slave = RawSlave(rod)
    slave.initialize()
    assert slave.do_step(0.0, 0.1) == OK
    blob = slave.state()
    other = RawSlave(arm)
    other.initialize()
    rng = np.random.default_rng(3)
    wrong = [blob[:cut] for cut in (0, 1, 8, 31, 32, 33, 40, len(blob) - 8, len(blob) - 1)]
    wrong += [blob + b"\0", blob + bytes(8), bytes(len(blob)), other.state()]
    for place in range(len(blob)):
        flipped = bytearray(blob)
        flipped[place] ^= 1 << int(rng.integers(0, 8))
        wrong.append(bytes(flipped))
    for data in wrong:
        slave.messages.clear()
        status, state = slave.deserialize(data)
        assert status == ERROR
        assert state.value is None
        (message,) = slave.messages
        assert message.startswith("fmi2DeSerializeFMUstate: this ")
    assert slave.state() == blob


def test_a_state_of_another_model_cannot_be_restored_or_written(rod, arm):
    slave, other = RawSlave(rod), RawSlave(arm)
    slave.initialize()
    foreign, before = other.save(), slave.state()
    assert slave.restore(foreign) == ERROR
    assert "belongs to another model" in slave.messages[-1]
    assert slave.call("fmi2SerializedFMUstateSize", foreign, byref(c_size_t())) == ERROR
    assert slave.call("fmi2SerializeFMUstate", foreign, bytes(10**5), 10**5) == ERROR
    assert slave.state() == before
    other.free_state(foreign)


def forged(blob: bytes, position: int, value: float) -> bytes:
    """A state with one number changed and the checksum made good again."""
    data = bytearray(blob)
    struct.pack_into("<d", data, 32 + 8 * position, value)
    struct.pack_into("<Q", data, 24, fnv1a(bytes(data[:24] + data[32:])))
    return bytes(data)


def test_a_forged_state_is_refused_or_harmless(rod):
    slave = RawSlave(rod)
    slave.initialize()
    assert slave.do_step(0.0, 0.1) == OK
    blob = slave.state()
    assert slave.deserialize(forged(blob, 0, 4.0))[0] == OK  # the forger is good: nothing changed
    for phase in (0.0, 3.0, 32.0, 1.5, -4.0, 1e300, np.nan):
        assert slave.deserialize(forged(blob, 0, phase))[0] == ERROR
    for position in range((len(blob) - 32) // 8):
        for value in (np.nan, np.inf, -1.0, 0.5, 1e9, 1e300, -1e300, 5e-324):
            status, state = slave.deserialize(forged(blob, position, value))
            if status == OK:
                if slave.restore(state) == OK:
                    slave.do_step(0.1, 1e-3)
                slave.free_state(state)
                _, good = slave.deserialize(blob)
                assert slave.restore(good) == OK
                slave.free_state(good)
    assert slave.state() == blob
