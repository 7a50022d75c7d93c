"""FMUs that mean harm: refused in words, with little memory, and nothing left behind."""

from __future__ import annotations

import os
import signal
import stat
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import pliant as pl
from cases.fmu_models import pendulum
from pliant.cli import app
from pliant.fmu.archive import opened
from pliant.fmu.run import run_fmu

XML = "modelDescription.xml"


@pytest.fixture(scope="module")
def contents(tmp_path_factory) -> dict[str, bytes]:
    path = pl.export_fmu(pendulum(), tmp_path_factory.mktemp("good") / "good.fmu")
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def made(contents, tmp_path: Path) -> Callable[..., Path]:
    """Makes an FMU with entries added and replacements in its description."""

    def make(*entries: tuple[str | zipfile.ZipInfo, bytes], **swaps: str) -> Path:
        text = contents[XML].decode()
        for old, new in swaps.items():
            assert SWAPS[old] in text, old
            text = text.replace(SWAPS[old], new, 1)
        path = tmp_path / "x.fmu"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in contents.items():
                archive.writestr(name, text if name == XML else content)
            for name, content in entries:
                archive.writestr(name, content)
        return path

    return make


SWAPS = {
    "head": "<fmiModelDescription",
    "model": 'modelName="pendulum"',
    "identifier": 'modelIdentifier="pendulum"',
    "described": 'description="',
    "start": 'start="0.3"',
    "tail": "</ModelVariables>",
    "structure": "<ModelStructure>",
}


def refusal(path: Path, *commands: str) -> str:
    """What check and run say, which must be the same and no traceback."""
    said = []
    for command in commands or ("check", "run"):
        outcome = CliRunner().invoke(app, [command, str(path)])
        assert isinstance(outcome.exception, SystemExit), outcome.exception
        assert outcome.exit_code == 1
        said.append(outcome.stderr)
        assert len(outcome.stderr) < 10_000
        assert all(line.isprintable() for line in outcome.stderr.splitlines())
    assert len(set(said)) == 1
    return said[0]


def link() -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo("resources/link")
    entry.create_system, entry.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return entry


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("/tmp/escaped", "begins at a root or drive"),
        ("../escaped", "has a part that is empty, . or .."),
        ("resources//x", "has a part that is empty"),
        ("..\\escaped", "contains a backslash"),
        ("C:/escaped", "begins at a root or drive"),
        ("resources/a\nb", "a\\nb contains a character that does not print"),
        ("resources/\x1b[31m", "\\x1b[31m contains a character that does not print"),
        ("MODELDESCRIPTION.XML", "also there as modelDescription.xml"),
        ("resources/model.pliant/x", "is a file and a folder"),
        ("resources/" + "x" * 300, "is longer than 250 characters"),
        (link(), "resources/link is a link"),
    ],
)
def test_an_entry_that_leads_elsewhere_refuses_the_archive(made, entry, message) -> None:
    assert message in refusal(made((entry, b"x")))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_entry_that_is_there_twice_refuses_the_archive(made) -> None:
    assert "is there twice" in refusal(made((XML, b"<x/>")))


def patched(path: Path, name: str, offset: int, value: bytes, *, local: int | None = None) -> Path:
    """An archive with bytes of an entry's record in the directory, and its header, changed."""
    data = bytearray(path.read_bytes())
    at = data.rfind(b"PK\1\2", 0, data.rfind(name.encode()))
    data[at + offset : at + offset + len(value)] = value
    if local is not None:
        (header,) = struct.unpack("<L", data[at + 42 : at + 46])
        data[header + local : header + local + len(value)] = value
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("offset", "value", "local", "message"),
    [
        (8, b"\1\0", 6, "modelDescription.xml is encrypted"),
        (10, b"\x0e\0", 8, "is compressed by method 14; FMI asks for deflate"),
        (10, b"\x63\0", 8, "is compressed by method 99; FMI asks for deflate"),
        (16, b"\0\0\0\0", 14, "modelDescription.xml cannot be unpacked: Bad CRC-32"),
        (24, b"\0\0\0\x7f", None, "unpacks to 2,1"),
        (20, b"\0\0\0\x10", None, "its entries share their bytes"),
        (42, b"\0\0\0\x10", None, "its entries share their bytes"),
    ],
)
def test_a_record_that_lies_refuses_the_archive(made, offset, value, local, message) -> None:
    assert message in refusal(patched(made(), XML, offset, value, local=local))


