"""Text of files that are made of blocks in braces: BIF, Hugin's NET and Netica's DNE.

Comments are taken out first, with their line breaks left in, so that a position in the text still
gives the line. Blocks and fields are then found by possessive regular expressions, in time linear
in the length of the text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TypeVar

import numpy as np

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import BayesGraphError, FileFormatError, suggestion
from bayesgraph.core.files import MAX_AXES, Budget, PathLike, path_text, read_unzipped
from bayesgraph.core.variables import Discrete, Name, Variable
from bayesgraph.files import table_rows
from bayesgraph.files.exporting import Sidecar, content_of, skip
from bayesgraph.files.table_rows import RoundedRows, first_bad_row
from bayesgraph.models import TableCPD

# ----------- Text of files that are made of blocks in braces, such as Hugin's NET and Netica's DNE


# A quoted text; one that does not end reaches to the end of the file.
STRING = r'"(?:[^"\\]++|\\.)*+(?:"|\\?+\Z)'
# The first line of Netica's files, and the line before their content.
_SIGNATURE = re.compile(r"//\s*+~->\[")
_BLANK = re.compile(r"\s*+")
_BRACES = re.compile(rf"{STRING}|[{{}}]", re.DOTALL)
_FIELD = re.compile(
    rf"\s*+(?P<name>[A-Za-z_][\w.\-]*+)\s*+=\s*+"
    rf"(?:(?P<numbers>[-+.0-9eE,\s()]++)|(?P<value>(?:[^;\"{{}}]++|{STRING})*+))(?P<end>[;{{])",
    re.DOTALL,
)
_HEAD = re.compile(rf"\s*+(?P<head>(?:[^;\"{{}}]++|{STRING})*+)\{{", re.DOTALL)
_TAIL = re.compile(rf"(?:[^;\"{{}}]++|{STRING})*+;", re.DOTALL)
_CLOSE = re.compile(r"\s*+\}\s*+;?+")
_WORD = re.compile(rf"({STRING})|[^\s,\"]++", re.DOTALL)
_LEFT_OUT = re.compile(r"\A\s*+,|,\s*+(?:,|\Z)")
_ESCAPE = re.compile(r"\\(?:(\r?\n)[ \t]*+|u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_MEANS = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
_ESCAPED = {meant: f"\\{sign}" for sign, meant in _MEANS.items()}
_NOT_PLAIN = re.compile('["\\\\\x00-\x1f\x7f\ud800-\udfff]')


@dataclass(frozen=True)
class Comments:
    """How the comments of a format look.

    Attributes
    ----------
    line : str
        The sign before a comment that ends with its line.
    block : bool
        Whether there are also comments between ``/*`` and ``*/``.
    string : str
        Pattern of quoted texts, in which there are no comments.
    """

    line: str
    block: bool = False
    string: str = STRING

    @property
    def pattern(self) -> re.Pattern[str]:
        """Pattern of comments and of quoted texts."""
        block = r"|/\*.*?\*/|/\*.*+" if self.block else ""
        # No group stands around them: the search is for their first characters then, and fast.
        return re.compile(rf"{self.string}|{re.escape(self.line)}[^\n]*+{block}", re.DOTALL)


@dataclass(frozen=True)
class Field:
    """A field of a block: ``name = value;``.

    Attributes
    ----------
    name : str
    value : str
        Without what follows an opening brace in it.
    start, end : int
        Positions in the text of the value, and after the field.
    is_number : bool
        Whether the value has only signs of numbers, commas and parentheses.
    """

    name: str
    value: str
    start: int
    end: int
    is_number: bool

    @property
    def text(self) -> str:
        """What is meant by a value that is one word or a quoted text."""
        return unquoted(self.value.strip())


@dataclass(frozen=True)
class Block:
    """What braces hold.

    Attributes
    ----------
    fields : dict from str to Field
    blocks : list of (str, int)
        Of each block in it the text before its brace, and the position after the brace.
    end : int
        Position after the closing brace.
    """

    fields: dict[str, Field]
    blocks: list[tuple[str, int]]
    end: int


class BlockText:
    """A text whose comments are taken out, read from block to block.

    Parameters
    ----------
    text : str
    budget : Budget
        It has the path for messages.
    comments : Comments

    Attributes
    ----------
    text : str
        Without comments.
    sidecar : list of str
        Contents of the comments that bayesgraph has written.

    Raises
    ------
    FileFormatError
        If a comment does not end.
    """

    def __init__(self, text: str, budget: Budget, comments: Comments) -> None:
        self.source = budget.source
        self.sidecar: list[str] = []
        self.text = text
        if comments.line in text or (comments.block and "/*" in text):
            self.text = "".join(self._without(text, comments))

    def _without(self, text: str, comments: Comments) -> Iterator[str]:
        """Yield the pieces of a text between its comments, and the line breaks in those."""
        begun = 0
        for match in comments.pattern.finditer(text):
            found, at = match[0], match.start()
            if found.startswith('"'):
                continue
            yield text[begun:at]
            begun = match.end()
            if found.startswith("/*"):
                if not found.endswith("*/") or len(found) < 4:
                    line = text.count("\n", 0, at) + 1
                    raise FileFormatError(
                        f"{self.source}, line {line}: expected '*/' at the end of the comment; it "
                        "does not end."
                    )
                skip("file", "comment")
                yield "\n" * found.count("\n") or " "
            elif (content := content_of(found.removeprefix(comments.line))) is not None:
                self.sidecar.append(content)
            elif not _SIGNATURE.match(found):
                skip("file", "comment")
        yield text[begun:]

    def error(self, at: int, message: str) -> FileFormatError:
        """Return an error at a position, whose line is put before the message."""
        line = self.text.count("\n", 0, self.after_blanks(at)) + 1
        return FileFormatError(f"{self.source}, line {line}: {message}")

    def after_blanks(self, at: int) -> int:
        """Return the position of the next character that is no blank."""
        return _BLANK.match(self.text, at).end()  # type: ignore[union-attr] # matches empty text too

    def seen(self, at: int, end: int | None = None) -> str:
        """Return the beginning of the text from `at` to `end`, for messages."""
        start = self.after_blanks(at)
        line = self.text[start : start + 200 if end is None else min(end, start + 200)]
        line = line.split("\n", 1)[0].strip()
        return repr(line[:40]) if line else "the end"

    def field(self, at: int) -> Field | None:
        """Return the field at a position, None if there is none.

        Its value may have braces, as ``font {size = 9;}`` in Netica's files: then it is that before
        the first one.
        """
        match = _FIELD.match(self.text, at)
        if match is None:
            return None
        numbers = match["numbers"]
        is_number = numbers is not None
        start = match.start("numbers" if is_number else "value")
        end = match.end()
        if match["end"] == "{":
            tail = _TAIL.match(self.text, self.after_braces(end - 1))
            if tail is None:
                raise self.error(
                    at, f"expected ';' at the end of {match['name']!r}; it is missing."
                )
            end = tail.end()
        value = numbers if is_number else match["value"]
        return Field(match["name"], value, start, end, is_number)

    def head(self, at: int) -> tuple[str, int] | None:
        """Return what stands before the brace of the block at a position, and the end of both."""
        match = _HEAD.match(self.text, at)
        return None if match is None else (match["head"].strip(), match.end())

    def close(self, at: int) -> int | None:
        """Return the end of the closing brace at a position, None if there is none."""
        match = _CLOSE.match(self.text, at)
        return None if match is None else match.end()

    def after_braces(self, at: int) -> int:
        """Return the end of the braces that open at a position, with whatever they hold."""
        depth = 0
        for match in _BRACES.finditer(self.text, at):
            if match[0] == "{":
                depth += 1
            elif match[0] == "}":
                depth -= 1
                if depth == 0:
                    return match.end()
        raise self.error(at, "expected '}' for the '{' here; the file may be truncated.")

    def after_end(self, at: int) -> int:
        """Return the position after a semicolon that may follow."""
        after = self.after_blanks(at)
        return after + 1 if self.text.startswith(";", after) else at

    def items(self, found: Field | None) -> list[str]:
        """Return the items of a list in parentheses, empty without a field.

        They stand between blanks or commas; one that is left out between commas is an empty text.

        Raises
        ------
        FileFormatError
            If the value of the field is no such list.
        """
        if found is None:
            return []
        value = found.value.strip()
        if not (value.startswith("(") and value.endswith(")")):
            raise self.error(
                found.start,
                f"expected a list in parentheses after '{found.name} ='; got "
                f"{self.seen(found.start, found.end)}.",
            )
        inner = value[1:-1]
        if _LEFT_OUT.search(inner):
            return [unquoted(item.strip()) for item in inner.split(",")]
        return words_of(inner)

    def is_done(self, at: int) -> bool:
        """Return whether only blanks are left."""
        return self.after_blanks(at) == len(self.text)

    def block(self, at: int) -> Block:
        """Return the block whose brace is before a position.

        Of a field that is there twice the last is taken.
        """
        fields: dict[str, Field] = {}
        blocks: list[tuple[str, int]] = []
        while (end := self.close(at)) is None:
            if (field := self.field(at)) is not None:
                fields[field.name] = field
                at = field.end
            elif (head := self.head(at)) is not None and head[0]:
                blocks.append(head)
                at = self.after_end(self.after_braces(head[1] - 1))
            else:
                raise self.error(
                    at, f"expected 'name = value;' or '}}' at the end; got {self.seen(at)}."
                )
        return Block(fields, blocks, end)


def skip_fields(of: str, fields: Iterable[str], known: Collection[str]) -> None:
    """Say which fields of a block are left out; see `skip`."""
    for name in fields:
        if name not in known:
            skip(of, name)


def words_of(text: str) -> list[str]:
    """Return the words of a list, which are separated by blanks or commas, or in quotes."""
    return [
        unquoted(match[1]) if match[1] is not None else match[0] for match in _WORD.finditer(text)
    ]


def unquoted(text: str) -> str:
    """Return what is meant by a text in quotes, or by one without quotes."""
    if not text.startswith('"'):
        return text
    inner = text[1:-1]
    return _ESCAPE.sub(_meant, inner) if "\\" in inner else inner


def _meant(match: re.Match[str]) -> str:
    if match[1] is not None:  # Netica continues a long text on the next line
        return ""
    if match[2] is not None:
        return chr(int(match[2], 16))
    return _MEANS.get(match[3], match[0])


def quoted_text(text: str, quote: str = '\\"') -> str:
    """Return a text in quotes, from which `unquoted` makes the text itself.

    `quote` stands for a quotation mark in it.
    """

    def escaped(match: re.Match[str]) -> str:
        sign = match[0]
        return quote if sign == '"' else _ESCAPED.get(sign, f"\\u{ord(sign):04x}")

    return f'"{_NOT_PLAIN.sub(escaped, text)}"'


def short(number: float) -> str:
    """Return the text of a number, without a fraction if it is whole."""
    return repr(number).removesuffix(".0")


def position_of(text: str) -> tuple[float, float] | None:
    """Return a position, from two numbers in parentheses; None if they are something else."""
    try:
        x, y = map(float, words_of(text.strip().strip("()")))
    except ValueError:
        return None
    return (x, y) if math.isfinite(x) and math.isfinite(y) else None


def decoded(path: PathLike, encoding: str, limit: int | None) -> tuple[str, Budget]:
    """Return the text of a file, and what reading it may take; see `read_unzipped`.

    Raises
    ------
    FileFormatError
        If its bytes are not of that encoding; the message has the line.
    """
    data, budget = read_unzipped(path, limit)
    try:
        return data.decode(encoding), budget
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileFormatError(
            f"{path_text(path)}, line {line}: expected {encoding} text; got the byte "
            f"{data[error.start]:#04x}. Name the encoding, such as encoding='latin-1'."
        ) from error


# ------- Tables of numbers as nested lists, such as ``((0.1 0.9) (0.4 0.6))`` in NET and DNE files
# A list has a level for each parent, the first parent outermost, and the numbers of the child's
# states innermost. Numbers are made row by row, without a step of Python for each.


_TO_BLANKS = str.maketrans("(,", "  ")
_NUMBER_WORD = re.compile(r"[^\s,()]++")
_NOT_PARENTHESES = bytes(set(range(256)) - set(b"()"))


class TableError(ValueError):
    """Numbers that are no table: `at` is the place in their text."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at


