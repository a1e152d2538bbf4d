"""Choosing the format by suffix, and replacing files."""

from __future__ import annotations

import os
import pkgutil
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import bayesgraph as bg
from bayesgraph import files as io
from bayesgraph.core import files
from bayesgraph.core.errors import DataTypeError, FileFormatError
from bayesgraph.files import bif


@pytest.fixture
def net() -> bg.BayesianNetwork:
    rain = bg.Discrete("rain", ["no", "yes"])
    wet = bg.Discrete("wet", ["no", "yes"])
    return bg.BayesianNetwork(
        [bg.TableCPD(rain, [0.8, 0.2]), bg.TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], [rain])]
    )


# UAI has no names, and some formats are only read.
EXACT = [
    f"a{suffix}"
    for suffix, home in io.FORMATS.items()
    if not suffix.startswith(".uai") and pkgutil.resolve_name(home).format
]


@pytest.mark.parametrize("name", [*EXACT, "a.BIF", "a.b.bif.gz"])
def test_read_what_was_written(net: bg.BayesianNetwork, tmp_path: Path, name: str) -> None:
    net.save(str(tmp_path / name))
    assert bg.load(tmp_path / name) == net
    assert bg.load(str(tmp_path / name)) == net
    assert os.listdir(tmp_path) == [name]


def test_of_an_estimator_other_formats_hold_the_network(tmp_path: Path) -> None:
    y = ["no", "yes", "no", "yes"]
    clf = bg.NaiveBayesClassifier().fit({"wet": ["n", "y", "n", "n"]}, y)
    clf.save(tmp_path / "clf.bif")
    assert bg.load(tmp_path / "clf.bif") == clf.network_
    clf.save(tmp_path / "clf.bayesgraph")
    assert type(bg.load(tmp_path / "clf.bayesgraph")) is bg.NaiveBayesClassifier


def test_unknown_suffix_names_the_known_ones(net: bg.BayesianNetwork, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"Did you mean '\.bif'\?.*'\.bayesgraph', '\.bif'"):
        bg.load(tmp_path / "net.bifs")
    with pytest.raises(FileFormatError, match="suffix"):
        net.save(tmp_path / "net")
    assert not os.listdir(tmp_path)


def test_a_file_is_of_the_format_of_its_suffix(net: bg.BayesianNetwork, tmp_path: Path) -> None:
    net.save(tmp_path / "a.bayesgraph")
    for name in ("a", "a.pkl", "a.model.zip"):
        shutil.copy(tmp_path / "a.bayesgraph", tmp_path / name)
        with pytest.raises(FileFormatError, match="suffix names the format"):
            bg.load(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="no such file"):
        bg.load(tmp_path / "not_there")


def test_options_that_a_format_does_not_have(net: bg.BayesianNetwork, tmp_path: Path) -> None:
    message = "'strict' is no option of writing the native format, which has none"
    with pytest.raises(DataTypeError, match=message):
        net.save(tmp_path / "a.bayesgraph", strict=False)
    with pytest.raises(DataTypeError, match=r"has 'strict', 'name'\. Did you mean 'strict'"):
        net.save(tmp_path / "a.bif", strickt=False)
    net.save(tmp_path / "a.bif")
    with pytest.raises(DataTypeError, match="'strict' is no option of reading"):
        bg.load(tmp_path / "a.bif", strict=False)


@pytest.mark.parametrize("suffix", io.FORMATS)
def test_no_format_has_any_option(net: bg.BayesianNetwork, tmp_path: Path, suffix: str) -> None:
    refused = FileFormatError if io.format_of(f"a{suffix}").format is None else DataTypeError
    with pytest.raises(refused, match=r"can be read but not written|'nonsense' is no option of"):
        net.save(tmp_path / f"a{suffix}", nonsense=1)


@pytest.mark.parametrize("name", ["a.bif", "a.bif.gz", "a.bayesgraph"])
def test_missing_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError, match="There is no such file"):
        bg.load(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="There is no such file"):
        bg.load(tmp_path / name)


def test_missing_directory(net: bg.BayesianNetwork, tmp_path: Path) -> None:
    for name in ("a.bif", "a.bayesgraph"):
        with pytest.raises(FileNotFoundError, match="There is no such directory"):
            net.save(tmp_path / "none" / name)
    (tmp_path / "dir.bif").mkdir()
    with pytest.raises(IsADirectoryError):
        net.save(tmp_path / "dir.bif")


def test_a_path_is_text(net: bg.BayesianNetwork) -> None:
    with pytest.raises(TypeError):
        bg.load(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="A path is a string"):
        bg.load(b"a.bif")  # type: ignore[arg-type]


