"""One HTML file of a snapshot, the front end and the model itself.

The file has a head in plain JSON, and blocks: the snapshot, its numbers, the archive (what
`bayesgraph.load` reads), the kernel, the style and the script, each compressed by zlib and written
in base 64, the last two in base 85. Stretches of the archive that are among the numbers are not
stored twice. The content security policy of the file allows its own scripts and style, named by
their hashes, and no request at all.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesgraph import __version__
from bayesgraph.explorer.bundle import FRONT, bare_module, front
from bayesgraph.explorer.reading import VERSION
from bayesgraph.explorer.rows import with_rows
from bayesgraph.explorer.snapshot import LIMIT, Snapshot, take_snapshot
from bayesgraph.factors.algebra import Floats
from bayesgraph.io.files import PathLike, write_text
from bayesgraph.io.native import native_bytes
from bayesgraph.models.model import Model
from bayesgraph.typing import EvidenceLike, TableLike
from bayesgraph.variables import Name

# Stretches of the archive shorter than this are not looked for among the numbers.
_SHARED_FROM = 64


def to_html(
    model: Any,
    path: PathLike | None = None,
    *,
    evidence: EvidenceLike = None,
    target: Name | None = None,
    title: str | None = None,
    view: str = "auto",
    data: TableLike | None = None,
    embed_rows: bool = False,
    limit: float = LIMIT,
) -> str:
    """Return a model as one HTML page that shows it and answers questions about it exactly.

    Parameters
    ----------
    model : Model or fitted estimator
    path : str or path, optional
        File to write; its suffix should be ``.html``, so that `bayesgraph.load` reads it.
    evidence : mapping from name to value, optional
        The findings to begin with, as in `query`.
    target : name, optional
        The variable asked for first; by default that of an estimator.
    title : str, optional
    view : {"auto", "network", "classifier"}
        With "auto" that of a classifier for estimators, else that of a network.
    data : table, optional
        Its columns give the ranges of the sliders, so that their least and greatest values are in
        the file.
    embed_rows : bool
        Also write the rows of `data` into the file, at most 10,000, with what the model predicts,
        to click through; whoever has the file can read them.
    limit : float
        Entries of all tables of the clique tree, up to which the model is accepted.

    Raises
    ------
    UnsupportedModelError
        If the page could not answer exactly; the message names what, and the way that works.
    MemoryLimitError
        If the clique tree has more entries than the limit.
    LossyExportError
        If the model has a name, a state or a part that files do not hold.
    UnknownVariableError, UnknownStateError, EvidenceError
        For a target or evidence that does not fit the model.
    DataError
        For rows without a discrete target, or too many rows.
    """
    shown = model if isinstance(model, Model) else model.network_
    if shown is not model:
        target = model.target_.name if target is None else target
        title = title or type(model).__name__
        view = "classifier" if view == "auto" else view
    snapshot = take_snapshot(
        shown, evidence=evidence, target=target, title=title, view=view, limit=limit
    )
    if data is not None:
        snapshot = with_rows(snapshot, shown, data, embed=embed_rows)
    text = page(snapshot, native_bytes(model))
    if path is not None:
        write_text(path, text)
    return text


def page(snapshot: Snapshot, archive: bytes) -> str:
    """Return the page of a snapshot; `archive` is the model in the native format."""
    numbers, coding = _coded(snapshot.numbers)
    pieces, rest = _shared(archive, snapshot.numbers)
    in_head = ("title", "initial")
    content = {k: v for k, v in snapshot.content.items() if k not in in_head} | {"coding": coding}
    head = {
        "format": VERSION,
        "made_by": f"bayesgraph {__version__}",
        "blocks": ["snapshot", "numbers"],
        "archive": {"bytes": len(archive), "pieces": pieces, "coding": coding},
        **{key: snapshot.content[key] for key in in_head},
    }
    script, style = front()
    blocks = {
        "snapshot": _json(content).encode(),
        "numbers": numbers,
        "archive": rest,
        "kernel": (FRONT / "kernel.wasm").read_bytes(),
    }
    packed = {name: _packed(block) for name, block in blocks.items()}
    packed |= {"look": _dense(style), "script": _dense(script)}
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hash(_loader())} {_hash(script)} 'wasm-unsafe-eval' blob:",
            f"style-src {_hash(style)}",
            "worker-src blob:",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    title = html.escape(str(snapshot.content["title"]))
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title>",
            '<div id="app"></div>',
            "<noscript>This page computes in the browser: it needs JavaScript.</noscript>",
            f'<script type="application/json" id="bayesgraph">{_json(head)}</script>',
            *(
                f'<script type="text/plain" id="bayesgraph-{name}">{block}</script>'
                for name, block in packed.items()
            ),
            f'<script type="module" id="bayesgraph-loader">{_loader()}</script>',
            "</html>\n",
        ]
    )


def _json(content: Mapping[str, Any]) -> str:
    """Return JSON that can stand in a script element, whatever its texts are."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _packed(block: bytes) -> str:
    return base64.b64encode(zlib.compress(block, 9)).decode("ascii")


def _dense(text: str) -> str:
    """Return a text compressed and in base 85, shorter than base 64; `loader.js` reads it."""
    # Without "<", nothing in it can end or change the element.
    return base64.b85encode(zlib.compress(text.encode(), 9)).decode("ascii").replace("<", ",")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
    return f"'sha256-{digest}'"


def _coded(numbers: Floats) -> tuple[bytes, dict[str, int]]:
    """Return the numbers as bytes, and how they are written: the shorter of two ways.

    Either all of them, or the different ones and the index of each.
    """
    plain = numbers.astype("<f8").tobytes()
    bits, index = np.unique(numbers.view(np.int64), return_inverse=True)
    width = next(w for w in (1, 2, 4) if len(bits) <= 256**w)
    listed = bits.astype("<i8").tobytes() + index.astype(f"<u{width}").tobytes()
    if len(zlib.compress(listed, 9)) < len(zlib.compress(plain, 9)):
        return listed, {"n": numbers.size, "distinct": len(bits), "width": width}
    return plain, {"n": numbers.size, "distinct": 0, "width": 8}


def _shared(archive: bytes, numbers: Floats) -> tuple[list[list[int]], bytes]:
    """Return the archive in pieces: [where the numbers begin or -1, bytes], and what is left."""
    shared = numbers.astype("<f8").tobytes()
    at = archive.find(shared) if len(shared) >= _SHARED_FROM else -1
    if at < 0:
        return [[-1, len(archive)]], archive
    end = at + len(shared)
    pieces = [[-1, at], [0, len(shared)], [-1, len(archive) - end]]
    return pieces, archive[:at] + archive[end:]


@functools.cache
def _loader() -> str:
    """Return the script that unpacks the others; the policy names the hashes of what it adds."""
    return bare_module((FRONT / "loader.js").read_text("utf-8"))
