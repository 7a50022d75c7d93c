"""What the guided fuzzers found to reach new places: each is refused, or bears being used."""

from __future__ import annotations

import math
import struct
import sys
from pathlib import Path

import pytest

from pliant.data_file import fnv1a
from pliant.fmu._slave import Slave

sys.path.insert(0, str(Path(__file__).parents[2] / "build_scripts"))
fuzz_guided = pytest.importorskip("fuzz_guided")


def use(slave: Slave) -> None:
    """Two steps, and all that can be read: finite, or refused."""
    time = slave.time
    for _ in range(2):
        for reference in range(len(slave.names)):
            try:
                (value,) = slave.get_real([reference])
            except ValueError:
                continue
            assert math.isfinite(value)
        try:
            if not slave.step(time, slave.internal_step):
                break
        except ValueError:
            break
        time += slave.internal_step
    slave.restore(slave.save())


def test_data_files():
    accepted = 0
    corpus = fuzz_guided.corpus("data_file")
    for data in corpus.values():
        blob = bytearray(data)
        if len(blob) >= 32:
            struct.pack_into("<8sI", blob, 0, b"pliant\0\0", 1)
            struct.pack_into("<QQ", blob, 16, len(blob), fnv1a(bytes(blob[32:])))
        try:
            slave = Slave(bytes(blob))
            slave.initialize()
        except ValueError as refused:
            assert str(refused)  # noqa: PT017
            continue
        accepted += 1
        use(slave)
    assert 0 < accepted < len(corpus)


def test_saved_states():
    accepted = 0
    slave = Slave(fuzz_guided.data_file(fuzz_guided.gadget()))
    slave.initialize()
    start = slave.save()
    corpus = fuzz_guided.corpus("state")
    for data in corpus.values():
        values = data[32:]
        head = start[:16] + struct.pack("<Q", len(values) // 8)
        state = head + struct.pack("<Q", fnv1a(head + values)) + values
        before = slave.save()
        try:
            slave.restore(state)
        except ValueError as refused:
            assert str(refused)  # noqa: PT017
            assert slave.save() == before
            continue
        accepted += 1
        use(slave)
        slave.restore(start)
        assert slave.save() == start
    assert 0 < accepted < len(corpus)
