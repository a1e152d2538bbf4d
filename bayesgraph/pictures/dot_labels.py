"""Labels of the nodes of a picture: text, tables and bars as Graphviz' HTML-like labels.

Every label is HTML-like, because such labels need only the escaping of XML, and their tables can
draw bars. The functions take variables, local distributions and posteriors, but no graphs.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesgraph.core.arrays import Floats
from bayesgraph.core.display import INK, MUTED, TINT, TRACK, cut_texts, printable
from bayesgraph.core.variables import Binned, Continuous, Count, CountVector, Discrete, Variable
from bayesgraph.inference import NumberMixture
from bayesgraph.models import Description, number, state_texts, texts

# White, in red, green and blue.
_GROUND = (255, 255, 255)

NAME_SIZE, TEXT_SIZE, NOTE_SIZE = "12", "10", "9"
LONGEST_NAME, LONGEST_STATE, _LONGEST_CUT = 36, 24, 8
_LONGEST_LINE = 38
# In points: a bar, the columns below a curve (their number first), and the texts of its ends.
_BAR_WIDTH, _BAR_HEIGHT = 84, 9
_CURVE_COLUMNS, _CURVE_STEP, _CURVE_HEIGHT = 44, 3, 26
_ENDS_HEIGHT = 14
# Share of its colour that an interval without an end has.
_FAINT = 0.5
_MAX_IN_TOOLTIP = 40
_MAX_IN_STRING = 2000


class Html(str):
    """An HTML-like label, outer angle brackets included; any other string is text to quote."""

    __slots__ = ()


# ---------------------------------------------------------------------------------------- text


def escape(text: str) -> str:
    r"""Return text for an HTML-like label, with characters that XML cannot hold as escapes.

    Graphviz replaces placeholders such as ``\N`` in these labels too: every backslash is doubled.
    """
    return html.escape(_printable(text).replace("\\", "\\\\"), quote=True)


def quoted_string(text: str) -> str:
    """Return a quoted string of the DOT language that Graphviz draws as exactly this text.

    A long text is several strings, which ``+`` concatenates: Graphviz reads at most 16 kB as one.
    """
    shown = _printable(text)
    parts = [shown[i : i + _MAX_IN_STRING] for i in range(0, len(shown), _MAX_IN_STRING)]
    return " + ".join(_one_string(part) for part in parts or [""])


def _one_string(text: str) -> str:
    """Return a text as one quoted string of the DOT language."""
    inner = text.replace("\\", "\\\\").replace('"', '\\"')
    # Graphviz looks for XML entities in quoted strings too: &amp; keeps "&lt;" from becoming "<".
    return f'"{inner.replace("&", "&amp;")}"'


def _printable(text: str) -> str:
    """Return a text as one line, without characters that cannot be printed."""
    return printable(" ".join(text.splitlines()).replace("\t", " "))


def font(text: str, *, size: str = TEXT_SIZE, colour: str = INK, bold: bool = False) -> str:
    """Return text as HTML-like text in a size and a colour; its special characters are escaped."""
    inner = escape(text)
    return _font(f"<B>{inner}</B>" if bold else inner, size, colour)


def _font(inner: str, size: str, colour: str) -> str:
    return f'<FONT POINT-SIZE="{size}" COLOR="{colour}">{inner}</FONT>'


def title(text: str) -> str:
    """Return the name of a variable as HTML-like text in bold."""
    return f"<B>{escape(text)}</B>"


def percentage(share: float) -> str:
    """Return a probability in per cent; "0%" and "100%" stand only for exactly 0 and 1."""
    if 0 < share < 0.0005:
        return "<0.1%"
    if 0.9995 <= share < 1:
        return ">99.9%"
    return f"{100 * share:.0f}%" if share in (0, 1) else f"{100 * share:.1f}%"


def score(value: float) -> str:
    """Return an arc's score as text: three decimals, none from 100 on, two digits below 0.001."""
    if not math.isfinite(value):
        return str(value)
    if abs(value) >= 100:
        text = f"{value:.0f}"
    elif abs(value) >= 0.001 or value == 0:
        text = f"{value:.3f}"
    else:
        text = f"{value:.1e}"
    return text.replace("-", "−")


