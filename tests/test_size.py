"""The package does not grow unseen, and stays as strictly checked as it is.

``python tests/test_size.py`` prints the numbers, of each room too; with ``--lower`` it writes those
that are lower than their limits into the table. A commit that raises a limit says so in its
message, in a line such as ``Ratchet: +120 for reading files of Netica``.
"""

import ast
import functools
import io
import math
import os
import re
import shutil
import subprocess
import sys
import textwrap
import tokenize
import tomllib
import warnings
from collections import Counter
from pathlib import Path

import pytest

import bayesgraph

ROOT = Path(__file__).resolve().parents[1]
TABLE = "tests/test_size.py"
PACKAGE = ROOT / "bayesgraph"
LINES = "lines of code"

# No number of the package is above its limit.
LIMITS = {
    "lines of code": 58_211,
    "nodes of syntax trees": 674_745,
    "files": 236,
    "public names": 79,
    "bytes of the front end": 301_805,
    "comments that silence a check": 103,
}
# What is measured of each file.
MEASURES = (LINES, "nodes of syntax trees", "files", "comments that silence a check")
# So many lines may be deleted before the limit has to follow.
SLACK = 200

# As strict as this, or stricter.
SELECT = set(
    "A B C4 C90 E F I N NPY PERF PIE PLC PLE PLW PT RET RUF SIM T20 UP W".split()  # noqa: SIM905
)
IGNORE = {"N803", "N806", "PLW2901", "RUF001", "RUF002", "RUF003"}
IGNORE_IN_PACKAGE = {"bayesgraph/**/*kernels.py": {"C901", "SIM109"}}
MOST_COMPLEX = 14
LINE_LENGTH = 100

SILENCER = re.compile(r"\bnoqa\b|\btype:\s*ignore|\b(?:mypy|pyright):|\bfmt:\s*(?:off|skip)")
# Tokens that are no code.
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
WITH_DOCSTRING = (ast.Module, ast.ClassDef, *FUNCTIONS)


def docstrings(nodes):
    """Return the docstrings among the nodes of a module, of whatever has one."""
    return [
        node.body[0].value
        for node in nodes
        if isinstance(node, WITH_DOCSTRING) and ast.get_docstring(node, clean=False) is not None
    ]


def measured(source):
    """Return the numbers of one file: lines of code, nodes, and silenced checks."""
    nodes = list(ast.walk(ast.parse(source)))
    lines = set()
    silenced = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
        elif token.type == tokenize.COMMENT:
            silenced += len(SILENCER.findall(token.string))
    for text in docstrings(nodes):
        lines.difference_update(range(text.lineno, text.end_lineno + 1))
    return dict(zip(MEASURES, (len(lines), len(nodes), 1, silenced), strict=True))


def paths_of(package):
    """Return the modules and stubs of a package."""
    return sorted([*package.rglob("*.py"), *package.rglob("*.pyi")])


@functools.cache
def rooms(package):
    """Return the numbers of each folder of a package; '.' has the files beside the folders."""
    numbers = {}
    for path in paths_of(package):
        parts = path.relative_to(package).parts
        room = parts[0] if len(parts) > 1 else "."
        numbers.setdefault(room, Counter()).update(measured(path.read_text("utf-8")))
    return numbers


def actual(package):
    """Return the numbers of a package, in the order of the table."""
    numbers = sum(rooms(package).values(), Counter())
    stub = ast.parse((package / "__init__.pyi").read_text("utf-8"))
    numbers["public names"] = sum(
        len(node.names) for node in ast.walk(stub) if isinstance(node, ast.ImportFrom)
    )
    scripts = [*package.rglob("*.js"), *package.rglob("*.ts")]
    numbers["bytes of the front end"] = sum(path.stat().st_size for path in scripts)
    return {name: numbers[name] for name in LIMITS}


