"""Tables as text and as HTML, for printing results, conditional distributions and plans."""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from bayesgraph.core.errors import unknown_variable
from bayesgraph.core.files import PathLike, suffix_among, write_text

# ---- The colours of everything that is drawn: graphs, figures, tables of notebooks and the
# explorer
# Text has a contrast of at least 4.5 to its ground, and shading, line width, dashes and bold type
# repeat what colours show. Blue and orange are distinguishable for every common kind of colour
# blindness.


INK, MUTED, FRAME, GRID = "#1f2937", "#566273", "#b4c0ce", "#d8dfe8"
CARD, LINE, ARC, PALE, BOX = "#ffffff", "#a9b6c6", "#64748b", "#c3ccd7", "#f6f8fa"
# Bars of beliefs, of the target and of what was observed, and what a bar lies on.
BLUE, ORANGE, SLATE, TRACK = "#4c78a8", "#e58a2b", "#475569", "#e3e9f0"
# The ground of the highest probability in a table, as red, green and blue.
TINT = (164, 196, 230)
# Grounds and outlines of observed nodes and of the target.
SHADE, SHADE_LINE = "#d8dfe8", "#64748b"
TARGET, TARGET_LINE = "#fff4e6", "#d9730d"
# Palette of Okabe and Ito (2008) without black and yellow, which is too pale for lines; the last
# colour is not theirs.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7a5195")

# The explorer's page by day and by night, as properties of its style sheet.
_THEMES = {
    "ground": ("#f3f5f8", "#11151b"),
    "panel": ("#ffffff", "#181d25"),
    "card": (CARD, "#1d232d"),
    "ink": (INK, "#e7ecf3"),
    "muted": (MUTED, "#a3afbf"),
    "line": (LINE, "#46536a"),
    "hair": (GRID, "#2d3646"),
    "track": (TRACK, "#303a4a"),
    "bar": (BLUE, "#6ea3dc"),
    "arc": (ARC, "#7f8da1"),
    "pale": (PALE, "#3a4558"),
    "strong": (SLATE, "#cbd5e1"),
    "shade": (SHADE, "#333f53"),
    "shade-line": (SHADE_LINE, "#94a3b8"),
    "target": (TARGET, "#35291b"),
    "target-line": (TARGET_LINE, "#f0a04b"),
    "tint": ("#a4c4e6", "#35618f"),
    "focus": ("#1d4ed8", "#93c5fd"),
    "warn": ("#fdecea", "#3d2423"),
    "warn-line": ("#b3261e", "#f2a29b"),
}
_BY_NIGHT = "#5aaee8", "#f08a4b", "#3cc79c", "#e2a3c7", "#9bd3f5", "#f2bd4b", "#bd95d3"
_THEMES |= {f"class-{i}": pair for i, pair in enumerate(zip(COLOURS, _BY_NIGHT, strict=True))}
LIGHT = {name: light for name, (light, _) in _THEMES.items()}
DARK = {name: dark for name, (_, dark) in _THEMES.items()}


def style_properties(colours: dict[str, str]) -> str:
    """Return colours as custom properties of a style sheet: ``--ink: #1f2937; ...``."""
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


# ----------- Tables as text and as HTML, for printing results, conditional distributions and plans


# Characters that mean something within a line of Markdown.
_MARKDOWN = re.compile(r"[\\`*_{}\[\]<>#|~&$]")

_BAR_CHARACTERS, _BAR_EMS = 24, 8.0
# From this size on numbers have an exponent.
_LONGEST_WHOLE = 1e12
# Columns of a terminal that a line with a bar keeps to.
_LINE = 80
# The longest cell that is no sentence.
_SENTENCE = 30


def printable(text: str) -> str:
    """Return text with control and format characters, and lone surrogates, as Python escapes.

    Names and states of a file could otherwise command a terminal, turn the direction of what stands
    beside them, or fail to be printed at all.
    """
    if text.isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode() if _is_control(char) else char for char in text
    )


def _is_control(char: str) -> bool:
    # Persian, Hindi and emoji are written with two format characters, which join or part letters.
    is_control = unicodedata.category(char) in ("Cc", "Cf", "Cs") and char not in "\u200c\u200d"
    return is_control or char in "\ufffe\uffff"


def escaped_markdown(text: str) -> str:
    """Return text in which no character of it has a meaning in Markdown."""
    return _MARKDOWN.sub(r"\\\g<0>", printable(text))


