"""What notebooks show: tables, pictures, progress."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import pliant as pl

EVIL = "<script>alert('x')</script> & <b>"
BODY = {"mass": 2.0, "inertia": [1.0, 1.0, 1.0]}


def system(name: str = "arm", body: str = "hand") -> pl.System:
    return pl.System(
        name=name,
        gravity=[0, 0, -9.81],
        bodies={
            body: {**BODY, "com": [0.5, 0, 0]},
            "boom": {"beam": {"length": 2.0, "mass_per_length": 1.0, "EI": 4e3, "radius": 0.05}},
        },
        joints={
            "hinge": {"type": "revolute", "axis": "y", "child": body},
            "weld": {"type": "fixed", "parent": body, "child": "boom"},
        },
    )


SHOWN = {
    "system": lambda given: given,
    "part": lambda given: given.bodies["boom"],
    "simulation": pl.Simulation,
    "result": lambda given: pl.simulate(given, 0.01),
    "body modes": pl.body_modes,
    "assembled modes": pl.assembled_modes,
    "equilibrium": pl.equilibrium,
    "settings": lambda given: pl.Fmu(include=["joint.*.q"]),
}


class Tags(HTMLParser):
    """Checks that every tag is closed and collects the kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("what", SHOWN)
def test_what_is_shown_is_a_table_in_html_and_a_short_line_of_text(what):
    thing = SHOWN[what](system())
    tags = Tags()
    tags.feed(thing._repr_html_())
    assert tags.open == []
    assert "table" in tags.seen
    assert len(repr(thing)) < 250


@pytest.mark.parametrize("what", SHOWN)
def test_names_of_others_are_text_and_no_html(what):
    html = SHOWN[what](system(EVIL, "<b>hand</b>"))._repr_html_()
    assert "<script" not in html
    assert "<b>hand" not in html


def test_tables_hold_the_numbers_of_the_result():
    result = pl.simulate(system(), 0.5)
    html = result._repr_html_()
    assert f">{result['joint.hinge.q'].max():.5g}<" in html
    assert "joint.hinge.q" in html
    assert ">rad<" in html
    assert pl.Result("empty", np.zeros(0), np.zeros((0, 0)), (), {})._repr_html_()


def test_a_system_is_shown_before_it_is_right():
    joints = {"j": {"type": "fixed", "child": "ground", "parent": "nobody.tip"}}
    assert "1 body, 1 joint" in pl.System(name="s", bodies={"a": BODY}, joints=joints)._repr_html_()
    assert repr(pl.System(name="s")) == "System('s': empty)"


def test_a_position_at_rest_names_its_numbers_and_stays_an_array():
    q = pl.equilibrium(system())
    assert q.coordinates[0] == ("joint.hinge.q", "rad")
    assert repr(q).startswith("array(")
    assert (2.0 * q)._repr_html_() is None
    assert q[:1]._repr_html_() is None
    pl.Simulation(system()).set_state(q=q)


def test_a_picture_is_drawn_as_png_and_is_unknown_to_pyplot():
    figure = pl.simulate(system(), 0.05).plot()
    assert figure._repr_png_().startswith(b"\x89PNG")
    if "matplotlib.pyplot" in sys.modules:
        assert not sys.modules["matplotlib.pyplot"].get_fignums()
    with pytest.raises(pl.PliantError, match=r"save it: result\.plot\(path='x\.png'\)"):
        figure.show()


def test_files_that_no_picture_can_be_written_to_are_refused_with_a_remedy(tmp_path):
    result = pl.simulate(system(), 0.05)
    with pytest.raises(pl.ModelError, match=r"end its name in \.png, .* \(known: .*tif"):
        result.plot(path=tmp_path / "arm.xyz")
    with pytest.raises(pl.ModelError, match=r"there is no folder .*missing; make it first"):
        result.plot(path=tmp_path / "missing" / "arm.png")
    with pytest.raises(pl.ModelError, match=r"chooses channels; write plot\(path='arm\.png'\)"):
        result.plot("arm.png")
    for ending in ("png", "pdf", "svg", "jpg"):
        result.plot("joint", path=tmp_path / f"arm.{ending}")
        assert (tmp_path / f"arm.{ending}").stat().st_size > 1000


def test_a_notebook_shows_each_picture_once_and_progress_without_more_packages(tmp_path):
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    import nbformat

    (tmp_path / "arm.yaml").write_text(system().to_yaml())
    cells = [
        "import sys; sys.modules['ipywidgets'] = None  # as if it were not installed\n"
        "import pliant as pl\n"
        "result = pl.simulate('arm.yaml', 0.1, progress=True)",
        "result.plot()",
        "result",
        "%matplotlib inline\nimport matplotlib.pyplot\nresult.plot()",
        "figure = result.plot()",
        "result.plot().show()",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    client = nbclient.NotebookClient(
        book, timeout=120, resources={"metadata": {"path": str(tmp_path)}}
    )
    try:
        client.execute()
    except Exception as error:
        if "NoSuchKernel" in type(error).__name__:
            pytest.skip("no kernel is installed for notebooks")
        raise
    outputs = [[out.get("data", {}) for out in cell.outputs] for cell in book.cells]
    (progress,) = outputs[0]
    assert re.search(r"100 %  t = 0\.100 s", progress["text/plain"])
    pictures = [sum("image/png" in data for data in cell) for cell in outputs]
    assert pictures == [0, 1, 0, 1, 0, 1]
    assert "text/html" in outputs[2][0]
