"""Text of files that are made of blocks in braces, such as Hugin's NET and Netica's DNE.

Comments are taken out first, with their line breaks left in, so that a position in the text still
gives the line. Blocks and fields are then found by possessive regular expressions, in time linear
in the length of the text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from bayesgraph.errors import FileFormatError
from bayesgraph.io.budget import Budget
from bayesgraph.io.files import PathLike, path_text, read_unzipped
from bayesgraph.io.sidecar import content_of
from bayesgraph.io.skipped import skip

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
    """

    line: str
    block: bool = False

    @property
    def pattern(self) -> re.Pattern[str]:
        """Pattern of comments and of quoted texts, in which there are none."""
        block = r"|/\*.*?\*/|/\*.*+" if self.block else ""
        # No group stands around them: the search is for their first characters then, and fast.
        return re.compile(rf"{STRING}|{re.escape(self.line)}[^\n]*+{block}", re.DOTALL)


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
