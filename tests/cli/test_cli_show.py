"""Distributions of models as the command line prints them."""

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.cli.entry import main

HOT, ILL = bg.Discrete("hot", ["no", "yes"]), bg.Discrete("ill", ["no", "yes"])
WEIGHT, VISITS = bg.Continuous("weight"), bg.Count("visits")
MANY = bg.Discrete("many", [f"state number {i}" for i in range(30)])
STATES = np.random.default_rng(0).dirichlet(np.ones(30), (2, 2)).round(3)
STATES[..., 0] += 1 - STATES.sum(axis=-1)


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
    path = tmp_path / "m.bayesgraph"
    bg.BayesianNetwork(
        [
            bg.TableCPD(HOT, [0.75, 0.25]),
            bg.TableCPD(ILL, [[0.9, 0.1], [0.4, 0.6]], [HOT]),
            bg.GaussianCPD(WEIGHT, [70.0, 65.5], 25.0, [ILL]),
            bg.PoissonCPD([VISITS], [[1.5], [4.0]], [ILL]),
            bg.TableCPD(MANY, STATES, [HOT, ILL]),
        ]
    ).save(path)
    return path


def test_the_family_of_leaves(run, model):
    _, out, _ = run("show", model)
    assert "continuous: gaussian" in out
    assert "count: poisson" in out


def test_all_distributions_in_the_width_of_a_terminal(run, model):
    code, out, _ = run("show", model, "--tables")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    blocks = out.split("\n\n")
    assert [block.split("(")[1][:3] for block in blocks] == ["hot", "ill", "wei", "vis", "man"]
    rows = ["TableCPD P(ill | hot)", "  hot     no    yes", "  no   0.900  0.100"]
    assert blocks[1].splitlines()[:3] == rows
    assert "  no   65.5" not in blocks[2]
    assert "  yes  65.5   5" in blocks[2]
    assert "6 more columns" in blocks[4]


def test_one_distribution_as_a_whole(run, model):
    _, out, _ = run("show", model, "--table", "many")
    assert max(map(len, out.splitlines())) <= 80
    assert "more" not in out
    # All probabilities, in runs of columns below each other, each with the parents' states.
    found = [word for line in out.splitlines()[1:] for word in line.split() if word[0] in "01"]
    numbers = sorted(float(word) for word in found if "." in word)
    assert numbers == pytest.approx(sorted(STATES.ravel().tolist()), abs=5e-4)
    code, _, err = run("show", model, "--table", "manny")
    assert (code, "Did you mean 'many'?" in err) == (2, True)


def test_trees_put_the_conditions_last(run, tmp_path):
    random = np.random.default_rng(1)
    columns = {f"a feature with a long name {i}": random.normal(size=200) for i in range(4)}
    y = np.where(sum(columns.values()) > 0, "yes", "no")
    clf = bg.DecisionTreeNetworkClassifier(max_depth=4, check_columns=False).fit(columns, y)
    clf.save(tmp_path / "t.bayesgraph")
    _, out, _ = run("show", tmp_path / "t.bayesgraph", "--table", "class")
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    leaves = clf.network_["class"].trees.leaves
    assert sum(line.strip()[:1] in "01" and "a feature" in line for line in lines) == len(leaves)


def test_averages_have_no_tables(run, tmp_path):
    columns = {"a": list("xyz") * 20, "b": list("pq") * 30}
    clf = bg.AODEClassifier(check_columns=False).fit(columns, ["n", "s", "s"] * 20)
    clf.save(tmp_path / "m.bayesgraph")
    code, _, err = run("show", tmp_path / "m.bayesgraph", "--tables")
    assert (code, "Tables are those of a single network" in err) == (2, True)
