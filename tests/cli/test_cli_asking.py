"""Findings that are ranges of numbers, and what questions print."""

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
