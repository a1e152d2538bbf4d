"""A guarded parser of XML files: linear time, no entities, nothing from outside of the file.

The parser is expat, which gets the file in one piece. Declarations of entities are refused (the
"billion laughs", external entities), and so are deep nesting, very long attributes and very many of
them. A document type with declarations of elements, as XMLBIF files have, is ignored. Elements that
the caller wants are given to it when they end and are not kept, so that memory is bounded by the
largest of them.

Almost all of a large file is elements whose children have text or attributes only. One regular
expression divides such an element; expat, which calls Python for each tag, gets what is around it.
Whatever the expression does not know, such as comments, entities and deeper nesting, is left to
expat.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from xml.parsers import expat

from bayesgraph.errors import FileFormatError
from bayesgraph.io.budget import Budget
from bayesgraph.io.sidecar import Sidecar, content_of
from bayesgraph.io.skipped import skip

MAX_DEPTH = 200
MAX_ATTRIBUTES = 100
# Characters of one attribute.
MAX_ATTRIBUTE = 1 << 20
# An element, its list of children, its attributes and its text, beyond the bytes of the text.
_BYTES_OF_ELEMENT = 600
_CHARGED_ELEMENTS = 1000
_BLANKS = " \t\r\n"
_UTF8 = "utf-8"
# Characters of the children that are divided at once; none of their attributes is longer.
_MAX_FLAT = 1 << 16
_NAME = r"[A-Za-z_][\w.-]*+"
# The value of an attribute, with its quotes.
_VALUE = r"""(?:"[^\"<&\x00-\x1f\ufffe\uffff]*+"|'[^'<&\x00-\x1f\ufffe\uffff]*+')"""
# A child without children: its tag, its first attribute and that one's value, all others, its text.
_LEAF = re.compile(
    rf"<({_NAME})(?:\s++({_NAME})\s*+=\s*+({_VALUE})((?:\s++{_NAME}\s*+=\s*+{_VALUE})*+))?+\s*+"
    r"(?:/>|>([^<>&\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]*+)</\1\s*+>)",
    re.ASCII,
)
_TAG, _ATTRIBUTE, _FIRST_VALUE, _OTHERS, _TEXT_OF, _PARTS = range(1, 7)
# It searches the attributes that `_LEAF` has found, each after a blank: none begins inside a name.
_OTHER = re.compile(rf"(?<=\s)({_NAME})\s*+=\s*+({_VALUE})", re.ASCII)
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_TEXT = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_QUOTED = {**_TEXT, '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}


class Element:
    """An element of an XML file.

    Attributes
    ----------
    tag : str
        Without a prefix of a name space.
    kind : str
        The tag in lower case.
    attributes : dict from str to str
    line : int
        Line of the start tag.
    children : list of Element
        Those that were not given to a handler.
    text : str
        All text of the element itself, without blanks at both ends.
    raw : bytes
        Text that was not parsed, see `read_xml`; empty if it was.
    """

    __slots__ = ("_children", "_leaves", "_parts", "attributes", "kind", "line", "raw", "tag")

    def __init__(self, tag: str, kind: str, attributes: dict[str, str], line: int) -> None:
        self.tag = tag
        self.kind = kind
        self.attributes = attributes
        self.line = line
        self._children: list[Element] = []
        self._leaves: _Leaves | None = None
        self._parts: list[str] = []
        self.raw = b""

    @property
    def children(self) -> list[Element]:
        """The children, but those that were given to a handler."""
        if self._leaves is not None:
            self._children += self._leaves.elements()
            self._leaves = None
        return self._children

    @property
    def text(self) -> str:
        """All text of the element itself, without blanks at both ends."""
        return (self.raw.decode("ascii") or "".join(self._parts)).strip(_BLANKS)

    @property
    def numbers(self) -> bytes:
        """The text with question marks, which no number has, for what is not ASCII."""
        return self.raw or self.text.encode("ascii", "replace")

    def add(self, child: Element) -> None:
        """Add a child."""
        self._children.append(child)

    def add_text(self, text: str) -> None:
        """Add a part of the text."""
        self._parts.append(text)

    def add_leaves(self, leaves: _Leaves) -> None:
        """Add children that are columns until they are asked for one by one."""
        self._leaves = leaves

    def all(self, kind: str) -> list[Element]:
        """Return the children of a tag, given in lower case; its own case does not matter."""
        leaves = self._leaves
        among = self._children if leaves is None or kind not in leaves.kinds else self.children
        return [child for child in among if child.kind == kind]

    def child(self, kind: str) -> Element | None:
        """Return the first child of a tag, None if there is none."""
        own = next((child for child in self._children if child.kind == kind), None)
        if own is not None or self._leaves is None:
            return own
        return self._leaves.first(kind)

    def texts(self, kind: str) -> list[str]:
        """Return the texts of all children of a tag."""
        own = [child.text for child in self._children if child.kind == kind]
        return own if self._leaves is None else own + self._leaves.texts(kind)

    def values(self, kind: str, attribute: str) -> list[str]:
        """Return an attribute of all children of a tag, empty where it is missing."""
        among = [child for child in self._children if child.kind == kind]
        own = [child.attributes.get(attribute, "") for child in among]
        return own if self._leaves is None else own + self._leaves.values(kind, attribute)


class _Leaves:
    """Children without children of their own, as columns.

    Parameters
    ----------
    text : str
        What is between the start tag and the end tag of their parent.
    line : int
        Where the text begins.

    Attributes
    ----------
    kinds : dict from str to list of int
        Their tags in lower case; where the parts of each begin.
    """

    __slots__ = ("_line", "_parts", "_text", "kinds")

    def __init__(self, text: str, line: int) -> None:
        self._text = text
        self._line = line
        # What is before each child, then its groups.
        self._parts: list[Any] = _LEAF.split(text)
        self.kinds: dict[str, list[int]] = {}
        for at, tag in enumerate(self._parts[_TAG::_PARTS]):
            self.kinds.setdefault(tag.lower(), []).append(at * _PARTS)

    def __len__(self) -> int:
        return len(self._parts) // _PARTS

    @property
    def is_all(self) -> bool:
        """Whether there is nothing else in the text, and no attribute is there twice."""
        if "".join(self._parts[::_PARTS]).strip(_BLANKS):
            return False
        others = self._parts[_OTHERS::_PARTS]
        return not any(others) or all(
            _are_different(first, further)
            for first, further in zip(self._parts[_ATTRIBUTE::_PARTS], others, strict=True)
            if further
        )

    @property
    def have_attributes(self) -> bool:
        """Whether a child has any."""
        return any(self._parts[_ATTRIBUTE::_PARTS])

    def texts(self, kind: str) -> list[str]:
        """Return the texts of all children of a tag."""
        parts = self._parts
        return [(parts[at + _TEXT_OF] or "").strip(_BLANKS) for at in self.kinds.get(kind, ())]

    def values(self, kind: str, attribute: str) -> list[str]:
        """Return an attribute of all children of a tag, empty where it is missing."""
        return [self._value(at, attribute) for at in self.kinds.get(kind, ())]

    def _value(self, at: int, attribute: str) -> str:
        if self._parts[at + _ATTRIBUTE] == attribute:
            return str(self._parts[at + _FIRST_VALUE][1:-1])
        others: dict[str, str] = dict(_OTHER.findall(self._parts[at + _OTHERS] or ""))
        return others.get(attribute, "")[1:-1]

    def elements(self) -> list[Element]:
        """Return the children."""
        found, line, at = [], self._line, 0
        for match in _LEAF.finditer(self._text):
            line += self._text.count("\n", at, match.start())
            at = match.start()
            found.append(_element(match, line))
        return found

    def first(self, kind: str) -> Element | None:
        """Return the first child of a tag, None if there is none."""
        if kind not in self.kinds:
            return None
        number = self.kinds[kind][0] // _PARTS
        match = next(itertools.islice(_LEAF.finditer(self._text), number, None))
        return _element(match, self._line + self._text.count("\n", 0, match.start()))


def _element(match: re.Match[str], line: int) -> Element:
    """Return the child without children that a match of `_LEAF` is."""
    tag, name, value, others, text = match.groups()
    quoted = {name: value, **dict(_OTHER.findall(others))} if name else {}
    element = Element(tag, tag.lower(), {key: part[1:-1] for key, part in quoted.items()}, line)
    element.add_text(text or "")
    return element


def _are_different(first: str, others: str) -> bool:
    """Return whether the names of some attributes are all different, and not too many."""
    names = [first, *(name for name, _ in _OTHER.findall(others))]
    return len(set(names)) == len(names) <= MAX_ATTRIBUTES


def read_xml(
    data: bytes,
    budget: Budget,
    handlers: Mapping[str, Callable[[Element], None]],
    *,
    encoding: str | None = None,
    flat: Sequence[str] = (),
    numbers: str = "",
) -> tuple[Element, Sidecar]:
    """Read an XML file element by element.

    Parameters
    ----------
    data : bytes
        Content of the file.
    budget : Budget
        What reading may allocate; it has the path for messages.
    handlers : mapping from tag in lower case to callable
        Each is called with an element of its tag when that ends, all children included; the element
        is then dropped. Elements within such an element are children, never given to a handler.
    encoding : str, optional
        Encoding of the text, instead of what the file says.
    flat : sequence of str
        Tags that have handlers, and children that mostly have no children of their own.
    numbers : str
        The tag of a child of these that has a long text of ASCII, in the case that it mostly has.
        Such texts are not parsed, which takes longer than to make numbers of them.

    Returns
    -------
    root : Element
        With those children that no handler took.
    sidecar : Sidecar
        What comments of bayesgraph say.

    Raises
    ------
    FileFormatError
        If it is not well-formed XML, has declarations of entities, or is beyond a limit; the
        message has the line.
    """
    return _Reader(data, budget, handlers, encoding).run(flat, numbers)


class _Reader:
    def __init__(
        self,
        data: bytes,
        budget: Budget,
        handlers: Mapping[str, Callable[[Element], None]],
        encoding: str | None,
    ) -> None:
        self._data = data
        self._budget = budget
        self._handlers = handlers
        self._open: list[Element] = []
        self._root: Element | None = None
        # Depth of the element that a handler will get.
        self._taken: int | None = None
        self._free = 0
        # Bytes and lines that were not parsed, and the byte where the taken element begins.
        self._skipped = self._skipped_lines = 0
        self._begun = -1
        self._is_utf8 = (encoding or _UTF8).lower() == _UTF8
        # Whether attributes have types, after which expat changes the blanks in them.
        self._has_types = False
        # From tags to those without a prefix, and these in lower case.
        self._names: dict[str, tuple[str, str]] = {}
        self._comments: list[str] = []
        parser = expat.ParserCreate(encoding)
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        # Defaults in the document type could be many times as long as the file.
        parser.specified_attributes = True
        parser.buffer_text = True
        parser.buffer_size = 1 << 16
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.CommentHandler = self._comment
        parser.XmlDeclHandler = self._xml if encoding is None else None
        parser.AttlistDeclHandler = self._attribute_type
        parser.EntityDeclHandler = self._entity
        parser.ExternalEntityRefHandler = self._external
        self._parser = parser

    def run(self, flat: Sequence[str], numbers: str) -> tuple[Element, Sidecar]:
        source = self._budget.source
        try:
            rest = self._parse_around(flat, numbers) if flat else 0
            self._parser.Parse(self._data[rest:], True)
        except expat.ExpatError as error:
            raise self._error(f"expected XML: {expat.ErrorString(error.code)}.") from error
        except (LookupError, UnicodeError) as error:
            raise self._error(f"expected text of a known encoding: {error}.") from error
        assert self._root is not None  # otherwise it is no XML
        return self._root, Sidecar.of(self._comments, source)

    def _parse_around(self, flat: Sequence[str], numbers: str) -> int:
        """Parse what stands around the children of flat elements; return where the rest begins."""
        data, at = self._data, 0
        opening = re.compile(rf"<({'|'.join(flat)})[\s>]".encode(), re.IGNORECASE)
        while match := opening.search(data, at):
            start = data.find(b">", match.end(1)) + 1
            if not start:
                break
            self._parser.Parse(data[at:start], False)
            at = start
            if self._begun != match.start() - self._skipped:
                break  # it stands in a comment or the like
            close = data.find(b"</" + match[1], at)
            if close >= 0 and len(self._open) < MAX_DEPTH:
                line = self._open[-1].line + _n_breaks(data[match.start() : at])
                at += self._taken_leaves(at, close, line, numbers)
        return at

    def _taken_leaves(self, at: int, close: int, line: int, numbers: str) -> int:
        """Give the element that is open its children, if all of them are leaves.

        Parameters
        ----------
        at, close : int
            Where its content begins and ends.
        line : int
            That of its beginning.
        numbers : str

        Returns
        -------
        int
            Length of the content, 0 if it is left to expat.
        """
        data, tag = self._data, b"%b>" % numbers.encode()
        begin, raw = data.find(b"<" + tag, at, close), b""
        if begin < 0:
            text = self._decoded(data[at:close])
        else:
            first = begin + len(tag) + 1
            end = data.find(b"<", first, close)
            if not data.startswith(b"</" + tag, end, close):
                return 0
            raw = data[first:end]
            if b"&" in raw or b">" in raw or not raw.isascii():
                return 0
            breaks = b"\n" * _n_breaks(raw)
            text = self._decoded(data[at:begin] + breaks + data[end + len(tag) + 2 : close])
        if text is None:
            return 0
        leaves = _Leaves(text, line)
        if not leaves.is_all or (self._has_types and leaves.have_attributes):
            return 0
        self._charge(len(leaves) + 1)
        element = self._open[-1]
        element.add_leaves(leaves)
        if begin >= 0:
            child = Element(numbers, numbers.lower(), {}, line + _n_breaks(data[at:begin]))
            child.raw = raw
            element.add(child)
        self._skipped += close - at
        self._skipped_lines += text.count("\n")
        return close - at

    def _decoded(self, content: bytes) -> str | None:
        """Return bytes as text with the line breaks of XML, None if that is left to expat."""
        if len(content) > _MAX_FLAT or not (self._is_utf8 or content.isascii()):
            return None
        try:
            text = content.decode(_UTF8)
        except UnicodeDecodeError:
            return None
        return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text

    def _charge(self, n_elements: int) -> None:
        while self._free < n_elements:
            self._free += _CHARGED_ELEMENTS
            self._budget.take(_BYTES_OF_ELEMENT * _CHARGED_ELEMENTS, "the elements of the file")
        self._free -= n_elements

    @property
    def _line(self) -> int:
        return self._parser.CurrentLineNumber + self._skipped_lines

    def _error(self, message: str) -> FileFormatError:
        return FileFormatError(f"{self._budget.source}, line {self._line}: {message}")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise self._error(f"expected elements nested at most {MAX_DEPTH} deep.")
        if attributes:
            self._check(attributes)
        self._charge(1)
        names = self._names.get(tag)
        if names is None:
            name = tag.rpartition(":")[2]
            names = self._names[tag] = name, name.lower()
        element = Element(*names, attributes, self._line)
        if self._taken is None and element.kind in self._handlers:
            self._taken = len(self._open)
            self._begun = self._parser.CurrentByteIndex
        elif self._open:
            self._open[-1].add(element)
        else:
            self._root = element
        self._open.append(element)

    def _check(self, attributes: dict[str, str]) -> None:
        if len(attributes) > MAX_ATTRIBUTES:
            raise self._error(
                f"expected at most {MAX_ATTRIBUTES} attributes; got {len(attributes)}."
            )
        for name, value in attributes.items():
            if len(value) > MAX_ATTRIBUTE:
                raise self._error(
                    f"expected attributes of at most {MAX_ATTRIBUTE:,} characters; {name!r:.40} "
                    f"has {len(value):,}."
                )

    def _end(self, tag: str) -> None:
        element = self._open.pop()
        if self._taken == len(self._open):
            self._taken, self._begun = None, -1
            if self._root is None:
                self._root = element
            self._handlers[element.kind](element)

    def _characters(self, text: str) -> None:
        self._open[-1].add_text(text)

    def _comment(self, text: str) -> None:
        if (content := content_of(text)) is not None:
            self._comments.append(content)
        else:
            skip("file", "comment")

    def _xml(self, version: str, encoding: str | None, standalone: int) -> None:
        self._is_utf8 = (encoding or _UTF8).lower() == _UTF8

    def _attribute_type(self, *_: object) -> None:
        self._has_types = True

    def _entity(self, name: str, *_: object) -> None:
        raise self._error(
            f"expected no declarations of entities, which can make a small file huge or read other "
            f"files; got that of {name!r:.40}. Write its text in its place."
        )

    def _external(self, *_: object) -> int:
        raise self._error("expected nothing from outside of the file.")


def _n_breaks(data: bytes) -> int:
    """Return how many line breaks there are, in the way of any system."""
    found = data.count(b"\n")
    return found + data.count(b"\r") - data.count(b"\r\n") if b"\r" in data else found


def escaped(text: str) -> str:
    """Return text as the content of an element."""
    return "".join([_TEXT.get(c, c) for c in text]) if set(text) & _TEXT.keys() else text


def quoted_attribute(text: str) -> str:
    """Return text as the value of an attribute, with its quotes."""
    return '"' + "".join([_QUOTED.get(c, c) for c in text]) + '"'


def is_xml_text(text: str) -> bool:
    """Return whether XML can hold a text: no control characters, no half of a surrogate pair."""
    return _NO_XML.search(text) is None


def comment(line: str) -> str:
    """Return a line of the sidecar as a comment."""
    return f"<!-- {line} -->"