def nested_numbers(text: str, shape: Sequence[int]) -> Floats:
    """Return the table of a nested list, or of a flat one in the same order.

    Parameters
    ----------
    text : str
        Numbers between blanks, commas and parentheses, of the signs ``-+.0-9eE`` alone.
    shape : sequence of int
        Number of states of each parent, and last of the child.

    Raises
    ------
    TableError
        If there are too few or too many numbers, a row has another number of them, the lists are
        nested in another way, or a word is no number.
    """
    rows = [row.split() for row in text.translate(_TO_BLANKS).split(")")]
    total, length = math.prod(shape), shape[-1]
    lengths = {len(row) for row in rows if row}
    size = sum(map(len, rows))
    if size != total:
        raise TableError(0, f"expected {_counted(shape)}; got {size:,} numbers")
    if not (lengths == {total} or lengths == {length}):
        k = next(k for k, row in enumerate(rows) if row and len(row) != length)
        before = sum(map(len, rows[:k]))
        message = f"expected {length} numbers in a row; got {len(rows[k])}"
        raise TableError(place_of(text, before), message)
    check_nesting(text, shape[:-1])
    try:
        values = np.fromiter(map(float, chain.from_iterable(rows)), np.float64, size)
    except ValueError as error:
        raise _no_number(text, rows) from error
    return values.reshape(shape)


