"""The process that compiles in the background: one for each cache, which ends with its parent."""

import json
import math
import os
import pickle
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

import bayesgraph
from bayesgraph.cli import warm_up
from bayesgraph.cli.models import models
from bayesgraph.core import compilation as background

pytestmark = pytest.mark.skipif(background.fcntl is None, reason="needs locks of files")

SOURCES = Path(bayesgraph.__file__).parents[1]
EXAMPLES = SOURCES / "examples"
# A stand-in that tells its number and waits for the end of its input, as the real one does.
WAITING = "import os, sys; open(sys.argv[1], 'a').write(f'{os.getpid()} '); sys.stdin.read()"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Return a cache that is empty, in which a stand-in would be started."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    command = [sys.executable, "-c", WAITING, str(tmp_path / "started")]
    monkeypatch.setattr(background, "python_command", lambda module: command)
    return folder


def started(tmp_path):
    """Return the numbers of the processes that were started, waiting for the first."""
    path = tmp_path / "started"
    while not (path.exists() and path.read_text().endswith(" ")):
        pass
    return [int(number) for number in path.read_text().split()]


def end(*processes):
    for process in processes:
        process.stdin.close()
        process.wait()


def asking(name="kernels.some"):
    """Return a background of its own that has asked for a kernel."""
    one = background.Background(background.Library())
    one.ask(name, [])
    return one


def test_eight_start_one(cache, tmp_path):
    several = [asking() for _ in range(8)]
    running = [one._process for one in several if one._process is not None]
    assert len(running) == 1
    assert started(tmp_path) == [running[0].pid]
    assert background.Library().lines(".wanted") == ['["kernels.some"]'] * 8
    end(*running)


def test_it_asks_once_and_starts_another_when_one_has_ended(cache, tmp_path):
    one = asking()
    first = one._process
    started(tmp_path)
    end(first)
    one._next_look = 0.0
    one.ask("kernels.some", [])
    assert one._process is not first
    assert background.Library().lines(".wanted") == ['["kernels.some"]']
    end(one._process)


def test_nothing_starts_where_none_does_its_work(cache, monkeypatch):
    monkeypatch.setattr(background, "python_command", lambda module: [sys.executable, "-c", ""])
    one = asking()
    assert one.helps
    for _ in range(background._MOST_FAILURES):
        end(one._process)
        one._next_look = 0.0
        one.ask("kernels.some", [])
    end(one._process)
    assert not one.helps


@pytest.mark.parametrize("why", ["command line", "continuous integration", "one processor"])
def test_nothing_starts_where_it_is_not_allowed(cache, monkeypatch, why):
    one = background.Background(background.Library())
    one.allowed = why != "command line"
    if why == "one processor":
        monkeypatch.setattr(os, "cpu_count", lambda: 1)
    if why == "continuous integration":
        monkeypatch.setenv("CI", "true")
    one.ask("kernels.some", [])
    assert one._process is None
    assert not one.helps
    assert background.Library().lines(".wanted") == []


def test_what_is_compiled_is_listed(cache):
    library = background.Library()
    assert not library.has("kernels.some")
    library.add("", "kernels.some")
    assert background.Library().has("kernels.some")
    assert not background.Library().has("kernels.other")
    library.add("", library.ALL)
    assert background.Library().has("kernels.other")


def test_a_list_is_read_again_after_a_while(cache):
    library = background.Library()
    assert not library.has("kernels.some")
    library.add("", "kernels.some")
    library.next_look = math.inf
    assert not library.has("kernels.some")
    library.next_look = 0.0
    assert library.has("kernels.some")


def test_other_sources_are_not_compiled(cache, monkeypatch):
    background.Library().add("", "kernels.some")
    monkeypatch.setattr(background, "_compiler", lambda: [Path(__file__)])
    assert not background.Library().has("kernels.some")
    background.Library().add("", "kernels.other")
    assert len(list(cache.glob(".bayesgraph-????????????????"))) == 1


