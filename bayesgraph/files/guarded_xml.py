"""A guarded parser of XML files: linear time, no entities, nothing from outside of the file.

The parser is expat, which gets the file in one piece. Declarations of entities are refused (the
"billion laughs", external entities), and so are deep nesting, very long attributes and very many of
them. A document type with declarations of elements, as XMLBIF files have, is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.parsers import expat

from bayesgraph.core.errors import FileFormatError
from bayesgraph.core.files import Budget
from bayesgraph.files.exporting import content_of, skip

MAX_DEPTH = 200
MAX_ATTRIBUTES = 100
# Characters of one attribute.
MAX_ATTRIBUTE = 1 << 20
# An element, its list of children, its attributes and its text, beyond the bytes of the text.
_BYTES_OF_ELEMENT = 600
_CHARGED_ELEMENTS = 1000
_BLANKS = " \t\r\n"
# Blanks before the declaration, which some programs write, and the mark of UTF-8 before them.
_LATE_DECLARATION = re.compile(rb"(?:\xef\xbb\xbf)?(\s++)(<\?xml\b[^>]*+>)")
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
# A reader of XML takes a carriage return for a line feed.
_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_QUOTED = _TEXT | str.maketrans({'"': "&quot;", "\n": "&#10;", "\t": "&#9;"})


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
    parts : list of str
        The text of the element itself, between its children.
    """

    __slots__ = ("attributes", "children", "kind", "line", "parts", "tag")

    def __init__(self, tag: str, attributes: dict[str, str], line: int) -> None:
        self.tag = tag.rpartition(":")[2]
        self.kind = self.tag.lower()
        self.attributes = attributes
        self.line = line
        self.children: list[Element] = []
        self.parts: list[str] = []

    @property
    def text(self) -> str:
        """All text of the element itself, without blanks at both ends."""
        return "".join(self.parts).strip(_BLANKS)

    def all(self, kind: str) -> list[Element]:
        """Return the children of a tag, given in lower case; its own case does not matter."""
        return [child for child in self.children if child.kind == kind]

    def child(self, kind: str) -> Element | None:
        """Return the first child of a tag, None if there is none."""
        return next((child for child in self.children if child.kind == kind), None)

    def within(self, *kinds: str) -> Iterator[Element]:
        """Yield the elements of some tags at any depth, but none inside of one that is yielded."""
        for child in self.children:
            if child.kind in kinds:
                yield child
            else:
                yield from child.within(*kinds)

    def text_of(self, kind: str) -> str:
        """Return the text of the first child of a tag, empty if there is none."""
        child = self.child(kind)
        return "" if child is None else child.text

    def texts(self, kind: str) -> list[str]:
        """Return the texts of all children of a tag."""
        return [child.text for child in self.all(kind)]

    def values(self, kind: str, attribute: str) -> list[str]:
        """Return an attribute of all children of a tag, empty where it is missing."""
        return [child.attributes.get(attribute, "") for child in self.all(kind)]


def read_xml(
    data: bytes, budget: Budget, *, encoding: str | None = None
) -> tuple[Element, list[str]]:
    """Return the root of an XML file, and what comments of bayesgraph say.

    Parameters
    ----------
    data : bytes
        Content of the file.
    budget : Budget
        What reading may allocate; it has the path for messages.
    encoding : str, optional
        Encoding of the text, instead of what the file says.

    Raises
    ------
    FileFormatError
        If it is not well-formed XML, has declarations of entities, or is beyond a limit; the
        message has the line.
    """
    reader = _Reader(budget, encoding)
    return reader.run(data), reader.comments


class _Reader:
    def __init__(self, budget: Budget, encoding: str | None) -> None:
        self._budget = budget
        # Elements whose end tag was not read yet, the innermost last. The first one is no element
        # of the file: its child is the root.
        self._open = [Element("", {}, 0)]
        self._n_elements = 0
        self.comments: list[str] = []
        self._parser = parser = expat.ParserCreate(encoding)
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        # Defaults in the document type could be many times as long as the file.
        parser.specified_attributes = True
        # Text comes in few long pieces.
        parser.buffer_text = True
        parser.buffer_size = 1 << 16
        parser.StartElementHandler = self._start
        parser.EndElementHandler = lambda tag: self._open.pop()
        parser.CharacterDataHandler = self._characters
        parser.CommentHandler = self._comment
        parser.EntityDeclHandler = self._entity
        parser.ExternalEntityRefHandler = self._entity

    def run(self, data: bytes) -> Element:
        """Return the root of the file."""
        try:
            if (late := _LATE_DECLARATION.match(data)) is not None:
                # XML wants the declaration first. The blanks go behind it, so that lines keep
                # their numbers.
                data = late[2] + late[1] + data[late.end() :]
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            raise self._error(f"expected XML: {expat.ErrorString(error.code)}.") from error
        except (LookupError, UnicodeError) as error:
            raise self._error(f"expected text of a known encoding: {error}.") from error
        return self._open[0].children[0]

    def _error(self, message: str) -> FileFormatError:
        return self._budget.error(self._parser.CurrentLineNumber, message)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        """Open an element, after its depth, its attributes and the budget are checked."""
        if len(self._open) > MAX_DEPTH:
            raise self._error(f"expected elements nested at most {MAX_DEPTH} deep.")
        n, longest = len(attributes), max(map(len, attributes.values())) if attributes else 0
        if n > MAX_ATTRIBUTES or longest > MAX_ATTRIBUTE:
            raise self._error(
                f"expected attributes of at most {MAX_ATTRIBUTE:,} characters, and at most "
                f"{MAX_ATTRIBUTES} attributes; got {n} of up to {longest:,}."
            )
        # Elements are charged by the thousand, before they are made.
        if self._n_elements % _CHARGED_ELEMENTS == 0:
            self._budget.take(_BYTES_OF_ELEMENT * _CHARGED_ELEMENTS, "the elements of the file")
        self._n_elements += 1
        element = Element(tag, attributes, self._parser.CurrentLineNumber)
        self._open[-1].children.append(element)
        self._open.append(element)

    def _characters(self, text: str) -> None:
        self._open[-1].parts.append(text)

    def _comment(self, text: str) -> None:
        # Keeps the content of a comment that is a line of a sidecar, notes any other as skipped.
        if (content := content_of(text)) is not None:
            self.comments.append(content)
        else:
            skip("file", "comment")

    def _entity(self, name: str | None, *_: object) -> int:
        raise self._error(
            f"expected no declarations of entities, which can make a small file huge or read other "
            f"files; got that of {name!r:.40}. Write its text in its place."
        )


def escaped(text: str) -> str:
    """Return text as the content of an element."""
    return text.translate(_TEXT)


def quoted_attribute(text: str) -> str:
    """Return text as the value of an attribute, with its quotes."""
    return f'"{text.translate(_QUOTED)}"'


def is_xml_text(text: str) -> bool:
    """Return whether XML can hold a text: no control characters, no half of a surrogate pair."""
    return _NO_XML.search(text) is None


def comment(line: str) -> str:
    """Return a line of the sidecar as a comment."""
    return f"<!-- {line} -->"
