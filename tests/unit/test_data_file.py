"""The kernel data file: what is written is what its layout says, and the kernel reads it."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import pliant as pl
from pliant._kernel import Kernel
from pliant.compile import compile_model
from pliant.data_file import fnv1a, pack, text_section


def unpack(blob: bytes) -> dict[str, np.ndarray]:
    """A reader of its own, from the layout in ``data_file.h``."""
    magic, version, count, size, checksum = struct.unpack_from("<8sIIQQ", blob)
    assert (magic, version, size) == (b"pliant\0\0", 1, len(blob))
    assert checksum == fnv1a(blob[32:])
    sections = {}
    for i in range(count):
        name, kind, zero, offset, entries = struct.unpack_from("<32sIIQQ", blob, 32 + 56 * i)
        assert zero == 0
        assert offset % 8 == 0
        values = np.frombuffer(blob, ("<i4", "<f8", "u1")[kind], entries, offset)
        sections[name.rstrip(b"\0").decode("ascii")] = values
    return sections


@pytest.fixture(scope="module")
def model():
    rod = pl.Body(mass=1.0, com=[0, 0, -0.5], inertia=[0.1, 0.1, 0.01])
    hinge = pl.Joint(type="revolute", axis="y", child="rod")
    return compile_model(pl.System(name="p", bodies={"rod": rod}, joints={"hinge": hinge}))


def test_all_three_types_are_read_back():
    sections = {
        "ints": np.array([1, -2, 2**31 - 1], np.int32),
        "reals": np.array([0.1, -1e300, 5e-324]),
        "bytes": text_section("grüße\nb"),
        "none": np.zeros(0),
        "a name of thirty-two characters.": np.array([7], np.uint8),
    }
    back = unpack(pack(sections))
    assert list(back) == list(sections)
    for name, values in sections.items():
        assert back[name].tobytes() == values.tobytes()
        assert back[name].dtype == values.dtype
    assert back["bytes"].tobytes().decode() == "grüße\nb"


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b"", 0xCBF29CE484222325), (b"a", 0xAF63DC4C8601EC8C), (b"foobar", 0x85944171F73967E8)],
)
def test_the_checksum_is_fnv1a(data, expected):
    # test vectors of Fowler, Noll and Vo, draft-eastlake-fnv, appendix C
    assert fnv1a(data) == expected


def test_sections_that_the_file_cannot_hold_are_refused():
    with pytest.raises(TypeError, match="int64"):
        pack({"x": np.array([1], np.int64)})
    with pytest.raises(ValueError, match="longer than 32"):
        pack({"x" * 33: np.zeros(1)})


def test_a_model_keeps_the_sections_of_its_data_file(model):
    back = unpack(model.blob)
    assert list(back) == list(model.sections)
    assert all(np.array_equal(back[name], model.sections[name]) for name in back)
    assert model.sections["body.mass"].tolist() == [1.0]
    with pytest.raises(ValueError, match="read-only"):
        model.sections["body.mass"][0] = 2.0


def test_the_kernel_reads_its_sections_and_leaves_those_of_others_alone(model):
    more = pack({**model.sections, "fmu.names": text_section("a\nb"), "variable.type": np.zeros(2)})
    states = [Kernel(blob).accelerations(*np.ones((3, 1))) for blob in (model.blob, more)]
    assert np.array_equal(*states)