def test_what_cannot_start_is_silent(cache, monkeypatch):
    monkeypatch.setattr(background, "python_command", lambda module: ["/there/is/no/such/program"])
    assert asking()._process is None


def test_a_folder_that_cannot_be_written_is_passed_over(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "inside"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert background.cache_folder() == tmp_path / "home" / "bayesgraph"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert background.cache_folder() is None
    assert not background.Library().has("kernels.some")
    assert asking()._process is None


def test_a_folder_of_the_user_that_others_can_write_spares_the_others(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "named"))
    (tmp_path / "home").mkdir()
    (tmp_path / "home").chmod(0o777)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert background.cache_folder() == tmp_path / "named"
    (tmp_path / "named").rmdir()
    (tmp_path / "named").touch()
    assert background.cache_folder() is None


def test_a_folder_that_cannot_be_written_is_read(cache, monkeypatch):
    background.Library().add("", "kernels.some")
    monkeypatch.setattr(os, "access", lambda *_: False)
    library = background.Library()
    assert library.folder == cache
    assert library.has("kernels.some")
    assert not background.Background(library).helps


def test_it_ends_with_a_parent_that_is_killed(cache, tmp_path):
    code = (
        "import sys, time\n"
        "from bayesgraph.core import compilation as background\n"
        f"background.python_command = lambda module: {background.python_command('')!r}\n"
        "one = background.Background(background.Library()); one.ask('some', [])\n"
        "print('up', flush=True); time.sleep(1000)"
    )
    environment = os.environ | {"PYTHONPATH": str(SOURCES)}
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment)
    assert parent.stdout.readline() == b"up\n"
    [child] = started(tmp_path)
    lock = background.start_lock(cache)
    assert lock is None
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    # The child holds the lock until it ends.
    while lock is None:
        lock = background.start_lock(cache)
    os.close(lock)
    assert child != parent.pid


