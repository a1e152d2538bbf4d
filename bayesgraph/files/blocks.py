"""Text of files that are made of blocks in braces: BIF, Hugin's NET and Netica's DNE.

Comments are taken out first, with their line breaks left in, so that a position in the text still
gives the line. Blocks and fields are then found by possessive regular expressions, in time linear
in the length of the text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import BayesGraphError, FileFormatError, quoted
from bayesgraph.core.files import Budget
from bayesgraph.files.exporting import content_of, skip

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

    def place(self, k: int) -> int:
        """Return the position of number k of a list; that of the value if it is no such list."""
        return self.start + (_place_of(self.value, k) if self.is_number else 0)


class Head(NamedTuple):
    """Beginning of a block: its position, the text before its brace, the position after that."""

    at: int
    text: str
    body: int


class Block(NamedTuple):
    """What braces hold: fields, the heads of blocks, and the position after the closing brace."""

    fields: dict[str, Field]
    blocks: list[Head]
    end: int


class BlockText:
    """A text whose comments are taken out, read from block to block.

    Parameters
    ----------
    data : bytes
        Content of the file.
    budget : Budget
        It has the path for messages.
    comments : Comments
    encoding : str

    Attributes
    ----------
    text : str
        Without comments.
    sidecar : list of str
        Contents of the comments that bayesgraph has written.

    Raises
    ------
    FileFormatError
        If its bytes are not of that encoding, or a comment does not end.
    """

    def __init__(self, data: bytes, budget: Budget, comments: Comments, encoding: str) -> None:
        self.source = budget.source
        self.sidecar: list[str] = []
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError as error:
            raise budget.error(
                data.count(b"\n", 0, error.start) + 1,
                f"expected {encoding} text; got the byte {data[error.start]:#04x}. Name the "
                "encoding, such as encoding='latin-1'.",
            ) from error
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

    def head(self, at: int) -> Head | None:
        """Return the beginning of the block at a position, None if there is none."""
        match = _HEAD.match(self.text, at)
        return None if match is None else Head(at, match["head"].strip(), match.end())

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
        blocks: list[Head] = []
        while (end := self.close(at)) is None:
            if (field := self.field(at)) is not None:
                fields[field.name] = field
                at = field.end
            elif (head := self.head(at)) is not None and head.text:
                blocks.append(head)
                at = self.after_end(self.after_braces(head.body - 1))
            else:
                raise self.error(
                    at, f"expected 'name = value;' or '}}' at the end; got {self.seen(at)}."
                )
        return Block(fields, blocks, end)

    def one_name(self, at: int, kind: str, text: str) -> str:
        """Return the one name that stands after the word for a kind of block."""
        names = words_of(text.removeprefix(kind))
        if len(names) != 1:
            raise self.error(at, f"expected one name after {kind.strip()!r}; got {text!r:.60}.")
        return names[0]

    def refuse(self, nodes: Iterable[tuple[int, str, str]], advice: Mapping[str, str]) -> None:
        """Refuse nodes of some kinds, given their places, names and kinds, with what to do."""
        listed = list(nodes)
        for kind in advice:
            if others := {name: at for at, name, found in listed if found == kind}:
                raise self.error(
                    next(iter(others.values())),
                    f"{kind.lower()} nodes are not read: {quoted(others)}. bayesgraph has networks "
                    f"of chance nodes only; {advice[kind]}.",
                )

    @contextmanager
    def table(self, field: Field, child: object) -> Iterator[None]:
        """Say what is wrong with the table of a child inside, with its line."""
        try:
            yield
        except FileFormatError:
            raise
        except (TableError, BayesGraphError) as error:
            at = error.at if isinstance(error, TableError) else 0
            text = str(error).rstrip(".")
            raise self.error(field.start + at, f"the {field.name} of {child!r}: {text}.") from error


def text_of(fields: Mapping[str, Field], name: str) -> str:
    """Return what is meant by a field of one word or text, empty if there is none."""
    return fields[name].text if name in fields else ""


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
    return x, y


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
        raise TableError(_place_of(text, before), message)
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
            return TableError(_place_of(text, k), f"expected numbers; got {word!r:.40}")
    raise AssertionError("every word is a number")


def _place_of(text: str, k: int) -> int:
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
