"""Run the Python of all pages and examples when the documentation is built, and show what it makes.

After each block of a page comes what it printed and the pictures that it wrote; each example gets a
page with its source, output and pictures. Results are kept in `generated/runs` as long as neither
the page nor the library changes.
"""

import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from run_pages import BLOCK
from sphinx.util import logging

logger = logging.getLogger(__name__)
DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
GENERATED = DOCS / "generated"
# Arguments by which an example takes seconds.
ARGUMENTS = {"large": ["400000"]}
WORKERS = 2


def _library():
    """Return a digest of the sources of the library and of what runs the pages."""
    digest = hashlib.sha256()
    for path in sorted([*ROOT.glob("bayesgraph/**/*.py"), *ROOT.glob("docs/_extensions/run_*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _run(source, library):
    """Run a page or an example, unless that was done; return its records."""
    kept = GENERATED / "runs" / f"{source.stem}{source.suffix}.json"
    shown = GENERATED / "pictures" / source.name
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
            [*command, *ARGUMENTS.get(source.stem, [])],
            cwd=folder,
            env=os.environ
            | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "BAYESGRAPH_COMPILE": "inline"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode or done.stderr:
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
    """Run all pages and examples, two at a time, and write the pages of the examples."""
    library = _library()
    examples = sorted((ROOT / "examples").glob("*.py"))
    pages = [path for path in sorted(DOCS.glob("*.md")) if BLOCK.search(path.read_text("utf-8"))]
    with ThreadPoolExecutor(WORKERS) as pool:
        found = dict(
            zip(
                [*examples, *pages],
                pool.map(lambda path: _run(path, library), [*examples, *pages]),
                strict=True,
            )
        )
    app.live_pages = {path.stem: found[path] for path in pages}
    _write_examples({path: found[path] for path in examples})


def _picture(path, folder):
    """Return the name by which pages show a picture."""
    return f"/generated/pictures/{folder}/{path}"


def _after(record, folder):
    """Return the lines of Markdown that show what a block made."""
    if record["lacking"]:
        return f"\n*Not run here: {', '.join(record['lacking'])} is not installed.*\n"
    shown = ""
    if record["text"]:
        shown += f"\n```{{code-block}} text\n:class: output\n\n{record['text']}\n```\n"
    for path in record["pictures"]:
        shown += f"\n![{Path(path).stem}]({_picture(path, folder)})\n"
    return shown


def _show(app, docname, source):
    """Put what the blocks of a page made below them."""
    records = iter(app.live_pages.get(docname, ()))
    source[0] = BLOCK.sub(
        lambda block: (
            f"```python\n{block['code']}```\n" + _after(next(records, _NOTHING), f"{docname}.md")
        ),
        source[0],
    )


_NOTHING = {"text": "", "pictures": [], "lacking": []}


def _indented(text):
    return "".join(f"   {line}\n" if line else "\n" for line in text.splitlines())


def _write_examples(found):
    """Write a page for each example, and one that lists them."""
    folder = GENERATED / "examples"
    folder.mkdir(parents=True, exist_ok=True)
    cards = []
    for path, records in found.items():
        code = path.read_text(encoding="utf-8")
        title, _, intro = ast.get_docstring(ast.parse(code)).partition("\n")
        heading = f"{path.stem}.py"
        lines = [heading, "=" * len(heading), "", title, "", intro, ""]
        drawn = [_picture(p, path.name) for record in records for p in record["pictures"]]
        lines += [".. code-block:: python", "", _indented(code)]
        for record in records:
            lines += ["It prints:", "", ".. code-block:: text", "   :class: output", ""]
            lines += [_indented(record["text"])]
        for picture in drawn:
            lines += [f".. image:: {picture}", f"   :alt: {Path(picture).stem}", ""]
        (folder / f"{path.stem}.rst").write_text("\n".join(lines), encoding="utf-8")
        cards.append((path.stem, title, drawn[0] if drawn else None))
    lines = ["Examples", "========", "", "Each runs in seconds: ``python examples/NAME.py``.", ""]
    for name, title, picture in cards:
        lines += [f".. rubric:: :doc:`{name}.py <{name}>`", "", title, ""]
        if picture:
            lines += [f".. image:: {picture}", "   :class: thumbnail", f"   :alt: {name}", ""]
    lines += [".. toctree::", "   :hidden:", "", *(f"   {name}" for name, *_ in cards), ""]
    (folder / "index.rst").write_text("\n".join(lines), encoding="utf-8")


def setup(app):
    """Connect the extension."""
    app.connect("builder-inited", _run_all)
    app.connect("source-read", _show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