def rounded(value: float, digits: int = 4, *, signed: bool = False, grouped: bool = False) -> str:
    """Return a number as text with at most `digits` significant digits after its whole part.

    Numbers are shown so in everything that people read: ``12000``, not ``1.2e+04``. Whole parts are
    not shortened below a trillion.

    Parameters
    ----------
    value : float
    digits : int
        Fewer are shown of a number that needs fewer.
    signed : bool
        Whether positive numbers have a plus.
    grouped : bool
        Whether thousands have a comma, as in numbers of rows; values have none, so that their text
        can be given as a number again.
    """
    form = ("+" if signed else "") + ("," if grouped else "")
    # "g" takes an exponent for whole parts of more than `digits` digits.
    text = f"{value:{form}.{digits}g}"
    return f"{value:{form}.0f}" if "e+" in text and abs(value) < _LONGEST_WHOLE else text


def cut_texts(cuts: Sequence[float], longest: int = 10) -> list[str]:
    """Return cut points as different texts, none of which is rounded.

    A rounded cut would put numbers near it on the wrong side: a text is exact, or if it were longer
    than `longest` characters its first digits with "…", as many as tell the cuts apart.
    """
    exact = [repr(float(cut)).removesuffix(".0") for cut in cuts]
    texts = [_first_digits(text, longest) for text in exact]
    # One more digit, until different cuts have different texts.
    while len(set(texts)) < len(set(exact)):
        longest += 1
        texts = [_first_digits(text, longest) for text in exact]
    return texts


def _first_digits(text: str, longest: int) -> str:
    """Return a number's text, or if that is long its first decimals: ``0.123…``, ``1.23…e-07``."""
    mantissa, e, exponent = text.partition("e")
    places = longest - len(f"…{e}{exponent}")
    # At least one decimal, however long the whole part is.
    kept = mantissa[: max(places, mantissa.find(".") + 2)]
    short = f"{kept}…{e}{exponent}"
    # Texts without decimals stay, and those that would not become shorter.
    return short if "." in kept and len(text) > max(longest, len(short)) else text


def _lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