def test_a_corrupt_stream_is_named(made) -> None:
    path = made()
    with zipfile.ZipFile(path) as archive:
        at = archive.getinfo(XML).header_offset + 30 + len(XML)
    data = bytearray(path.read_bytes())
    data[at + 40 : at + 70] = b"\xff" * 30
    path.write_bytes(data)
    assert "is damaged: modelDescription.xml cannot be unpacked: Error -3" in refusal(path)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="libraries are ELF files")
@pytest.mark.parametrize("left", [60, 1000, 0.5, 0.98])
def test_a_library_that_was_cut_short_is_not_loaded(contents, tmp_path: Path, left) -> None:
    """The loader maps it, and the process dies of what is missing: here the test's own."""
    path = tmp_path / "x.fmu"
    library = next(name for name in contents if name.startswith("binaries/"))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            size = int(left * len(content)) if left < 1 else left
            archive.writestr(name, content[:size] if name == library else content)
    assert f"{library} is cut short" in refusal(path, "check")
    assert f"{library} is cut short; export or copy the FMU again" in refusal(path, "run")


def test_a_bomb_is_not_unpacked(made) -> None:
    path = made(("resources/zeros", bytes(150_000_000)))
    assert "as no FMU does but a zip bomb" in refusal(path)


def test_entries_that_share_their_bytes_are_a_bomb(made, tmp_path: Path) -> None:
    """Fifield's: one stream, quoted by many entries."""
    raw = bytes(1_000_000)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    stream = packer.compress(raw) + packer.flush()
    sizes = (zlib.crc32(raw), len(stream), len(raw))
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 33, *sizes, 1, 0) + b"a" + stream
    records = b"".join(
        struct.pack("<4s6H3L5H2L", b"PK\1\2", 788, 20, 0, 8, 0, 33, *sizes, 4, 0, 0, 0, 0, 0, 0)
        + b"%04d" % i
        for i in range(50)
    )
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 50, 50, len(records), len(local), 0)
    path = tmp_path / "x.fmu"
    path.write_bytes(local + records + end)
    assert "its entries share their bytes, as in a zip bomb" in refusal(path)


def test_a_directory_without_end_is_not_held_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "x.fmu"
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(25_000):
            archive.writestr(zipfile.ZipInfo(str(i)), b"")
    assert "holds 25000 files; an FMU has at most 20000" in refusal(path)
    size = 5_000_000
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 60_000, 60_000, size, 0, 0)
    path.write_bytes(bytes(size) + end)
    assert "its directory is longer than 4 MB" in refusal(path)


LAUGHS = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10 if i else "ha"}">' for i in range(12))


@pytest.mark.parametrize(
    ("swaps", "message"),
    [
        (
            {"head": f"<!DOCTYPE x [{LAUGHS}]>{SWAPS['head']}", "described": 'description="&a11;'},
            "declares a document type",
        ),
        (
            {"head": f'<!DOCTYPE x SYSTEM "file:///etc/passwd">{SWAPS["head"]}'},
            "declares a document type",
        ),
        ({"structure": "<a>" * 60 + "</a>" * 60 + SWAPS["structure"]}, "nested more than 50 deep"),
        ({"tail": '<ScalarVariable name="x"/>' * 50_001 + SWAPS["tail"]}, "than 50,000 variables"),
        ({"tail": "<x/>" * 1_000_001 + SWAPS["tail"]}, "more than 1,000,000 elements"),
        ({"tail": " " * 33_000_000 + SWAPS["tail"]}, "at most 32 MB are read"),
        ({"identifier": 'modelIdentifier="../../evil"'}, "'../../evil' is no identifier of C"),
        ({"identifier": 'modelIdentifier="/evil"'}, "'/evil' is no identifier of C"),
        ({"identifier": 'modelIdentifier="a b"'}, "'a b' is no identifier of C"),
    ],
)
def test_a_description_that_means_harm_is_not_read(made, swaps, message) -> None:
    assert message in refusal(made(**swaps))


@pytest.mark.parametrize("number", ["NaN", "INF", "9" * 10_000, "abc"])
def test_a_start_that_is_no_number_is_a_problem(made, number: str) -> None:
    assert "the start " in refusal(made(start=f'start="{number}"'), "check") or number == "abc"