def run(code, folder, mode="background"):
    """Run a program with a cache of its own, and return what it prints."""
    environment = os.environ | {
        "PYTHONPATH": str(SOURCES), "NUMBA_CACHE_DIR": str(folder), "BAYESGRAPH_COMPILE": mode,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


FIRST = f"""
import sys
import bayesgraph as bg
X = bg.read_table({str(EXAMPLES / "data" / "heart.csv")!r})
X, y = X.drop_columns("disease"), X["disease"]
bg.TANClassifier(check_columns=False).fit(X, y).predict_proba(X)
print("numba" in sys.modules)
"""


def test_it_ends_with_a_program_that_ends(cache, tmp_path):
    code = (
        "from bayesgraph.core import compilation as background\n"
        f"background.python_command = lambda module: {background.python_command('')!r}\n"
        "one = background.Background(background.Library()); one.ask('some', [])\n"
        "print(one._process.pid)"
    )
    assert len(run(code, cache)) == 1
    lock = background.start_lock(cache)
    assert lock is not None
    os.close(lock)


@pytest.mark.parametrize("mode", ["background", pytest.param("never", marks=pytest.mark.slow)])
def test_a_first_answer_needs_no_compiler(tmp_path, mode):
    assert run(FIRST, tmp_path, mode) == ["False"]


def test_a_wrong_mode_is_refused(tmp_path):
    with pytest.raises(subprocess.CalledProcessError) as error:
        run("import bayesgraph.core.compilation", tmp_path, mode="sometimes")
    assert "must be one of background, inline, never" in error.value.stderr


DAMAGED = """
import numpy as np
from bayesgraph.inference.order_kernels import ones
print(ones(np.uint64(7)), sum(ones.compiled._cache_hits.values()))
"""


@pytest.mark.slow
def test_a_damaged_cache_is_mended(tmp_path):
    assert run(DAMAGED, tmp_path, "inline") == ["3", "0"]
    for path in tmp_path.rglob("*.nb?"):
        path.write_bytes(b"damaged")
    assert run(DAMAGED, tmp_path, "inline") == ["3", "0"]
    assert all(path.read_bytes() != b"damaged" for path in tmp_path.rglob("*.nb?"))


class Poison:
    """What touches a file when it is read as a kernel."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("kind", ["writable", "named by a file"])
def test_kernels_of_others_are_not_run(tmp_path, kind):
    cache, touched, folder = tmp_path / "cache", tmp_path / "touched", tmp_path / "folder"
    run(DAMAGED, cache, "inline")
    for path in cache.rglob("*.nbi"):
        path.write_bytes(pickle.dumps(Poison(touched)))
    folder.mkdir()
    environment = os.environ | {"PYTHONPATH": str(SOURCES), "BAYESGRAPH_COMPILE": "inline"}
    environment.pop("NUMBA_CACHE_DIR", None)
    if kind == "writable":
        cache.chmod(0o777)
        environment["NUMBA_CACHE_DIR"] = str(cache)
    else:
        pytest.importorskip("yaml")
        (folder / ".numba_config.yaml").write_text(f"cache_dir: {cache}")
    command = [sys.executable, "-c", DAMAGED]
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=True
    )
    assert not touched.exists()
    assert done.stdout.split()[0] == "3"
    if kind == "writable":
        assert done.stderr.count("Warning") == 1
        assert f"other users can write {cache}" in done.stderr
        assert "NUMBA_CACHE_DIR name a folder that only you can write" in done.stderr


def test_nothing_is_compiled_for_a_cache_that_others_write(cache):
    cache.mkdir()
    cache.chmod(0o777)
    assert asking()._process is None
    background.Library().add("", "kernels.some")
    assert not list(cache.iterdir())


@pytest.mark.parametrize(
    ("above", "mode", "place"),
    [
        (0o755, 0o755, None), (0o700, 0o700, None), (0o1777, 0o700, None), (0o775, 0o775, None),
        (0o755, 0o757, "cache"), (0o755, 0o1777, "cache"), (0o757, 0o700, "above"),
    ],
)  # fmt: skip
def test_others_can_write_a_folder_or_replace_it(tmp_path, above, mode, place):
    folder = tmp_path / "above" / "cache"
    folder.mkdir(parents=True)
    for each, bits in ((folder, mode), (folder.parent, above)):
        with suppress(PermissionError):
            os.chown(each, -1, os.getuid())  # the group of this user alone, where there is one
        each.chmod(bits)
    expected = {None: None, "cache": folder, "above": folder.parent}[place]
    assert background.open_to_others(folder) == expected
    # Nobody moves what others have in a sticky folder, a new one included.
    assert background.open_to_others(folder / "new") == (None if mode == 0o1777 else expected)
    (tmp_path / "link").symlink_to(folder)
    assert background.open_to_others(tmp_path / "link") == expected


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_folders_of_other_groups_and_users(tmp_path):
    os.chown(tmp_path, 0, 12345)
    tmp_path.chmod(0o775)
    assert background.open_to_others(tmp_path) == tmp_path
    tmp_path.chmod(0o755)
    assert background.open_to_others(tmp_path) is None
    os.chown(tmp_path, 12345, 12345)
    assert background.open_to_others(tmp_path) == tmp_path


def test_without_a_place_to_write_kernels_are_compiled_in_memory(tmp_path):
    (tmp_path / "file").touch()
    environment = {
        "XDG_CACHE_HOME": str(tmp_path / "file"),
        "NUMBA_CACHE_DIR": str(tmp_path / "file"),
    }
    done = subprocess.run(
        [sys.executable, "-c", DAMAGED],
        env=os.environ | environment | {"PYTHONPATH": str(SOURCES), "BAYESGRAPH_COMPILE": "inline"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["3", "0"]
    assert done.stderr.count("Warning") == 1
    assert "Kernels are not kept (no folder is there)" in done.stderr


def test_every_model_is_warmed_up():
    names = [name for name, _ in warm_up._steps()]
    assert {f"model {name}" for name in models()} <= {*names}
    assert len(names) == len({*names})


SECOND = """
import time
import numpy as np
import bayesgraph as bg
from bayesgraph.core.compilation import tiers
from bayesgraph.inference.order_kernels import ones
while not tiers.library.has(ones.name):
    ones(np.uint64(7))
    ones.spent += 0.02
    time.sleep(0.01)
print(ones._run == ones._choose, tiers.background.helps, "numba" in sys.modules)
print(ones(np.uint64(7)), tiers.interprets(ones))
tiers.spent += 1.0
print(ones(np.uint64(7)), ones._run == ones._choose, "numba" in sys.modules)
"""


def test_a_kernel_that_takes_much_is_compiled_by_another_process(tmp_path):
    lines = run("import sys\n" + SECOND, tmp_path)
    assert lines == ["True", "True", "False", "3", "True", "3", "False", "True"]
    assert [path.name for path in tmp_path.rglob("*.nbc")]


def test_every_type_of_argument_is_described():
    from bayesgraph.core import compiler

    class Pair(NamedTuple):
        one: Any
        other: Any

    Pair.__qualname__ = "Pair"
    globals()["Pair"] = Pair
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    arguments = [
        np.zeros((2, 3), np.int8), np.zeros((2, 3), order="F"), np.zeros((4, 4))[::2, ::2], frozen,
        np.zeros(2, bool), np.zeros((0, 2), np.uint64), 1, 1.0, True, np.int64(3), np.uint64(3),
        np.float64(2), np.bool_(True), (1, 2), (1, 2.0), (), Pair(1, np.zeros(2)),
        Pair((1, 2), frozen),
    ]  # fmt: skip
    for argument in arguments:
        described = json.loads(json.dumps(background._described(argument)))
        assert compiler._type_of(described) == numba.typeof(argument)


WATCHED = """
import sys, time
from pathlib import Path
sys.path.insert(0, {sources!r})
import numpy as np
from bayesgraph.core import compilation
one = compilation.Background(compilation.Library())
one.ask("bayesgraph.inference.order_kernels.ones", [np.uint64(1)])
print(one._process.wait(), len(list(Path({cache!r}).rglob("*.nbi"))))
"""


@pytest.mark.parametrize("isolation", [[], ["-P"], ["-E"], ["-I"]], ids=str)
def test_modules_of_the_working_directory_are_not_imported(tmp_path, isolation):
    folder, cache, script = (tmp_path / name for name in ("folder", "cache", "place/script.py"))
    script.parent.mkdir()
    script.write_text(WATCHED.format(sources=str(SOURCES), cache=str(cache)))
    folder.mkdir()
    for name in ("numba", "random", "secrets", "sitecustomize"):
        text = f"open({str(tmp_path / 'imported')!r}, 'a').write({name!r}); raise ImportError"
        (folder / f"{name}.py").write_text(text)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    environment.pop("PYTHONPATH", None)
    if {"-E", "-I"} & {*isolation}:
        environment["PYTHONPATH"] = str(folder)  # which the program ignores
    command = [sys.executable, *isolation, str(script)]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert not (tmp_path / "imported").exists(), (tmp_path / "imported").read_text()
    assert done.stdout.split() == ["0", "1"], done.stderr


def test_a_process_has_the_search_path_of_this_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path, "/a place/with 'quotes'", ""])
    (tmp_path / "runpy.py").write_text("raise SystemExit('imported')")
    code = "import sys; print(sys.path, sys.argv[1:], __name__)"
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "told.py").write_text(code)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "inside")])
    done = subprocess.run(
        background.python_command("told", "a b"), capture_output=True, text=True, check=True
    )
    expected = [str(SOURCES), *filter(None, sys.path)]
    assert done.stdout == f"{expected} ['a b'] __main__\n"
