"""Models and options of the command line are those of the library; wrong ones are told early."""

import inspect
import re
from pathlib import Path

import pytest

import bayesgraph as bg
from bayesgraph.classifiers import DISCRETIZERS
from bayesgraph.cli.entry import as_typed, main
from bayesgraph.cli.models import Wanted, estimators, models, of_estimators, of_learners
from bayesgraph.cli.options import LISTS, names_of
from bayesgraph.cli.printing import MEASURES
from bayesgraph.learning import ALL_SCHEMES, DETECTORS, LEARNERS, METHODS
from bayesgraph.learning.streams import settings
from bayesgraph.models import FAMILIES
from bayesgraph.statistics import SCHEMES, SUMMARIES

ROWS = "n,c,y\n" + "".join(f"{i % 7},{'pqr'[i % 3]},{'ab'[i % 7 > 3]}\n" for i in range(60))


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(ROWS)
    return path


def run(capfd, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    out, err = capfd.readouterr()
    return stopped.value.code, out, err


def test_every_estimator_and_structure_has_a_name():
    public = {getattr(bg, name) for name in dir(bg) if name.endswith(("Classifier", "Regressor"))}
    public.remove(bg.TemporalNetworkClassifier)  # its rows are those of sequences
    assert {make.func for make in estimators().values()} == public
    assert len(estimators()) == len(public)
    assert {name.replace("_", "-") for name in LEARNERS} <= {*models()}
    for name in models():
        assert Wanted.of(name).estimator({}) is not None


def test_the_page_has_every_model():
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
    table = page.partition("| `--model` |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    assert {name for cell in cells for name in re.findall("`(.+?)`", cell)} == {*models()}


def test_every_registry_is_listed():
    found = {title: {*names_of(title)} for title in LISTS}
    assert found == {
        "models": {*models()},
        "families": {*FAMILIES},
        "smoothings": {*SCHEMES},
        "discretizers": {*DISCRETIZERS},
        "discretizers without a class": {"width", "frequency"},
        "discretizers of streams": {*settings.DISCRETIZERS},
        "exponents": {*ALL_SCHEMES},
        "summaries": {*SUMMARIES},
        "sketches": {"misra-gries", "count-sketch"},
        "detectors": {*DETECTORS},
        "methods": {name.replace("_", "-") for name in METHODS},
        "scores": {"bic", "aic", "bdeu", "likelihood"},
        "structures": {*LEARNERS},
        "measures": {*MEASURES},
        "formats": {*bg.files.FORMATS},
    }


def test_the_help_names_all_of_them(capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "2000")
    shown = "".join(run(capfd, name, "--help")[1] for name in ("fit", "learn", "evaluate", "show"))
    for title in LISTS:
        assert f"{title.capitalize()}: {', '.join(names_of(title))}." in shown


def test_every_parameter_can_be_given_to_a_model():
    for name, make in models().items():
        wanted = Wanted.of(name)
        for parameter in inspect.signature(make).parameters:
            if parameter in ("priors", "items", "categorical", "class_weight"):
                continue  # not numbers or words, or the same for all models
            if parameter not in wanted.parameters:
                # The name of the model says the structure, and only `auto` has trees.
                assert parameter in ("structure", "n_trees")
                continue
            option = {"n_trees": "trees", "distributions": "distribution"}.get(parameter, parameter)
            found = Wanted.of(f"{name}:{option.replace('_', '-')}=3").options
            assert found == {parameter: "3" if parameter == "root" else 3}  # a name


def test_every_parameter_of_an_estimator_or_a_method_is_an_option_with_a_help():
    for functions, options in (
        ([make.func for make in estimators().values()], [*of_estimators()]),
        ([*METHODS.values()], [*of_learners()]),
    ):
        taken = {
            p.name
            for function in functions
            for p in inspect.signature(function).parameters.values()
            if p.kind is p.KEYWORD_ONLY and p.name not in ("priors", "items")
        }
        assert taken <= {option.name for option in options}
        declared = [option.annotation.__metadata__[0] for option in options]
        assert all(len(option.help) > 10 for option in declared)
        flags = [flag for option in declared for flag in option.param_decls]
        assert len({*flags}) == len(flags)


def test_parameters_of_one_model_or_method_are_options(capfd, tmp_path, rows):
    saved = tmp_path / "m.bayesgraph"
    fit = ("fit", rows, "--target", "y", "-o", saved, "--no-check-columns")
    code, _, err = run(capfd, *fit, "--model", "kdb", "--k", "1", "--unseen", "error")
    assert (code, err) == (0, "")
    assert (bg.load(saved).k, bg.load(saved).unseen) == (1, "error")
    code, _, err = run(capfd, *fit, "--model", "nb", "--k", "1")
    assert (code, "--k goes with --model kdb; the model is nb." in err) == (2, True)
    code, _, err = run(capfd, *fit, "--model", "kdb", "--k", "many")
    assert (code, "--k" in err) == (2, True)
    learn = ("learn", rows, "-o", saved, "--method", "tabu", "--categorical", "n")
    assert run(capfd, *learn, "--patience", "2", "--ess", "3")[::2] == (0, "")
    code, _, err = run(capfd, "learn", rows, "-o", saved, "--patience", "2")
    assert (code, "--method hill-climb does not take --patience" in err) == (2, True)


def test_options_of_a_model_reach_its_estimator(capfd, tmp_path, rows):
    saved = tmp_path / "m.bayesgraph"
    fit = ("fit", rows, "--target", "y", "-o", saved)
    text = "nb:discretizer=width,alpha=0.5,unseen=error"
    code, _, err = run(capfd, *fit, "--model", text, "--discretizer", "mdlp")
    assert (code, err) == (0, "")
    found = bg.load(saved)
    assert found.discretizer == "width"
    assert found.smoothing.alpha == 0.5
    assert found.unseen == "error"
    # A saved classifier stands for its options.
    again = ("fit", rows, "--target", "c", "-o", tmp_path / "n.bayesgraph", "--model", saved)
    assert run(capfd, *again)[0] == 0
    assert bg.load(tmp_path / "n.bayesgraph").get_params() == found.get_params()
    code, _, err = run(capfd, *fit, "--model", "weighted", "--exponents", "selective")
    assert (code, err) == (0, "")
    assert bg.load(saved).exponents == "selective"
    assert run(capfd, *fit, "--model", "tan:root=n,check_columns=false")[0] == 2  # n is a number
    assert run(capfd, *fit, "--model", "star:exponents=none")[0] == 0
    assert bg.load(saved).exponents is None


def test_the_root_of_a_tree_is_a_name_though_it_looks_like_a_number(capfd, tmp_path, rows):
    table, saved = tmp_path / "numbered.csv", tmp_path / "m.bayesgraph"
    table.write_text("1,2,y\n" + "a,c,e\nb,c,f\na,d,f\n" * 20)
    fit = ("fit", table, "--target", "y", "--no-check-columns", "-o", saved)
    for options in (("--model", "tan", "--root", "1"), ("--model", "tan:root=1")):
        assert run(capfd, *fit, *options)[::2] == (0, "")
        assert bg.load(saved).root == "1"


@pytest.mark.parametrize("name", [n for n in estimators() if n not in ("complement", "auto")])
@pytest.mark.one_in(8)
def test_every_estimator_is_fitted(capfd, tmp_path, rows, name):
    target, dropped = ("n", "c") if name == "regression-tree" else ("y", "c")
    saved = tmp_path / "m.bayesgraph"
    command = ("fit", rows, "--target", target, "--drop", dropped, "--model", name, "-o", saved)
    assert run(capfd, *command)[0] == 0
    assert type(bg.load(saved)) is estimators()[name].func


def test_evaluate_compares_models_with_the_first(capfd, rows, tmp_path):
    saved = tmp_path / "m.bayesgraph"
    command = ("--target", "y", "--cv", "3", "--model", "nb:discretizer=width")
    assert run(capfd, "fit", rows, "--target", "y", "--model", "nb", "-o", saved)[0] == 0
    code, out, err = run(capfd, "evaluate", rows, *command, "--model", saved)
    assert (code, err) == (0, "")
    assert "Against nb:discretizer=width" in out
    table = bg.read_table(rows)
    X, y = table.drop_columns("y"), table.select(["y"])
    pair = {"a": bg.NaiveBayesClassifier(discretizer="width"), "b": bg.NaiveBayesClassifier()}
    results = bg.evaluate(pair, X, y, cv=3)
    (test,) = bg.paired_tests(results)
    assert f"{test.difference:+.4f}" in out
    assert f"{test.p_value:.3f}" in out
    assert max(map(len, out.splitlines())) <= 80
    (whole,) = bg.evaluate(bg.load(saved), X, y, cv="prefit")
    code, out, err = run(capfd, "evaluate", rows, "--target", "y", "--as-saved", "--model", saved)
    assert (code, err, f"{whole.log_loss:.4f}" in out) == (0, "", True)


def test_models_that_do_not_take_the_table_are_left_out_unless_they_are_named(capfd, rows):
    command = ("evaluate", rows, "--target", "y", "--cv", "2")
    code, _, err = run(capfd, *command, "--model", "nb", "--model", "discriminant")
    assert (code, err.count("\n")) == (2, 1)
    code, _, err = run(capfd, *command, "--model", "regression-tree")
    assert (code, "predicts a number" in err) == (2, True)


EARLY = {
    "discretizer": (("fit", "--discretizer", "frequncy"), "Did you mean 'frequency'?"),
    "discretizer of a stream": (
        ("fit", "--model", "stream", "--discretizer", "chi"),
        "smooth, width",
    ),
    "discretizer of a model": (("fit", "--model", "nb:discretizer=chi"), "width, frequency"),
    "smoothing": (("fit", "--smoothing", "laplace"), "--smoothing is one of dirichlet"),
    "family": (("fit", "--model", "nb", "--distribution", "n=gausian"), "Did you mean 'gaussian'?"),
    "alpha": (("fit", "--alpha", "-1"), "--alpha is a number from 0 on; got -1.0."),
    "decay": (("fit", "--model", "stream", "--decay", "2"), "--decay is a number in (0, 1]"),
    "an option of another model": (
        ("fit", "--model", "nb:k=2"),
        "got 'k=2'",
    ),
    "an option without a value": (("fit", "--model", "kdb:k"), "kdb:OPTION=VALUE"),
    "no such saved model": (("fit", "--model", "none.bayesgraph"), "no such file"),
    "method": (("learn", "--method", "hc"), "--method is one of hill-climb"),
    "score": (("learn", "--score", "fcll"), "--score is one of bic"),
    "score of a method": (("learn", "--method", "pc", "--score", "bic"), "it takes --level"),
    "smoothing of a network": (("learn", "--smoothing", "x"), "--smoothing is one of"),
    "a format that is only read": (("learn", "-o", "{tmp}/a.rds"), "is read but not written"),
    "a format that is none": (("learn", "-o", "{tmp}/a.biff"), "Did you mean '.bif'?"),
    "folds": (("evaluate", "--cv", "1"), "--cv"),
    "as saved": (("evaluate", "--as-saved"), "needs --model FILE"),
    "a folder": (("fit", "-o", "{tmp}/d.bayesgraph"), "is a folder"),
}


@pytest.mark.parametrize("case", EARLY)
def test_wrong_options_are_refused_before_a_table_is_read(capfd, tmp_path, case):
    (tmp_path / "d.bayesgraph").mkdir()
    (command, *given), expected = EARLY[case]
    arguments = [command, "no such table.csv", *(text.format(tmp=tmp_path) for text in given)]
    arguments += [] if command == "learn" else ["--target", "y"]
    arguments += [] if "-o" in given or command == "evaluate" else ["-o", tmp_path / "a.bayesgraph"]
    code, out, err = run(capfd, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert expected in err


def test_a_format_that_cannot_hold_the_columns_is_refused_before_the_network_is_learned(
    capfd, tmp_path, rows, monkeypatch
):
    def learned(*_, **__):
        raise AssertionError("It was learned.")

    with monkeypatch.context() as patched:
        patched.setattr(bg.BayesianNetwork, "learn", learned)
        code, _, err = run(capfd, "learn", rows, "-o", tmp_path / "a.bif")
        assert (code, "'n' is continuous" in err) == (2, True)
        numbers = ("learn", rows, "--categorical", "n")
        code, _, err = run(capfd, *numbers, "-o", tmp_path / "a.bif")
        assert (code, "--lossy writes" in err) == (2, True)
    code, _, err = run(capfd, *numbers, "-o", tmp_path / "a.bif", "--lossy")
    assert (code, err) == (0, "")
    expected = bg.BayesianNetwork.learn(bg.read_table(rows), categorical=["n"])
    assert {*bg.load(tmp_path / "a.bif").graph.edges} == {*expected.graph.edges}
    smoothed = ("-o", tmp_path / "b.bayesgraph", "--smoothing", "m", "--alpha", "3")
    code, _, err = run(capfd, *numbers, *smoothed)
    assert (code, err) == (0, "")


def test_tables_are_written_where_they_can_be(capfd, tmp_path, rows):
    saved = tmp_path / "m.bayesgraph"
    assert run(capfd, "fit", rows, "--target", "y", "--model", "nb", "-o", saved)[0] == 0
    for command in (("predict", saved, "no such table.csv"), ("sample", saved)):
        code, _, err = run(capfd, *command, "-o", tmp_path / "a.xlsx")
        assert (code, "the suffix must be one of" in err) == (2, True)
    code, _, err = run(capfd, "do", saved, "-s", "c=p", "--target", "c")
    assert (code, "is both the target and set by --set" in err) == (2, True)


def test_marginals_are_a_table_of_80_columns_with_all_variables(capfd, tmp_path):
    names = [f"a variable with a long name {i}" for i in range(60)]
    many = [bg.Discrete(name, [f"{'long ' * 6}{k}" for k in range(5)]) for name in names]
    number = bg.GaussianCPD(bg.Continuous("x"), 1.0, 4.0)
    cpds = [bg.TableCPD(v, [0.4, 0.3, 0.1, 0.1, 0.1]) for v in many]
    bg.BayesianNetwork([*cpds, number]).save(tmp_path / "m.bayesgraph")
    code, out, _ = run(capfd, "query", tmp_path / "m.bayesgraph", "--all")
    lines = out.splitlines()
    assert code == 0
    assert max(map(len, lines)) <= 80
    assert lines[1].split() == ["variable", "state", "P", "state", "P", "others"]
    assert len(lines) == 63
    assert lines[2].endswith("0.3000  0.3000")
    assert lines[-1].split() == ["x", "mean", "1", "sd", "2"]


def test_messages_speak_of_options():
    options = ["--alpha", "--by", "--set", "--check-columns", "--no-check-columns", "--tier"]
    for message, expected in {
        "by= is one of 'a'; got 'c'.": "--by is one of 'a'; got 'c'.",
        "'x' is both set by do= and observed.": "'x' is both set by --set and observed.",
        "wrong. check_columns=False, or a filter.": "wrong. --no-check-columns, or a filter.",
        "Give decimal=',' (--decimal ,).": "Give decimal=',' (--decimal ,).",
        "alpha= (--alpha) is wrong": "alpha= (--alpha) is wrong",
        "smoothing__alpha= and tiers= and unknown=": "--alpha and --tier and unknown=",
        "P(a=b, c=False)": "P(a=b, c=False)",
    }.items():
        assert as_typed(message, options) == expected


def test_mistakes_of_typing_name_the_help(capfd):
    for arguments, expected in {
        ("fit",): "Missing argument 'data'. See 'bayesgraph fit --help'.",
        ("query", "a.bif", "--evidance", "a=b"): "See 'bayesgraph query --help'.",
        ("qery",): "Did you mean 'query'?",
        ("query", "rows.csv"): "rows.csv is a table, and a model is needed",
    }.items():
        code, _, err = run(capfd, *arguments)
        assert (code, expected in err) == (2, True), err
    assert run(capfd, "fit", "-h")[0] == 0
