"""Cards with thumbnails: of the front page, and of all examples, from the pictures of their runs.

An example that draws nothing is shown by the first lines that it prints.
"""

import ast
import html
import re
from pathlib import Path

import notebooks

DOCS = Path(__file__).parents[1]
GENERATED = DOCS / "generated"
# Examples in their order; those that are not here come last.
SECTIONS = {
    "Begin": ("quickstart", "by_hand"),
    "Classify a table": ("classify", "predict", "naive_bayes", "weights", "interact", "text"),
    "Ask, explain, decide": (
        *("explain", "ask", "what_if", "decide", "sure", "diagnose", "explore"),
    ),
    "Networks and causes": ("learn", "edit", "causes", "profiles"),
    "Streams, sequences, large tables": ("stream", "sequences", "large"),
    "Files and reviews": ("files", "card", "compare"),
}
# Arguments by which an example takes seconds.
ARGUMENTS = {"large": ["400000"]}
# Of an example that draws several pictures, the one that says most.
THUMBNAILS = {
    "quickstart": "heart_tan",
    "explain": "why",
    "decide": "roc",
    "text": "why_this_topic",
}
# A list that becomes cards: its items end with the picture of a page that they show.
CARDS = re.compile(r"^<!-- cards -->\n\n(.*?)\n\n", re.MULTILINE | re.DOTALL)
CARD = re.compile(
    r"^\* \[(?P<title>[^\]]+)\]\((?P<page>[\w/-]+)\.md\): (?P<words>.*?)\s*"
    r"<!-- (?P<picture>\S+) -->$",
    re.MULTILINE | re.DOTALL,
)
# Of a text as a picture, in characters and lines.
WIDTH, HEIGHT = 40, 12


def picture(path, folder):
    """Return the name by which pages show a picture."""
    return f"/generated/pictures/{folder}/{path}"


def with_cards(text):
    """Return a page of Markdown in which its marked list is a grid of cards."""
    return CARDS.sub(lambda found: _grid(CARD.finditer(found[1])), text)


def _grid(cards):
    lines = ["::::{grid} 1 2 3 3", ":gutter: 3", ""]
    for card in cards:
        folder, _, path = card["picture"].partition("/")
        lines += [
            f":::{{grid-item-card}} {card['title']}",
            f":link: {card['page']}",
            ":link-type: doc",
            f":img-top: {picture(path, folder)}",
            f":img-alt: {card['title']}",
            "",
            _sentence(card["words"]),
            ":::",
            "",
        ]
    return "\n".join([*lines, "::::", "", ""])


def _sentence(words):
    """Return words on one line, with a capital at their begin."""
    line = " ".join(words.split())
    return line[:1].upper() + line[1:]


def printed(text):
    """Return the first lines of a text as a picture in SVG."""
    lines = [line[:WIDTH] for line in text.splitlines()[:HEIGHT]]
    spans = "".join(
        f'<tspan x="8" y="{18 + 16 * number}">{html.escape(line)}</tspan>'
        for number, line in enumerate(lines)
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="330" height="206" viewBox="0 0 330 206">'
        '<rect width="330" height="206" fill="#fff"/>'
        '<text xml:space="preserve" font-family="monospace" font-size="13" fill="#333">'
        f"{spans}</text></svg>\n"
    )


def _thumbnail(path, records):
    """Return the name of the picture that stands for an example, made of its words if need be."""
    drawn = [shown for record in records for shown in record["pictures"]]
    page = path.parent / "pictures" / f"{path.stem}.png"
    if page.is_file():  # a page for browsers, which no run draws
        return f"/../examples/pictures/{page.name}"
    if drawn:
        wanted = THUMBNAILS.get(path.stem)
        best = next((shown for shown in drawn if Path(shown).stem == wanted), drawn[0])
        return picture(best, path.name)
    target = GENERATED / "thumbnails" / f"{path.stem}.svg"
    target.parent.mkdir(exist_ok=True)
    target.write_text(printed("\n".join(record["text"] for record in records)), encoding="utf-8")
    return f"/generated/thumbnails/{target.name}"


def _downloads(name):
    """Return the line that gives an example as a script and as a notebook."""
    return (
        f":download:`script <../../../examples/{name}.py>` · "
        f":download:`notebook <../notebooks/examples/{name}.ipynb>`"
    )


def _indented(text, by=3):
    return "".join(f"{' ' * by}{line}\n" if line else "\n" for line in text.splitlines())


_INTRO = (
    "Each runs in seconds in a checkout: ``python examples/NAME.py`` (``large.py`` with a number "
    "of rows, such as 400000). A card leads to the source with what it prints and draws."
)


def write_examples(runs):
    """Write a page and a notebook for each example, and the gallery that shows all.

    Parameters
    ----------
    runs : dict
        The records of each example's run, by its path.
    """
    folder = GENERATED / "examples"
    folder.mkdir(parents=True, exist_ok=True)
    cards = {}
    for path, records in runs.items():
        code = path.read_text(encoding="utf-8")
        notebook = notebooks.from_script(code, path.name, ARGUMENTS.get(path.stem, ()))
        notebooks.write(notebook, GENERATED / "notebooks" / "examples" / f"{path.stem}.ipynb")
        title, _, intro = ast.get_docstring(ast.parse(code)).partition("\n")
        lines = [path.name, "=" * len(path.name), "", title, "", intro, ""]
        lines += ["Download: " + _downloads(path.stem), ""]
        lines += [".. code-block:: python", "", _indented(code)]
        for record in records:
            lines += ["It prints:", "", ".. code-block:: text", "   :class: output", ""]
            lines += [_indented(record["text"])]
            for shown in record["pictures"]:
                lines += [f".. figure:: {picture(shown, path.name)}", f"   :alt: {shown}", ""]
        (folder / f"{path.stem}.rst").write_text("\n".join(lines), encoding="utf-8")
        cards[path.stem] = [
            f"   .. grid-item-card:: {path.name}",
            f"      :link: {path.stem}",
            "      :link-type: doc",
            f"      :img-top: {_thumbnail(path, records)}",
            f"      :img-alt: {path.stem}",
            "",
            f"      {title}",
            "",
            "      .. card-footer::",
            "",
            f"         {_downloads(path.stem)}",
            "",
        ]
    sections = SECTIONS | {"More": sorted(set(cards) - {n for s in SECTIONS.values() for n in s})}
    lines = ["Examples", "========", "", _INTRO, ""]
    for title, names in sections.items():
        if names:
            lines += [title, "-" * len(title), "", ".. grid:: 1 2 3 3", "   :gutter: 3", ""]
            lines += [line for name in names for line in cards[name]]
    ordered = [f"   {name}" for names in sections.values() for name in names]
    lines += [".. toctree::", "   :hidden:", "", *ordered, ""]
    (folder / "index.rst").write_text("\n".join(lines), encoding="utf-8")
