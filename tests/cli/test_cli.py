"""The command line as a user types it: every command, and every mistake in one line."""

import gzip
import io
import sys
import tempfile
import urllib.request
import warnings
import webbrowser
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from comparison import assert_same_network

import bayesgraph as bg
from bayesgraph.cli.entry import main
from bayesgraph.cli.models import estimators

HEART = Path(__file__).parents[2] / "examples" / "data" / "heart.csv"


def run(capfd, *arguments):
    """Run a command; return its exit code, what it printed and what it said of errors."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    out, err = capfd.readouterr()
    return stopped.value.code, out, err


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "heart.bayesgraph"
    heart = bg.read_table(HEART)
    bg.TANClassifier().fit(heart.drop_columns("disease"), heart.select(["disease"])).save(path)
    return path


@pytest.fixture
def bif(tmp_path):
    path = tmp_path / "rain.bif"
    rain, wet = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", ["dry", "wet"])
    bg.BayesianNetwork(
        [bg.TableCPD(rain, [0.8, 0.2]), bg.TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], [rain])]
    ).save(path)
    return path


@pytest.mark.slow
def test_a_single_network_or_an_average_with_trees(capfd, tmp_path):
    saved = tmp_path / "m.bayesgraph"
    fit = ("fit", HEART, "--target", "disease", "-o", saved)
    for trees, kind in ((0, bg.BayesianNetwork), (5, bg.Ensemble)):
        assert run(capfd, *fit, "--trees", trees)[0] == 0
        assert isinstance(bg.load(saved).network_, kind)
        code, out, _ = run(capfd, "query", saved, "-e", "sex=male")
        assert code == 0
        assert ("log probability of the evidence" in out) == (trees == 0)
        code, out, _ = run(capfd, "query", saved, "--all", "-e", "sex=male")
        assert ("log evidence" in out) == (trees == 0)
    assert "nan" not in out


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "name",
    [
        "auto",
        "nb",
        "weighted",
        "tan",
        "forest",
        "chow-liu",
        "kdb",
        "aode",
        "stream",
        "stream-weighted",
    ],
)
def test_fit_saves_what_predict_reads(capfd, tmp_path, name):
    saved = tmp_path / "m.bayesgraph"
    arguments = ("fit", HEART, "--target", "disease", "--drop", "chol")
    code, out, _ = run(capfd, *arguments, "--model", name, "-o", saved)
    assert code == 0
    assert "303 rows" in out
    if name == "auto":  # and the default
        assert run(capfd, *arguments, "-o", tmp_path / "d.bayesgraph")[0] == 0
        assert (tmp_path / "d.bayesgraph").read_bytes() == saved.read_bytes()
    target = tmp_path / "p.parquet"
    assert run(capfd, "predict", saved, HEART, "-o", target)[0] == 0
    written = pq.read_table(target)
    assert written.column_names == ["disease", "P(disease=no)", "P(disease=yes)"]
    heart = bg.read_table(HEART).drop_columns(["disease", "chol"])
    expected = bg.load(saved).predict_proba(heart)
    assert written["P(disease=yes)"].to_pylist() == expected[:, 1].tolist()


def test_learn_saves_a_network_without_a_class(capfd, tmp_path):
    saved, drawn = tmp_path / "n.bayesgraph", tmp_path / "n.dot"
    command = ("learn", HEART, "--drop", "chol", "-o", saved)
    code, out, err = run(capfd, *command, "--tier", "age,sex", "--tier", "cp")
    assert code == 0, err
    assert "Arcs by score" in out
    heart = bg.read_table(HEART).drop_columns(["chol"])
    expected = bg.BayesianNetwork.learn(heart, tiers=[["age", "sex"], ["cp"]])
    assert_same_network(bg.load(saved), expected)
    arcs = ("--required", "sex:disease", "--forbidden", "cp:exang", "--max-parents", 2)
    code, out, err = run(capfd, *command, *arcs, "--bootstrap", 2, "--plot", drawn)
    assert code == 0, err
    assert "2 samples of the rows" in out
    assert ("sex", "disease") in bg.load(saved).graph.edges
    assert "numbers on arcs" in drawn.read_text()
    assert run(capfd, *command, "--method", "pc", "--level", 0.01)[0] == 0
    for wrong, message in {
        ("--required", "sex:diseas"): "Did you mean 'disease'?",
        ("--required", "sex"): "An arc is PARENT:CHILD",
        ("--tier", "sex,aeg"): "no variable 'aeg'",
        ("--method", "best"): "--method is one of",
        ("--drop", "nothing"): "no variable 'nothing'",
    }.items():
        code, _, err = run(capfd, *command, *wrong)
        assert code == 2
        assert message in err


def test_fit_warns_of_columns_that_look_wrong(capfd, tmp_path):
    rows = [f"r{i},{i % 3},{'ab'[i % 2]}" for i in range(60)]
    (tmp_path / "x.csv").write_text("\n".join(["code,a,y", *rows]))
    command = ("fit", tmp_path / "x.csv", "--target", "y", "--model", "nb")
    command += ("-o", tmp_path / "m.bayesgraph")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        code, _, err = run(capfd, *command)
        assert code == 0
        assert err.startswith("bayesgraph: warning: Columns look wrong: 'code': identifiers")
        assert run(capfd, *command, "--no-check-columns")[2] == ""
        learned = ("learn", tmp_path / "x.csv", "-o", tmp_path / "n.bayesgraph")
        assert "warning: Columns look wrong" in run(capfd, *learned)[2]
        assert run(capfd, *learned, "--no-check-columns")[2] == ""
    assert not bg.load(tmp_path / "n.bayesgraph").training.settings.keys() - {"method"}


def test_predict_prints_csv(capfd, model):
    code, out, _ = run(capfd, "predict", model, HEART)
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == '"disease","P(disease=no)","P(disease=yes)"'
    assert len(lines) == 304


def test_query_equals_the_library(capfd, model):
    code, out, _ = run(capfd, "query", model, "-e", "sex=male", "-e", "age=60")
    assert code == 0
    expected = bg.load(model).query(evidence={"sex": "male", "age": 60})
    assert f"{expected['yes']:.6f}" in out
    assert "log density of the evidence" in out


def test_query_with_soft_evidence_and_joint_targets(capfd, bif):
    code, out, _ = run(
        capfd, "query", bif, "--target", "rain", "--target", "wet", "-e", "wet=dry:1,wet:4"
    )
    assert code == 0
    expected = bg.load(bif).query(["rain", "wet"], {"wet": {"dry": 1, "wet": 4}})
    assert f"{expected['yes', 'wet']:.6f}" in out


def test_query_of_a_continuous_variable(capfd, model):
    code, out, _ = run(capfd, "query", model, "--target", "age", "-e", "disease=yes")
    assert code == 0
    assert "mean" in out


def test_an_intervention_equals_the_library(capfd, bif, model):
    code, out, _ = run(capfd, "do", bif, "-s", "wet=wet", "--target", "rain")
    assert code == 0
    assert f"yes  {0.2:.6f}" in out
    assert "log" not in out
    out = run(capfd, "do", bif, "--set", "rain=yes", "-e", "wet=dry:1,wet:4", "--all")[1]
    net = bg.load(bif)
    assert out == f"{net.marginals({'wet': {'dry': 1, 'wet': 4}}, do={'rain': 'yes'})!r}\n"
    out = run(capfd, "do", model, "-s", "age=60", "-e", "sex=male")[1]
    network = bg.load(model).network_
    found = network.query("disease", {"sex": "male"}, do={"age": 60.0})
    assert f"{found['yes']:.6f}" in out
    assert f"log probability of the evidence: {found.log_evidence:.6g}" in out


def test_what_to_ask_next_equals_the_library(capfd, bif, model):
    code, out, _ = run(capfd, "ask-next", bif, "--target", "rain", "-c", "wet=20", "--ahead", 2)
    assert code == 0
    net = bg.load(bif)
    ranking = net.ask.next_question("rain", costs={"wet": 20.0}, ahead=2)
    assert out == f"{ranking.posterior!r}\n{ranking!r}\n"
    out = run(capfd, "ask-next", model, "-e", "sex=male", "-c", "cp=1", "-c", "age=2")[1]
    network = bg.load(model).network_
    found = network.ask.next_question("disease", {"sex": "male"}, costs={"cp": 1.0, "age": 2.0})
    assert out.endswith(f"{found!r}\n")


def test_an_explanation_equals_the_library(capfd, bif):
    arguments = ("explain", bif, "--target", "rain")
    net = bg.load(bif)
    out = run(capfd, *arguments, "-e", "wet=wet", "--state", "no")[1]
    assert out == f"{net.ask.explanation('rain', {'wet': 'wet'}, state='no')!r}\n"
    out = run(capfd, *arguments, "--finding", "wet")[1]
    assert "if wet were dry" in out


def test_the_most_probable_assignments_equal_the_library(capfd, bif):
    network = bg.load(bif)
    assert run(capfd, "mpe", bif) == (0, f"{network.most_probable()!r}\n", "")
    several = "".join(f"{found!r}\n" for found in network.k_most_probable(2, {"wet": "wet"}))
    assert run(capfd, "mpe", bif, "-k", 2, "-e", "wet=wet")[1] == several
    some = "".join(f"{found!r}\n" for found in network.k_most_probable(2, over="wet"))
    assert run(capfd, "mpe", bif, "-k", 3, "--over", "wet")[1] == some
    assert run(capfd, "mpe", bif, "-k", 2, "-e", "wet=wet", "--method", "search")[1] == several
    code, _, error = run(capfd, "mpe", bif, "--method", "loopy")
    assert code == 2
    assert "'exact' or 'search'" in error


def test_rows_are_drawn_as_by_the_library(capfd, tmp_path, bif, model):
    drawn = bg.load(bif).sample(4, {"wet": "wet"}, random_state=3, frame="pyarrow")
    command = ["sample", bif, "-n", 4, "--seed", 3, "-e", "wet=wet"]
    lines = run(capfd, *command)[1].splitlines()
    assert lines[0] == '"rain","wet"'
    assert len(lines) == 5
    path = tmp_path / "rows.csv"
    assert "Drew 4 rows" in run(capfd, *command, "-o", path)[1]
    assert path.read_text().splitlines() == lines
    assert bg.read_table(path).to_pylist() == drawn.to_pylist()
    assert len(run(capfd, "sample", model)[1].splitlines()) == 11


def test_show_lists_variables_and_scores(capfd, model):
    code, out, _ = run(capfd, "show", model)
    assert code == 0
    assert "TANClassifier()" in out
    assert "continuous" in out
    assert "nats" in out


def test_a_weighted_model_is_shown_and_asked(capfd, tmp_path):
    saved = tmp_path / "m.bayesgraph"
    arguments = ("fit", HEART, "--target", "disease", "--model", "weighted", "-o", saved)
    code, out, _ = run(capfd, *arguments, "--discretizer", "modl")
    assert code == 0
    assert "with an exponent other than 1" in out
    classifier = bg.load(saved)
    assert classifier.discretizer == "modl"
    code, out, _ = run(capfd, "show", saved)
    assert code == 0
    assert "exponent" in out
    (line,) = (line for line in out.splitlines() if line.startswith("  thalach"))
    assert float(line.split()[-1]) == pytest.approx(
        float(classifier.network_.exponents["thalach"]), abs=5e-3
    )
    code, out, _ = run(capfd, "query", saved, "-e", "sex=male", "-e", "age=60")
    assert code == 0
    assert f"{classifier.query(evidence={'sex': 'male', 'age': 60})['yes']:.6f}" in out
    assert "log" not in out  # rows have no probability


def test_numbers_become_intervals_and_categories_groups(capfd, tmp_path):
    saved, table = tmp_path / "m.bayesgraph", tmp_path / "t.csv"
    rows = [f"{i % 9},{'pqrs'[i % 4]},{'no' if i % 4 < 2 else 'yes'}" for i in range(144)]
    table.write_text("x,letter,kind\n" + "\n".join(rows) + "\n")
    arguments = ("fit", table, "--target", "kind", "-o", saved, "--model", "nb")
    assert run(capfd, *arguments, "--discretizer", "modl")[0] == 0
    classifier = bg.load(saved)
    assert isinstance(classifier.network_.variable("x"), bg.Binned)
    assert set(classifier.network_.variable("letter").states) == {"{p, q}", "{r, s}"}
    expected = classifier.query(evidence={"x": 3.5, "letter": "q"})
    for letter in ("letter=q", "letter={p, q}", "letter={p, q}:1,{r, s}:0"):
        out = run(capfd, "query", saved, "-e", "x=3.5", "-e", letter)[1]
        assert f"{expected['yes']:.6f}" in out
    code, _, err = run(capfd, "query", saved, "-e", "x=much")
    assert code == 2
    assert "'much'" in err
    assert run(capfd, "predict", saved, table, "-o", tmp_path / "p.parquet")[0] == 0
    found = pq.read_table(tmp_path / "p.parquet")["P(kind=yes)"].to_pylist()
    frame = bg.read_table(table).drop_columns(["kind"])
    assert found == classifier.predict_proba(frame)[:, 1].tolist()


def test_evaluate_prints_measures_and_draws(capfd, tmp_path):
    picture = tmp_path / "roc.png"
    code, out, _ = run(
        capfd,
        *("evaluate", HEART, "--target", "disease", "--model", "nb", "--model", "tan"),
        *("--cv", "2", "--plot", picture),
    )
    assert code == 0
    for word in ("accuracy", "log loss", "Brier", "ECE", "parameters", "confusion matrix"):
        assert word in out
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_evaluate_more_than_two_classes(capfd, tmp_path):
    table = tmp_path / "t.csv"
    rows = [f"{i % 7},{'abc'[i % 3]}" for i in range(60)]
    table.write_text("x,kind\n" + "\n".join(rows) + "\n")
    arguments = ("evaluate", table, "--target", "kind", "--cv", "2")
    code, out, _ = run(capfd, *arguments)
    assert code == 0
    assert out.count("confusion matrix") == len(estimators()) - 1  # one predicts numbers
    picture = tmp_path / "roc.svg"
    assert run(capfd, *arguments, "--model", "nb", "--plot", picture)[0] == 0
    assert picture.is_file()


def test_render_and_convert(capfd, tmp_path, model, bif):
    for source, name in ((model, "m.svg"), (model, "m.dot"), (bif, "b.pdf")):
        assert run(capfd, "render", source, "-o", tmp_path / name)[0] == 0
        assert (tmp_path / name).stat().st_size > 500
    assert run(capfd, "render", bif, "-o", tmp_path / "e.svg", "-e", "wet=wet", "--beliefs")[0] == 0
    assert run(capfd, "convert", bif, tmp_path / "b.bayesgraph")[0] == 0
    assert run(capfd, "convert", tmp_path / "b.bayesgraph", tmp_path / "b.bif.gz")[0] == 0
    assert bg.load(tmp_path / "b.bif.gz") == bg.load(bif)


def test_convert_says_what_it_writes_in_another_form(capfd, tmp_path):
    net = bg.BayesianNetwork([bg.TableCPD(bg.Discrete("a", [0, 1]), [0.25, 0.75])])
    net.save(tmp_path / "a.bayesgraph")
    code, _, error = run(capfd, "convert", tmp_path / "a.bayesgraph", tmp_path / "a.bif")
    assert code == 2
    assert "the states 0, 1 (int) of 'a': states are text" in error
    assert "(--lossy writes '0', '1')" in error
    given = ("convert", tmp_path / "a.bayesgraph", tmp_path / "a.bif", "--lossy", "--report")
    code, out, _ = run(capfd, *given)
    assert code == 0
    assert "bayesgraph restores it exactly:\n  the states 0, 1" in out
    assert out.endswith("Nothing is lost.\n")
    assert bg.load(tmp_path / "a.bif") == net
    given = ("convert", tmp_path / "a.bif", tmp_path / "b.bayesgraph", "--lossy", "--report")
    assert run(capfd, *given)[1].endswith("Written as the native format.\nNothing is lost.\n")
    (tmp_path / "a.bif").write_text(
        "network named { property x; }" + (tmp_path / "a.bif").read_text()
    )
    assert "of the network: the name 'named', property" in run(capfd, *given)[1]


def test_pages(capfd, tmp_path, monkeypatch, model, bif):
    assert run(capfd, "render", model, "-o", tmp_path / "m.html")[0] == 0
    assert type(bg.load(tmp_path / "m.html")) is type(bg.load(model))
    assert run(capfd, "render", bif, "-o", tmp_path / "b.html", "-e", "wet=wet")[0] == 0
    assert '"initial":{"1":{"state":1}}' in (tmp_path / "b.html").read_text("utf-8")
    assert run(capfd, "convert", bif, tmp_path / "c.html")[0] == 0
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code, out, _ = run(capfd, "explore", bif, "-e", "wet=wet")
    assert code == 0
    (address,) = opened
    assert bg.load(Path(urllib.request.url2pathname(address.removeprefix("file://")))) == bg.load(
        bif
    )
    assert "open it in a browser" in out  # as no browser said that it did
    code, _, err = run(capfd, "explore", bif, "-e", "wet=dryish")
    assert code != 0
    assert "dryish" in err
    assert len(list(tmp_path.glob("bayesgraph-*.html"))) == 1


def test_a_classifier_survives_conversion(capfd, tmp_path, model):
    assert run(capfd, "convert", model, tmp_path / "copy.bayesgraph")[0] == 0
    assert (tmp_path / "copy.bayesgraph").read_bytes() == model.read_bytes()


def test_what_means_missing_can_be_said(capfd, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("x,kind\n" + "?,a\n1.5,a\n2.5,b\n9,b\n" * 3)
    saved = tmp_path / "m.bayesgraph"
    arguments = ("fit", table, "--target", "kind", "-o", saved, "--model", "nb")
    assert run(capfd, *arguments, "--missing", "?")[0] == 0
    assert isinstance(bg.load(saved).network_.variable("x"), bg.Continuous)


def test_named_columns_become_discrete(capfd, tmp_path):
    saved = tmp_path / "m.bayesgraph"
    arguments = ("fit", HEART, "--target", "disease", "--model", "nb", "-o", saved)
    assert run(capfd, *arguments, "--categorical", "ca")[0] == 0
    assert bg.load(saved).network_.variable("ca").states == (0, 1, 2, 3)


def test_text_that_looks_like_numbers_stays_text(capfd, tmp_path):
    table, new = tmp_path / "t.csv", tmp_path / "n.csv"
    table.write_text("code,kind\n" + "01,a\n02,b\nx9,a\n" * 20)
    new.write_text("code\n01\n02\n")
    saved = tmp_path / "m.bayesgraph"
    assert run(capfd, "fit", table, "--target", "kind", "--model", "nb", "-o", saved)[0] == 0
    code, out, _ = run(capfd, "predict", saved, new)
    assert code == 0
    assert [line.split(",")[0] for line in out.splitlines()] == ['"kind"', '"a"', '"b"']


@pytest.mark.parametrize("name", ["nb", "stream-weighted"])
def test_update_learns_more_rows_as_the_library_does(capfd, tmp_path, name):
    """In place or elsewhere, and text that looks like numbers stays text in both tables."""
    header, *rows = HEART.read_text().splitlines()
    rows = [f"{row},0{i % 3}" for i, row in enumerate(rows)]
    first, more, saved = (tmp_path / n for n in ("a.csv", "b.csv", "m.bayesgraph"))
    for path, part in ((first, [*rows[:200], rows[0] + "x"]), (more, rows[200:])):
        path.write_text("\n".join([f"{header},code", *part]) + "\n")
    fitted = run(capfd, "fit", first, "--target", "disease", "--model", name, "-o", saved)
    assert fitted[0] == 0
    before = saved.read_bytes()
    expected = bg.load(saved)
    table = bg.read_table(more, text=["code"])
    expected.partial_fit(table.drop_columns("disease"), table.select(["disease"]))
    code, out, _ = run(capfd, "update", saved, more, "-o", tmp_path / "n.bayesgraph")
    assert code == 0
    assert "103 more rows" in out
    assert saved.read_bytes() == before
    assert run(capfd, "update", saved, more)[0] == 0
    for path in (saved, tmp_path / "n.bayesgraph"):
        found = bg.load(path)
        assert found.n_features_in_ == 14
        numbers = found.predict_proba(table.drop_columns("disease"))
        assert (numbers == expected.predict_proba(table.drop_columns("disease"))).all()


def test_merge_makes_the_model_of_all_rows(capfd, tmp_path):
    header, *rows = HEART.read_text().splitlines()
    for name, part in (("a", rows[::2]), ("b", rows[1::2])):
        (tmp_path / f"{name}.csv").write_text("\n".join([header, *part]) + "\n")
        arguments = ("fit", tmp_path / f"{name}.csv", "--target", "disease", "--model", "tan")
        assert run(capfd, *arguments, "-o", tmp_path / f"{name}.bayesgraph")[0] == 0
    files = [tmp_path / "a.bayesgraph", tmp_path / "b.bayesgraph"]
    code, out, _ = run(capfd, "merge", *files, "-o", tmp_path / "both.bayesgraph")
    assert code == 0
    assert out.startswith("Merged CollectedStatistics of 303 rows: 13 features")
    assert "saved BayesianNetwork with 14 variables" in out
    heart = bg.read_table(HEART)
    X = heart.drop_columns("disease")
    whole = bg.TANClassifier().fit(X, heart.select(["disease"]))
    assert_same_network(bg.load(tmp_path / "both.bayesgraph").network_, whole.network_)
    # What was collected alone is no model yet.
    bg.load(files[0]).collected_.save(files[1])
    for command in (("show",), ("query", "--all"), ("predict", HEART)):
        code, _, err = run(capfd, command[0], files[1], *command[1:])
        assert code == 2
        assert "CollectedStatistics of 152 rows" in err
    assert run(capfd, "merge", *files, "-o", tmp_path / "twice.bayesgraph")[0] == 0


def test_a_merge_that_is_refused_names_the_files(capfd, tmp_path, model):
    bg.NaiveBayesClassifier().fit({"x": ["a", "b"]}, [0, 1]).save(tmp_path / "x.bayesgraph")
    code, _, err = run(capfd, "merge", model, tmp_path / "x.bayesgraph", "-o", tmp_path / "y.txt")
    assert (code, "suffix" in err) == (2, True)
    output = tmp_path / "y.bayesgraph"
    code, _, err = run(capfd, "merge", model, tmp_path / "x.bayesgraph", "-o", output)
    assert code == 2
    assert "heart.bayesgraph" in err
    assert "x.bayesgraph" in err
    assert not output.exists()


def test_an_update_that_is_refused_leaves_the_file_alone(capfd, tmp_path):
    tree, wrong = tmp_path / "t.bayesgraph", tmp_path / "w.csv"
    arguments = ("fit", HEART, "--target", "disease", "-o")
    assert run(capfd, *arguments, tree, "--model", "tree")[0] == 0
    stream = tmp_path / "s.bayesgraph"
    assert run(capfd, *arguments, stream, "--model", "stream")[0] == 0
    wrong.write_text(HEART.read_text().replace("63.0", "old").replace("63", "old"))
    for path, data, expected in ((tree, HEART, "one table at once"), (stream, wrong, "'age'")):
        before = path.read_bytes()
        code, _, err = run(capfd, "update", path, data)
        assert code == 2
        assert expected in err
        assert path.read_bytes() == before


def test_an_update_tells_the_classes_that_are_new(capfd, tmp_path):
    saved, more = tmp_path / "m.bayesgraph", tmp_path / "more.csv"
    fit = ("fit", HEART, "--target", "disease", "--model", "nb", "-o", saved)
    assert run(capfd, *fit)[0] == 0
    assert "new classes" not in run(capfd, "update", saved, HEART)[1]
    header, *rows = HEART.read_text().splitlines()
    more.write_text("\n".join([header, rows[0], rows[1] + "s"]) + "\n")
    code, out, _ = run(capfd, "update", saved, more)
    assert code == 0
    assert "2 more rows, with the new classes 'yess'; saved" in out


def test_streams_take_options_of_their_own(capfd, tmp_path):
    saved = tmp_path / "m.bayesgraph"
    for name in ("stream", "stream-weighted"):
        arguments = ("fit", HEART, "--target", "disease", "--model", name, "-o", saved)
        code, _, err = run(
            capfd, *arguments, "--summary", "pid", "--decay", "0.99", "--detector", "adwin"
        )
        assert code == 0, err
        found = bg.load(saved)
        assert (found.summary, found.decay, found.detector) == ("pid", 0.99, "adwin")


def test_a_file_does_not_hold_a_detector_of_river(capfd, tmp_path):
    pytest.importorskip("river")
    saved = tmp_path / "m.bayesgraph"
    fit = ("fit", HEART, "--target", "disease", "--model", "stream", "-o", saved)
    code, _, err = run(capfd, *fit, "--detector", "ddm")
    assert code == 2
    assert "A file holds the state of bayesgraph's ADWIN" in err
    assert not saved.exists()


def measures_of(text):
    """Return accuracy, log loss, Brier score and ECE by model, as printed."""
    first = text.partition("Against")[0]
    rows = [line.split() for line in first.splitlines() if line.startswith("  ")]
    return {row[0]: row[1:5] for row in rows if len(row) > 4}


@pytest.mark.slow
def test_evaluate_gives_a_discretizer_to_the_models_that_take_it(capfd):
    arguments = ("evaluate", HEART, "--target", "disease", "--cv", "2", "--discretizer", "width")
    models = ("--model", "nb", "--model", "tree")
    code, out, _ = run(capfd, *arguments, *models)
    assert code == 0
    plain = run(capfd, *arguments[:-2], *models)[1]
    changed, same = (measures_of(text) for text in (out, plain))
    assert changed["nb"] != same["nb"]
    assert changed["tree"] == same["tree"]


def test_names_with_equals_signs(capfd, tmp_path):
    a, b = bg.Discrete("a", ["x", "b=x"]), bg.Discrete("a=b", ["x", "y"])
    path = tmp_path / "n.bayesgraph"
    bg.BayesianNetwork([bg.TableCPD(a, [0.5, 0.5]), bg.TableCPD(b, [0.2, 0.8])]).save(path)
    assert run(capfd, "query", path, "--target", "a", "-e", "a=b=y")[0] == 0


def test_states_that_read_the_same_are_not_guessed(capfd, tmp_path):
    path = tmp_path / "n.bayesgraph"
    bg.BayesianNetwork([bg.TableCPD(bg.Discrete("k", [1, "1"]), [0.5, 0.5])]).save(path)
    code, _, err = run(capfd, "query", path, "--target", "k", "-e", "k=1")
    assert code == 2
    assert "read the same" in err


@pytest.mark.parametrize("text", ["k=True:3,False:1", "k=true:3,false:1", "k=TRUE:3,FALSE:1"])
def test_booleans_are_spelt_in_any_case(capfd, tmp_path, text):
    path = tmp_path / "n.bayesgraph"
    bg.BayesianNetwork([bg.TableCPD(bg.Discrete("k", [False, True]), [0.5, 0.5])]).save(path)
    code, out, _ = run(capfd, "query", path, "--target", "k", "-e", text)
    assert (code, "True   0.750000" in out) == (0, True)
    k, j = bg.Discrete("k", [False, True]), bg.Discrete("j", ["u", "v"])
    below = bg.TableCPD(j, [[0.9, 0.1], [0.2, 0.8]], [k])
    bg.BayesianNetwork([bg.TableCPD(k, [0.5, 0.5]), below]).save(path)
    code, out, _ = run(capfd, "query", path, "--target", "j", "-e", text.partition(":")[0])
    assert (code, "v  0.800000" in out) == (0, True)


@pytest.fixture
def given(monkeypatch):
    """Return a function that gives bytes to standard input."""

    def give(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return give


def test_tables_are_read_as_they_come(capfd, tmp_path, given, model):
    """Whatever a table is written like, the model is the same, and so is what it predicts."""
    text = HEART.read_text()
    comments = "# heart\n" + text.replace("\n", "\n#\n", 1)
    written = {
        "a.csv": (text, ()),
        "b.csv": (text.replace(",", ";").replace(".", ","), ()),
        "c.csv": (text.replace(",", "\t"), ("--delimiter", "tab")),
        "d.csv": (comments.encode("utf-16-le"), ("--comment", "#", "--encoding", "utf-16-le")),
        "e.csv": (text.replace(",", ":").replace(".", ","), ("--decimal", ",", "--delimiter", ":")),
        "f.csv.gz": (gzip.compress(text.encode()), ()),
        "-": (text.replace(",", ";"), ()),
    }
    fitted, predicted = set(), set()
    for name, (content, options) in written.items():
        data = content if isinstance(content, bytes) else content.encode()
        path = name if name == "-" else tmp_path / name
        saved = tmp_path / "m.bayesgraph"
        for command in (
            ("fit", path, "--target", "disease", "--model", "nb", "-o", saved),
            ("predict", model, path, "-o", "-"),
            ("update", saved, path),
            ("evaluate", path, "--target", "disease", "--model", "nb", "--cv", "2"),
        ):
            given(data)
            if name != "-":
                path.write_bytes(data)
            code, out, err = run(capfd, *command, *options)
            assert (code, err) == (0, "")
            if command[0] == "predict":
                predicted.add(out)
        fitted.add(saved.read_bytes())
    assert len(fitted) == len(predicted) == 1


def test_dates_become_columns_in_every_command(capfd, tmp_path):
    table, saved = tmp_path / "t.csv", tmp_path / "m.bayesgraph"
    table.write_text("when,kind\n" + "2024-05-31,a\n2023-06-01,b\n" * 9)
    fit = ("fit", table, "--target", "kind", "--model", "nb", "-o", saved)
    code, _, err = run(capfd, *fit)
    assert code == 2
    assert "--dates" in err
    assert run(capfd, *fit, "--drop", "when")[0] == 2  # nothing is left
    assert run(capfd, *fit, "--dates", "parts")[0] == 0
    assert "when_month" in run(capfd, "show", saved)[1]
    assert run(capfd, "predict", saved, table)[2].count("--dates") == 1
    assert run(capfd, "predict", saved, table, "--dates", "parts")[0] == 0
    assert run(capfd, "update", saved, table, "--dates", "parts")[0] == 0


@pytest.mark.filterwarnings("ignore:.*numbers that would lose leading zeros")
def test_columns_can_be_said_to_be_text(capfd, tmp_path):
    table, saved = tmp_path / "t.csv", tmp_path / "m.bayesgraph"
    table.write_text("code,kind\n" + "01,a\n02,b\n" * 9)
    fit = ("fit", table, "--target", "kind", "--model", "nb", "-o", saved)
    assert run(capfd, *fit, "--text", "code")[0] == 0
    assert bg.load(saved).network_.variable("code").states == ("01", "02")
    code, _, err = run(capfd, *fit, "--text", "cod")
    assert code == 2
    assert "Did you mean 'code'" in err


def test_warnings_are_one_line(capfd, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text('x,kind\n"1,5",a\n"2,5",b\n')
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        code, _, err = run(
            capfd,
            "fit",
            table,
            "--target",
            "kind",
            "--model",
            "nb",
            "-o",
            tmp_path / "m.bayesgraph",
        )
    assert code == 0
    assert err.startswith("bayesgraph: warning: ")
    assert "--decimal" in err
    assert err.count("\n") == 1


def test_names_are_printed_as_they_are(capfd, tmp_path):
    table, saved = tmp_path / "[b]t.csv", tmp_path / "[b]m.bayesgraph"
    table.write_text("[/a],:smile:,[bold]c\n" + "x,1,[/y]\ny,2,[b]\n" * 9)
    code, out, _ = run(capfd, "fit", table, "--target", "[bold]c", "--model", "nb", "-o", saved)
    assert (code, str(saved) in out) == (0, True)
    code, out, _ = run(capfd, "show", saved)
    assert code == 0
    assert all(name in out for name in ("[/a]", ":smile:", "[bold]c", "[/y], [b]"))
    code, out, _ = run(
        capfd, "evaluate", table, "--target", "[bold]c", "--model", "nb", "--cv", "2"
    )
    assert code == 0
    assert "[/y]" in out
    assert "true [bold]c" in out


def test_any_error_is_one_line_unless_a_traceback_is_wanted(capfd, monkeypatch, bif):
    def fail(path):
        raise KeyError("unforeseen\nthing")

    monkeypatch.setattr(bg.files, "load_saved", fail)
    code, _, err = run(capfd, "show", bif)
    assert code == 2
    assert err.startswith("bayesgraph: KeyError: ")
    assert "BAYESGRAPH_TRACEBACK=1" in err
    assert err.count("\n") == 1
    monkeypatch.setenv("BAYESGRAPH_TRACEBACK", "1")
    with pytest.raises(KeyError):
        main(["show", str(bif)])


def test_version_and_help(capfd):
    assert run(capfd, "--version")[1].strip() == bg.__version__
    code, out, err = run(capfd)
    assert (code, err) == (0, "")
    assert out == run(capfd, "--help")[1]
    for command in (
        "fit",
        "update",
        "predict",
        "evaluate",
        "query",
        "do",
        "ask-next",
        "explain",
        "show",
        "render",
        "explore",
        "convert",
    ):
        code, out, _ = run(capfd, command, "--help")
        assert code == 0
        assert f"Example: bayesgraph {command}" in " ".join(out.split())


FIT = ["fit", "{heart}", "--target", "disease", "-o", "{tmp}/m.bayesgraph"]
WRONG = {
    "unknown command": (["fitt"], "fitt"),
    "no target": (["fit", "{heart}", "-o", "{tmp}/m.bayesgraph"], "--target"),
    "misspelt target": (
        ["fit", "{heart}", "--target", "disese", "-o", "{tmp}/m.bayesgraph"],
        "Did you mean 'disease'",
    ),
    "unknown column to drop": (
        ["fit", "{heart}", "--target", "disease", "--drop", "agee", "-o", "{tmp}/m.bayesgraph"],
        "Did you mean 'age'",
    ),
    "no such file": (
        ["fit", "no.csv", "--target", "a", "-o", "{tmp}/m.bayesgraph"],
        "no such file; check the path: no.csv",
    ),
    "not a table": (
        ["fit", "{model}", "--target", "a", "-o", "{tmp}/m.bayesgraph"],
        "'.csv'",
    ),
    "not a model name": (
        ["fit", "{heart}", "--target", "disease", "--model", "svm", "-o", "{tmp}/m.bayesgraph"],
        "tan",
    ),
    "wrong suffix": (["fit", "{heart}", "--target", "disease", "-o", "{tmp}/m.txt"], ".bayesgraph"),
    "no such directory": (
        ["fit", "{heart}", "--target", "disease", "-o", "{tmp}/no/m.bayesgraph"],
        "directory",
    ),
    "a classifier as BIF": (
        ["fit", "{heart}", "--target", "disease", "-o", "{tmp}/m.bif"],
        "'.bayesgraph'",
    ),
    "continuous in BIF": (["convert", "{model}", "{tmp}/m.bif"], "'ca' are continuous"),
    "negative alpha": (
        ["fit", "{heart}", "--target", "disease", "--alpha", "-1", "-o", "{tmp}/m.bayesgraph"],
        "alpha",
    ),
    "target of an intervention": (["do", "{bif}", "-s", "wet=wet"], "--target or --all"),
    "nothing is set": (["do", "{bif}", "--target", "rain"], "--set is needed"),
    "set and observed": (
        ["do", "{bif}", "--target", "rain", "-s", "wet=wet", "-e", "wet=wet"],
        "both set by --set and observed",
    ),
    "target to ask about": (["ask-next", "{bif}"], "--target"),
    "price without a number": (
        ["ask-next", "{bif}", "--target", "rain", "--cost", "wet=much"],
        "The price of 'wet' is a number",
    ),
    "target of a network": (["query", "{bif}"], "--target"),
    "unknown target": (["query", "{bif}", "--target", "rian"], "Did you mean 'rain'"),
    "no value": (["query", "{bif}", "--target", "rain", "-e", "wet"], "NAME=VALUE"),
    "unknown state": (["query", "{bif}", "--target", "rain", "-e", "wet=wett"], "Did you mean"),
    "evidence twice": (
        ["query", "{bif}", "--target", "rain", "-e", "wet=wet", "-e", "wet=dry"],
        "more than once",
    ),
    "likelihood twice": (
        ["query", "{bif}", "--target", "rain", "-e", "wet=dry:1,wet:1,dry:50"],
        "'wet' takes one number for 'dry'; got several",
    ),
    "price twice": (
        ["ask-next", "{bif}", "--target", "rain", "--cost", "wet=1", "--cost", "wet=1000"],
        "The price of 'wet' is given more than once",
    ),
    "target dropped": ([*FIT, "--drop", "disease"], "--drop takes away the column 'disease'"),
    "text for a number": (["query", "{model}", "-e", "age=old"], "takes a number"),
    "bad likelihood": (
        ["query", "{bif}", "--target", "rain", "-e", "wet=dry:x,wet:1"],
        "LIKELIHOOD",
    ),
    "a likelihood missing": (
        ["query", "{bif}", "--target", "rain", "-e", "wet=dry:1"],
        "'wet'",
    ),
    "predict with a network": (["predict", "{bif}", "{heart}"], "--target is needed"),
    "update a network": (["update", "{bif}", "{heart}"], ".bayesgraph"),
    "update without classes": (["update", "{model}", "{other}"], "'disease' with the classes"),
    "columns missing": (["predict", "{model}", "{other}"], "lacks the columns"),
    "too many folds": (
        ["evaluate", "{heart}", "--target", "disease", "--cv", "1000"],
        "folds",
    ),
    "picture suffix": (
        ["evaluate", "{heart}", "--target", "disease", "--plot", "{tmp}/x.jpg"],
        ".png",
    ),
    "discretizer": (
        ["fit", "{heart}", "--target", "disease", "-o", "{tmp}/m.bayesgraph", "--discretizer", "x"],
        "--discretizer is one of width, frequency, mdlp, modl; got 'x'.",
    ),
    "discretizer of a tree": ([*FIT, "--model", "tree", "--discretizer", "mdlp"], "--discretizer"),
    "discretizer of none": (
        [
            *("evaluate", "{heart}", "--target", "disease", "--discretizer", "mdlp"),
            *("--model", "tree"),
        ],
        "the model is tree.",
    ),
    "distribution of another model": (
        [*FIT, "--model", "tree", "--distribution", "gaussian"],
        "--distribution goes with --model nb or tan; the model is tree.",
    ),
    "trees of another model": (
        [*FIT, "--model", "star", "--trees", "5"],
        "--trees goes with --model auto or averaged-tan; the model is star.",
    ),
    "not a distribution": (
        [*FIT, "--model", "nb", "--distribution", "age=gaussian", "--distribution", "poisson"],
        "COLUMN=FAMILY",
    ),
    "summary": ([*FIT, "--summary", "pid"], "--model stream or stream-weighted; the model is auto"),
    "decay": ([*FIT, "--model", "nb", "--decay", "0.9"], "--decay goes with"),
    "detector": ([*FIT, "--model", "nb", "--detector", "ddm"], "--detector goes with"),
    "unknown summary": ([*FIT, "--model", "stream", "--summary", "x"], "gk, pid"),
    "unknown detector": ([*FIT, "--model", "stream", "--detector", "x"], "adwin, ddm"),
    "two delimiters": ([*FIT, "--delimiter", ";;"], "--delimiter"),
    "unknown encoding": ([*FIT, "--encoding", "utf-9"], "--encoding"),
    "unknown dates": ([*FIT, "--dates", "months"], "--dates"),
    "limit": ([*FIT, "--limit", "1000"], "--limit"),
    "negative limit": ([*FIT, "--limit", "-1"], "1 or more"),
    "duplicate names": (
        ["fit", "{twice}", "--target", "b", "-o", "{tmp}/m.bayesgraph"],
        "several have the name 'a'",
    ),
    "damaged Parquet": (
        ["fit", "{parquet}", "--target", "b", "-o", "{tmp}/m.bayesgraph"],
        "cannot be read as .parquet",
    ),
    "a directory": (["predict", "{model}", "{directory}"], "d.csv"),
    "damaged model": (["show", "{damaged}"], "damaged"),
    "a continuous target": (
        ["fit", "{heart}", "--target", "oldpeak", "-o", "{tmp}/m.bayesgraph"],
        "continuous",
    ),
}


@pytest.mark.one_in(8)
@pytest.mark.parametrize("case", WRONG)
def test_mistakes_are_told_in_one_line(capfd, tmp_path, model, bif, case):
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    damaged = tmp_path / "damaged.bayesgraph"
    damaged.write_bytes(model.read_bytes()[:-100])
    twice, parquet = tmp_path / "twice.csv", tmp_path / "damaged.parquet"
    twice.write_text("a,a,b\n1,2,x\n")
    parquet.write_bytes(b"PAR1" + b"x" * 90 + b"PAR1")
    directory = tmp_path / "d.csv"
    directory.mkdir()
    places = {
        "heart": HEART,
        "tmp": tmp_path,
        "model": model,
        "bif": bif,
        "other": other,
        "damaged": damaged,
        "twice": twice,
        "parquet": parquet,
        "directory": directory,
    }
    arguments, expected = WRONG[case]
    filled = [a.format(**places) for a in arguments]
    code, out, err = run(capfd, *filled)
    assert code == 2
    assert expected in err
    assert err.startswith("bayesgraph: ")
    assert err.count("\n") == 1
    assert "Traceback" not in out + err


def test_the_help_lists_what_there_is(capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    _, out, _ = run(capfd, "fit", "--help")
    for text in (
        "Smoothings: dirichlet, m, marginal, backoff.",
        "Discretizers: width, frequency, mdlp, modl.",
        "Discretizers of streams: smooth, width, frequency, mdlp, modl, kmeans.",
        "Summaries: gk, pid, gaussian.",
        "Detectors: adwin, ddm, page-hinkley.",
    ):
        assert text in out


def test_all_models_are_named_with_the_nearest(capfd, tmp_path):
    code, _, error = run(
        capfd,
        "fit",
        HEART,
        "--target",
        "disease",
        "--model",
        "kbd",
        "-o",
        tmp_path / "a.bayesgraph",
    )
    assert code == 2
    assert "superparent" in error
    assert "chow-liu" in error
    assert "Did you mean 'kdb'?" in error


def test_convert_draws_pictures(capfd, model, tmp_path):
    assert run(capfd, "convert", model, tmp_path / "heart.dot")[0] == 0
    assert (tmp_path / "heart.dot").read_text().startswith("digraph")


def test_a_query_prints_all_states(capfd, tmp_path):
    many = bg.Discrete("many", list(range(60)))
    bg.BayesianNetwork([bg.TableCPD(many, [1 / 60] * 60)]).save(tmp_path / "a.bayesgraph")
    _, out, _ = run(capfd, "query", tmp_path / "a.bayesgraph", "--target", "many")
    assert len(out.splitlines()) == 61


@pytest.fixture
def parts(tmp_path):
    """The rows of the heart data in three Parquet files of a folder, and in three CSV files."""
    header, *rows = HEART.read_text().splitlines()
    (tmp_path / "parts").mkdir()
    (tmp_path / "texts").mkdir()
    heart = bg.read_table(HEART)
    for i, (a, b) in enumerate(((0, 100), (100, 200), (200, 303))):
        pq.write_table(heart.slice(a, b - a), tmp_path / f"parts/{i}.parquet")
        (tmp_path / f"texts/{i}.csv").write_text("\n".join([header, *rows[a:b]]) + "\n")
    return tmp_path


@pytest.mark.one_in(4)
@pytest.mark.parametrize("model", ["nb", "tree", "stream", "weighted"])
def test_every_model_takes_folders(capfd, parts, model):
    options = (
        "--target",
        "disease",
        "--model",
        model,
        "--drop",
        "chol",
        "-o",
        parts / "m.bayesgraph",
    )
    assert run(capfd, "fit", parts / "parts", *options)[0] == 0
    assert bg.load(parts / "m.bayesgraph").classes_.tolist() == ["no", "yes"]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("data", ["parts", "parts/*.parquet", "texts", "texts/?.csv"])
def test_fit_and_predict_take_folders_and_globs(capfd, parts, data):
    one, many = parts / "one.bayesgraph", parts / "many.bayesgraph"
    options = ("--target", "disease", "--model", "tan", "--drop", "chol", "-o")
    assert run(capfd, "fit", HEART, *options, one)[0] == 0
    for more in ((), ("--cache",)):
        code, out, err = run(capfd, "fit", parts / data, *options, many, *more)
        assert (code, err) == (0, "")
        assert "on 303 rows" in out
        assert one.read_bytes() == many.read_bytes()
    assert run(capfd, "predict", one, HEART, "-o", parts / "one.parquet")[0] == 0
    for output in ("found.parquet", "new/", "found.csv"):
        code, out, err = run(capfd, "predict", many, parts / data, "-o", f"{parts}/{output}")
        assert (code, err) == (0, "")
        assert "Predicted 303 rows" in out
    expected = pq.read_table(parts / "one.parquet")
    assert pq.read_table(parts / "found.parquet").equals(expected)
    assert pq.read_table(parts / "new").equals(expected)
    assert bg.read_table(parts / "found.csv").equals(expected)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("fit", "parts", "--target", "desease"), "Did you mean 'disease'"),
        (("fit", "parts", "--target", "disease", "--drop", "x"), "--drop: parts"),
        (("fit", "part", "--target", "disease"), "There is no file or folder 'part'"),
        (("evaluate", "parts", "--target", "disease"), "'parts' is a folder"),
        (("fit", "texts", "--target", "disease", "--encoding", "latin-1"), "--encoding"),
        (("fit", "none*", "--target", "disease"), "There is no"),
        (("fit", "one.csv", "--target", "disease", "--cache"), "--cache goes with a folder"),
        (("predict", "{model}", "parts"), "--output is needed"),
        (("predict", "{model}", "parts", "-o", "found.xlsx"), "suffix of predictions"),
        (("predict", "{model}", "parts", "-o", "none/found.csv"), "no such directory"),
        (("predict", "{model}", "parts", "-o", "texts"), "not an empty folder"),
    ],
)
def test_mistakes_with_folders_are_one_line(capfd, parts, model, monkeypatch, arguments, said):
    monkeypatch.chdir(parts)
    given = [text.format(model=model) for text in arguments]
    if given[0] == "fit":
        given += ["-o", "m.bayesgraph"]
    code, out, err = run(capfd, *given)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert not (parts / "m.bayesgraph").exists()


def test_a_fit_needs_an_output(capfd):
    code, out, err = run(capfd, "fit", HEART, "--target", "disease")
    assert (code, out) == (2, "")
    assert "Missing option '--output'" in err


def test_options_of_csv_files_hold_for_folders(capfd, tmp_path):
    (tmp_path / "d").mkdir()
    for i in range(3):
        (tmp_path / f"d/{i}.csv").write_text("code;x;y\n" + "01;?;a\n02;1.5;b\n" * 5)
    saved = tmp_path / "m.bayesgraph"
    command = ("fit", tmp_path / "d", "--target", "y", "--model", "nb", "-o", saved)
    options = ("--delimiter", ";", "--missing", "?")
    assert run(capfd, *command, *options, "--text", "code")[0] == 0
    network = bg.load(saved).network_
    assert network.variable("code").states == ("01", "02")
    assert isinstance(network.variable("x"), bg.Continuous)
    found = tmp_path / "p.csv"
    assert run(capfd, "predict", saved, tmp_path / "d", *options, "-o", found)[0] == 0
    assert [line[:3] for line in found.read_text().split()[1:3]] == ['"a"', '"b"']
