"""Reading of pages: the model in the file that `page` writes, in the native format.

Nothing in a file is executed. What it declares is taken from the budget of the file before memory
is allocated, and the checksum of the archive says whether all of it is there.
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import replace
from typing import Any

from bayesgraph.core.errors import FileFormatError
from bayesgraph.core.files import Budget, LossReport
from bayesgraph.core.upward import upward
from bayesgraph.files import native
from bayesgraph.files.formats import FileFormat, check_options

# Version of pages; `snapshot` says what is in one.
VERSION = 1


def parse(data: bytes, budget: Budget, *, saved: bool = False) -> Any:
    """Return the model in a page that `to_html` wrote; see `native.parse` for `saved`.

    Nothing in the file is executed: it is safe to read a file that came from elsewhere.

    Raises
    ------
    FileFormatError
        If the file is no page of bayesgraph, truncated, altered, newer, or beyond the limit.
    """
    head = json.loads(_block(data, b'type="application/json" id="bayesgraph"', budget))
    version = head["format"]
    if type(version) is not int or version > VERSION:
        raise FileFormatError(
            f"{budget.source} was written by a newer bayesgraph (version {version!r:.20} of the "
            f"page; this one reads up to {VERSION}); upgrade bayesgraph."
        )
    size = head["archive"]["bytes"]
    if type(size) is not int or size < 0:
        raise ValueError("a size in its head is none")
    # The head says how many bytes the archive has.
    budget.take(size, "the model in the page")
    packed = base64.b64decode(_block(data, b'type="text/plain" id="bayesgraph-archive"', budget))
    # One byte more tells whether there are too many.
    archive = zlib.decompressobj().decompress(packed, size + 1)
    if len(archive) != size:
        raise FileFormatError(f"{budget.source} is truncated or was altered. Get the file again.")
    return native.parse(archive, budget, saved=saved)


def _block(data: bytes, attributes: bytes, budget: Budget) -> bytes:
    """Return the text of one of the page's elements."""
    begin = data.find(b"<script " + attributes + b">")
    end = data.find(b"</script>", begin)
    if begin < 0 or end < 0:
        raise FileFormatError(
            f"{budget.source} is no page of bayesgraph, or was altered; get the file again."
        )
    return data[data.index(b">", begin) + 1 : end]


def formatted(model: Any, **options: Any) -> tuple[str, LossReport]:
    """Return a model or a fitted estimator as a page; options are those of `page.to_html`."""
    check_options("writing an HTML page", upward("to_html"), options, first=2)
    return upward("to_html")(model, **options), LossReport("an HTML page")


# A page has the model in the native format.
FORMAT = FileFormat(
    "an HTML page",
    parse,
    formatted,
    replace(native.HELD, format="an HTML page"),
    holds_estimators=True,
)
