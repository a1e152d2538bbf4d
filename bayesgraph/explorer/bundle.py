"""The script and the style of pages: the modules of the front end, joined without a bundler.

Each module becomes a function that returns what others import from it, in an order in which what is
imported comes first. So names are a module's own, as they are in a browser that loads the modules.
"""

from __future__ import annotations

import functools
import re
from importlib import resources

from bayesgraph.palette import DARK, LIGHT, style_properties

FRONT = resources.files("bayesgraph.explorer") / "front"
_ENTRY = "app.js"
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w.]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const|let)\b)", re.MULTILINE)
_BLOCK_COMMENT = re.compile(r"/\*\*.*?\*/", re.DOTALL)
_LINE_COMMENT = re.compile(r"^\s*//.*\n", re.MULTILINE)
_INDENT = re.compile(r"^[ \t]+|^\n", re.MULTILINE)
_STRING = re.compile(r'("(?:[^"\\]|\\.)*")')
_SPACED = re.compile(r" ?([=*<>(){}\[\],;:?&|!]+) ?")
_STYLE_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_STYLE_SPACED = re.compile(r" ?([{};,]) ?|(?<=[a-z-])(:) ")


@functools.cache
def front() -> tuple[str, str]:
    """Return the script and the style of all pages."""
    order: list[str] = []
    texts: dict[str, str] = {}
    wanted: dict[str, set[str]] = {}

    def visit(name: str) -> None:
        if name in texts:
            return
        texts[name] = (FRONT / name).read_text("utf-8")
        for names, needed in _IMPORT.findall(texts[name]):
            visit(needed)
            found = [item.split(" as ")[0].strip() for item in names.split(",")]
            wanted.setdefault(needed, set()).update(filter(None, found))
        order.append(name)

    visit(_ENTRY)
    script = "".join(_scoped(name, texts[name], wanted.get(name, set())) for name in order)
    return script, _colours() + bare_style((FRONT / "look.css").read_text("utf-8"))


def _scoped(name: str, module: str, exported: set[str]) -> str:
    """Return a module as a constant: a function that is called, with what others import of it."""
    text = _IMPORT.sub(lambda found: _taken(found[1], found[2]), bare_module(module))
    text = "".join(map(_tight, text.splitlines(keepends=True)))
    given = f"return {{ {', '.join(sorted(exported))} }};\n" if exported else ""
    return f"const {_constant(name)} = (() => {{\n{text}{given}}})();\n"


def _tight(line: str) -> str:
    """Return a line without the spaces around its operators; those that may be in texts stay."""
    if any(mark in line for mark in "'`/"):
        return line
    parts = _STRING.split(line)
    parts[::2] = [_SPACED.sub(r"\1", part) for part in parts[::2]]
    return "".join(parts)


def _taken(names: str, module: str) -> str:
    return f"const {{{names.replace(' as ', ': ')}}} = {_constant(module)};\n"


def _constant(module: str) -> str:
    return f"{module.removesuffix('.js').upper()}_MODULE"


def bare_module(module: str) -> str:
    """Return a module without the word export, comments and indentation."""
    text = _BLOCK_COMMENT.sub("", _EXPORT.sub("", module))
    return _INDENT.sub("", _LINE_COMMENT.sub("", text))


def bare_style(style: str) -> str:
    """Return a style sheet without comments, indentation and spaces, but those of its texts."""
    parts = _STRING.split(_INDENT.sub("", _STYLE_COMMENT.sub("", style)))
    parts[::2] = [_STYLE_SPACED.sub(r"\1\2", part) for part in parts[::2]]
    return "".join(parts)


def _colours() -> str:
    """Return the style sheet of the palette: by day, by night, and always by day on paper."""
    day, night = style_properties(LIGHT), style_properties(DARK)
    return (
        f":root {{ {day} }}\n"
        "@media screen and (prefers-color-scheme: dark) "
        f"{{ :root:not([data-theme=light]) {{ color-scheme: dark; {night} }} }}\n"
        f"@media screen {{ :root[data-theme=dark] {{ color-scheme: dark; {night} }} }}\n"
    )