@dataclass(frozen=True)
class DisplayTable:
    """A printable table: labels, then numbers.

    Attributes
    ----------
    title : str
        One or several lines above the table.
    rows : sequence of sequences of str
    header : sequence of str
        The names of the columns; empty for no header.
    bars : sequence of float
        Length of the bar at the end of each row, from -1 to 1; empty for no bars.
    note : str
        One or several lines below the table, such as the number of rows not shown.
    labels : int
        Number of columns of labels, which are flush left; the other columns are numbers.
    """

    title: str
    rows: Sequence[Sequence[str]] = ()
    header: Sequence[str] = ()
    bars: Sequence[float] = ()
    note: str = ""
    labels: int = 1

    def text(self) -> str:
        """Return the table as lines of text, labels flush left and numbers flush right."""
        lines = [[printable(cell) for cell in line] for line in self._body()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        # Sentences in the last column have lines of their own if they do not fit.
        below = [""] * len(lines)
        if widths and widths[-1] > _SENTENCE and sum(widths) + 2 * len(widths) > _LINE:
            below = [f"\n    {line.pop()}".rstrip() for line in lines]
            widths.pop()
        # What a line has left for the bar: two spaces are before each column and before the bar.
        room = _LINE - sum(widths) - 2 * (len(widths) + 1)
        longest = max(0, min(_BAR_CHARACTERS, room))
        bars = [(("█" if share >= 0 else "▒") * round(longest * abs(share))) for share in self.bars]
        bars = ["", *bars] if self.header else bars
        body = []
        for i, line in enumerate(lines):
            cells = [
                cell.ljust(w) if j < self.labels else cell.rjust(w)
                for j, (cell, w) in enumerate(zip(line, widths, strict=True))
            ]
            cells += bars[i : i + 1]  # nothing if there are no bars
            body.append(f"  {'  '.join(cells)}".rstrip() + below[i])
        return self._framed(body)

    def folded(self, keys: int) -> str:
        """Return the table as text whose columns continue below where a line would be too long.

        Parameters
        ----------
        keys : int
            Number of the first columns, which are repeated in each part; if they take more than
            half a line, nothing is folded.
        """
        body = self._body()
        widths = [max(map(len, map(printable, column))) + 2 for column in zip(*body, strict=True)]
        parts: list[list[int]] = []
        # Columns of each part: as many as have room beside the repeated first ones.
        room = 0
        for column, width in enumerate(widths[keys:], keys):
            if not parts or width > room:
                parts.append([])
                room = _LINE - sum(widths[:keys])
            parts[-1].append(column)
            room -= width
        if len(parts) < 2 or 2 * sum(widths[:keys]) > _LINE:
            return self.text()
        texts = []
        for part in parts:
            shown = [*range(keys), *part]
            header = [self.header[j] for j in shown] if self.header else []
            rows = [[row[j] for j in shown] for row in self.rows]
            part_of_it = replace(self, title="", rows=rows, header=header, note="")
            # The empty title is an empty first line.
            texts.append(part_of_it.text().removeprefix("\n"))
        return self._framed(texts)

    def _framed(self, body: Sequence[str]) -> str:
        """Return texts between the title and the note, whose lines are indented."""
        note = [f"  {printable(line)}" for line in self.note.split("\n")] if self.note else []
        return "\n".join([_lines(self.title), *body, *note])

    def _body(self) -> list[Sequence[str]]:
        return [*([self.header] if self.header else []), *self.rows]

    def html(self) -> str:
        """Return the table as HTML, every text escaped."""
        left = self.labels
        head = "".join(_html_cell("th", c, is_left=j < left) for j, c in enumerate(self.header))
        parts = [f"<tr>{head}</tr>"] if head else []
        for i, row in enumerate(self.rows):
            cells = "".join(_html_cell("td", c, is_left=j < left) for j, c in enumerate(row))
            bar = f"<td>{_html_bar(self.bars[i])}</td>" if self.bars else ""
            parts.append(f"<tr>{cells}{bar}</tr>")
        title = html.escape(_lines(self.title)).replace("\n", "<br>")
        below = html.escape(_lines(self.note)).replace("\n", "<br>")
        note = f"<div>{below}</div>" if below else ""
        # Lines of a title are as long as they are, however narrow the table.
        caption = f"<caption style='text-align:left;white-space:nowrap'>{title}</caption>"
        return f"<table>{caption}{''.join(parts)}</table>{note}"

    def markdown(self) -> str:
        """Return the table as Markdown in the form of GitHub, every text escaped, without bars."""
        parts = [f"## {escaped_markdown(' '.join(self.title.split()))}"]
        if self.rows:
            n = len(self.rows[0])
            head = self.header or [""] * n
            sides = [":--" if j < self.labels else "--:" for j in range(n)]
            rows = [map(escaped_markdown, row) for row in (head, *self.rows)]
            lines = [f"| {' | '.join(row)} |" for row in rows]
            parts.append("\n".join([lines[0], f"| {' | '.join(sides)} |", *lines[1:]]))
        if self.note:
            parts.append("  \n".join(map(escaped_markdown, self.note.split("\n"))))
        return "\n\n".join(parts)


T = TypeVar("T", bound="Displayed")
# Results of a list that a notebook shows.
_MOST_ROWS = 60


class Displayed:
    """Mixin for classes whose objects print as a table: text in a terminal, HTML in a notebook."""

    __slots__ = ()

    def _display(self) -> DisplayTable:
        """Return the table that represents the object in print."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self._display().text()

    def _repr_html_(self) -> str:
        return self._display().html()


class DisplayedList(list[T]):
    """List of results that a notebook shows as one table, with a row for the table of each."""

    def _repr_html_(self) -> str:
        # The tables have rows of a label and a text: the labels become the header.
        tables = [item._display() for item in self[:_MOST_ROWS]]
        rows = [[table.title, *(row[1] for row in table.rows)] for table in tables]
        header = ["", *(row[0] for row in tables[0].rows)] if tables else []
        return DisplayTable("", rows, header, note=more(len(self), len(rows), "rows")).html()


class DisplayedByName(Displayed, Mapping[Any, Any]):
    """Mixin for a printed mapping from name to what is in `_by_name`, which `_where` describes."""

    _where: ClassVar[str]

    @cached_property
    def _by_name(self) -> Mapping[Any, Any]:
        raise NotImplementedError

    def __getitem__(self, name: Any) -> Any:
        try:
            return self._by_name[name]
        except (KeyError, TypeError):  # TypeError: the name cannot be hashed
            raise unknown_variable(name, self._by_name, where=self._where) from None

    def __iter__(self) -> Iterator[Any]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)


def more(n: int, shown: int, what: str) -> str:
    """Return a note about the entries not shown, such as "... 5 more rows"; empty if all are shown.

    Parameters
    ----------
    n, shown : int
        Number of all entries, and of entries shown.
    what : str
        Name of the entries in the plural.
    """
    return f"... {n - shown} more {what}" if n > shown else ""


def scaled(sizes: Iterable[float]) -> list[float]:
    """Return sizes as lengths of bars, the longest finite one as 1; NaN has none."""
    numbers = [0.0 if math.isnan(size) else size for size in sizes]
    longest = max((abs(x) for x in numbers if math.isfinite(x)), default=0.0) or 1.0
    return [max(-1.0, min(1.0, x / longest)) for x in numbers]


def _html_bar(share: float) -> str:
    colour = BLUE if share >= 0 else ORANGE
    width = f"{_BAR_EMS * abs(share):.2f}em"
    return f"<div style='background:{colour};height:.8em;width:{width}'></div>"


def _html_cell(tag: str, text: str, *, is_left: bool) -> str:
    side = "left" if is_left else "right"
    return f"<{tag} style='text-align:{side}'>{html.escape(printable(text))}</{tag}>"


# ---- Reports of tables: text, Markdown, or a page of HTML in which nothing runs; names are escaped


_STYLE = f"""
:root {{ color-scheme: light dark; {style_properties(LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {style_properties(DARK)} }} }}
body {{ font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--panel);
  margin: 2em auto; max-width: 72em; padding: 0 1em }}