def excesses(limits, numbers):
    """Yield what is wrong with a package's numbers, and what to do."""
    for name, limit in limits.items():
        if numbers[name] > limit:
            raised = max(0, numbers[LINES] - limits[LINES])
            yield (
                f"{name}: {numbers[name]:,}, which is {numbers[name] - limit:,} above the limit. "
                "Delete what nothing needs, or say once what is said twice; "
                f"`python {TABLE}` shows the size of each room. If what is new is worth it, raise "
                f"the number in LIMITS to {numbers[name]:_}, in a commit whose message has the "
                f"line 'Ratchet: +{raised} for <what is new>'."
            )
    if limits[LINES] - numbers[LINES] > SLACK:
        yield (
            f"{LINES}: {numbers[LINES]:,}, which is {limits[LINES] - numbers[LINES]:,} below the "
            f"limit. Keep what is won: run `python {TABLE} --lower` and commit the table."
        )


def lowered(text, numbers):
    """Return the source of this file with all limits lowered to the numbers; none is raised."""
    for name, limit in limits_of(text).items():
        number = min(limit, numbers[name])
        text = re.sub(rf'^(    "{name}": )[\d_]+,$', rf"\g<1>{number:_},", text, flags=re.MULTILINE)
    return text


def limits_of(text):
    """Return the table in a source of this file; empty if there is none."""
    table = re.search(r"^LIMITS = (\{[^}]*\})", text, re.MULTILINE)
    return ast.literal_eval(table[1]) if table else {}


