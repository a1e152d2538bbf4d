"""The commands diff, flip and tornado."""

from pathlib import Path

import pytest

import bayesgraph as bg
from bayesgraph.cli.entry import main

HEART = Path(__file__).parents[2] / "examples" / "data" / "heart.csv"


def run(capfd, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    out, err = capfd.readouterr()
    return stopped.value.code, out, err


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    heart = bg.read_table(HEART)
    X, y = heart.select(["age", "sex", "cp", "thal"]), heart.select(["disease"])
    paths = [folder / "old.bayesgraph", folder / "new.bayesgraph"]
    for path, alpha in zip(paths, (0.5, 50.0), strict=True):
        bg.NaiveBayesClassifier(discretizer="width", smoothing=alpha).fit(X, y).save(path)
    return paths


def test_diff_prints_a_page_or_writes_it(capfd, models, tmp_path):
    code, out, _ = run(capfd, "diff", *models, "--rows", HEART)
    assert code == 0
    loaded = [bg.load(path) for path in models]
    assert out.rstrip("\n") == bg.diff(*loaded, bg.read_table(HEART)).to_text()
    page = tmp_path / "page.html"
    code, out, _ = run(capfd, "diff", *models, "-o", page)
    assert code == 0
    assert out.startswith("arcs: ")
    assert page.read_text() == bg.diff(*loaded).to_html()
    assert "suffix" in run(capfd, "diff", *models, "-o", tmp_path / "page.svg")[2]


def test_flip_prints_the_smallest_change(capfd, models):
    evidence = ["-e", "sex=male", "-e", "age=60", "-e", "thal=fixed_defect"]
    code, out, _ = run(capfd, "flip", models[0], *evidence, "--fix", "age", "--cost", "thal=2.5")
    assert code == 0
    given = {"sex": "male", "age": 60, "thal": "fixed_defect"}
    expected = bg.load(models[0]).ask.flip(evidence=given, fixed=["age"], costs={"thal": 2.5})
    assert out.rstrip("\n") == repr(expected)
    code, out, _ = run(capfd, "flip", models[0], *evidence, "--to", "no", "--at-least", "0.6")
    assert code == 0
    assert "becomes 'no'" in out
    few = run(capfd, "flip", models[0], *evidence, "--among", "cp", "--among", "thal")[1]
    among = ["cp", "thal"]
    assert few.rstrip("\n") == repr(bg.load(models[0]).ask.flip(evidence=given, among=among))
    assert "A price is NAME=NUMBER" in run(capfd, "flip", models[0], "--cost", "thal")[2]


def test_states_of_the_target_are_texts_of_states(capfd, tmp_path):
    grade, test = bg.Discrete("grade=", ["a:1", "b"]), bg.Discrete("test", ["-", "+"])
    tables = [
        bg.TableCPD(grade, [0.4, 0.6]),
        bg.TableCPD(test, [[0.8, 0.2], [0.3, 0.7]], [grade]),
    ]
    path = tmp_path / "grades.bayesgraph"
    bg.BayesianNetwork(tables).save(path)
    arguments = (path, "--target", "grade=", "-e", "test=+")
    code, out, err = run(capfd, "flip", *arguments, "--to", "a:1")
    assert (code, err) == (0, "")
    assert "becomes 'a:1'" in out
    code, out, _ = run(capfd, "tornado", *arguments, "--state", "a:1")
    assert code == 0
    assert "P(grade==a:1 | evidence)" in out


def test_tornado_prints_or_draws(capfd, models, tmp_path):
    code, out, _ = run(capfd, "tornado", models[0], "-e", "sex=male", "--state", "yes")
    assert code == 0
    assert out.rstrip("\n") == repr(
        bg.load(models[0]).ask.tornado(state="yes", evidence={"sex": "male"})
    )
    assert run(capfd, "tornado", models[0], "-e", "sex=male", "--by", "findings")[0] == 0
    pytest.importorskip("matplotlib")
    picture = tmp_path / "tornado.svg"
    arguments = ("tornado", models[0], "-e", "sex=male", "--by", "findings", "-o", picture)
    assert run(capfd, *arguments)[0] == 0
    assert picture.read_text().startswith("<?xml")