def check_nesting(text: str, cards: Sequence[int]) -> None:
    """Check that the parentheses of a list have a level for each parent.

    A list is also taken if it is flat, or a list of rows.

    Parameters
    ----------
    text : str
        What stands inside the innermost parentheses is not looked at.
    cards : sequence of int
        Numbers of states of the parents.

    Raises
    ------
    TableError
        If they are nested in another way.
    """
    found = text.encode("ascii", "replace").translate(None, _NOT_PARENTHESES)
    row = b"()"
    if found in (b"", row) or found == row * math.prod(cards):
        return
    expected = row
    for card in reversed(cards):
        expected = b"(%b)" % (expected * card)
    if found not in (expected, b"(%b)" % (row * math.prod(cards))):
        levels = f"{len(cards) + 1} levels of parentheses, a list for each state of each parent"
        raise TableError(
            0, f"expected {levels} (of {' x '.join(map(str, cards)) or 'no'} states), or none"
        )


def _counted(shape: Sequence[int]) -> str:
    """Return the expected numbers in words."""
    rows = math.prod(shape[:-1])
    return f"{math.prod(shape):,} numbers, {shape[-1]} for each of {rows:,} configurations"


def _no_number(text: str, rows: Sequence[Sequence[str]]) -> TableError:
    for k, word in enumerate(chain.from_iterable(rows)):
        try:
            float(word)
        except ValueError:
            return TableError(place_of(text, k), f"expected numbers; got {word!r:.40}")
    raise AssertionError("every word is a number")


