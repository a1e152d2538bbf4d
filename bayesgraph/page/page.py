"""One HTML file of a snapshot, the front end and the model itself.

The file has a head in plain JSON, and blocks: the snapshot, its numbers, the archive (what
`bayesgraph.load` reads), the kernel, the style and the script, each compressed by zlib and written
in base 64, the last two in base 85. The content security policy of the file allows its own scripts
and style, named by their hashes, and no request at all.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import json
import re
import zlib
from collections.abc import Mapping
from importlib import resources
from typing import Any

from bayesgraph.core.arrays import check_flags
from bayesgraph.core.display import DARK, LIGHT, style_properties
from bayesgraph.core.files import PathLike, write_text
from bayesgraph.core.typing import EvidenceLike, TableLike
from bayesgraph.core.variables import Name
from bayesgraph.core.version import __version__
from bayesgraph.files import VERSION, native_bytes
from bayesgraph.models import Model
from bayesgraph.page.snapshot import LIMIT, Snapshot, take_snapshot

# ------- The script and the style of pages: the modules of the front end, joined without a bundler
# Each module becomes a function that returns what others import from it, in an order in which what
# is imported comes first. So names are a module's own, as they are in a browser that loads the
# modules.


FRONT = resources.files("bayesgraph.page") / "front"
_ENTRY = "app.js"
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w.]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const|let)\b)", re.MULTILINE)
_BLOCK_COMMENT = re.compile(r"/\*\*.*?\*/", re.DOTALL)
_LINE_COMMENT = re.compile(r"^\s*//.*\n", re.MULTILINE)
_INDENT = re.compile(r"^[ \t]+|^\n", re.MULTILINE)
_STRING = re.compile(r'("(?:[^"\\]|\\.)*")')
_SPACED = re.compile(r" ?([=*<>(){}\[\],;:?&|!]+) ?")
_STYLE_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


@functools.cache
def front() -> tuple[str, str]:
    """Return the script and the style of all pages."""
    order: list[str] = []
    texts: dict[str, str] = {}
    # What others import of each module, which is all that it has to return.
    exported: dict[str, set[str]] = {}

    def visit(name: str) -> None:
        """Append a module to `order`, after the modules that it imports."""
        if name in texts:
            return
        texts[name] = (FRONT / name).read_text("utf-8")
        for names, source in _IMPORT.findall(texts[name]):
            visit(source)
            # Names as the module that exports them has them: "a as b" imports a.
            imported = [item.split(" as ")[0].strip() for item in names.split(",")]
            exported.setdefault(source, set()).update(filter(None, imported))
        order.append(name)

    visit(_ENTRY)
    script = "".join(_scoped(name, texts[name], exported.get(name, set())) for name in order)
    # The style sheet of the palette: by day, by night, and always by day on paper.
    day, night = style_properties(LIGHT), style_properties(DARK)
    return script, (
        f":root {{ {day} }}\n"
        "@media screen and (prefers-color-scheme: dark) "
        f"{{ :root:not([data-theme=light]) {{ color-scheme: dark; {night} }} }}\n"
        f"@media screen {{ :root[data-theme=dark] {{ color-scheme: dark; {night} }} }}\n"
    ) + _INDENT.sub("", _STYLE_COMMENT.sub("", (FRONT / "look.css").read_text("utf-8")))


def _scoped(name: str, module: str, exported: set[str]) -> str:
    """Return a module as a constant: a function that is called, with what others import of it."""

    def as_constants(statement: re.Match[str]) -> str:
        """Return an import as a constant taken from the one of the module: `a as b` is `a: b`."""
        names, source = statement.groups()
        return f"const {{{names.replace(' as ', ': ')}}} = {_constant(source)};\n"

    text = _IMPORT.sub(as_constants, bare_module(module))
    text = "".join(map(_tight, text.splitlines(keepends=True)))
    returned = f"return {{ {', '.join(sorted(exported))} }};\n" if exported else ""
    return f"const {_constant(name)} = (() => {{\n{text}{returned}}})();\n"


def _tight(line: str) -> str:
    """Return a line without the spaces around its operators; those that may be in texts stay."""
    if any(mark in line for mark in "'`/"):
        return line
    # Every second part is a string, which stays as it is.
    parts = _STRING.split(line)
    parts[::2] = [_SPACED.sub(r"\1", part) for part in parts[::2]]
    return "".join(parts)


def _constant(module: str) -> str:
    """Return the name of the constant that a module becomes."""
    return f"{module.removesuffix('.js').upper()}_MODULE"


def bare_module(module: str) -> str:
    """Return a module without the word export, comments and indentation."""
    text = _BLOCK_COMMENT.sub("", _EXPORT.sub("", module))
    return _INDENT.sub("", _LINE_COMMENT.sub("", text))


# --------------------------------- One HTML file of a snapshot, the front end and the model itself


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
) -> str | None:
    """Write a model as one HTML page that shows it and answers questions about it exactly.

    Parameters
    ----------
    model : Model or fitted estimator
    path : str or path, optional
        File to write; its suffix should be ``.html``, so that `bayesgraph.load` reads it. Without
        a path the page is returned as text.
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
    check_flags(embed_rows=embed_rows)
    shown = model if isinstance(model, Model) else model.network_
    if shown is not model:
        target = model.target_.name if target is None else target
        title = title or type(model).__name__
        view = "classifier" if view == "auto" else view
    snapshot = take_snapshot(shown, evidence, target, title, view, limit, data, embed_rows)
    text = page(snapshot, native_bytes(model))
    if path is None:
        return text
    write_text(path, text)
    return None


