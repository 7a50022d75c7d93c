"""Reference curves that nobody computed with pliant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "data" / "reference"


def reference(name: str) -> dict[str, Any]:
    """The content of ``tests/data/reference/<name>.json``.

    >>> sorted(reference("spin_up_ancf"))
    ['t', 'u', 'v', 'what']
    """
    return json.loads((FOLDER / f"{name}.json").read_text())