def place_of(text: str, k: int) -> int:
    """Return the place of number k in the text of a list."""
    match = next(islice(_NUMBER_WORD.finditer(text), k, None), None)
    return len(text) if match is None else match.start()


def nested_text(items: Sequence[str], cards: Sequence[int], between: str = " ") -> str:
    """Return items, of which there is one for each configuration of parents, as a nested list.

    Parameters
    ----------
    items : sequence of str
        Rows of a table in their parentheses, or other texts.
    cards : sequence of int
        Numbers of states of the parents.
    between : str
        What stands between two items of a list.
    """
    for card in reversed(cards):
        items = [
            f"({between.join(items[start : start + card])})" for start in range(0, len(items), card)
        ]
    return items[0]


# ----------------- Families and tables of nodes in files of blocks, with errors that name the line


V = TypeVar("V", bound=Variable)


def parents_of(
    text: BlockText, at: int, child: str, names: Sequence[str], variables: Mapping[str, V]
) -> list[V]:
    """Return the parents of a node by their names.

    Parameters
    ----------
    text : BlockText
    at : int
        Position of the names.
    child : str
    names : sequence of str
        Of the parents.
    variables : mapping from str to Variable

    Raises
    ------
    FileFormatError
        If one is not declared, or there are more than a table can have.
    """
    for name in names:
        if name not in variables:
            near = suggestion(name, variables)
            raise text.error(at, f"the parent {name!r} of {child!r} is not declared.{near}")
    if len(names) >= MAX_AXES:
        raise text.error(
            at,
            f"expected at most {MAX_AXES - 1} parents of {child!r}, as a table has at most "
            f"{MAX_AXES} axes; got {len(names)}.",
        )
    return [variables[name] for name in names]


def table_of(
    text: BlockText,
    found: Field,
    child: Discrete,
    values: Floats,
    parents: Sequence[Discrete],
    rounded: RoundedRows,
) -> TableCPD:
    """Return the CPD of a table, whose rounded rows are divided by their sums.

    Parameters
    ----------
    text : BlockText
    found : Field
        That has the numbers, for messages.
    child : Discrete
    values : ndarray of float
        With the child's states on the last axis.
    parents : sequence of Discrete
    rounded : RoundedRows

    Raises
    ------
    FileFormatError
        If a row is no distribution; the message has its line.
    """
    try:
        return table_rows.table_of(child, values, parents, rounded)
    except BayesGraphError as error:
        row = first_bad_row(rounded.repaired(child.name, values))
        place = place_of(found.value, row * child.cardinality) if found.is_number else 0
        advice = " Or normalize='always' divides all rows." * (" sum to " in str(error))
        raise text.error(found.start + place, f"{error}{advice}") from error


def titles_of(found: Mapping[str, str], sidecar: Sidecar) -> dict[Name, str]:
    """Return the titles of nodes, without those that say the name again.

    Parameters
    ----------
    found : mapping from str to str
        Titles by the words for names; empty where there is none.
    sidecar : Sidecar
        It knows the names that were written in another spelling.
    """
    names = {word: str(variable.name) for word, (_, variable) in sidecar.variables.items()}
    return {
        word: title for word, title in found.items() if title not in ("", names.get(word, word))
    }
