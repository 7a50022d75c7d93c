"""What an author writes is what is solved: random mechanisms by way of System."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from oracle.random_mechanisms import cases, system_of
from pliant.mechanism import resolve

# Axes are normalised and rotations made orthogonal once more, which costs some rounding.
TOLERANCE = 16 * np.finfo(float).eps


def assert_same(found: object, expected: object, where: str) -> None:
    """Equal numbers, texts and structure, whatever the type of the sequences."""
    if dataclasses.is_dataclass(expected):
        for field in dataclasses.fields(expected):
            name = field.name
            assert_same(getattr(found, name), getattr(expected, name), f"{where}.{name}")
    elif isinstance(expected, dict):
        assert list(found) == list(expected), where
        for key in expected:
            assert_same(found[key], expected[key], f"{where}.{key}")
    elif isinstance(expected, tuple):
        assert len(found) == len(expected), where
        for i, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert_same(one, other, f"{where}[{i}]")
    elif isinstance(expected, np.ndarray | float):
        assert np.shape(found) == np.shape(expected), where
        np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE, err_msg=where)
    elif where.endswith(".motion"):
        assert (found is None) == (expected is None), where
    elif not where.endswith(".parent_node"):  # the ground has none
        assert found == expected, where


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_a_system_resolves_to_the_mechanism_it_was_written_from(seed: int) -> None:
    for mechanism, *_ in cases(20, seed):
        assert_same(resolve(system_of(mechanism)), mechanism, mechanism.name)
