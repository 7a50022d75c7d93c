"""pl.export_fmu: what it writes, how fast, and what it says to wrong requests."""

from __future__ import annotations

import re
import time
import zipfile

import pytest

import pliant as pl
from cases.fmu_models import craft, pendulum
from pliant.demos.station_arm import MODEL_FILE
from pliant.fmu.inspect import FmuFile

LAW = "from pliant.fmu.python_slave import PliantSlave\nclass Law(PliantSlave):\n    pass\n"


def names(path) -> set[str]:
    with zipfile.ZipFile(path) as archive:
        return set(archive.namelist())


# ------------------------------------------------------------------------------- what is written


def test_a_native_fmu_is_description_library_and_data(tmp_path):
    path = pl.export_fmu(pendulum(), tmp_path / "p.fmu")
    held = names(path)
    assert {"modelDescription.xml", "resources/model.pliant"} <= held
    libraries = held - {"modelDescription.xml", "resources/model.pliant"}
    assert libraries
    assert all(re.fullmatch(r"binaries/\w+/pendulum\.(so|dll|dylib)", name) for name in libraries)


def test_a_python_fmu_has_the_law_in_a_module_of_its_own(tmp_path):
    law = tmp_path / "law.py"
    modules = []
    for text in (LAW, LAW.replace("pass", "x = 1")):
        law.write_text(text)
        path = pl.export_fmu(pendulum(), tmp_path / "p.fmu", flavour="python", slave=law)
        with zipfile.ZipFile(path) as archive:
            module = archive.read("resources/slavemodule.txt").decode()
            assert archive.read(f"resources/{module}.py").decode() == text
        modules.append(module)
    assert modules[0] != modules[1]


def test_the_same_model_is_the_same_file(tmp_path):
    one, other = (pl.export_fmu(MODEL_FILE, tmp_path / f"{i}.fmu") for i in range(2))
    assert one.read_bytes() == other.read_bytes()


def test_without_a_path_it_is_named_after_the_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert pl.export_fmu(craft()).name == "Trager_7_test.fmu"
    assert (tmp_path / "Trager_7_test.fmu").is_file()


def test_systems_files_and_compiled_models_give_the_same(tmp_path):
    system = pl.load(MODEL_FILE)
    contents = [
        pl.export_fmu(given, tmp_path / "x.fmu").read_bytes()
        for given in (MODEL_FILE, str(MODEL_FILE), system)
    ]
    assert contents[0] == contents[1] == contents[2]


def test_settings_take_precedence_over_the_section_of_the_model(tmp_path):
    system = pendulum()
    system.fmu = pl.Fmu(step=2e-3, naming="flat", exclude=["energy"])
    fmu = FmuFile(pl.export_fmu(system, tmp_path / "x.fmu", step=5e-4))
    starts = {v.name: v.start for v in fmu.variables("parameter")}
    assert float(starts["solver_h"]) == 5e-4
    assert not [v.name for v in fmu.variables("output") if v.name.startswith("energy")]


def test_a_law_can_always_know_the_internal_step(tmp_path):
    law = tmp_path / "law.py"
    law.write_text(LAW)
    path = pl.export_fmu(
        *(pendulum(), tmp_path / "p.fmu"),
        flavour="python",
        slave=law,
        defaults=False,
        include=["joint.hinge.tau"],
    )
    assert [v.name for v in FmuFile(path).variables("parameter")] == ["solver.h"]


def test_exporting_the_arm_takes_well_under_a_second(tmp_path):
    """CPU time in a process that has imported everything: nothing is compiled."""
    pl.export_fmu(MODEL_FILE, tmp_path / "warm.fmu")
    started = time.process_time()
    pl.export_fmu(MODEL_FILE, tmp_path / "arm.fmu")
    assert time.process_time() - started < 1.0  # measured 0.15


# ----------------------------------------------------------------------------------- what is wrong


def problems(*args, **kwargs) -> list[str]:
    with pytest.raises(pl.ModelError) as caught:
        pl.export_fmu(*args, **kwargs)
    return str(caught.value).splitlines()


def test_an_unknown_flavour_is_answered_with_the_known_ones():
    (text,) = problems(pendulum(), flavour="nativ")
    assert text == "flavour: 'nativ' is unknown; did you mean 'native'? known: native, python"


def test_all_unknown_settings_are_named():
    texts = problems(pendulum(), stp=1e-3, includes=["x"])
    assert [text.partition(";")[0] for text in texts] == [
        "stp: unknown setting",
        "includes: unknown setting",
    ]
    assert "did you mean 'step'?" in texts[0]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"step": 0.0}, "step"),
        ({"integrator": "rk5"}, "did you mean 'rk4'?"),
        ({"algorithm": "denser"}, "dense"),
        ({"naming": "flatt"}, "flat"),
        ({"include": "joint"}, "is not a list"),
        ({"include": ["joint.hing"]}, "fmu include 'joint.hing': matches nothing"),
        ({"exclude": ["nothing"]}, "fmu exclude 'nothing': matches nothing"),
    ],
)
def test_wrong_settings_are_answered_with_a_remedy(settings, words):
    assert words in "\n".join(problems(pendulum(), **settings))


def test_a_joint_moved_by_a_python_function_cannot_be_exported(tmp_path):
    system = pendulum()
    system.joints["hinge"] = pl.Joint(
        type="revolute", axis="y", child="rod", motion=lambda t: (0.1 * t, 0.1, 0.0)
    )
    (text,) = problems(system, tmp_path / "x.fmu")
    assert text.startswith("joints.hinge.motion: is a Python function")
    assert not (tmp_path / "x.fmu").exists()


def test_places_that_cannot_be_written_are_named(tmp_path):
    assert "there is no folder" in problems(pendulum(), tmp_path / "no" / "x.fmu")[0]
    assert "ends in .fmu" in problems(pendulum(), tmp_path / "x.zip")[0]
    (tmp_path / "taken.fmu").mkdir()
    assert "it is a folder" in problems(pendulum(), tmp_path / "taken.fmu")[0]
    assert [item.name for item in tmp_path.iterdir()] == ["taken.fmu"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n", "has no subclass of PliantSlave"),
        ("class Law(PliantSlave:\n", "law.py:1: is not Python"),
        ("class Law(Fmi2Slave):\n    pass  # PliantSlave\n", "has no subclass of PliantSlave"),
        ("\0", "is not Python"),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_is_no_slave_is_refused(tmp_path, text, words):
    law = tmp_path / "law.py"
    if text is not None:
        law.write_text(text)
    (problem,) = problems(pendulum(), tmp_path / "x.fmu", flavour="python", slave=law)
    assert words in problem


def test_a_law_needs_the_python_flavour(tmp_path):
    assert "'python' only" in problems(pendulum(), slave=tmp_path / "law.py")[0]