def with_spread(mean: float, sd: float) -> str:
    """Return ``mean ± sd``, both rounded to two significant digits of the standard deviation."""
    return f"{_to_scale(mean, sd)} ± {_to_scale(sd, sd, digits=2)}"


def _to_scale(value: float, sd: float, *, digits: int = 4) -> str:
    """Return `value` as text, rounded to the place of the second significant digit of `sd`.

    `digits` is the number of significant digits if `sd` gives no such place.
    """
    if math.isfinite(value) and math.isfinite(sd) and sd > 0:
        # Places after the point of the second significant digit of `sd`.
        decimals = 1 - math.floor(math.log10(sd))
        # Very large and very small numbers are shown by their significant digits instead.
        if -4 < decimals <= 6 and abs(value) < 1e6:
            # Adding zero turns minus zero into zero.
            shown = round(value, max(decimals, 0)) + 0.0
            return f"{shown:.{max(decimals, 0)}f}".replace("-", "−")
    return number(value, digits)


def tooltip(variable: Variable) -> str:
    """Return a node's tooltip: the full name and states, which the label may shorten."""
    if isinstance(variable, Continuous):
        kind = "a count" if isinstance(variable, Count) else "continuous"
        return f"{variable.name}: {kind}"
    is_vector = isinstance(variable, CountVector)
    values: Sequence[Any] = variable.items if isinstance(variable, CountVector) else variable.states
    shown = ("counts of " if is_vector else "") + ", ".join(texts(values[:_MAX_IN_TOOLTIP], 200))
    n_more = len(values) - _MAX_IN_TOOLTIP
    return f"{variable.name}: {shown}" + (f" and {n_more} more" if n_more > 0 else "")


def value_list(variable: Variable, maximum: int) -> list[str]:
    """Return at most `maximum` values of a variable as HTML-like text; none if it is continuous."""
    if isinstance(variable, Binned):
        cuts = cut_texts(variable.cuts, _LONGEST_CUT)
        if not cuts:
            return [muted("one interval")]
        return [muted(f"{len(cuts) + 1} intervals, cut at"), _several(cuts, maximum, len(cuts))]
    if isinstance(variable, Discrete):
        return [_several(state_texts(variable, LONGEST_STATE), maximum, variable.cardinality)]
    if isinstance(variable, CountVector):
        few = texts(variable.items[:maximum], LONGEST_STATE)
        return [_several(few, maximum, len(variable.items))]
    return [muted("0, 1, 2, …")] if isinstance(variable, Count) else []


def counts_seen(variable: CountVector, counts: Floats, maximum: int) -> str:
    """Return the items that occur in an observed row, with their counts, as a line of text."""
    items = np.flatnonzero(counts)
    shown = items[:maximum].tolist()
    names = texts([variable.items[i] for i in shown], LONGEST_STATE)
    counted = [
        f"{name} × {'?' if math.isnan(counts[i]) else number(float(counts[i]))}"
        for name, i in zip(names, shown, strict=True)
    ]
    if rest := len(items) - len(shown):
        counted.append(f"… {rest:,} more")
    return ", ".join(counted) or "nothing"


def muted(text: str) -> str:
    """Return text as muted HTML-like text."""
    return font(text, colour=MUTED)


def small(text: str) -> str:
    """Return text as small muted HTML-like text."""
    return font(text, size=NOTE_SIZE, colour=MUTED)


def _several(values: Sequence[str], maximum: int, n: int) -> str:
    """Return the first `maximum` of `n` texts as HTML-like text, broken into lines.

    `values` are all texts, or at least those first ones.
    """
    # One value too many takes no more room than the note that it is left out.
    shown = values if len(values) == n == maximum + 1 else values[:maximum]
    n_more = n - len(shown)
    lines = [""]
    for text in [*shown, *([f"… {n_more:,} more"] if n_more else [])]:
        joined = f"{lines[-1]} · {text}" if lines[-1] else text
        if len(joined) > _LONGEST_LINE and lines[-1]:
            lines.append(text)
        else:
            lines[-1] = joined
    return _font("<BR/>".join(escape(line) for line in lines), TEXT_SIZE, MUTED)


# -------------------------------------------------------------------------------------- tables