def test_formats_can_be_added(
    net: bg.BayesianNetwork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bayesgraph.files.formats.FORMATS", dict(io.FORMATS))
    io.register_format(".net.TXT", f"{__name__}:READ_ONLY")
    net.save(tmp_path / "a.bif")
    (tmp_path / "a.bif").rename(tmp_path / "a.net.txt")
    assert bg.load(tmp_path / "a.net.txt") == net
    with pytest.raises(FileFormatError, match="text can be read but not written"):
        net.save(tmp_path / "a.net.txt")
    with pytest.raises(ValueError, match="starts with a dot"):
        io.register_format("txt", "elsewhere:FORMAT")
    io.register_format(".txt", f"{__name__}:WRITE_ONLY")
    with pytest.raises(FileFormatError, match="text can be written but not read"):
        bg.load(tmp_path / "a.txt")


READ_ONLY = io.FileFormat("text", bif.parse)
WRITE_ONLY = io.FileFormat("text", format=bif.formatted)


# ------------------------------------------------------------------------------------- replacing


@pytest.mark.parametrize("name", ["a.bif", "a.bif.gz", "a.bayesgraph"])
@pytest.mark.parametrize("step", ["fsync", "replace", "write"])
def test_a_failure_leaves_the_old_file(
    net: bg.BayesianNetwork,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    step: str,
) -> None:
    path = tmp_path / name
    path.write_bytes(b"old")

    def fail(*args: object, **kwargs: object) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        if step == "fsync":
            patch.setattr(os, "fsync", fail)
        elif step == "replace":
            patch.setattr(Path, "replace", fail)
        else:
            patch.setattr(files, "Path", _FullDisk)
        with pytest.raises(OSError, match="disk full"):
            net.save(path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [name]
    net.save(path)
    assert path.read_bytes() != b"old"


class _FullStream:
    """Takes some bytes, then fails."""

    def __init__(self, stream: object) -> None:
        self._stream = stream
        self._left = 50

    def __enter__(self) -> _FullStream:
        return self

    def __exit__(self, *error: object) -> None:
        self._stream.close()

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    def write(self, data: bytes) -> int:
        view = memoryview(data).cast("B")
        if view.nbytes > self._left:
            self._stream.write(view[: self._left])
            raise OSError("disk full")
        self._left -= view.nbytes
        return self._stream.write(data)


class _FullDisk(type(Path())):
    def open(self, mode: str = "r", *args: object, **kwargs: object) -> object:
        stream = super().open(mode, *args, **kwargs)
        return _FullStream(stream) if "w" in mode else stream


@pytest.mark.skipif(os.name != "posix", reason="permission bits are POSIX'")
def test_permissions_and_links(net: bg.BayesianNetwork, tmp_path: Path) -> None:
    path = tmp_path / "a.bayesgraph"
    old = os.umask(0o027)
    try:
        net.save(path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    link = tmp_path / "link.bayesgraph"
    link.symlink_to(path.name)
    net.save(link)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o604
    assert bg.load(path) == net
    old_content, hard = path.read_bytes(), tmp_path / "hard.bayesgraph"
    os.link(path, hard)
    bg.BayesianNetwork(net.cpds[:1]).save(path)
    assert hard.read_bytes() == old_content != path.read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="/dev/null is POSIX'")
def test_devices_are_written_not_replaced() -> None:
    files.write_bytes("/dev/null", b"content")
    assert not Path("/dev/null").is_file()


def test_read_only_files_are_respected(
    net: bg.BayesianNetwork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.bif"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda *args: False)  # root may write anything
    with pytest.raises(PermissionError, match="read-only"):
        net.save(path)
    assert path.read_bytes() == b"old"


# ---------------------------------------------------------------- modes, leftovers, special files


@pytest.mark.skipif(os.name != "posix", reason="permission bits are POSIX'")
def test_a_private_file_is_private_while_it_is_replaced(
    net: bg.BayesianNetwork, tmp_path: Path
) -> None:
    path = tmp_path / "a.bif"
    path.write_bytes(b"old")
    for mode in (0o600, 0o640, 0o666):
        path.chmod(mode)
        with files.atomic_path(path) as temporary:
            assert stat.S_IMODE(temporary.stat().st_mode) == mode
            temporary.write_text("new")
        assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(os.name != "posix", reason="locks are POSIX'")
def test_the_next_save_removes_what_a_killed_process_left(
    net: bg.BayesianNetwork, tmp_path: Path
) -> None:
    kill = (
        "import os, signal, sys\n"
        "from bayesgraph.core import files\n"
        "with files.replacing(sys.argv[1]) as stream:\n"
        "    stream.write(b'half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = tmp_path / "a.bif"
    subprocess.run([sys.executable, "-c", kill, str(path)], check=False)
    (left,) = os.listdir(tmp_path)
    assert left.startswith(".bayesgraph-")
    (tmp_path / ".bayesgraph-notes.txt").touch()
    with files.atomic_path(tmp_path / "b.bif") as other:  # of a process at work
        assert not (tmp_path / left).exists()
        net.save(path)
        assert other.exists()
        other.write_text("b")
    assert sorted(os.listdir(tmp_path)) == [".bayesgraph-notes.txt", "a.bif", "b.bif"]


@pytest.mark.skipif(os.name != "posix", reason="pipes and links are POSIX'")
@pytest.mark.parametrize("suffix", [".bif", ".uai", ".bayesgraph"])
def test_pipes_devices_and_loops_are_refused(
    net: bg.BayesianNetwork, tmp_path: Path, suffix: str
) -> None:
    pipe, loop, device = (tmp_path / f"{name}{suffix}" for name in ("pipe", "loop", "device"))
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    for path in (pipe, device):
        with pytest.raises(FileFormatError, match=r"expected a regular file; got a pipe, a dev"):
            bg.load(path)
    loop.symlink_to(loop.name)
    with pytest.raises(FileFormatError, match="symbolic links that lead in a loop"):
        bg.load(loop)
    with pytest.raises(FileFormatError, match="symbolic links that lead in a loop"):
        files.write_bytes(loop, b"")
    assert loop.is_symlink()
