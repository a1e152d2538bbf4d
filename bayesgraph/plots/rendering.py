"""Pictures of models: their DOT text, drawn by Graphviz.

Graphviz runs in a process of its own, be it the system's ``dot`` or the library inside pygraphviz'
wheel: it is not thread-safe, a layout in progress cannot be interrupted, and its
warnings about fonts belong in an error message only.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import graphviz

from bayesgraph.errors import (
    FileFormatError,
    MissingDependencyError,
    RenderError,
    quoted,
    suggestion,
)
from bayesgraph.io.dot import to_dot
from bayesgraph.io.files import PathLike, path_text, write_bytes
from bayesgraph.models.model import Model
from bayesgraph.optional import optional_module
from bayesgraph.plots import pygraphviz_process

_PICTURES = {".svg": "svg", ".png": "png", ".pdf": "pdf"}
_TEXTS = (".dot", ".gv")

# Maximum time for the layout of a graph in a notebook, which shows text if it takes longer.
_NOTEBOOK_SECONDS = 10.0

_FONT_CONFIGURATION = Path("/etc/fonts/fonts.conf")
_PDF_DATE = re.compile(rb"(?<=/CreationDate \(D:)\d{14}")


def render(model: Model, path: PathLike, *, dpi: int = 192, **dot_options: Any) -> None:
    """Draw a model to a file.

    The file is written atomically: it is replaced as a whole or not at all. The same model,
    options, fonts and version of Graphviz give the same bytes.

    Parameters
    ----------
    model : BayesianNetwork, FactorGraph, NetworkMixture, PosteriorAverage or WeightedNetwork
    path : str or path
        The suffix names the format: .svg, .png, .pdf, or .dot and .gv for the text in the DOT
        language.
    dpi : int
        Dots per inch of a PNG.
    **dot_options
        See :func:`bayesgraph.io.dot.to_dot`.

    Raises
    ------
    FileFormatError
        For another suffix.
    MissingDependencyError
        If there is neither a ``dot`` on the PATH nor pygraphviz.
    RenderError
        If Graphviz fails; the message has its error output.
    """
    render_text(lambda: to_dot(model, **dot_options), path, dpi=dpi)


def render_text(dot: Callable[[], str], path: PathLike, *, dpi: int = 192) -> None:
    """Draw text in the DOT language to a file; see `render`.

    Parameters
    ----------
    dot : callable
        Returns the text; it is not called if the file cannot be drawn.
    path : str or path
    dpi : int
    """
    suffix = Path(path_text(path)).suffix.lower()
    known = (*_PICTURES, *_TEXTS)
    if suffix not in known:
        raise FileFormatError(
            f"{path_text(path)}: a graph is drawn to files that end in {quoted(known)}; got "
            f"{suffix!r}.{suggestion(suffix, known)}"
        )
    if suffix in _TEXTS:
        write_bytes(path, dot().encode())
        return
    if dpi <= 0:
        raise FileFormatError(f"dpi is a positive number of dots per inch; got {dpi!r}.")
    command = _command(_PICTURES[suffix], f"{dpi:g}" if suffix == ".png" else "")
    write_bytes(path, _drawn(command, dot()))


def to_graphviz(model: Model, **dot_options: Any) -> graphviz.Source:
    """Return a model as a Source of the graphviz package, which can show and save it.

    Parameters
    ----------
    model : BayesianNetwork, FactorGraph, NetworkMixture, PosteriorAverage or WeightedNetwork
    **dot_options
        See :func:`bayesgraph.io.dot.to_dot`.
    """
    return graphviz.Source(to_dot(model, **dot_options))


def to_svg(model: Model, **dot_options: Any) -> str | None:
    """Return a model as an SVG element; None if no renderer is installed or it takes too long.

    Notebooks show this picture.

    Parameters
    ----------
    model : BayesianNetwork, FactorGraph, NetworkMixture, PosteriorAverage or WeightedNetwork
    **dot_options
        See :func:`bayesgraph.io.dot.to_dot`.

    Raises
    ------
    RenderError
        If Graphviz fails; the message has its error output.
    """
    try:
        command = _command("svg", "")
    except MissingDependencyError:
        return None
    try:
        picture = _drawn(command, to_dot(model, **dot_options), timeout=_NOTEBOOK_SECONDS)
    except subprocess.TimeoutExpired:
        return None
    # Without the XML declaration it can stand inside an HTML page.
    text = picture.decode()
    return text[text.index("<svg") :]


def plain_layout(dot: str, *, timeout: float | None = None) -> dict[str, tuple[float, float]]:
    """Return where Graphviz places the centre of each node of a graph, in inches, y upwards.

    Parameters
    ----------
    dot : str
        Text in the DOT language, whose nodes are named by numbers.
    timeout : float, optional
        Seconds.

    Raises
    ------
    MissingDependencyError
        If there is neither a ``dot`` on the PATH nor pygraphviz.
    RenderError
        If Graphviz fails.
    subprocess.TimeoutExpired
        If it takes longer.
    """
    picture = _drawn(_command("plain", ""), dot, timeout=timeout).decode()
    nodes = [line.split() for line in picture.splitlines() if line.startswith("node ")]
    return {name: (float(x), float(y)) for _, name, x, y, *_ in nodes}


def _command(file_format: str, dpi: str) -> list[str]:
    """Return the command that converts DOT on standard input to a picture on standard output."""
    dot = shutil.which("dot")
    if dot is not None:
        return [dot, f"-T{file_format}", *([f"-Gdpi={dpi}"] if dpi else [])]
    optional_module("pygraphviz", extra="render", what=f"Drawing a graph as {file_format.upper()}")
    # -P keeps files of the working directory from being imported as modules.
    return [sys.executable, "-P", "-m", pygraphviz_process.__name__, file_format, dpi]


def _drawn(command: list[str], dot: str, *, timeout: float | None = None) -> bytes:
    with _environment() as environment:
        done = subprocess.run(
            command,
            input=dot.encode(),
            capture_output=True,
            check=False,
            timeout=timeout,
            env=environment,
            # Without the flag, a console window would appear on Windows.
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    if done.returncode or not done.stdout:
        said = done.stderr.decode(errors="replace").strip()
        raise RenderError(
            f"Graphviz ({Path(command[0]).name}) could not draw the graph: "
            f"{said[-2000:] or f'exit code {done.returncode}, no output'}"
        )
    # The new date has the same length, so that the offsets in the file remain valid.
    return _PDF_DATE.sub(b"20000101000000", done.stdout)


@contextmanager
def _environment() -> Iterator[dict[str, str]]:
    """Yield the environment variables of the Graphviz process: module path, and fonts if needed.

    A bare Linux container has no fonts, and text would be drawn as empty boxes: then the DejaVu
    Sans of matplotlib is used.
    """
    # The process has to find this package where this process has found it.
    search_path = [str(Path(__file__).parents[2]), *filter(None, sys.path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(search_path)}
    fonts = _matplotlib_fonts() if sys.platform == "linux" and _without_fonts() else None
    if fonts is None:
        yield environment
        return
    with tempfile.TemporaryDirectory(prefix="bayesgraph-") as folder:
        configuration = Path(folder) / "fonts.conf"
        configuration.write_text(
            '<?xml version="1.0"?>\n<!DOCTYPE fontconfig SYSTEM "fonts.dtd">\n'
            f"<fontconfig><dir>{fonts}</dir><cachedir>{folder}</cachedir>"
            "<alias><family>Helvetica</family><prefer><family>DejaVu Sans</family></prefer></alias>"
            "</fontconfig>\n",
            encoding="utf-8",
        )
        yield {**environment, "FONTCONFIG_FILE": str(configuration)}


def _without_fonts() -> bool:
    chosen = {"FONTCONFIG_FILE", "FONTCONFIG_PATH"} & os.environ.keys()
    return not chosen and not _FONT_CONFIGURATION.exists()


def _matplotlib_fonts() -> Path | None:
    spec = importlib.util.find_spec("matplotlib")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf"
    return folder if folder.is_dir() else None
