"""Tables as text and as HTML, for printing results, conditional distributions and plans."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bayesgraph.palette import BLUE, ORANGE

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
    """Return text with control characters and lone surrogates written as Python escapes.

    Names and states of a file could otherwise command a terminal, or fail to be printed at all.
    """
    if text.isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode() if _is_control(char) else char for char in text
    )


def _is_control(char: str) -> bool:
    code = ord(char)
    return code < 32 or 127 <= code < 160 or 0xD800 <= code < 0xE000 or code in (0xFFFE, 0xFFFF)


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
    text = f"{value:{form}.{digits}g}"
    return f"{value:{form}.0f}" if "e+" in text and abs(value) < _LONGEST_WHOLE else text


def cut_texts(cuts: Sequence[float], longest: int = 10) -> list[str]:
    """Return cut points as different texts, none of which is rounded.

    A rounded cut would put numbers near it on the wrong side: a text is exact, or if it were longer
    than `longest` characters its first digits with "…", as many as tell the cuts apart.
    """
    exact = [repr(float(cut)).removesuffix(".0") for cut in cuts]
    found = [_first_digits(text, longest) for text in exact]
    while len(set(found)) < len(set(exact)):
        longest += 1
        found = [_first_digits(text, longest) for text in exact]
    return found


def _first_digits(text: str, longest: int) -> str:
    """Return a number's text, or if that is long its first decimals: ``0.123…``, ``1.23…e-07``."""
    mantissa, e, exponent = text.partition("e")
    places = longest - len(f"…{e}{exponent}")
    kept = mantissa[: max(places, mantissa.find(".") + 2)]
    short = f"{kept}…{e}{exponent}"
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
        room = _LINE - sum(widths) - 2 * (len(widths) + 1)
        longest = max(0, min(_BAR_CHARACTERS, room))
        bars = [_text_bar(share, longest) for share in self.bars]
        bars = ["", *bars] if self.header else bars
        body = []
        for i, line in enumerate(lines):
            cells = [
                cell.ljust(w) if j < self.labels else cell.rjust(w)
                for j, (cell, w) in enumerate(zip(line, widths, strict=True))
            ]
            cells += bars[i : i + 1]
            body.append(f"  {'  '.join(cells)}".rstrip() + below[i])
        note = [indented(_lines(self.note))] if self.note else []
        return "\n".join([_lines(self.title), *body, *note])

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
            texts.append(replace(self, title="", rows=rows, header=header, note="").text())
        note = [indented(_lines(self.note))] if self.note else []
        return "\n".join([_lines(self.title), "\n".join(texts).lstrip("\n"), *note])

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
        return f"<table><caption>{title}</caption>{''.join(parts)}</table>{note}"

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


def indented(text: str) -> str:
    """Return text with each line indented by two spaces."""
    return "\n".join(f"  {line}" for line in text.split("\n"))


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


def _text_bar(share: float, longest: int) -> str:
    return ("█" if share >= 0 else "▒") * round(longest * abs(share))


def _html_bar(share: float) -> str:
    colour = BLUE if share >= 0 else ORANGE
    width = f"{_BAR_EMS * abs(share):.2f}em"
    return f"<div style='background:{colour};height:.8em;width:{width}'></div>"


def _html_cell(tag: str, text: str, *, is_left: bool) -> str:
    side = "left" if is_left else "right"
    return f"<{tag} style='text-align:{side}'>{html.escape(printable(text))}</{tag}>"
