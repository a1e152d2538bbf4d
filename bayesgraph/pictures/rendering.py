"""Pictures of models: their DOT text, drawn by Graphviz.

Graphviz runs in a process of its own, be it the system's ``dot`` or the library inside pygraphviz'
wheel: it is not thread-safe, a layout in progress cannot be interrupted, and its
warnings about fonts belong in an error message only.
"""

from __future__ import annotations

import importlib.util
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import graphviz

from bayesgraph.core import errors
from bayesgraph.core.compilation import python_command
from bayesgraph.core.files import PathLike, suffix_among, temporary_folder, write_bytes
from bayesgraph.models import CPD
from bayesgraph.pictures import pygraphviz_process
from bayesgraph.pictures.style import Figure

# ---------------------------- Choice of the function that draws a value, by the class of the value


def function_for(value: object, functions: Mapping[str, str]) -> Callable[..., Any] | None:
    """Return the function of a value's class, or of the nearest base class; None if there is none.

    Parameters
    ----------
    value : object
    functions : mapping from str to str
        From the name of a class of bayesgraph to "module:name" of a function, which is imported
        when it is first used: most figures need libraries that the others do not.
    """
    for kind in type(value).__mro__:
        if kind.__name__ in functions and kind.__module__.startswith("bayesgraph."):
            function: Callable[..., Any] = pkgutil.resolve_name(functions[kind.__name__])
            return function
    return None


# ------------------------------------------- Pictures of models: their DOT text, drawn by Graphviz


# Classes of what is drawn, and the functions that write it in DOT.
_WRITERS = {
    "Model": "bayesgraph.pictures.dot:model_to_dot",
    "PDAG": "bayesgraph.pictures.dot:graph_to_dot",
    "CausalGraph": "bayesgraph.pictures.dot:graph_to_dot",
    "TreesCPD": "bayesgraph.pictures.trees:tree_to_dot",
}
_PICTURES = (".svg", ".png", ".pdf")
_TEXTS = (".dot", ".gv")

# Maximum time for the layout of a graph without a path: a notebook then shows text.
_NOTEBOOK_SECONDS = 10.0

_FONT_CONFIGURATION = Path("/etc/fonts/fonts.conf")
_PDF_DATE = re.compile(rb"(?<=/CreationDate \(D:)\d{14}")


def to_dot(drawn: Any, **options: Any) -> str:
    """Return a graph as text in the DOT language of Graphviz.

    The same graph and options give the same text.

    Parameters
    ----------
    drawn : model, estimator, TreesCPD, PDAG, CausalGraph or ArcConfidence
        Of an estimator, the network is drawn with the target highlighted; of one that grows a
        tree, the tree; of an ArcConfidence, the averaged network, with the shares of the arcs.
    **options
        Those of models are `evidence`, `target`, `states`, `beliefs`, `tables`, `scores`, `plate`,
        `arc_probabilities`, `rankdir`, `max_states` and `max_rows`, see
        :func:`bayesgraph.pictures.dot.model_to_dot`; those of trees `numbers`, `max_depth`,
        `max_states` and `rankdir`, see :func:`bayesgraph.pictures.trees.tree_to_dot`; that of a
        PDAG or a CausalGraph is `rankdir`.

    Raises
    ------
    DataTypeError
        If `drawn` is none of these.
    sklearn.exceptions.NotFittedError
        For an estimator that has learned nothing yet.
    UnknownVariableError, EvidenceError, ImpossibleEvidenceError, GraphError
        For an option that does not fit the graph.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> rain, wet = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", ["no", "yes"])
    >>> net = bg.BayesianNetwork([
    ...     bg.TableCPD(rain, [0.8, 0.2]),
    ...     bg.TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], parents=[rain]),
    ... ])
    >>> print(bg.pictures.to_dot(net, states=False).splitlines()[-2])
      n0 -> n1 [tooltip="rain → wet"];
    """
    # Estimators and results say what is drawn of them, and with which options.
    if hasattr(type(drawn), "_drawn"):
        drawn, preset = drawn._drawn
        options = preset | options
    writer = function_for(drawn, _WRITERS)
    if writer is None:
        text = drawn.title if isinstance(drawn, CPD) else f"{drawn!r:.80}"
        raise errors.DataTypeError(
            "to_dot and render draw a model, an estimator, a TreesCPD, a PDAG, a CausalGraph or an "
            f"ArcConfidence, and bayesgraph.plot draws results; got {text}."
        )
    dot: str = writer(drawn, **options)
    return dot