def git(root, *arguments, text=""):
    """Return what git prints."""
    done = subprocess.run(
        ["git", "-C", str(root), *arguments],
        input=text,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout


def missing_history(root):
    """Return why the history of a project cannot be read; None if it can."""
    if shutil.which("git") is None:
        return "git is not installed"
    try:
        top = Path(git(root, "rev-parse", "--show-toplevel").strip())
    except subprocess.CalledProcessError as error:
        return f"no checkout of git: {error.stderr.strip()}"
    if top != root.resolve():
        return "the files are no checkout of git of their own"
    if git(root, "rev-list", "--count", "--all").strip() == "0":
        return "there is no commit"
    shallow = git(root, "rev-parse", "--is-shallow-repository").strip() == "true"
    if shallow and git(root, "rev-list", "--count", "HEAD").strip() == "1":
        return "a shallow clone without history"
    return None


@functools.cache
def limits_at(root, revision):
    """Return the table at a commit; None if the file is not there."""
    try:
        return limits_of(git(root, "show", f"{revision}:{TABLE}"))
    except subprocess.CalledProcessError:
        return None


def permitted(name, before, base):
    """Return the limit that a commit may set without saying so.

    A merge may keep what either side has added to the common base, and has to keep what either
    side has taken away, unless both took away the same.
    """
    limits = [table[name] for table in before if name in table]
    if not limits:
        return math.inf
    if len(limits) > 1 and name in base:
        return max(min(limits), sum(limits) - (len(limits) - 1) * base[name])
    return max(limits)


def unsaid_raises(root):
    """Yield the commits that raise a limit more than they say, up to HEAD."""
    commits = git(root, "log", "--full-history", "--format=%H%n%P%n%B%x00", "--", TABLE)
    for commit in commits.split("\0")[:-1]:
        revision, parents, message = commit.lstrip("\n").split("\n", 2)
        after = limits_at(root, revision)
        before = [limits_at(root, parent) or {} for parent in parents.split()]
        if after is None or not any(before):
            continue
        base = (limits_at(root, common_base(root, parents.split())) or {}) if before[1:] else {}
        raises = {}
        for name in set().union(*before):
            allowed = permitted(name, before, base)
            # A limit that is taken out of the table is raised without end.
            if after.get(name, math.inf) > allowed:
                raises[name] = after.get(name, math.inf) - allowed
        said = re.findall(r"^Ratchet: \+(\d[\d,]*) for \S", message, re.MULTILINE)
        paid = sum(int(number.replace(",", "")) for number in said)
        if raises and (not said or raises.get(LINES, 0) > paid):
            by = ", ".join(f"{name} by {number:,}" for name, number in sorted(raises.items()))
            subject = message.partition("\n")[0]
            yield (
                f"{revision[:10]} ({subject}) raises the limit of {by}. Lower it, or end the "
                f"commit's message with 'Ratchet: +{raises.get(LINES, 0)} for <what is new>' "
                "(git commit --amend)."
            )


def common_base(root, parents):
    """Return the commit that the parents of a merge come from; an empty text if there is none."""
    try:
        return git(root, "merge-base", "--octopus", *parents).strip()
    except subprocess.CalledProcessError:
        return ""


def last_name(node):
    """Return the last part of a name such as ``typing.Protocol[T]``."""
    return ast.unparse(node).partition("[")[0].rpartition(".")[2]


def may_be_empty(nodes):
    """Return the functions whose body may be ``...``: of protocols, overloads, abstract ones."""
    functions = set()
    for node in nodes:
        if isinstance(node, ast.ClassDef) and "Protocol" in map(last_name, node.bases):
            functions.update(node.body)
        elif isinstance(node, FUNCTIONS):
            names = set(map(last_name, node.decorator_list))
            functions.update([node] if names & {"overload", "abstractmethod"} else [])
    return functions


def crowded(source, nodes):
    """Yield the line of each statement that does not begin its line."""
    lines = source.encode().splitlines()
    empty = may_be_empty(nodes)
    for node in nodes:
        for block in ("body", "orelse", "finalbody"):
            statements = getattr(node, block, None)
            # What a lambda or a conditional expression has under these names is no list.
            for statement in statements if isinstance(statements, list) else ():
                begins = not lines[statement.lineno - 1][: statement.col_offset].strip()
                if not begins and not (node in empty and ast.unparse(statement) == "..."):
                    yield statement.lineno


def is_code(text):
    """Tell whether a text of more than five lines is Python that defines or imports something."""
    if text.strip().count("\n") < 5:
        return False
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(textwrap.dedent(text))
    except (SyntaxError, ValueError):
        return False
    defining = (ast.Import, ast.ImportFrom, ast.ClassDef, *FUNCTIONS)
    return any(isinstance(node, defining) for node in ast.walk(tree))


def coded_strings(_, nodes):
    """Yield the line of each string with Python code, but docstrings."""
    documented = set(docstrings(nodes))
    for node in nodes:
        text = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
        if isinstance(text, bytes):
            text = text.decode(errors="replace")
        elif isinstance(node, ast.JoinedStr):
            # What is filled in may be any name.
            text = "".join(p.value if isinstance(p, ast.Constant) else "x" for p in node.values)
        if isinstance(text, str) and node not in documented and is_code(text):
            yield node.lineno


def evaluated(_, nodes):
    """Yield the line of each call that runs a text as code."""
    for node in nodes:
        called = getattr(node, "func", None)
        if isinstance(called, (ast.Name, ast.Attribute)):
            name = called.id if isinstance(called, ast.Name) else ast.unparse(called)
            # Methods of these names, such as `re.compile`, run no Python.
            if name.removeprefix("builtins.") in {"exec", "eval", "compile"}:
                yield node.lineno


def starred(_, nodes):
    """Yield the line of each ``import *``."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            yield node.lineno


RULES = {
    crowded: "a statement that does not begin its line",
    coded_strings: "code in a string, which nothing checks: put it into a file",
    evaluated: "a text is run as code",
    starred: "import *",
}


@functools.cache
def offenders():
    """Return where the package breaks each rule."""
    lines = {rule: [] for rule in RULES}
    for path in paths_of(PACKAGE):
        source = path.read_text("utf-8")
        nodes = list(ast.walk(ast.parse(source)))
        for rule, found in lines.items():
            # Bodies in stubs are `...`.
            if rule is not crowded or path.suffix == ".py":
                found += [f"{path.relative_to(ROOT)}:{line}" for line in rule(source, nodes)]
    return lines


def test_no_number_of_the_package_is_above_its_limit():
    wrong = list(excesses(LIMITS, actual(PACKAGE)))
    assert not wrong, "\n".join(wrong)
    assert len(bayesgraph.__all__) == actual(PACKAGE)["public names"]


def test_commits_that_raise_a_limit_say_so():
    reason = missing_history(ROOT)
    if reason is not None:
        pytest.skip(f"The history of the limits cannot be read: {reason}")
    wrong = list(unsaid_raises(ROOT))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_code_is_written_as_the_rule_says(rule):
    wrong = offenders()[rule]
    assert not wrong, f"{RULES[rule]}:\n" + "\n".join(wrong)


def test_checks_are_as_strict_as_ever():
    ruff = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["ruff"]
    lint = ruff["lint"]
    assert ruff["line-length"] == LINE_LENGTH
    assert lint["mccabe"]["max-complexity"] <= MOST_COMPLEX
    assert set(lint["select"]) >= SELECT
    assert set(lint["ignore"]) <= IGNORE
    for pattern, codes in lint["per-file-ignores"].items():
        if pattern.split("/")[0] not in {"tests", "examples", "benchmarks", "docs"}:
            assert set(codes) <= IGNORE_IN_PACKAGE.get(pattern, set()), pattern


SOURCE = '''
"""A module.

With a docstring.
"""

# A comment.
import os  # noqa: F401  # type: ignore[x]


@decorated(
    # of four lines, with a comment
    1,
)
def function():
    """Say something."""
    text = """A text of
    # three lines, none of which is a comment,

    """
    return (
        text,
    )


class Empty:
    """A class with a docstring only."""
'''


def test_lines_of_code_are_those_with_code():
    numbers = measured(SOURCE)
    # import; decorator 3; def; text 4; return 3; class
    assert numbers[LINES] == 13
    assert numbers["comments that silence a check"] == 2
    assert measured("x = 1\n")["nodes of syntax trees"] == 5
    assert measured("") == {**dict.fromkeys(numbers, 0), "nodes of syntax trees": 1, "files": 1}


def test_numbers_of_a_package(tmp_path):
    folder = tmp_path / "room"
    folder.mkdir()
    (tmp_path / "__init__.pyi").write_text("from .room import a as a, b as b\n")
    (folder / "module.py").write_text(SOURCE)
    (folder / "script.js").write_text("x;")
    (folder / "kernel.ts").write_text("y: i32;")
    (folder / "look.css").write_text("a { }")
    assert {room: numbers[LINES] for room, numbers in rooms(tmp_path).items()} == {
        ".": 1,
        "room": 13,
    }
    numbers = actual(tmp_path)
    assert list(numbers) == list(LIMITS)
    assert numbers[LINES] == 14
    assert (numbers["files"], numbers["public names"]) == (2, 2)
    assert numbers["bytes of the front end"] == 9


def table(**limits):
    """Return the source of a table with other limits than 1,000."""
    rows = [f'    "{name}": {limits.get(name.split()[0], 1000):_},' for name in LIMITS]
    return "\n".join(["LIMITS = {", *rows, "}", ""])


def test_a_number_above_its_limit_and_lines_far_below_it_are_told():
    limits = limits_of(table())
    assert not list(excesses(limits, limits))
    assert not list(excesses(limits, {**limits, LINES: 800, "files": 0}))
    (grown,) = excesses(limits, {**limits, LINES: 1030})
    assert "1,030, which is 30 above the limit" in grown
    assert "'Ratchet: +30 for" in grown
    (more,) = excesses(limits, {**limits, "files": 1001})
    assert "'Ratchet: +0 for" in more
    (fallen,) = excesses(limits, {**limits, LINES: 799})
    assert "201 below the limit" in fallen
    assert "--lower" in fallen


def test_limits_are_lowered_and_never_raised():
    numbers = {**limits_of(table()), LINES: 900, "files": 2000}
    assert lowered(table(), numbers) == table(lines=900)
    text = Path(__file__).read_text("utf-8")
    assert limits_of(text) == LIMITS
    assert lowered(text, LIMITS) == text


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return a function that commits a table, in a project whose table is that of `table`."""
    if shutil.which("git") is None:
        pytest.skip("takes git")
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, os.devnull)
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "A Tester")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "tester@example.org")
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    path = tmp_path / TABLE
    path.parent.mkdir()

    def commit(message, text):
        path.write_text(text)
        git(tmp_path, "add", "--all")
        git(tmp_path, "commit", "--quiet", "--allow-empty", f"--message={message}")

    commit.root = tmp_path
    commit("Begin", table())
    return commit