def test_markup_and_control_characters_are_shown_as_they_are_written(made, tmp_path) -> None:
    path = made(
        model='modelName="[bold]pen[/] [/red] [link=x]y[/link] :smile: &#x9b;31m&#10;valid $x_{$"',
        described='description="[blink]&#x202e;',
    )
    outcome = CliRunner().invoke(app, ["check", str(path)])
    line = r"[bold]pen[/] [/red] [link=x]y[/link] :smile: \x9b31m\nvalid $x_{$, [blink]\u202e"
    assert line in outcome.stdout
    picture, table = tmp_path / "x.png", tmp_path / "x.h5"
    arguments = ["run", str(path), "-d", "0.01", "-q", "-p", str(picture), "-o", str(table)]
    outcome = CliRunner().invoke(app, arguments)
    assert outcome.exit_code == 0, outcome.stderr
    assert r"[bold]pen[/] [/red] [link=x]y[/link] :smile: \x9b31m\nvalid $x_{$: 0.01 s" in (
        outcome.stdout
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"time,joint.hinge.tau\n0,nan\n", "'nan' is not a finite number"),
        (b"time,joint.hinge.tau\n0,1e400\n", "'1e400' is not a finite number"),
        (b"time,joint.hinge.tau\n0,1e200\n", "'1e200' is beyond 1e+30"),
        (b"time,joint.hinge.tau\n1e200,1\n", "1e+200 s is beyond 1e+12 s"),
        (b"time,joint.hinge.tau\n0,\x1b[31m\n", "'\\x1b[31m' is not a number"),
        (b"time,joint.hinge.tau\n0\n", "has 1 cells, the first line 2"),
        (b"time,joint.hinge.tau\n" + b"x,y\n" * 1000, "nothing was read from here on"),
        (b"time,joint.hinge.tau\n" + b"1" * 2_000_000, "a line is longer than 1,000,000"),
        (b"time," + b"a," * 400_000 + b"b\n1\n", "no such variable"),
        (bytes(range(256)) * 10, "is not CSV"),
        (b"\0" * 1000, "has no rows"),
        (b"", "has no rows"),
    ],
)
def test_inputs_that_are_none_are_refused_in_words(made, tmp_path, content, message) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with pytest.raises(pl.ModelError) as caught:
        run_fmu(made(), 0.01, inputs=path)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 20_000
    assert all(line.isprintable() for line in str(caught.value).splitlines())


def test_a_bomb_is_refused_in_little_memory(made) -> None:
    path = made(("resources/zeros", bytes(150_000_000)))
    program = (
        "import sys, resource, pliant as pl, pathlib\n"
        "from pliant.fmu.inspect import FmuFile\n"
        "pages = int(open('/proc/self/statm').read().split()[0])\n"
        "most = pages * resource.getpagesize() + 100_000_000\n"
        "resource.setrlimit(resource.RLIMIT_AS, (most, most))\n"
        "try: FmuFile(sys.argv[1])\n"
        "except pl.ModelError as error: print('refused', error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False
    )
    assert "refused" in done.stdout, done.stderr[-2000:]


def test_a_stream_that_is_longer_than_it_says_is_cut_off(made, tmp_path: Path) -> None:
    """The first bytes of a long stream with the size and checksum of a short one."""
    head = b"<x/>"
    path = made(("resources/zeros", head + bytes(30_000_000)))
    sizes = struct.pack("<L", zlib.crc32(head))
    patched(path, "resources/zeros", 16, sizes, local=14)
    patched(path, "resources/zeros", 24, struct.pack("<L", len(head)), local=22)
    with opened(path) as archive:
        assert archive.getinfo("resources/zeros").file_size == 4
    run_fmu(path, 0.01)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_no_temporary_files(made, tmp_path: Path, number) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    program = "import sys; from pliant.cli import main; sys.argv[0] = 'pliant'; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "run", str(made()), "-d", "1e5", "-q"],
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(600):
            if any(folder.rglob("*.so")):
                break
            time.sleep(0.05)
        time.sleep(0.3)
        assert any(folder.iterdir())
        process.send_signal(number)
        assert process.wait(30) == 128 + number
    finally:
        process.kill()
    assert not list(folder.iterdir())
