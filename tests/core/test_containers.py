"""Kernels that were compiled when an image was built are used by whoever runs it, and however.

The runner is root without the right to pass over permissions, or another user, who may read what
lies in folders of root but write nothing there.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bayesgraph

pytestmark = pytest.mark.skipif(
    shutil.which("setpriv") is None or os.getuid() != 0,
    reason="only root gives up rights, by setpriv of util-linux",
)

# The rights that a runner keeps, and its number.
RUNNERS = {
    "owner": ["--bounding-set=-all"],
    "other user": [
        *(
            "--reuid=12345",
            "--regid=12345",
            "--clear-groups",
            "--bounding-set=-all,+dac_read_search",
        ),
        *("--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"),
    ],
}
SITUATIONS = [
    ("owner", "beside", "home", {}),
    ("owner", "beside", "no home", {"CI": "true"}),
    ("owner, read-only", "beside", "no home", {}),
    ("owner, read-only", "named", "home", {}),
    ("other user", "beside", "no home", {}),
    ("other user", "beside", "home", {}),
    ("other user", "named", "home", {"CI": "true"}),
    ("other user, read-only", "named", "no home", {}),
    ("other user", "beside", "no home", {"BAYESGRAPH_COMPILE": "inline"}),
]

WARM = """
import numpy as np
from bayesgraph.core.compilation import tiers
from bayesgraph.inference.order_kernels import ones
print(ones(np.uint64(7)))
tiers.library.add("", tiers.library.ALL)
"""
USE = """
import numpy as np
from bayesgraph.core.compilation import PACKAGE, tiers
from bayesgraph.inference.order_kernels import ones
assert PACKAGE.parent.name == "moved"
tiers.spent = 1.0  # as after a second of interpreted work
print(ones(np.uint64(7)), sum(ones.compiled._cache_hits.values()), tiers.background._process)
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """Return a folder with a copy of the package, its kernels compiled beside it and in cache."""
    folder = tmp_path_factory.mktemp("image")
    package = Path(bayesgraph.__file__).parent
    shutil.copytree(
        package, folder / "bayesgraph", ignore=shutil.ignore_patterns("__pycache__", "js")
    )
    for named in ("", str(folder / "cache")):
        variables = {"NUMBA_CACHE_DIR": named, "BAYESGRAPH_COMPILE": "inline"}
        done = program(WARM, folder, "owner", variables)
        assert (done.stdout, done.stderr) == ("3\n", "")
    return folder


def program(code, folder, runner, variables):
    """Run a program on the package of a folder, without the rights of root."""
    names = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"} | variables
    environment = {name: value for name, value in (os.environ | names).items() if value}
    command = ["setpriv", *RUNNERS[runner], sys.executable, "-W", "error", "-c", code]
    return subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=False
    )


def files_of(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.parametrize(("runner", "cache", "home", "variables"), SITUATIONS, ids=str)
def test_a_warmed_cache_is_used(image, tmp_path, runner, cache, home, variables):
    place = tmp_path / "moved"
    shutil.copytree(image, place)
    runner, _, is_read_only = runner.partition(", ")
    for path in place.rglob("*") if is_read_only else ():
        path.chmod(0o555 if path.is_dir() else 0o444)
    (tmp_path / "home").mkdir()
    if runner == "other user":
        os.chown(tmp_path / "home", 12345, 12345)
    before = files_of(tmp_path)
    names = {
        "NUMBA_CACHE_DIR": str(place / "cache") if cache == "named" else "",
        "HOME": str(tmp_path / "home") if home == "home" else "",
        "BAYESGRAPH_COMPILE": "background",
    }
    done = program(USE, place, runner, names | variables)
    assert done.stderr == ""
    assert done.stdout.split() == ["3", "1", "None"]
    assert files_of(tmp_path) == before