def test_raises_are_said(project):
    project("Lower the limit", table(lines=900))
    assert not list(unsaid_raises(project.root))
    project("Add a parser\n\nIt reads files.\n\nRatchet: +1,100 for the parser", table(lines=2000))
    project("Add a file\n\nRatchet: +0 for the file", table(lines=2000, files=1001))
    assert not list(unsaid_raises(project.root))


@pytest.mark.parametrize(
    ("message", "text", "raised"),
    [
        ("Add", table(lines=1050), "lines of code by 50. .*'Ratchet: \\+50 for"),
        ("Add\n\nRatchet: +49 for much", table(lines=1050), "lines of code by 50"),
        ("Add\n\nRatchet: +50 for", table(lines=1050), "lines of code by 50"),
        ("Add", table(files=1001), "files by 1"),
        ("Drop a limit", table().replace('    "files": 1_000,\n', ""), "files by inf"),
        ("Drop all", "", "public names by inf"),
    ],
)
def test_a_raise_that_is_not_said_is_told(project, message, text, raised):
    project(message, text)
    project("Lower it again", table())
    (wrong,) = unsaid_raises(project.root)
    assert re.search(raised, wrong)
    assert git(project.root, "rev-parse", "HEAD~").startswith(wrong[:10])


@pytest.mark.parametrize(
    ("ours", "theirs", "merged", "is_right"),
    [
        (900, 950, 850, True),  # both have deleted lines
        (900, 950, 900, True),  # and partly the same ones
        (900, 950, 901, False),
        (1100, 1200, 1300, True),  # both have added lines
        (1100, 1200, 1301, False),
        (900, 1200, 1100, True),
        (900, 1200, 1200, False),  # takes theirs, and loses what ours deleted
    ],
)
def test_a_merge_keeps_what_both_sides_have_won(project, ours, theirs, merged, is_right):
    git(project.root, "checkout", "--quiet", "-b", "theirs")
    project("Theirs\n\nRatchet: +200 for theirs", table(lines=theirs))
    git(project.root, "checkout", "--quiet", "main")
    project("Ours\n\nRatchet: +100 for ours", table(lines=ours))
    git(project.root, "merge", "--quiet", "--no-commit", "--strategy=ours", "theirs")
    project("Merge theirs", table(lines=merged))
    assert len(git(project.root, "log", "-1", "--format=%P").split()) == 2
    wrong = list(unsaid_raises(project.root))
    assert len(wrong) == 1 - is_right
    assert all("Merge theirs" in text for text in wrong)
    git(project.root, "commit", "--quiet", "--amend", "--message=Merge\n\nRatchet: +300 for it")
    assert not list(unsaid_raises(project.root))


