"""Networks without a class, learned on the command line, and the names of models."""

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.cli.entry import main


@pytest.fixture
def run(capfd):
    def run(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return stopped.value.code, out, err

    return run


@pytest.fixture
def rows(tmp_path):
    random = np.random.default_rng(0)
    heat = random.normal(size=300)
    sold = np.where(heat + random.normal(size=300) > 0, "many", "few")
    lines = [f"{h},{s},{i % 4}" for i, (h, s) in enumerate(zip(heat, sold, strict=True))]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["heat,sold,season", *lines]) + "\n")
    return path


def test_intervals_of_numbers_without_a_class(run, rows, tmp_path):
    path = tmp_path / "m.bif"  # which holds no Gaussians
    given = ("learn", rows, "-o", path, "--categorical", "season", "--lossy")
    assert run(*given)[0] == 2
    code, _, _ = run(*given, "--discretizer", "frequency", "--bins", "3")
    assert code == 0
    net = bg.load(path)
    expected = bg.EqualFrequency(3).fit(bg.read_table(rows).select(["heat"])).cuts_["heat"]
    assert net.variable("heat").cuts == tuple(expected)
    assert net.variable("season").states == (0, 1, 2, 3)
    assert {frozenset(arc) for arc in net.graph.edges} == {frozenset({"heat", "sold"})}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--discretizer", "mdlp"), "--discretizer is one of width, frequency; got 'mdlp'"),
        (("--bins", "3"), "--bins goes with --discretizer"),
        (("--method", "pc", "--restarts", "2"), "--method pc does not take --restarts"),
    ],
)
def test_what_does_not_go_together_is_refused_before_any_work(run, tmp_path, options, message):
    code, _, err = run("learn", tmp_path / "none.csv", "-o", tmp_path / "m.bayesgraph", *options)
    assert code == 2
    assert message in err


def test_discretizers_take_tables_in_memory(run, rows, tmp_path):
    given = ("learn", rows.parent, "--discretizer", "width", "-o", tmp_path / "m.bayesgraph")
    code, _, err = run(*given)
    assert (code, "--discretizer goes with a single file" in err) == (2, True)


def test_restarts_of_the_search(run, rows, tmp_path, monkeypatch):
    seen = []
    learn = bg.BayesianNetwork.learn
    monkeypatch.setattr(
        bg.BayesianNetwork,
        "learn",
        staticmethod(lambda *a, **k: (seen.append(k["restarts"]), learn(*a, **k))[1]),
    )
    assert run("learn", rows, "--restarts", "2", "-o", tmp_path / "m.bayesgraph")[0] == 0
    assert seen == [2]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("naive", "nb"), ("naive-bayes", "nb"), ("decision-tree", "tree"), ("kbd", "kdb")],
)
def test_names_of_classes_are_suggested(run, tmp_path, typed, meant):
    given = ("--target", "y", "--model", typed, "-o", tmp_path / "m.bayesgraph")
    code, _, err = run("fit", tmp_path / "none.csv", *given)
    assert (code, f"Did you mean {meant!r}?" in err) == (2, True)


def test_the_help_has_a_panel_for_each_group(run):
    _, out, _ = run("--help")
    panels = [line.rstrip(":") for line in out.splitlines() if line[:1].isalpha()][1:]
    assert panels == ["Options", "Learning", "Predicting", "Asking", "Comparing", "Files"]


def test_files_that_the_shell_put_in_the_place_of_a_glob(run, tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("x,y\n" + "1,p\n2,q\n" * 20)
    files = sorted(tmp_path.glob("*.csv"))
    saved = ["-o", tmp_path / "m.bayesgraph"]
    for begin, end in (
        (["fit"], ["--target", "y", *saved]),
        (["evaluate"], ["--target", "y"]),
        (["learn"], saved),
        (["predict", "m.bayesgraph"], []),
        (["update", "m.bayesgraph"], []),
    ):
        code, out, err = run(*begin, *files, *end)
        assert (code, out) == (2, "")
        assert "give the folder, or the glob in quotes" in err


def test_text_of_another_suffix_with_a_delimiter(run, tmp_path):
    for name, end in (("t.txt", "|"), ("t.dat", ";"), ("table", "|")):
        path = tmp_path / name
        path.write_text(f"x{end}y\n" + f"1{end}p\n2{end}q\n" * 20)
        given = ("fit", path, "--target", "y", "--model", "nb", "-o", tmp_path / "m.bayesgraph")
        code, _, err = run(*given, "--no-check-columns", "--delimiter", end)
        assert (code, err) == (0, "")
    code, _, err = run("fit", tmp_path / "t.txt", *given[2:])
    assert (code, "--delimiter reads text of any other suffix" in err) == (2, True)


@pytest.mark.parametrize("option", ["--drop", "--keep", "--text"])
def test_several_names_in_one_option_are_told(run, tmp_path, option):
    rows = tmp_path / "t.csv"
    rows.write_text("a,b,c,y\n" + "1,2,3,p\n2,3,4,q\n" * 20)
    saved = tmp_path / "m.bayesgraph"
    fit = ("fit", rows, "--target", "y", "--model", "nb", "-o", saved, "--no-check-columns")
    assert run(*fit)[0] == 0
    given = ("predict", saved, rows) if option == "--keep" else fit
    code, _, err = run(*given, option, "a,b")
    assert code == 2
    assert f"These are several names; give each by itself. Repeat {option} for each." in err
    for command, pairs in (
        (("query", saved, "--evidence"), "a=1,b=2"),
        (("ask-next", saved, "--cost"), "a=1,b=2"),
        (("learn", rows, "-o", saved, "--required"), "a:b,b:c"),
    ):
        code, _, err = run(*command, pairs)
        assert (code, err.strip().endswith(f" Repeat {command[-1]} for each.")) == (2, True), err


@pytest.mark.parametrize("columns", ["80", "200"])
def test_the_help_reads_at_80_columns(run, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    for command in ("fit", "learn", "evaluate", "predict", "query", "show"):
        lines = run(command, "--help")[1].splitlines()
        assert max(map(len, lines)) <= int(columns)
        # Texts have the width of the line, below the name of the option.
        assert {len(line) - len(line.lstrip()) for line in lines if line} <= {0, 2, 12}
    assert len(lines) < 30
    fit = run("fit", "--help")[1]
    assert fit.index("--target") < fit.index("How the table is written:") < fit.index("--missing")
    assert (
        fit.index("--missing") < fit.index("Parameters, as in Python:") < fit.index("--smoothing")
    )
    assert "pruning (Breiman et al. 1984" in " ".join(fit.split())
