"""Findings that are ranges of numbers, and what questions print."""

import json

import pytest
from scipy import stats

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
def model(tmp_path):
    ill, heat = bg.Discrete("ill", ["no", "yes"]), bg.Continuous("heat")
    cut = bg.Binned("cut", [10, 20])
    path = tmp_path / "m.bayesgraph"
    bg.BayesianNetwork(
        [
            bg.TableCPD(ill, [0.75, 0.25]),
            bg.GaussianCPD(heat, [-1.0, 1.0], 1.0, [ill]),
            bg.TableCPD(cut, [[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]], [ill]),
        ]
    ).save(path)
    return path


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("-0.5..2", -0.5, 2.0), ("1..", 1.0, float("inf")), ("..-.5", float("-inf"), -0.5)],
)
def test_a_range_has_the_probability_between_its_ends(run, model, text, low, high):
    between = [stats.norm(m).cdf(high) - stats.norm(m).cdf(low) for m in (-1, 1)]
    shares = [0.75 * between[0], 0.25 * between[1]]
    code, out, _ = run("query", model, "--target", "ill", "-e", f"heat={text}")
    assert code == 0
    assert f"no   {shares[0] / sum(shares):.6f}" in out
    assert "log probability of the evidence" in out
    assert "log density" in run("query", model, "--target", "ill", "-e", "heat=0.5")[1]


def test_a_range_of_intervals_takes_whole_ones(run, model):
    _, out, _ = run("query", model, "--target", "ill", "-e", "cut=10..")
    assert f"yes  {0.25 * 0.8 / (0.25 * 0.8 + 0.75 * 0.5):.6f}" in out


@pytest.mark.parametrize("text", ["2..1", "a..b", "..", "1..2..3"])
def test_other_ranges_are_refused(run, model, text):
    code, _, err = run("query", model, "--target", "ill", "-e", f"heat={text}")
    assert code == 2
    assert "A range of 'heat' is LOW..HIGH" in err


@pytest.mark.parametrize(
    "command", ["explain", "mpe", "do -s ill=yes", "ask-next", "flip", "tornado", "sample"]
)
def test_every_question_takes_a_range_or_refuses_it(run, model, command):
    name, *options = command.split()
    target = () if name in ("mpe", "sample") else ("--target", "cut" if name == "do" else "ill")
    code, _, err = run(name, model, *options, *target, "-e", "heat=0..2")
    assert code == 0 or (code, err.count("\n")) == (2, 1)


def test_information_has_its_unit(run, model):
    assert "information (nats)" in run("ask-next", model, "--target", "ill")[1]


def test_pages_refuse_options_of_pictures(run, model, tmp_path):
    for option in ("--beliefs", "--tables"):
        code, _, err = run("render", model, "-o", tmp_path / "m.html", option)
        assert (code, f"{option} goes with a picture" in err) == (2, True)
    assert not (tmp_path / "m.html").exists()


def test_every_command_prints_json(run, tmp_path):
    text, cp = [*"mnmnmnmm"] * 20, [*"aabbabab"] * 20
    rows = {
        "text": text,
        "cp": cp,
        "x": [float(i % 7) for i in range(160)],
        "y": [*"ppqpqqpq"] * 20,
    }
    X = {name: rows[name] for name in ("text", "cp", "x")}
    clf = bg.NaiveBayesClassifier(check_columns=False).fit(X, rows["y"])
    model, table, other = tmp_path / "m.bayesgraph", tmp_path / "t.csv", tmp_path / "o.bayesgraph"
    clf.save(model)
    cells = [",".join(map(str, cells)) for cells in zip(*rows.values(), strict=True)]
    table.write_text("\n".join([",".join(rows), *cells]))

    def answers(*arguments):
        code, out, err = run(*arguments, "--json")
        assert (code, err) == (0, ""), arguments
        return [json.loads(line) for line in out.splitlines()]

    net, one = clf.network_, ("-e", "cp=a")
    posterior = net.query("class", {"cp": "a"})
    assert answers("query", model, *one) == [
        posterior.to_dict(),
        {"log probability of the evidence": posterior.log_evidence},
    ]
    assert answers("query", model, "--all", *one)[0]["text"] == net.query("text", {"cp": "a"})
    x = net.query("x")
    (number,) = answers("query", model, "--target", "x")
    assert number["mean"] == x.mean
    assert number["quantiles"]["0.975"] == x.quantile(0.975)
    assert answers("do", model, "-s", "cp=a", "--target", "text")[0] == net.query(
        "text", do={"cp": "a"}
    )
    best = net.k_most_probable(2, {"cp": "a"})
    assert answers("mpe", model, "-k", "2", *one) == [dict(assignment) for assignment in best]
    ranking = net.ask.next_question("class", {"cp": "a"})
    _, asked = answers("ask-next", model, *one)
    assert asked["best"] == ranking.best
    assert asked["questions"][0]["information"] == ranking.questions[0].information
    why = net.ask.explanation("class", {"cp": "a"})
    assert answers("explain", model, *one)[0]["sentences"] == list(why.sentences)
    assert answers("flip", model, *one, "--to", "q")[0]["cost"] == 1.0
    assert len(answers("tornado", model, *one)[0]["bars"]) == 3
    assert isinstance(answers("sample", model, "-n", "2", "--seed", "1")[1]["x"], float)
    predicted = answers("predict", model, table, "--keep", "y")
    assert len(predicted) == 160
    assert predicted[3]["P(class=p)"] == clf.predict_proba(X)[3, 0]
    (card,) = answers("info", model)
    assert card["title"] == "Model card: m.bayesgraph"
    assert answers("show", model)[-1]["header"][0] == "variable"
    assert answers("diff", model, model)[0]["tables"][0]["rows"] == [["no difference", ""]]
    scores = answers(
        "evaluate", table, "--target", "y", "--model", "nb", "--model", "tan", "--cv", 3
    )
    assert scores[1]["header"].count("p") == 2
    assert len(scores[1]["rows"][0]) == len(scores[1]["header"])
    fit = ("fit", table, "--target", "y", "--model", "nb", "--no-check-columns", "-o", other)
    assert answers(*fit)[0].startswith("Fitted ")
    learned = answers("learn", table, "-o", other, "--no-check-columns")
    assert learned[0]["header"] == ["parent", "child", "score"]
    assert "written to" in answers("convert", model, other)[0]
    assert answers("render", model, "-o", tmp_path / "m.dot") == [f"Drawn to {tmp_path / 'm.dot'}"]


def test_json_tells_apart_states_that_read_alike(run, tmp_path):
    state = bg.Discrete("s", [1, "1", True])
    path = tmp_path / "m.bayesgraph"
    bg.BayesianNetwork([bg.TableCPD(state, [0.5, 0.3, 0.2])]).save(path)
    answer = json.loads(run("query", path, "--target", "s", "--json")[1])
    assert list(answer.values()) == [0.5, 0.3, 0.2]
