"""Packing a model as an FMI 2.0 co-simulation slave.

>>> import pliant as pl
>>> pl.export_fmu("arm.yaml", "arm.fmu")                               # doctest: +SKIP
"""

from __future__ import annotations

from pliant.fmu.export import FLAVOURS, export_fmu

__all__ = ["FLAVOURS", "export_fmu"]
