"""Tables as text and as HTML, for printing results, conditional distributions and plans."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from bayesgraph.palette import BLUE, ORANGE

_BAR_CHARACTERS, _BAR_EMS = 24, 8.0
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


def _lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


@dataclass(frozen=True)
class DisplayTable:
    """A printable table: the first cell of each row is a label, the other cells are numbers.

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
    """

    title: str
    rows: Sequence[Sequence[str]] = ()
    header: Sequence[str] = ()
    bars: Sequence[float] = ()
    note: str = ""

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
            cells = [line[0].ljust(widths[0])]
            cells += [cell.rjust(w) for cell, w in zip(line[1:], widths[1:], strict=True)]
            cells += bars[i : i + 1]
            body.append(f"  {'  '.join(cells)}".rstrip() + below[i])
        note = [indented(_lines(self.note))] if self.note else []
        return "\n".join([_lines(self.title), *body, *note])

    def _body(self) -> list[Sequence[str]]:
        return [*([self.header] if self.header else []), *self.rows]

    def html(self) -> str:
        """Return the table as HTML, every text escaped."""
        head = "".join(_html_cell("th", cell, j) for j, cell in enumerate(self.header))
        parts = [f"<tr>{head}</tr>"] if head else []
        for i, row in enumerate(self.rows):
            cells = "".join(_html_cell("td", cell, j) for j, cell in enumerate(row))
            bar = f"<td>{_html_bar(self.bars[i])}</td>" if self.bars else ""
            parts.append(f"<tr>{cells}{bar}</tr>")
        title = html.escape(_lines(self.title)).replace("\n", "<br>")
        below = html.escape(_lines(self.note)).replace("\n", "<br>")
        note = f"<div>{below}</div>" if below else ""
        return f"<table><caption>{title}</caption>{''.join(parts)}</table>{note}"


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


def _html_cell(tag: str, text: str, column: int) -> str:
    side = "left" if column == 0 else "right"
    return f"<{tag} style='text-align:{side}'>{html.escape(printable(text))}</{tag}>"
