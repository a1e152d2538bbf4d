"""Pictures of graphs: the right kind of file, the same bytes, and clear errors without Graphviz."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

import bayesgraph as bg
from bayesgraph.core.display import printable
from bayesgraph.core.errors import (
    BayesGraphError,
    FileFormatError,
    MissingDependencyError,
    RenderError,
)
from bayesgraph.pictures import render as render_function
from bayesgraph.pictures import rendering, to_dot, to_graphviz

MAGIC = {"svg": b"<?xml", "png": b"\x89PNG\r\n\x1a\n", "pdf": b"%PDF-"}


@pytest.fixture
def net():
    rain, wet = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet <&>", [False, True])
    return bg.BayesianNetwork(
        [
            bg.TableCPD(rain, [0.8, 0.2]),
            bg.TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], parents=[rain]),
            bg.GaussianCPD(bg.Continuous("temp"), [20, 14], [9, 4], parents=[rain]),
        ]
    )


@pytest.fixture
def no_dot(monkeypatch):
    monkeypatch.setattr(rendering.shutil, "which", lambda name: None)


@pytest.fixture
def no_pygraphviz(monkeypatch, no_dot):
    monkeypatch.setitem(sys.modules, "pygraphviz", None)


@pytest.mark.parametrize("suffix", MAGIC)
def test_the_suffix_tells_the_format(net, tmp_path, suffix):
    path = tmp_path / f"net.{suffix}"
    render_function(net, path, beliefs=True, evidence={"rain": "yes"})
    assert path.read_bytes().startswith(MAGIC[suffix])
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("suffix", MAGIC)
def test_the_same_bytes_every_time(net, tmp_path, suffix):
    contents = set()
    for i in range(2):
        path = tmp_path / f"{i}.{suffix}"
        render_function(net, path, beliefs=True, tables=True)
        contents.add(path.read_bytes())
    assert len(contents) == 1


@pytest.mark.slow
def test_pygraphviz_alone_suffices(net, tmp_path, no_dot):
    for suffix, magic in MAGIC.items():
        render_function(net, tmp_path / f"net.{suffix}")
        assert (tmp_path / f"net.{suffix}").read_bytes().startswith(magic)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("character", ["n", "\\", '"', "&", "é", "\x07"])
def test_names_of_any_length_are_drawn(tmp_path, character):
    names = [character * 20_000 + end for end in "xy"]
    first, second = (bg.Discrete(name, ["no", "yes"]) for name in names)
    rows = [[0.9, 0.1], [0.2, 0.8]]
    long = bg.BayesianNetwork(
        [bg.TableCPD(first, [0.5, 0.5]), bg.TableCPD(second, rows, parents=[first])]
    )
    render_function(long, tmp_path / "long.svg")
    links = ElementTree.parse(tmp_path / "long.svg").iter("{http://www.w3.org/2000/svg}a")
    shown = printable(character)
    tips = [link.get("{http://www.w3.org/1999/xlink}title") for link in links]
    for name in (f"{shown * 20_000}x", f"{shown * 20_000}y"):
        assert f"{name}: no, yes" in tips


def test_upper_case_and_text_paths(net, tmp_path):
    render_function(net, str(tmp_path / "NET.SVG"))
    assert (tmp_path / "NET.SVG").exists()


def test_png_resolution(net, tmp_path):
    widths = []
    for dpi in (96, 192):
        render_function(net, tmp_path / "net.png", dpi=dpi)
        widths.append(int.from_bytes((tmp_path / "net.png").read_bytes()[16:20], "big"))
    assert widths[1] == pytest.approx(2 * widths[0], abs=4)


@pytest.mark.parametrize("suffix", ["dot", "gv"])
def test_dot_text_needs_no_renderer(net, tmp_path, suffix, no_pygraphviz):
    path = tmp_path / f"net.{suffix}"
    render_function(net, path, tables=True)
    assert path.read_text(encoding="utf-8") == to_dot(net, tables=True)


def test_methods_of_the_model(net, tmp_path):
    net.render(tmp_path / "net.svg", target="rain")
    svg = (tmp_path / "net.svg").read_text(encoding="utf-8")
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    in_page = net.render(target="rain")
    # A page is no narrower than what is drawn in it.
    assert in_page.startswith('<svg style="max-width:100%;height:auto" width=')
    assert svg.endswith(in_page.partition('height:auto"')[2])
    assert net._repr_svg_() == render_function(net)
    assert to_graphviz(net, target="rain").source == bg.pictures.to_dot(net, target="rain")


def test_unknown_suffix(net, tmp_path):
    with pytest.raises(FileFormatError, match=r"'\.svg', '\.png', '\.pdf'.*Did you mean '\.png'"):
        render_function(net, tmp_path / "net.pngg")
    with pytest.raises(FileFormatError, match="''"):
        render_function(net, tmp_path / "net")
    assert not list(tmp_path.iterdir())


def test_bad_resolution(net, tmp_path):
    with pytest.raises(FileFormatError, match="dpi"):
        render_function(net, tmp_path / "net.png", dpi=0)


def test_graphs_without_distributions_are_pictures_in_notebooks(net):
    assert "—" in bg.graphs.cpdag(net)._repr_svg_()
    causes = bg.CausalGraph([("smoke", "tar"), ("tar", "cancer")], [("smoke", "cancer")])
    assert "smoke ↔ cancer" in causes._repr_svg_()
    assert causes.render() == causes._repr_svg_()


def test_without_a_renderer(net, tmp_path, no_pygraphviz):
    with pytest.raises(MissingDependencyError, match=r"bayesgraph\[render\]"):
        render_function(net, tmp_path / "net.svg")
    assert not list(tmp_path.iterdir())
    with pytest.raises(MissingDependencyError, match=r"bayesgraph\[render\]"):
        net.render()
    assert net._repr_svg_() is None


def test_a_failure_leaves_the_old_file_alone(net, tmp_path, no_dot, monkeypatch):
    path = tmp_path / "net.svg"
    path.write_text("old", encoding="utf-8")
    monkeypatch.setattr(rendering, "to_dot", lambda model, **options: "digraph { no")
    with pytest.raises(BayesGraphError, match="could not draw"):
        render_function(net, path)
    assert path.read_text(encoding="utf-8") == "old"


def test_a_missing_directory(net, tmp_path):
    with pytest.raises(FileNotFoundError):
        render_function(net, tmp_path / "nowhere" / "net.svg")


@pytest.mark.skipif(sys.platform == "win32", reason="a script stands in for the program")
def test_a_dot_on_the_path_is_used(net, tmp_path, monkeypatch):
    program = tmp_path / "dot"
    program.write_text('#!/bin/sh\ncat > "$0.input"\nprintf "%s " "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    path = tmp_path / "net.png"
    render_function(net, path, dpi=100)
    assert path.read_text(encoding="utf-8") == "-Tpng -Gdpi=100 "
    assert (tmp_path / "dot.input").read_text(encoding="utf-8") == to_dot(net)


@pytest.mark.parametrize("entry", ["", "."])
def test_a_dot_of_the_working_directory_is_not_run(net, tmp_path, monkeypatch, entry):
    for name in ("dot", "pygraphviz.py"):
        (tmp_path / name).write_text("#!/bin/sh\ntouch run; cat\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", entry, prepend=os.pathsep)
    assert net.render().startswith("<svg")
    assert not (tmp_path / "run").exists()


def test_a_huge_graph_does_not_hang_a_notebook(net, monkeypatch):
    def too_slow(command, **options):
        assert options["timeout"] > 0
        raise subprocess.TimeoutExpired(command, options["timeout"])

    monkeypatch.setattr(rendering.subprocess, "run", too_slow)
    with pytest.raises(RenderError, match="more than 10 seconds"):
        net.render()
    assert net._repr_svg_() is None


@pytest.mark.skipif(sys.platform != "linux", reason="fontconfig is Linux' way to find fonts")
def test_fonts_come_from_matplotlib_on_a_machine_without(net, tmp_path, monkeypatch):
    monkeypatch.setattr(rendering, "_FONT_CONFIGURATION", tmp_path / "none")
    monkeypatch.delenv("FONTCONFIG_FILE", raising=False)
    monkeypatch.delenv("FONTCONFIG_PATH", raising=False)
    with rendering._environment() as environment:
        folder = ElementTree.parse(environment["FONTCONFIG_FILE"]).findtext("dir")
    assert folder is not None
    assert folder.endswith("ttf")
    render_function(net, tmp_path / "net.svg")
    assert "rain" in (tmp_path / "net.svg").read_text(encoding="utf-8")