def stack(parts: Sequence[str]) -> Html:
    """Return a node's label that stacks HTML-like texts from top to bottom."""
    if len(parts) == 1:
        return Html(f"<{parts[0]}>")
    padding = 2 if any(part.startswith("<TABLE") for part in parts) else 1
    rows = "".join(f"<TR><TD>{part}</TD></TR>" for part in parts)
    return Html(f"<{_open_table(padding=padding)}{rows}</TABLE>>")


def _open_table(spacing: int = 0, padding: int = 0) -> str:
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="{spacing}" CELLPADDING="{padding}">'


def _fixed_table(width: int, height: int, cells: str, where: str = "") -> str:
    """Return an HTML-like table of one row, of fixed size even if the node is wider."""
    return (
        '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0" FIXEDSIZE="TRUE" '
        f'WIDTH="{width}" HEIGHT="{height}"{where}><TR>{cells}</TR></TABLE>'
    )


def _fixed_cell(width: int, height: int, ground: str = "", inner: str = "") -> str:
    return f'<TD FIXEDSIZE="TRUE" WIDTH="{width}" HEIGHT="{height}"{ground}>{inner}</TD>'


def bars(variable: Discrete, probabilities: Floats, colour: str, maximum: int) -> str:
    """Return HTML-like bars of the `maximum` most probable states, in the order of the states."""
    if len(probabilities) == maximum + 1:  # one takes no more room than "… 1 more"
        maximum += 1
    shown_codes = np.sort(np.argsort(-probabilities, kind="stable")[:maximum])
    names = state_texts(variable, LONGEST_STATE)
    best = int(np.argmax(probabilities))
    # A gap of 0.7 points for each character, as the reader's font may be wider than the one that
    # Graphviz measures.
    room = f'<TD WIDTH="{round(0.7 * max(len(names[code]) for code in shown_codes))}"></TD>'
    rows = []
    for code in shown_codes:
        share = float(probabilities[code])
        rows.append(
            f'<TR><TD ALIGN="LEFT">{font(names[code], bold=bool(code == best))}</TD>{room}'
            f'<TD ALIGN="LEFT">{_bar(share, colour)}</TD>'
            f'<TD ALIGN="RIGHT">{font(percentage(share), bold=bool(code == best))}</TD></TR>'
        )
    rest = len(probabilities) - len(shown_codes)
    if rest:
        left = percentage(max(0.0, 1.0 - float(probabilities[shown_codes].sum())))
        note = small(f"… {rest} more")
        rows.append(
            f'<TR><TD ALIGN="LEFT" COLSPAN="3">{note}</TD><TD ALIGN="RIGHT">{small(left)}</TD></TR>'
        )
    return f"{_open_table(padding=2)}{''.join(rows)}</TABLE>"


def _bar(share: float, colour: str) -> str:
    """Return the bar of a share, on a paler track of full width."""
    # A positive probability has a bar of at least width 1, a probability of zero has none.
    full = 0 if share <= 0 else max(1, round(_BAR_WIDTH * min(share, 1.0)))
    blocks = [(full, colour), (_BAR_WIDTH - full, TRACK)]
    cells = "".join(_fixed_cell(w, _BAR_HEIGHT, f' BGCOLOR="{c}"') for w, c in blocks if w)
    return _fixed_table(_BAR_WIDTH, _BAR_HEIGHT, cells, ' ALIGN="LEFT"')


def density(mixture: NumberMixture, colour: str) -> str:
    """Return mean ± standard deviation above a plot of the central 99.6 % of the density."""
    mean, sd = float(mixture.mean), math.sqrt(float(mixture.variance))
    text = font(with_spread(mean, sd), bold=True)
    low, high = mixture.quantile(0.002), mixture.quantile(0.998)
    if high <= low:
        return _column_plot(text, [], [], "")
    edges = np.linspace(low, high, _CURVE_COLUMNS + 1)
    # Columns show probability masses: a density on a grid might miss a narrow peak.
    masses = np.diff(np.asarray(mixture.cdf(edges))).tolist()
    axis = _ends(_to_scale(low, sd), _to_scale(high, sd))
    return _column_plot(text, masses, [colour] * len(masses), axis)