def render(
    drawn: Any, path: PathLike | None = None, *, dpi: int = 192, **options: Any
) -> str | None:
    """Draw a graph to a file, or return it as an SVG element.

    The file is written atomically: it is replaced as a whole or not at all. The same graph,
    options, fonts and version of Graphviz give the same bytes.

    Parameters
    ----------
    drawn : model, estimator, TreesCPD, PDAG, CausalGraph or ArcConfidence
        See `to_dot`.
    path : str or path, optional
        The suffix names the format: .svg, .png, .pdf, or .dot and .gv for the text in the DOT
        language.
    dpi : int
        Dots per inch of a PNG.
    **options
        See `to_dot`.

    Returns
    -------
    str or None
        Without a path, the SVG element, as notebooks show it.

    Raises
    ------
    FileFormatError
        For another suffix.
    MissingDependencyError
        If there is neither a ``dot`` on the PATH nor pygraphviz.
    RenderError
        If Graphviz fails, the message has its error output; or if it takes more than ten seconds
        without a path.
    """
    if path is None:
        try:
            picture = _picture(to_dot(drawn, **options), "svg", timeout=_NOTEBOOK_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise errors.RenderError(
                f"The layout of {drawn!r:.80} takes more than {_NOTEBOOK_SECONDS:g} seconds, the "
                "limit without a path; draw it to a file."
            ) from error
        # Without the XML declaration it can stand inside an HTML page, whose width it has at most.
        svg = picture.decode().partition("<svg")[2]
        return f'<svg style="max-width:100%;height:auto"{svg}'
    suffix = suffix_among(path, (*_PICTURES, *_TEXTS), "a graph")
    if suffix in _TEXTS:
        write_bytes(path, to_dot(drawn, **options).encode())
        return None
    if dpi <= 0:
        raise errors.FileFormatError(f"dpi is a positive number of dots per inch; got {dpi!r}.")
    resolution = f"{dpi:g}" if suffix == ".png" else ""
    write_bytes(path, _picture(to_dot(drawn, **options), suffix[1:], resolution))
    return None


def to_graphviz(drawn: Any, **options: Any) -> graphviz.Source:
    """Return a graph as a Source of the graphviz package, which can show and save it.

    Parameters and errors are those of `to_dot`.
    """
    return graphviz.Source(to_dot(drawn, **options))


def _picture(dot: str, form: str, dpi: str = "", timeout: float | None = None) -> bytes:
    """Return the bytes of a picture of a graph in the DOT language.

    Parameters
    ----------
    dot : str
    form : str
        Format of Graphviz, such as "svg".
    dpi : str
        Dots per inch; by default Graphviz' own.
    timeout : float, optional
        In seconds; then a subprocess.TimeoutExpired is raised.
    """
    program = shutil.which("dot")
    # Windows, and empty entries of the PATH, look in the working directory, as a relative path.
    if program is not None and os.path.isabs(program):
        command = [program, f"-T{form}", *([f"-Gdpi={dpi}"] if dpi else [])]
    else:
        what = f"Drawing a graph as {form.upper()}"
        errors.optional_module("pygraphviz", extra="render", what=what)
        command = python_command(pygraphviz_process.__name__, form, dpi)
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
        raise errors.RenderError(
            f"Graphviz ({Path(command[0]).name}) could not draw the graph: "
            f"{said[-2000:] or f'exit code {done.returncode}, no output'}"
        )
    # The new date has the same length, so that the offsets in the file remain valid.
    return _PDF_DATE.sub(b"20000101000000", done.stdout)


@contextmanager
def _environment() -> Iterator[dict[str, str]]:
    """Yield the environment variables of the Graphviz process, with fonts if needed.

    A bare Linux container has no fonts, and text would be drawn as empty boxes: then the DejaVu
    Sans of matplotlib is used.
    """
    is_chosen = {"FONTCONFIG_FILE", "FONTCONFIG_PATH"} & os.environ.keys()
    has_fonts = is_chosen or sys.platform != "linux" or _FONT_CONFIGURATION.exists()
    spec = None if has_fonts else importlib.util.find_spec("matplotlib")
    if spec is None or spec.origin is None:
        yield {**os.environ}
        return
    fonts = Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf"
    with temporary_folder() as folder:
        configuration = folder / "fonts.conf"
        configuration.write_text(
            '<?xml version="1.0"?>\n<!DOCTYPE fontconfig SYSTEM "fonts.dtd">\n'
            f"<fontconfig><dir>{fonts}</dir><cachedir>{folder}</cachedir>"
            "<alias><family>Helvetica</family><prefer><family>DejaVu Sans</family></prefer></alias>"
            "</fontconfig>\n",
            encoding="utf-8",
        )
        yield {**os.environ, "FONTCONFIG_FILE": str(configuration)}


# ---------------------------------- One function that draws any result, by the figure of its class


# Classes of results, and the functions that draw them.
FIGURES = {
    "Axes": "bayesgraph.pictures.maps:axes_figure",
    "Contributions": "bayesgraph.pictures.contributions:contributions_figure",
    "Course": "bayesgraph.pictures.mixtures:course_figure",
    "Correspondence": "bayesgraph.pictures.maps:correspondence_figure",
    "Evaluation": "bayesgraph.pictures.classifiers:evaluation_figure",
    "ItemsMixture": "bayesgraph.pictures.mixtures:items_figure",
    "NextQuestion": "bayesgraph.pictures.bars:next_question_figure",
    "NumberMixture": "bayesgraph.pictures.mixtures:density_figure",
    "Posterior": "bayesgraph.pictures.mixtures:posterior_figure",
    "PrequentialComparison": "bayesgraph.pictures.mixtures:prequential_figure",
    "PrequentialResult": "bayesgraph.pictures.mixtures:prequential_figure",
    "Shapes": "bayesgraph.pictures.contributions:shapes_figure",
    "TableDrift": "bayesgraph.pictures.bars:table_drift_figure",
    "Tornado": "bayesgraph.pictures.bars:tornado_figure",
}


def plot(result: Any, **options: Any) -> Figure:
    """Draw a result: an explanation, a posterior of a number, a comparison, a map, and so on.

    Models and classifiers are graphs, which their method `render` draws.

    Parameters
    ----------
    result : one of the classes below
    **options
        What the figure of the class takes:

        * Contributions, a waterfall of log odds: `max_findings`, `arcs`, `title`; see
          :func:`bayesgraph.pictures.contributions.contributions_figure`.
        * Shapes, the effects of features: `max_terms`, `title`; see
          :func:`bayesgraph.pictures.contributions.shapes_figure`.
        * NextQuestion, bars of questions: `max_questions`, `title`; see
          :func:`bayesgraph.pictures.bars.next_question_figure`.
        * Tornado, bars of probabilities: `max_bars`, `title`; see
          :func:`bayesgraph.pictures.bars.tornado_figure`.
        * TableDrift, bars of families: `max_families`, `title`; see
          :func:`bayesgraph.pictures.bars.table_drift_figure`.
        * NumberMixture of one variable, its density or probabilities:
          `probability`, `title`; see :func:`bayesgraph.pictures.mixtures.density_figure`.
        * Posterior, bars of states or intervals: `n`, `title`; see
          :func:`bayesgraph.pictures.mixtures.posterior_figure`.
        * Course, what `smooth`, `filter` and `forecast` of a temporal network return, over the
          slices: `sequence`, `probability`, `title`; see
          :func:`bayesgraph.pictures.mixtures.course_figure`.
        * ItemsMixture, bars of items: `n`, `title`; see
          :func:`bayesgraph.pictures.mixtures.items_figure`.
        * Correspondence, a map of states: `axes`, `table`, `title`; see
          :func:`bayesgraph.pictures.maps.correspondence_figure`.
        * Axes, a map of variables and rows: `table`, `axes`, `labels`, `title`; see
          :func:`bayesgraph.pictures.maps.axes_figure`.
        * PrequentialResult and PrequentialComparison, curves over a stream: `measure`, `changes`,
          `title`; see :func:`bayesgraph.pictures.prequential_figure`, which also takes several.
        * Evaluation, confusion matrix, ROC or precision-recall curves, and calibration: `curve`;
          see :func:`bayesgraph.pictures.evaluation_figure`, which also takes several.

    Returns
    -------
    matplotlib.figure.Figure
        A notebook shows it; :func:`bayesgraph.pictures.save_figure` writes it to a file.

    Raises
    ------
    DataTypeError
        If `result` is of none of these classes.
    DataError
        If there is nothing to draw, or for an invalid option.
    MissingDependencyError
        If matplotlib is not installed.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> age = bg.GaussianCPD(bg.Continuous("age"), 40.0, 100.0)
    >>> figure = plot(bg.BayesianNetwork([age]).query("age"), probability=0.5)
    >>> figure.axes[0].get_title(loc="left")
    'age'
    """
    figure = function_for(result, FIGURES)
    if figure is None:
        *names, last = FIGURES
        raise errors.DataTypeError(
            f"plot draws a result: {', '.join(names)} or {last}; got {result!r:.80}. A model or a "
            "classifier is drawn by its method render, and several results by the functions of "
            "bayesgraph.pictures."
        )
    return figure(result, **options)