def page(snapshot: Snapshot, archive: bytes) -> str:
    """Return the page of a snapshot; `archive` is the model in the native format."""
    # The head is JSON that can be read without unpacking.
    in_head = ("title", "initial")
    content = {k: v for k, v in snapshot.content.items() if k not in in_head}
    head = {
        "format": VERSION,
        "made_by": f"bayesgraph {__version__}",
        "blocks": ["snapshot", "numbers"],
        "archive": {"bytes": len(archive)},
        **{key: snapshot.content[key] for key in in_head},
    }
    script, style = front()
    blocks = {
        "snapshot": _json(content).encode(),
        "numbers": snapshot.numbers.astype("<f8").tobytes(),
        "archive": archive,
        "kernel": (FRONT / "kernel.wasm").read_bytes(),
    }
    packed = {
        name: base64.b64encode(zlib.compress(block, 9)).decode("ascii")
        for name, block in blocks.items()
    }
    packed |= {"look": _dense(style), "script": _dense(script)}
    texts = "\n".join(
        f'<script type="text/plain" id="bayesgraph-{name}">{block}</script>'
        for name, block in packed.items()
    )
    policy = (
        f"default-src 'none'; script-src {_hash(_loader())} {_hash(script)} 'wasm-unsafe-eval' "
        f"blob:; style-src {_hash(style)}; worker-src blob:; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(str(snapshot.content["title"]))}</title>
<div id="app"></div>
<noscript>This page computes in the browser: it needs JavaScript.</noscript>
<script type="application/json" id="bayesgraph">{_json(head)}</script>
{texts}
<script type="module" id="bayesgraph-loader">{_loader()}</script>
</html>
"""


def _json(content: Mapping[str, Any]) -> str:
    """Return JSON that can stand in a script element, whatever its texts are."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _dense(text: str) -> str:
    """Return a text compressed and in base 85, shorter than base 64; `loader.js` reads it."""
    # Without "<", nothing in it can end or change the element. Base 85 itself has no comma.
    return base64.b85encode(zlib.compress(text.encode(), 9)).decode("ascii").replace("<", ",")


def _hash(text: str) -> str:
    """Return the hash of a script or a style, as a content security policy has it."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
    return f"'sha256-{digest}'"


@functools.cache
def _loader() -> str:
    """Return the unpacking script; the content security policy lists its hashes."""
    return bare_module((FRONT / "loader.js").read_text("utf-8"))
