"""Text of files that are made of blocks in braces: BIF, Hugin's NET and Netica's DNE.

Comments are taken out first, with their line breaks left in, so that a position in the text still
gives the line. Blocks and fields are then found by possessive regular expressions, in time linear
in the length of the text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import NamedTuple

from bayesgraph import models
from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import BayesGraphError, FileFormatError, quoted
from bayesgraph.core.files import Budget, decoded
from bayesgraph.core.variables import Discrete
from bayesgraph.files.exporting import Sidecar, content_of, skip
from bayesgraph.files.readers import Draft, decimals

# ----------- Text of files that are made of blocks in braces, such as Hugin's NET and Netica's DNE


# A quoted text; one that does not end reaches to the end of the file.
STRING = r'"(?:[^"\\]++|\\.)*+(?:"|\\?+\Z)'
# The first line of Netica's files, and the line before their content.
_SIGNATURE = re.compile(r"//\s*+~->\[")
_BLANK = re.compile(r"\s*+")
# Each choice begins with one sign, for which the search is fast.
_BRACES = re.compile(rf"{STRING}|\{{|\}}", re.DOTALL)
_FIELD = re.compile(
    rf"\s*+(?P<name>[A-Za-z_][\w.\-]*+)\s*+=\s*+"
    # A list without lists in it may have semicolons, such as states [0;1.5[ of pyAgrum.
    rf"(?:(?P<numbers>[-+.0-9eE,\s()]++)"
    rf"|(?P<value>(?:\([^()\"{{}}]*+\))?+(?:[^;\"{{}}]++|{STRING})*+))(?P<end>[;{{])",
    re.DOTALL,
)
_HEAD = re.compile(rf"\s*+(?P<head>(?:[^;\"{{}}]++|{STRING})*+)\{{", re.DOTALL)
_TAIL = re.compile(rf"(?:[^;\"{{}}]++|{STRING})*+;", re.DOTALL)
_CLOSE = re.compile(r"\s*+\}\s*+;?+")
_WORD = re.compile(rf"({STRING})|[^\s,\"]++", re.DOTALL)
# What stands between commas that are not in quotes.
_BETWEEN_COMMAS = re.compile(rf"(?:\A|,)((?:[^,\"]++|{STRING})*+)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:(\n)[ \t]*+|u([0-9a-fA-F]{4})|(.))", re.DOTALL)
# What a sign behind a backslash stands for, and how such characters are written.
_MEANS = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
_ESCAPED = {meant: f"\\{sign}" for sign, meant in _MEANS.items()}
# What is written by an escape: quotes, backslashes, control characters and halves of surrogates.
_NOT_PLAIN = re.compile('["\\\\\x00-\x1f\x7f\ud800-\udfff]')


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
    """What braces hold: fields by name, the heads of blocks, and the position after the brace."""

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
    encoding : str
    line : str
        The sign before a comment that ends with its line.
    between : bool
        Whether there are also comments between ``/*`` and ``*/``.
    string : str
        Pattern of texts in which there are no comments, such as quoted ones.

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

    def __init__(
        self,
        data: bytes,
        budget: Budget,
        encoding: str,
        line: str,
        *,
        between: bool = False,
        string: str = STRING,
    ) -> None:
        self.source = budget.source
        self.sidecar: list[str] = []
        text = decoded(data, budget, encoding)
        self.text = text  # with comments at first, for the lines in errors of `_without`
        if line in text or (between and "/*" in text):
            # No group stands around them: the search is for their first characters then, and fast.
            # The last choice is a comment that does not end. A text times False is empty: without
            # `between` only comments to the end of a line are sought.
            pattern = rf"{string}|{re.escape(line)}[^\n]*+" + r"|/\*.*?\*/|/\*.*+" * between
            self.text = re.sub(pattern, partial(self._without, line), text, flags=re.DOTALL)

    def _without(self, line: str, match: re.Match[str]) -> str:
        """Return what takes the place of a match: a quoted text stays, a comment leaves its lines.

        `line` is the sign of comments to the end of a line. A comment without line breaks becomes a
        blank, which keeps the words around it apart.
        """
        comment = match[0]
        if not comment.startswith((line, "/*")):
            return comment
        # The asterisk of "/*/" cannot both begin and end a comment.
        if comment.startswith("/*") and (not comment.endswith("*/") or len(comment) < 4):
            raise self.error(
                match.start(), "expected '*/' at the end of the comment; it does not end."
            )
        # Comments of bayesgraph are kept, and those of Netica's files say nothing.
        if (content := content_of(comment.removeprefix(line))) is not None:
            self.sidecar.append(content)
        elif not _SIGNATURE.match(comment):
            skip("file", "comment")
        return "\n" * comment.count("\n") or " "

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
        # 40 characters are shown; more are looked at for the end of the line, but not a whole file.
        line = self.text[start : start + 200 if end is None else min(end, start + 200)]
        line = line.split("\n", 1)[0].strip()
        return repr(line[:40]) if line else "the end"

    def head(self, at: int) -> Head | None:
        """Return the beginning of the block at a position, None if there is none."""
        match = _HEAD.match(self.text, at)
        return None if match is None else Head(at, match["head"].strip(), match.end())

    def after_braces(self, at: int) -> int:
        """Return the end of the braces that open at a position, with whatever they hold."""
        depth = 0
        # Quoted texts are matches of their own, so that braces in them do not count.
        for match in _BRACES.finditer(self.text, at):
            if match[0] == "{":
                depth += 1
            elif match[0] == "}":
                depth -= 1
                if depth == 0:
                    return match.end()
        raise self.error(at, "expected '}' for the '{' here; the file may be truncated.")

    def items(self, field: Field | None) -> list[str]:
        """Return the items of a list in parentheses, empty without a field.

        They stand between blanks or commas; one that is left out between commas is an empty text.

        Raises
        ------
        FileFormatError
            If the value of the field is no such list.
        """
        if field is None:
            return []
        value = field.value.strip()
        if not (value.startswith("(") and value.endswith(")")):
            raise self.error(
                field.start,
                f"expected a list in parentheses after '{field.name} ='; got "
                f"{self.seen(field.start, field.end)}.",
            )
        inner = value[1:-1]
        if "," in inner:
            items = [item.strip() for item in _BETWEEN_COMMAS.findall(inner)]
            if "" in items:
                return [unquoted(item) for item in items]
        return words_of(inner)

    def is_done(self, at: int) -> bool:
        """Return whether only blanks are left."""
        return self.after_blanks(at) == len(self.text)

    def block(self, at: int) -> Block:
        """Return the block whose brace is before a position; blocks inside are not read yet.

        Of a field that is there twice the last is taken.
        """
        fields: dict[str, Field] = {}
        blocks: list[Head] = []
        while (end := _CLOSE.match(self.text, at)) is None:
            if (match := _FIELD.match(self.text, at)) is not None:
                field = fields[match["name"]] = self._field(match)
                at = field.end
            elif (head := self.head(at)) is not None and head.text:
                blocks.append(head)
                # The brace itself is before `body`; a semicolon may follow the closing one.
                at = self.after_braces(head.body - 1)
                if self.text.startswith(";", self.after_blanks(at)):
                    at = self.after_blanks(at) + 1
            else:
                raise self.error(
                    at, f"expected 'name = value;' or '}}' at the end; got {self.seen(at)}."
                )
        return Block(fields, blocks, end.end())

    def _field(self, match: re.Match[str]) -> Field:
        """Return a field; its value may have braces, as ``font {size = 9;}`` in Netica's files."""
        # The group of `_FIELD` that has the value.
        kind = "value" if match["numbers"] is None else "numbers"
        end = match.end()
        if match["end"] == "{":
            tail = _TAIL.match(self.text, self.after_braces(end - 1))
            if tail is None:
                message = f"expected ';' at the end of {match['name']!r}; it is missing."
                raise self.error(match.start(), message)
            end = tail.end()
        return Field(match["name"], match[kind], match.start(kind), end, kind == "numbers")

    def one_name(self, at: int, kind: str, text: str) -> str:
        """Return the one name that stands after the word for a kind of block."""
        names = words_of(text.removeprefix(kind))
        if len(names) != 1:
            raise self.error(at, f"expected one name after {kind.strip()!r}; got {text!r:.60}.")
        return names[0]

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


