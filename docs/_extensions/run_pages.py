"""Run the Python of a page or an example, as a process of its own: run_pages.py SOURCE RESULT.json.

The blocks of a page run one after the other in one namespace, as in the tests. Of each, RESULT has
what it printed, the value of its last expression if there is one, and the pictures that it left in
the working folder.
"""

import ast
import contextlib
import importlib.util
import io
import json
import re
import runpy
import sys
import warnings
from pathlib import Path

BLOCK = re.compile(r"^```python(?P<needs>[^\n]*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def lacking(needs):
    """Return the libraries of a block's first line that are not installed."""
    return [name for name in needs.split() if importlib.util.find_spec(name) is None]


def pictures():
    """Return when each picture below the working folder was last written."""
    found = (path for path in Path().rglob("*") if path.suffix in (".svg", ".png"))
    return {str(path): path.stat().st_mtime_ns for path in sorted(found)}


def run_block(code, name, namespace):
    """Run a block, and print the value of its last expression."""
    tree = ast.parse(code, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), namespace)
    if last is None:
        return
    value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
    if hasattr(value, "savefig"):
        from bayesgraph.pictures import save_figure

        save_figure(value, f"figure-{len(pictures())}.svg")
    elif value is not None and not isinstance(last.value, ast.Constant):
        print(value)


def recorded(action):
    """Return what an action prints, and the pictures that it makes."""
    before, printed = pictures(), io.StringIO()
    with contextlib.redirect_stdout(printed):
        action()
    made = [path for path, time in pictures().items() if before.get(path) != time]
    return {"text": printed.getvalue().rstrip(), "pictures": made, "lacking": []}


def run_page(path):
    """Return a record for each block of a page."""
    namespace, records = {"__name__": "__main__"}, []
    text = path.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        missing = lacking(block["needs"])
        if missing:
            records.append({"text": "", "pictures": [], "lacking": missing})
            continue
        code = "\n" * text.count("\n", 0, block.start("code")) + block["code"]
        with warnings.catch_warnings():
            if block["needs"]:  # what other libraries warn of is theirs
                warnings.simplefilter("ignore")
            records.append(recorded(lambda code=code: run_block(code, str(path), namespace)))
    return records


def run_example(path):
    """Return the one record of an example."""
    sys.argv[:] = [str(path), *sys.argv[3:]]
    return [recorded(lambda: runpy.run_path(str(path), run_name="__main__"))]


if __name__ == "__main__":
    source, result = Path(sys.argv[1]), Path(sys.argv[2])
    found = run_page(source) if source.suffix == ".md" else run_example(source)
    result.write_text(json.dumps(found), encoding="utf-8")
