"""Reports of tables: text, Markdown, or a page of HTML in which nothing runs; names are escaped."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

from bayesgraph.display import DisplayTable, escaped_markdown, printable
from bayesgraph.errors import FileFormatError, quoted
from bayesgraph.io.files import PathLike, write_text
from bayesgraph.palette import DARK, LIGHT, style_properties

_STYLE = f"""
:root {{ color-scheme: light dark; {style_properties(LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {style_properties(DARK)} }} }}
body {{ font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--panel);
  margin: 2em auto; max-width: 72em; padding: 0 1em }}
h1 {{ font-size: 1.4em; margin: 0; overflow-wrap: anywhere }}
p {{ color: var(--muted); margin: .3em 0 1.6em }}
table {{ border-collapse: collapse; margin: 0 0 .4em }}
caption {{ text-align: left; font-weight: 600; padding: .3em 0 }}
th, td {{ padding: .15em 1.1em .15em 0; vertical-align: top; overflow-wrap: anywhere }}
th {{ color: var(--muted); font-weight: 500; border-bottom: 1px solid var(--hair) }}
section {{ margin: 0 0 1.8em; overflow-x: auto }}
section > div {{ color: var(--muted); white-space: pre-line; overflow-wrap: anywhere }}
"""
# Nothing on the page is fetched or run, whatever a name of a file holds.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


class Report:
    """Mixin of what prints as a title, a summary and tables.

    Attributes
    ----------
    title, summary : str
    """

    title: str

    @property
    def summary(self) -> str:
        """What the report says, in a sentence."""
        raise NotImplementedError

    def tables(self) -> Sequence[DisplayTable]:
        """Return the tables."""
        raise NotImplementedError

    def to_text(self) -> str:
        """Return the report as text, in lines of 80 columns where names are short."""
        head = f"{printable(self.title)}\n{printable(self.summary)}"
        return "\n\n".join([head, *(table.text() for table in self.tables())])

    def to_markdown(self) -> str:
        """Return the report as Markdown with tables in the form of GitHub."""
        head = [f"# {escaped_markdown(self.title)}", escaped_markdown(self.summary)]
        return "\n\n".join([*head, *(table.markdown() for table in self.tables())]) + "\n"

    def to_html(self) -> str:
        """Return the report as a page of HTML: complete, without scripts, every name escaped."""
        name, line = (html.escape(printable(text)) for text in (self.title, self.summary))
        body = "\n".join(f"<section>{table.html()}</section>" for table in self.tables())
        return (
            "<!DOCTYPE html>\n"
            '<html lang="en"><head><meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{html.escape(_POLICY)}">\n'
            f"<title>{name}</title>\n<style>{_STYLE}</style></head>\n"
            f"<body><h1>{name}</h1><p>{line}</p>\n{body}\n</body></html>\n"
        )

    def save(self, path: PathLike) -> None:
        """Write the report to a ``.html``, ``.md`` or ``.txt`` file.

        Raises
        ------
        FileFormatError
            For another suffix.
        """
        forms = {".html": self.to_html, ".md": self.to_markdown, ".txt": self.to_text}
        suffix = Path(path).suffix.lower()
        if suffix not in forms:
            raise FileFormatError(
                f"{str(path)!r}: a page is saved to a file that ends in {quoted(forms)}."
            )
        write_text(path, forms[suffix]())

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return "".join(table.html() for table in self.tables())