h1 {{ font-size: 1.4em; margin: 0; overflow-wrap: anywhere }}
p {{ color: var(--muted); margin: .3em 0 1.6em }}
table {{ border-collapse: collapse; margin: 0 0 .4em }}
caption {{ text-align: left; font-weight: 600; padding: .3em 0 }}
th, td {{ padding: .15em 1.1em .15em 0; vertical-align: top; overflow-wrap: anywhere }}
th {{ color: var(--muted); font-weight: 500; border-bottom: 1px solid var(--hair) }}
section {{ margin: 0 0 1.8em; overflow-x: auto }}
section > div {{ color: var(--muted); white-space: pre-line; overflow-wrap: anywhere }}
"""
# Nothing on the page is fetched or run, whatever a name of a file holds.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


class Report:
    """Mixin of what prints as a title, a summary and tables.

    Attributes
    ----------
    title, summary : str
    """

    title: str

    @property
    def summary(self) -> str:
        """What the report says, in a sentence."""
        raise NotImplementedError

    def tables(self) -> Sequence[DisplayTable]:
        """Return the tables."""
        raise NotImplementedError

    def to_text(self) -> str:
        """Return the report as text, in lines of 80 columns where names are short."""
        head = f"{printable(self.title)}\n{printable(self.summary)}"
        return "\n\n".join([head, *(table.text() for table in self.tables())])

    def to_markdown(self) -> str:
        """Return the report as Markdown with tables in the form of GitHub."""
        head = [f"# {escaped_markdown(self.title)}", escaped_markdown(self.summary)]
        return "\n\n".join([*head, *(table.markdown() for table in self.tables())]) + "\n"

    def to_html(self) -> str:
        """Return the report as a page of HTML: complete, without scripts, every name escaped."""
        name, line = (html.escape(printable(text)) for text in (self.title, self.summary))
        body = "\n".join(f"<section>{table.html()}</section>" for table in self.tables())
        return (
            "<!DOCTYPE html>\n"
            '<html lang="en"><head><meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{html.escape(_POLICY)}">\n'
            f"<title>{name}</title>\n<style>{_STYLE}</style></head>\n"
            f"<body><h1>{name}</h1><p>{line}</p>\n{body}\n</body></html>\n"
        )

    def save(self, path: PathLike) -> None:
        """Write the report to a ``.html``, ``.md`` or ``.txt`` file.

        Raises
        ------
        FileFormatError
            For another suffix.
        """
        forms = {".html": self.to_html, ".md": self.to_markdown, ".txt": self.to_text}
        write_text(path, forms[suffix_among(path, forms, "a report")]())

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return "".join(table.html() for table in self.tables())