def histogram(variable: Binned, probabilities: Floats, colour: str, heading: str) -> str:
    """Return a heading above the histogram of a number with intervals.

    Outer intervals have no end: they are drawn as wide as their neighbours (see `Binned.edges`), in
    a fainter colour, and the axis has the first and the last cut only.
    """
    text = font(heading, bold=True)
    if not variable.cuts:
        return _column_plot(text, [], [], "")
    # Ends of the intervals, and edges of the columns that are drawn.
    ends = variable.edges
    edges = np.linspace(ends[0], ends[-1], _CURVE_COLUMNS + 1)
    # The probability below each edge of a column, if numbers are uniform in their interval.
    below = np.interp(edges, ends, np.concatenate([[0.0], np.cumsum(probabilities)]))
    middle = 0.5 * (edges[:-1] + edges[1:])
    # Columns in the first or the last interval.
    is_outer = (middle <= variable.cuts[0]) | (middle > variable.cuts[-1])
    # A fainter shade of a colour ``#rrggbb``.
    colours = [
        _mixed([int(colour[i : i + 2], 16) for i in (1, 3, 5)], _FAINT) if outer else colour
        for outer in is_outer
    ]
    first, last = cut_texts((variable.cuts[0], variable.cuts[-1]))
    axis = _ends(f"≤ {first}".replace("-", "−"), f"> {last}".replace("-", "−"))
    return _column_plot(text, np.diff(below).tolist(), colours, axis)


def _column_plot(text: str, masses: Sequence[float], colours: Sequence[str], axis: str) -> str:
    """Return text above a plot of masses as columns on an axis; without masses the text alone."""
    rows = [text]
    if masses:
        # The highest column has the whole height.
        heights = [round(_CURVE_HEIGHT / max(masses) * mass) for mass in masses]
        columns = "".join(map(_column, heights, colours))
        rows += [_fixed_table(_CURVE_COLUMNS * _CURVE_STEP, _CURVE_HEIGHT, columns), axis]
    body = "".join(f"<TR><TD>{row}</TD></TR>" for row in rows)
    return f"{_open_table(padding=1)}{body}</TABLE>"


def _ends(*shown: str) -> str:
    """Return the texts of both ends of an axis, as HTML-like text below it."""
    left, right = (small(end) for end in shown)
    # Very long numbers, of about 7 points a character, need more width than the curve.
    half = max(_CURVE_COLUMNS * _CURVE_STEP // 2, 7 * max(map(len, shown)))
    cells = (
        f'<TD WIDTH="{half}" ALIGN="LEFT">{left}</TD><TD WIDTH="{half}" ALIGN="RIGHT">{right}</TD>'
    )
    return _fixed_table(2 * half, _ENDS_HEIGHT, cells)


def _column(height: int, colour: str) -> str:
    """Return a cell with a column at its bottom, which is visible even if its mass is 0."""
    cell = _fixed_cell(_CURVE_STEP, max(height, 1), f' BGCOLOR="{colour}"')
    block = _fixed_table(_CURVE_STEP, max(height, 1), cell, ' VALIGN="BOTTOM"')
    return _fixed_cell(_CURVE_STEP, _CURVE_HEIGHT, inner=block)


def table(local: Description) -> str:
    """Return the description of a CPD or a factor as an HTML-like table."""
    note = small(local.note)
    if not local.rows:
        return note
    lines = ["".join(f"<TD>{small(text)}</TD>" for text in local.header)]
    for i, row in enumerate(local.rows):
        shares = [] if local.tints is None else local.tints[i]
        tints = [f' BGCOLOR="{_mixed(TINT, share)}"' for share in shares]
        # The first cells, states of the parents, have no tint.
        grounds = [""] * (len(row) - len(tints)) + tints
        cells = zip(grounds, map(font, row), strict=True)
        lines.append("".join(f"<TD{ground}>{text}</TD>" for ground, text in cells))
    if local.note:
        lines.append(f'<TD COLSPAN="{len(local.header)}" ALIGN="LEFT">{note}</TD>')
    body = "".join(f"<TR>{line}</TR>" for line in lines)
    return f"{_open_table(spacing=1, padding=3)}{body}</TABLE>"


def _mixed(colour: Sequence[int], share: float) -> str:
    """Return the mixture of a share of a colour (red, green, blue) with white, as ``#rrggbb``."""
    parts = (
        round(ground + (full - ground) * min(max(share, 0.0), 1.0))
        for ground, full in zip(_GROUND, colour, strict=True)
    )
    return "#" + "".join(f"{part:02x}" for part in parts)
