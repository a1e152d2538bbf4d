"""What a release contains; the wheel and the source distribution are built with -m slow.

pip install -e '.[test,release]' && python -m pytest -q -m slow tests/test_packaging.py
"""

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.files import FORMATS

ROOT = Path(bg.__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def files_of(folder):
    """Return the paths of all files below a folder of the project but compiled ones."""
    found = (path for path in (ROOT / folder).rglob("*") if path.is_file())
    return {p.relative_to(ROOT).as_posix() for p in found if "__pycache__" not in p.parts}


def test_one_file_says_the_version():
    home = PROJECT["tool"]["hatch"]["version"]["path"]
    assert f'__version__ = "{bg.__version__}"' in (ROOT / home).read_text("utf-8")
    assert "version" in PROJECT["project"]["dynamic"]
    said = [
        path
        for path in files_of("bayesgraph")
        if path.endswith((".py", ".pyi"))
        and re.search(r'__version__ = "', (ROOT / path).read_text("utf-8"))
    ]
    assert said == [home]


def test_the_page_of_installation_has_a_row_for_each_extra():
    page = (ROOT / "docs" / "install.md").read_text("utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE)
    assert sorted(rows) == sorted(PROJECT["project"]["optional-dependencies"])


# What the small installation leaves out of what the library needs, and its most megabytes.
LEFT_OUT, MOST_MEGABYTES = {"numba", "scikit-learn", "typer"}, 200


def small_installation():
    """Return the packages of the small installation on the page of installation, with versions."""
    page = (ROOT / "docs" / "install.md").read_text("utf-8")
    listed = re.search(r"^pip install --no-deps \S+\.whl ((?:.*\\\n)*.*)$", page, re.MULTILINE)[1]
    return dict(pin.split("==") for pin in listed.replace("\\", "").split())


def test_the_small_installation_pins_every_package_that_it_does_not_leave_out():
    pins = small_installation()
    needed = dict(text.split(">=") for text in PROJECT["project"]["dependencies"])
    assert needed.keys() >= LEFT_OUT
    assert pins.keys() == needed.keys() - LEFT_OUT
    for name, version in pins.items():
        assert [*map(int, version.split("."))] >= [*map(int, needed[name].split("."))], name


def built(kind, folder):
    """Return the path of a wheel or a source distribution of the project."""
    pytest.importorskip("hatchling", reason="takes the extra release")
    code = f"import sys; from hatchling.build import {kind}; print({kind}(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(folder)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return folder / done.stdout.split()[-1]


@pytest.mark.slow
def test_the_wheel_has_the_package_and_nothing_else(tmp_path):
    with zipfile.ZipFile(built("build_wheel", tmp_path)) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        beside = {Path(name).name: name for name in wheel.namelist() if ".dist-info/" in name}
        about = Parser().parsestr(wheel.read(beside["METADATA"]).decode())
        commands = wheel.read(beside["entry_points.txt"]).decode()
    assert names == files_of("bayesgraph")
    assert {"bayesgraph/py.typed", "bayesgraph/page/front/kernel.wasm"} <= names
    assert "LICENSE" in beside
    assert about["Version"] == bg.__version__
    assert set(about.get_all("Provides-Extra")) == set(PROJECT["project"]["optional-dependencies"])
    assert about.get_payload().startswith("# bayesgraph")
    assert "bayesgraph = bayesgraph.cli:main" in commands


@pytest.mark.slow
def test_the_wheel_alone_is_the_library(tmp_path):
    with zipfile.ZipFile(built("build_wheel", tmp_path)) as wheel:
        wheel.extractall(tmp_path / "site")
    # Isolated from the checkout: everything public and every format is imported from the wheel.
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import bayesgraph as bg; "
        "[getattr(bg, name) for name in bg.__all__]; "
        "[bg.files.format_of('x' + suffix) for suffix in bg.files.FORMATS]; "
        "print(bg.__file__, len(bg.files.FORMATS)); "
        "net = bg.BayesianNetwork([bg.TableCPD(bg.Discrete('a', ['x', 'y']), [0.5, 0.5])]); "
        "assert '</html>' in net.to_html()"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(tmp_path / "site")],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    home, n_formats = done.stdout.split()
    assert Path(home).is_relative_to(tmp_path / "site")
    assert int(n_formats) == len(FORMATS)


@pytest.mark.slow
def test_the_source_distribution_has_what_the_tests_need(tmp_path):
    path = built("build_sdist", tmp_path)
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for folder in ("bayesgraph", "tests", "docs", "examples", "benchmarks"):
        assert {n for n in files_of(folder) if not {"out", "generated"} & {*n.split("/")}} <= names
    assert {"pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", ".ci/run"} <= names
    assert not [n for n in names if "__pycache__" in n or n.startswith(("out/", ".venv/"))]


@pytest.mark.slow
def test_the_small_installation_is_small_and_predicts(tmp_path):
    wheel = built("build_wheel", tmp_path)
    venv.create(tmp_path / "env", with_pip=True)
    python = next((tmp_path / "env").glob("[bS]*/python*"))
    site = next((tmp_path / "env").glob("[lL]ib/**/site-packages"))
    before = {*site.iterdir()}
    pins = [f"{name}=={version}" for name, version in small_installation().items()]
    command = [python, "-m", "pip", "install", "-q", "--no-deps", "--no-compile", wheel, *pins]
    subprocess.run(command, check=True)
    added = [path for top in {*site.iterdir()} - before for path in [top, *top.rglob("*")]]
    assert sum(path.stat().st_size for path in added if path.is_file()) < MOST_MEGABYTES * 1e6
    rows = {"x": ["a", "b", "a", "b"], "n": [1.0, 2.0, 3.0, 4.5]}
    model = bg.TANClassifier().fit(rows, ["no", "yes", "no", "yes"])
    model.save(tmp_path / "model.bayesgraph")
    code = (
        "import sys, json; import bayesgraph as bg; model = bg.load(sys.argv[1]); "
        f"print(json.dumps(model.predict_proba({rows!r}).tolist())); "
        "assert 0 < model.query(evidence={'x': 'a'})['no'] < 1; "
        "assert not {'sklearn', 'numba'} & {*sys.modules}"
    )
    command = [python, "-I", "-c", code, str(tmp_path / "model.bayesgraph")]
    as_users = os.environ | {"BAYESGRAPH_COMPILE": "background"}
    done = subprocess.run(command, env=as_users, check=True, capture_output=True, text=True)
    assert np.allclose(json.loads(done.stdout), model.predict_proba(rows), rtol=0, atol=1e-12)
