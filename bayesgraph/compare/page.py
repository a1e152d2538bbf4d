"""A page of tables for a review: text, or HTML without scripts in which every name is escaped."""

from __future__ import annotations

import html
from collections.abc import Sequence

from bayesgraph.display import DisplayTable, printable
from bayesgraph.palette import GRID, INK, MUTED

_STYLE = f"""
body {{ font: 15px/1.45 system-ui, sans-serif; color: {INK}; margin: 2em auto; max-width: 72em;
  padding: 0 1em }}
h1 {{ font-size: 1.4em; margin: 0 }}
p {{ color: {MUTED}; margin: .3em 0 1.6em }}
table {{ border-collapse: collapse; margin: 0 0 .4em }}
caption {{ text-align: left; font-weight: 600; padding: .3em 0 }}
th, td {{ padding: .15em 1.1em .15em 0; vertical-align: top }}
th {{ color: {MUTED}; font-weight: 500; border-bottom: 1px solid {GRID} }}
section {{ margin: 0 0 1.8em }}
section > div {{ color: {MUTED}; white-space: pre-line }}
"""
# Nothing on the page is fetched or run, whatever a name of a file holds.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page_text(title: str, summary: str, tables: Sequence[DisplayTable]) -> str:
    """Return a title, a summary and tables as text."""
    parts = [f"{printable(title)}\n{printable(summary)}", *(table.text() for table in tables)]
    return "\n\n".join(parts)


def page_html(title: str, summary: str, tables: Sequence[DisplayTable]) -> str:
    """Return a title, a summary and tables as a page of HTML, complete in itself."""
    name, line = (html.escape(printable(text)) for text in (title, summary))
    body = "\n".join(f"<section>{table.html()}</section>" for table in tables)
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(_POLICY)}">\n'
        f"<title>{name}</title>\n<style>{_STYLE}</style></head>\n"
        f"<body><h1>{name}</h1><p>{line}</p>\n{body}\n</body></html>\n"
    )