class Node(NamedTuple):
    """A node block: its place, its name, its kind, its fields, and those of its picture."""

    at: int
    name: str
    kind: str
    fields: Mapping[str, Field]
    visual: Mapping[str, Field]

    def word(self, name: str) -> str:
        """Return the meaning of a field of one word or text, empty if there is none."""
        return self.fields[name].text if name in self.fields else ""


class NodeReader:
    """Reads a file of blocks that are nodes: the common part of readers of NET and DNE.

    Subclasses have the names of the fields of titles and notes, what to do about nodes of kinds
    that are not read, and the steps of `network`: `_read` the blocks, `_declare` the variable of a
    node and return its position, and `_make` the distributions.
    """

    title: str
    note: str
    others: Mapping[str, str]
    _read: Callable[[], None]
    _declare: Callable[[Node], tuple[float, float] | None]
    _make: Callable[[], None]

    def __init__(self, text: BlockText, draft: Draft) -> None:
        self._text = text
        self._draft = draft
        self._error = text.error
        # The node blocks, in their order; `_read` finds them.
        self._nodes: list[Node] = []
        # Fields of the network.
        self._net: dict[str, Field] = {}

    def network(self) -> models.BayesianNetwork:
        """Return the network of the file."""
        self._read()
        for kind, advice in self.others.items():
            if others := [node for node in self._nodes if node.kind == kind]:
                raise self._error(
                    others[0].at,
                    f"{kind.lower()} nodes are not read: {quoted(node.name for node in others)}. "
                    f"bayesgraph has networks of chance nodes only; {advice}.",
                )
        if not self._nodes:
            raise self._error(0, "expected at least one 'node' block; there is none.")
        skip_fields("network", self._net, (self.note,))
        for node in self._nodes:
            position = self._declare(node)
            self._draft.annotate(node.name, node.word(self.title), node.word(self.note), position)
        self._make()
        note = self._net[self.note].text if self.note in self._net else ""
        sidecar = Sidecar.of(self._text.sidecar, self._text.source)
        return self._draft.network(sidecar, at=self._nodes[0].at, note=note)

    def _table(self, field: Field, family: Sequence[Discrete], values: Floats) -> models.TableCPD:
        """Return the distribution of the numbers of a list."""
        n_states = family[-1].cardinality
        # For messages: row k begins at number k * n_states of the list.
        return self._draft.table(
            field.start, family, values, place=lambda row: field.place(row * n_states)
        )


