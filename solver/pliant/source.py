"""Where in a file an element was written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pliant.errors import Problem
from pliant.part import Finding, Location, path


@dataclass(frozen=True)
class Source:
    """A model file and the line of every key and list item in it.

    >>> source = Source("arm.yaml", {("joints",): 3, ("joints", "elbow"): 4})
    >>> source.where(("joints", "elbow", "axis"))
    'arm.yaml:4: joints.elbow.axis'
    """

    file: str
    lines: Mapping[Location, int] = field(default_factory=dict)

    def line(self, location: Location) -> int:
        """The line of an element, or of the nearest one that contains it."""
        for length in range(len(location), 0, -1):
            if location[:length] in self.lines:
                return self.lines[location[:length]]
        return 1

    def where(self, location: Location) -> str:
        place = f"{self.file}:{self.line(location)}"
        return f"{place}: {path(location)}" if location else place


def location_of(text: str) -> Location:
    """The inverse of ``path``.

    >>> location_of("bodies.boom.beam.stations[2].EI")
    ('bodies', 'boom', 'beam', 'stations', 2, 'EI')
    """
    parts = re.findall(r"\[(\d+)\]|([^.\[\]]+)", text)
    return tuple(int(index) if index else word for index, word in parts)


def problems_of(findings: Iterable[Finding], source: Source | None) -> list[Problem]:
    """Findings with their places; those of a file in the order of its lines."""
    if source is None:
        return [Problem(path(location) or "system", message) for location, message in findings]
    ordered = sorted(findings, key=lambda finding: source.line(finding[0]))
    return [Problem(source.where(location), message) for location, message in ordered]