def test_a_merge_of_a_branch_without_the_table(project):
    git(project.root, "checkout", "--quiet", "--orphan", "older")
    git(project.root, "rm", "--quiet", "-f", TABLE)
    (project.root / TABLE).parent.mkdir(exist_ok=True)
    git(project.root, "commit", "--quiet", "--allow-empty", "--message=Older")
    arguments = ("--quiet", "--allow-unrelated-histories", "--message=Merge", "main")
    git(project.root, "merge", *arguments)
    assert not list(unsaid_raises(project.root))


def test_without_history_nothing_is_said(project, tmp_path_factory):
    assert missing_history(project.root) is None
    project("Again", table(lines=2000))
    shallow = tmp_path_factory.mktemp("shallow")
    git(shallow, "clone", "--quiet", "--depth=1", project.root.as_uri(), "clone")
    assert missing_history(shallow / "clone") == "a shallow clone without history"
    assert "no checkout of git" in missing_history(shallow)
    assert "of their own" in missing_history(project.root / "tests")


def lines_of(rule, source):
    return list(rule(source, list(ast.walk(ast.parse(source)))))


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("if x: y\nelse: z\n", [1, 2]),
        ("if (\n    x\n): y\n", [3]),
        ("for x in y: pass\nwhile x: pass\nwith x: pass\n", [1, 2, 3]),
        ("try: x\nexcept E: y\nfinally: z\n", [1, 3, 2]),
        ("match x:\n    case 1: y\n", [2]),
        ("def f(): return 1\nclass C: x = 1\n", [1, 2]),
        ("def f(): ...\n", [1]),
        ("x; y\n", [1]),
        ('"""Text."""; x\n', [1]),
        ("class P(typing.Protocol[T]):\n    def f(self): ...\n", []),
        ("class P(Protocol):\n    def f(self): return 1\n", [2]),
        ("@overload\ndef f(): ...\n@abstractmethod\nasync def g(): ...\n", []),
        ("if x:\n    y\nelif z:\n    y = lambda: 1 if x else 2\n", []),
        ("@a\n@b\nclass C:\n    é = 1\n", []),
    ],
)
def test_statements_that_do_not_begin_their_line(source, lines):
    assert lines_of(crowded, source) == lines