def skip_fields(of: str, fields: Iterable[str], read: Collection[str]) -> None:
    """Say which fields of a block are left out; see `skip`."""
    for name in fields:
        if name not in read:
            skip(of, name)


def words_of(text: str) -> list[str]:
    """Return the words of a list, which are separated by blanks or commas, or in quotes."""
    return [
        unquoted(match[1]) if match[1] is not None else match[0] for match in _WORD.finditer(text)
    ]


def unquoted(text: str) -> str:
    """Return the meaning of a text in quotes, or of one without quotes."""
    if not text.startswith('"'):
        return text
    inner = text[1:-1]
    return _ESCAPE.sub(_meant, inner) if "\\" in inner else inner


def _meant(match: re.Match[str]) -> str:
    """Return the text that an escape stands for; an unknown one stands for itself."""
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
        # Signs without a letter of their own are written by their number.
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
    # How many words stand before each closing parenthesis.
    words = text.replace("(", " ").replace(",", " ")
    rows = [len(row.split()) for row in words.split(")")]
    total, length = math.prod(shape), shape[-1]
    if sum(rows) != total:
        raise TableError(
            0,
            f"expected {total:,} numbers, {length} for each of {math.prod(shape[:-1]):,} "
            f"configurations; got {sum(rows):,} numbers",
        )
    # Either all numbers stand in one row, or each row has those of the child's states; closing
    # parentheses that follow one another have empty rows between them.
    if {*rows} - {0} not in ({total}, {length}):
        wrong = next(k for k, n_words in enumerate(rows) if n_words not in (0, length))
        n_before = sum(rows[:wrong])
        message = f"expected {length} numbers in a row; got {rows[wrong]}"
        raise TableError(_place_of(text, n_before), message)
    check_nesting(text, shape[:-1])
    try:
        return decimals(words.replace(")", " ").encode()).reshape(shape)
    except ValueError as error:
        each = enumerate(words.replace(")", " ").split())
        k, word = next((k, word) for k, word in each if float_of(word) is None)
        raise TableError(_place_of(text, k), f"expected numbers; got {word!r:.40}") from error


def float_of(word: str) -> float | None:
    """Return the number of a word, None if it is none."""
    try:
        return float(word)
    except ValueError:
        return None


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
    signs = text.encode("ascii", "replace").translate(None, _NOT_PARENTHESES)
    row = b"()"
    # A flat list with or without parentheses, or rows alone.
    if signs in (b"", row) or signs == row * math.prod(cards):
        return
    # From the innermost level outwards: ``(()())`` for each state of the parent before the last.
    # All rows may also be in one pair of parentheses, without levels between.
    expected = row
    for card in reversed(cards):
        expected = b"(%b)" % (expected * card)
    if signs not in (expected, b"(%b)" % (row * math.prod(cards))):
        levels = f"{len(cards) + 1} levels of parentheses, a list for each state of each parent"
        raise TableError(
            0, f"expected {levels} (of {' x '.join(map(str, cards)) or 'no'} states), or none"
        )


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
    # The innermost lists first: each level joins as many items as its parent has states.
    for card in reversed(cards):
        items = [
            f"({between.join(items[start : start + card])})" for start in range(0, len(items), card)
        ]
    return items[0]
