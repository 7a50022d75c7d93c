"""The example arm and a pendulum as FMUs, once for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

import pliant as pl
from cases.fmu_models import pendulum
from fmu.raw_slave import Library
from pliant.demos.station_arm import MODEL_FILE


@pytest.fixture(scope="session")
def arm_system() -> pl.System:
    return pl.load(MODEL_FILE)


@pytest.fixture(scope="session")
def arm_fmu(arm_system, tmp_path_factory) -> Path:
    return pl.export_fmu(arm_system, tmp_path_factory.mktemp("arm") / "arm.fmu", step=1e-3)


@pytest.fixture(scope="session")
def arm(arm_fmu) -> Library:
    """The space-station arm: 7 joints, two flexible booms, a free base, two contact nodes."""
    return Library.unzipped(arm_fmu, arm_fmu.parent / "unzipped")


@pytest.fixture(scope="session")
def rod(tmp_path_factory) -> Library:
    """A rigid pendulum, for what needs many steps or instances."""
    folder = tmp_path_factory.mktemp("rod")
    return Library.unzipped(pl.export_fmu(pendulum(), folder / "rod.fmu"), folder / "unzipped")