CODE = "\n".join(["import sys", "x = 1", "if x:", "    y = 2", "print(x)", "z = 1"])


@pytest.mark.parametrize(
    ("source", "is_wrong"),
    [
        (f'x = """{CODE}"""', True),
        (f'def f():\n    g(b"""\n{CODE}""")', True),
        (f'x = f"""{CODE.replace("1", "{one!r}")}"""', True),
        (f'"""{CODE}"""', False),
        (f'def f():\n    """{CODE}"""', False),
        (f'x = """{CODE.replace("import sys", "sys")}"""', False),
        (f'x = """{CODE.replace("z = 1", "and so on.")}"""', False),
        ('x = """import sys\nprint(1)"""', False),
        ('x = """\n/* a */\nbody {\n  color: red;\n}\n\nimport y\n"""', False),
    ],
)
def test_strings_with_code(source, is_wrong):
    assert bool(lines_of(coded_strings, source)) is is_wrong


def test_calls_that_run_text_and_imports_of_everything():
    source = (
        "exec(x)\nre.compile(x)\nbuiltins.eval(x)\nself.frame.eval(x)\ncompile(x)\nliteral_eval(x)"
    )
    assert lines_of(evaluated, source) == [1, 3, 5]
    assert lines_of(starred, "from a import *\nfrom b import c\nimport d") == [1]


def report():
    """Return the numbers of the package and of its rooms as text."""
    lines = [
        f"{number:>11,} of {LIMITS[name]:>11,}  {name}" for name, number in actual(PACKAGE).items()
    ]
    lines += ["", "  ".join(["room:", ", ".join(MEASURES)])]
    for room, numbers in sorted(rooms(PACKAGE).items(), key=lambda item: -item[1][LINES]):
        columns = (f"{numbers[name]:>10,}" for name in MEASURES)
        lines.append(f"{room:<14}{''.join(columns)}")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.stdout.write(report())
    if sys.argv[1:] == ["--lower"]:
        this = Path(__file__)
        this.write_text(lowered(this.read_text("utf-8"), actual(PACKAGE)), "utf-8")
