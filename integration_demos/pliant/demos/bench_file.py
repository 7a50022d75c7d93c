"""The file of benchmark results: one entry for each section, and where and when it was measured.

``make bench`` writes all of it, ``pliant bench`` one section.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeAlias

Results: TypeAlias = dict[str, Any]


def read(path: Path) -> Results:
    return dict(json.loads(path.read_text())) if path.exists() else {}


def write(path: Path, results: Results) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n")


def merge(
    old: Results, name: str, figures: Results, run: dict[str, Any], order: Sequence[str]
) -> Results:
    """The old results with the figures of one section in place of its own.

    Sections stand in the given order whatever was measured first, unknown ones at the end;
    ``runs`` says of each when and where it was measured.

    >>> merge({"runs": {"b": {}}, "b": {"x": 2}}, "a", {"x": 1}, {}, ["a", "b"])
    {'runs': {'a': {}, 'b': {}}, 'a': {'x': 1}, 'b': {'x': 2}}
    """
    runs = {**old.get("runs", {}), name: run}
    sections = {**old, name: figures}
    names = sorted(runs, key=lambda each: order.index(each) if each in order else len(order))
    return {"runs": {each: runs[each] for each in names}} | {each: sections[each] for each in names}


def this_run(instruction_set: str, versions: dict[str, str]) -> dict[str, Any]:
    return {
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "cpu": cpu_name(),
        "instruction_set": instruction_set,
        "system": platform.platform(),
        "python": platform.python_version(),
        **versions,
    }


def cpu_name() -> str:
    """The processor's name, with family and model where the name says little."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    known = {
        key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)
    }
    parts = [known.get("model name", platform.processor())]
    parts += [f"{key} {known[key]}" for key in ("cpu family", "model") if key in known]
    return ", ".join(parts)
