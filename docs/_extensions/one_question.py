"""Write the listings of docs/one-question.md from a run: python docs/_extensions/one_question.py.

A listing stands between the comments ``<!-- calls of EXPRESSION -->``, where ``in FUNCTION`` may
follow the expression, and ``<!-- end -->``. With `--check` nothing is written: what differs is
printed, and the exit code says whether anything does.
"""

import difflib
import itertools
import re
import sys
import textwrap
from pathlib import Path
from types import FunctionType, MethodType

import numpy as np

import bayesgraph as bg
from bayesgraph.core.compilation import Kernel

PAGE = Path(__file__).parents[1] / "one-question.md"
PACKAGE = Path(bg.__file__).parent
LISTING = re.compile(
    r"(<!-- calls of (?P<asked>.*?)(?: in (?P<below>[\w.]+))? -->\n)"
    r"```text\n.*?```(?=\n<!-- end -->)",
    re.DOTALL,
)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Maximum length of a line.
WIDTH = 118


def chain(n):
    """Return a chain of n variables, each of which is mostly like the one before."""
    variables = [bg.Discrete(f"v{i}", ["no", "yes"]) for i in range(n)]
    arcs = itertools.pairwise(variables)
    rows = [[0.8, 0.2], [0.3, 0.7]]
    tables = [bg.TableCPD(child, rows, parents=[parent]) for parent, child in arcs]
    return bg.BayesianNetwork([bg.TableCPD(variables[0], [0.5, 0.5]), *tables])


def text_of(value):
    """Return a value in few words: text, numbers and tuples of them themselves, else the type."""
    if isinstance(value, np.generic):  # which tier of kernels made a number is not told
        value = value.item()
    if value is None or type(value) in (str, int, bool):
        return repr(value)
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    if isinstance(value, FunctionType | MethodType):
        return "function"
    if type(value) is tuple:
        return f"({', '.join(map(text_of, value))}{',' * (len(value) == 1)})"
    return type(value).__name__


def is_empty(value):
    """Tell whether an argument is not worth a word."""
    return value is None or value is False or (isinstance(value, tuple | dict) and not value)


def arguments(code, values):
    """Return the arguments of a call as text."""
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    given = {name: values[name] for name in names if name not in ("self", "cls")}
    told = {name: text_of(value) for name, value in given.items() if not is_empty(value)}
    return ", ".join(f"{name} {text}" for name, text in told.items())


class Trace:
    """Calls of functions of the package, in order; what kernels call is left out.

    Attributes
    ----------
    calls : list of (depth, function, arguments, result, file)
    """

    def __init__(self):
        self.calls = []
        self._open = []  # of each call that has not returned: its number, or None if it is no line
        self._in_kernel = None

    def __call__(self, frame, event, argument):
        """Note a call or a return, as the function that `sys.setprofile` takes."""
        if event == "call":
            self._open.append(self._enter(frame))
        elif event == "return" and self._open:
            self._leave(self._open.pop(), argument)

    def _enter(self, frame):
        code, values = frame.f_code, frame.f_locals
        if self._in_kernel is not None or "<" in code.co_name:
            return None
        name, path = code.co_qualname, Path(code.co_filename)
        if type(values.get("self")) is Kernel and code.co_name == "__call__":
            kernel = values["self"].py_func
            code, name, path = kernel.__code__, kernel.__name__, Path(kernel.__code__.co_filename)
            values = dict(zip(code.co_varnames, values["args"], strict=False))
            self._in_kernel = len(self.calls)
        if not path.is_relative_to(PACKAGE):
            return None
        taken = arguments(code, values)
        depth = sum(number is not None for number in self._open)
        self.calls.append([depth, name, taken, "", path.relative_to(PACKAGE).as_posix()])
        return len(self.calls) - 1

    def _leave(self, number, result):
        if number is not None:
            self.calls[number][3] = text_of(result)
            if number == self._in_kernel:
                self._in_kernel = None


def traced(expression, namespace):
    """Return the calls of an expression that has been evaluated a few times before."""
    code = compile(expression, "question", "eval")
    for _ in range(5):
        eval(code, namespace)
    trace = Trace()
    sys.setprofile(trace)
    try:
        eval(code, namespace)
    finally:
        sys.setprofile(None)
    return trace.calls


def part(calls, name):
    """Return the first call of a function and what it calls."""
    first = next(number for number, call in enumerate(calls) if call[1] == name)
    depth = calls[first][0]
    inside = [calls[first]]
    for call in calls[first + 1 :]:
        if call[0] <= depth:
            break
        inside.append(call)
    return [[call[0] - depth, *call[1:]] for call in inside]


def listing(calls):
    """Return calls as lines."""
    left = 2 + max(len(path) for *_, path in calls)
    lines = []
    for depth, name, taken, result, path in calls:
        begin = f"{path:{left}}{'  ' * depth}{name}("
        below = " " * (left + 2 * depth + 4)
        whole = f"{begin}{taken}) -> {result}"
        if len(whole) <= WIDTH:
            lines.append(whole)
            continue
        # A name and its value stay on one line.
        parts = taken.replace(", ", ",\n").replace(" ", "\xa0").replace("\n", " ")
        lines += textwrap.wrap(f"{parts})", WIDTH, initial_indent=begin, subsequent_indent=below)
        lines.append(f"{below}-> {result}")
    return "\n".join(lines).replace("\xa0", " ")


def page():
    """Return the text of the page with the listings of this version."""
    text = PAGE.read_text(encoding="utf-8")
    namespace = {"chain": chain(20)}
    code = BLOCK.search(text)[1].rpartition("print(")[0]
    exec(compile(code, str(PAGE), "exec"), namespace)

    def renewed(found):
        calls = traced(found["asked"], namespace)
        shown = part(calls, found["below"]) if found["below"] else calls
        return f"{found[1]}```text\n{listing(shown)}\n```"

    return LISTING.sub(renewed, text)


if __name__ == "__main__":
    old, new = PAGE.read_text(encoding="utf-8"), page()
    if "--check" in sys.argv:
        print("\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="")))
        sys.exit(old != new)
    PAGE.write_text(new, encoding="utf-8")
