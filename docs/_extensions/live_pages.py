"""Run the Python of all pages and examples when the documentation is built, and show what it makes.

After each block of a page comes what it printed and the pictures that it wrote, and below its title
the page as a notebook; each example gets a page with its source, output and pictures. Results are
kept in `generated/runs` as long as neither the page nor the library changes.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gallery
import notebooks
from run_pages import BLOCK
from sphinx.util import logging

logger = logging.getLogger(__name__)
DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
GENERATED = DOCS / "generated"
WORKERS = 2


def _library():
    """Return a digest of the sources of the library and of what runs the pages."""
    digest = hashlib.sha256()
    for path in sorted([*ROOT.glob("bayesgraph/**/*.py"), *ROOT.glob("docs/_extensions/run_*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _name(source):
    """Return a page's name below docs, or an example's."""
    below = source.relative_to(DOCS) if source.is_relative_to(DOCS) else Path(source.name)
    return below.as_posix()


# What threads that another library leaves may say when an interpreter ends, after its last line.
ENDED = "terminate called without an active exception"


def _run(source, library):
    """Run a page or an example, unless that was done; return its records."""
    kept = GENERATED / "runs" / f"{_name(source)}.json"
    shown = GENERATED / "pictures" / _name(source)
    key = hashlib.sha256(source.read_bytes() + library.encode()).hexdigest()
    if kept.is_file():
        known = json.loads(kept.read_text(encoding="utf-8"))
        if known["key"] == key:
            return known["records"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "work"
        folder.mkdir()
        result = Path(name) / "result.json"
        command = [sys.executable, Path(__file__).with_name("run_pages.py"), source, result]
        done = subprocess.run(
            [*command, *gallery.ARGUMENTS.get(source.stem, [])],
            cwd=folder,
            env=os.environ
            | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "BAYESGRAPH_COMPILE": "inline"},
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stderr.replace(ENDED, "").strip()
        if said or not result.is_file():
            logger.warning("%s did not run without a word:\n%s", source.name, done.stderr)
            return []
        records = json.loads(result.read_text(encoding="utf-8"))
        shutil.rmtree(shown, ignore_errors=True)
        for record in records:
            for picture in record["pictures"]:
                (shown / picture).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(folder / picture, shown / picture)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps({"key": key, "records": records}), encoding="utf-8")
    return records


def _run_all(app):
    """Run all pages and examples, two at a time, and write what is made of them."""
    library = _library()
    examples = sorted((ROOT / "examples").glob("*.py"))
    pages = notebooks.pages(DOCS)
    sources = [*examples, *pages]
    with ThreadPoolExecutor(WORKERS) as pool:
        runs = pool.map(lambda path: _run(path, library), sources)
        records = dict(zip(sources, runs, strict=True))
    app.live_pages = {_name(path).removesuffix(".md"): records[path] for path in pages}
    for path in pages:
        notebook = notebooks.from_page(path.read_text(encoding="utf-8"))
        target = (GENERATED / "notebooks" / _name(path)).with_suffix(".ipynb")
        notebooks.write(notebook, target)
    gallery.write_examples({path: records[path] for path in examples})


def _after(record, folder):
    """Return the lines of Markdown that show what a block made."""
    if record["lacking"]:
        return f"\n*Not run here: {', '.join(record['lacking'])} is not installed.*\n"
    shown = ""
    if record["text"]:
        shown += f"\n```{{code-block}} text\n:class: output\n\n{record['text']}\n```\n"
    for path in record["pictures"]:
        shown += f"\n![{Path(path).stem}]({gallery.picture(path, folder)})\n"
    return shown


def _show(app, docname, source):
    """Put what the blocks of a page made below them, and its notebook below its title."""
    if docname not in app.live_pages:
        return
    records = iter(app.live_pages[docname])
    text = BLOCK.sub(
        lambda block: (
            f"```python\n{block['code']}```\n" + _after(next(records, _NOTHING), f"{docname}.md")
        ),
        source[0],
    )
    if docname == app.config.root_doc:
        source[0] = gallery.with_cards(text)
    else:
        title, _, rest = text.partition("\n")
        source[0] = f"{title}\n\n{_DOWNLOAD.format(docname)}\n{rest}"


_NOTHING = {"text": "", "pictures": [], "lacking": []}
_DOWNLOAD = """\
:::{{container}} download
{{download}}`This page as a notebook </generated/notebooks/{0}.ipynb>`
:::
"""


def setup(app):
    """Connect the extension."""
    app.connect("builder-inited", _run_all)
    app.connect("source-read", _show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
