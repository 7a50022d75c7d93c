"""Figures that notebooks show.

matplotlib draws a figure made without pyplot nowhere by itself; one that pyplot knows is drawn
twice in a notebook, once as the value of a cell and once as an open figure. Such a figure as this
one is drawn once, where it is a cell's value.
"""

from __future__ import annotations

import io
from typing import Any

from matplotlib.figure import Figure

from pliant.errors import PliantError
from pliant.notebook import in_notebook

_DPI = 80  # in a notebook: two columns of panels fit on a page


class Picture(Figure):
    """A matplotlib Figure that is shown as the value of a notebook's cell."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=_DPI)
        return buffer.getvalue()

    def show(self, warn: bool = True) -> None:
        """Shows the picture here and now: in a notebook also from inside a cell."""
        if not in_notebook():
            raise PliantError(
                "there is nothing here to show a picture in; save it: result.plot(path='x.png')"
            )
        from IPython.display import display

        show_here: Any = display
        show_here(self)
