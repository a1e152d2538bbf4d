"""The difference between two models, against enumeration of the joint distributions."""

import html.parser
import math
from types import SimpleNamespace

import numpy as np
import pytest
from joint import Joint
from joint import random_network as random_tables
from oracle import random_network

import bayesgraph as bg
from bayesgraph.core.errors import DataError, DataTypeError, EvidenceError, FileFormatError


def yes_no(name):
    return bg.Discrete(name, ["no", "yes"])


def redrawn(net, seed):
    """Return a network of the same graph with other positive tables."""
    random = np.random.default_rng(seed)
    return bg.BayesianNetwork(
        [
            bg.TableCPD(
                c.variable,
                random.dirichlet(np.ones(c.variable.cardinality), size=c.values.shape[:-1]),
                c.parents,
            )
            for c in net.cpds
        ]
    )


# --------------------------------------------------------------------------------- divergence


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(15))
def test_the_divergences_of_one_graph_sum_to_that_of_the_joint_distributions(seed):
    before = random_tables(seed, worlds=600)
    after = redrawn(before, seed)
    p, q = Joint.of(before).weights, Joint.of(after).weights
    seen = p > 0
    expected = math.fsum(p[seen] * np.log(p[seen] / q[seen]))
    found = bg.diff(before, after)
    assert math.fsum(f.divergence for f in found.families) == pytest.approx(expected, abs=1e-9)
    sizes = [f.divergence for f in found.families]
    assert sizes == sorted(sizes, reverse=True)
    assert not any(f.standard_error for f in found.families)
    assert bg.diff(before, before).is_empty


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(6))
def test_the_divergence_of_gaussians_equals_the_mean_over_drawn_rows(seed):
    before = random_network(seed, n_discrete=3, n_continuous=3, zeros=0.0)
    random = np.random.default_rng(seed)
    cpds = []
    for c in before.cpds:
        if isinstance(c, bg.GaussianCPD):
            slopes = c.coefficients + 0.3 * random.normal(size=c.coefficients.shape)
            shift = random.normal(size=c.mean.shape)
            c = bg.GaussianCPD(c.variable, c.mean + shift, 1.5 * c.variance, c.parents, slopes)
        cpds.append(c)
    after = bg.BayesianNetwork(cpds)
    rows = before.sample(20_000, random_state=seed, frame="dict")
    gaps = before.log_likelihood(rows) - after.log_likelihood(rows)
    found = bg.diff(before, after)
    total = math.fsum(f.divergence for f in found.families)
    assert total == pytest.approx(gaps.mean(), abs=5 * gaps.std() / math.sqrt(len(gaps)))
    assert not any(f.standard_error for f in found.families)


def test_what_the_second_model_excludes_is_infinitely_far():
    a, b = yes_no("a"), yes_no("b")
    fair = bg.TableCPD(a, [0.5, 0.5])
    before = bg.BayesianNetwork([fair, bg.TableCPD(b, [[0.5, 0.5], [0.5, 0.5]], [a])])
    after = bg.BayesianNetwork([fair, bg.TableCPD(b, [[1.0, 0.0], [0.5, 0.5]], [a])])
    (change,) = bg.diff(before, after).families
    assert math.isinf(change.divergence)
    assert change.where == "P(b=no | a=no): 0.5 → 1"
    (back,) = bg.diff(after, before).families
    assert back.divergence == pytest.approx(0.5 * math.log(2))
    assert "∞" in bg.diff(before, after).to_text()


def test_distributions_of_other_families_are_estimated_from_drawn_rows():
    c, x = yes_no("c"), bg.Continuous("x")
    prior = bg.TableCPD(c, [0.5, 0.5])
    before, after = (
        bg.BayesianNetwork([prior, bg.models.ExponentialCPD([x], rates, [c])])
        for rates in ([[1.0], [2.0]], [[1.0], [3.0]])
    )
    (change,) = bg.diff(before, after).families
    exact = 0.5 * (math.log(2.0 / 3.0) + 3.0 / 2.0 - 1.0)
    assert change.divergence == pytest.approx(exact, abs=5 * change.standard_error)
    assert change.standard_error > 0


# ---------------------------------------------------------------------------------- structure


def test_arcs_that_are_added_removed_and_turned():
    a, b, c, d = (yes_no(n) for n in "abcd")
    half, same = [0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]]
    before = bg.BayesianNetwork(
        [bg.TableCPD(a, half), bg.TableCPD(b, same, [a]), bg.TableCPD(c, same, [b])]
    )
    other = bg.Discrete("c", ["no", "yes", "maybe"])
    after = bg.BayesianNetwork(
        [
            bg.TableCPD(b, half),
            bg.TableCPD(a, same, [b]),
            bg.TableCPD(other, [0.2, 0.3, 0.5]),
            bg.TableCPD(d, same, [a]),
        ]
    )
    found = bg.diff(before, after)
    changes = found.structure
    assert changes.added_variables == ("d",)
    assert changes.changed_variables == {"c": "states added: 'maybe'"}
    assert (changes.added, changes.removed) == ((("a", "d"),), (("b", "c"),))
    assert changes.turned == (("b", "a"),)
    by_name = {f.name: f for f in found.families}
    assert by_name["c"].divergence is None
    assert "another variable" in by_name["c"].where
    # The turned arc is the same distribution of a and b, but each conditional is another one.
    assert by_name["a"].parents_after == ("b",)
    assert not found.is_empty
    assert "arcs: 1 added, 1 removed, 1 turned" in found.summary
    back = bg.diff(after, before).structure
    assert (back.removed_variables, back.turned) == (("d",), (("a", "b"),))


def test_an_arc_in_both_directions_is_added_and_not_turned():
    a, b = yes_no("a"), yes_no("b")
    half, same = [0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]]
    one = bg.BayesianNetwork([bg.TableCPD(a, half), bg.TableCPD(b, same, [a])])
    other = bg.BayesianNetwork([bg.TableCPD(b, half), bg.TableCPD(a, same, [b])])
    both = bg.Ensemble([one, other], [0.25, 0.75])
    changes = bg.diff(one, both).structure
    assert changes.added == (("b", "a"),)
    assert changes.turned == ()
    assert changes.probabilities == {("a", "b"): (1.0, 0.25)}


def test_states_in_another_order_are_aligned():
    before = random_tables(3, worlds=600)
    after = redrawn(before, 3)
    turned = after
    for variable in before.variables:
        turned = turned.with_states(variable.name, variable.states[::-1])
    plain, found = bg.diff(before, after), bg.diff(before, turned)
    assert [f.divergence for f in found.families] == pytest.approx(
        [f.divergence for f in plain.families], abs=1e-12
    )
    assert [f.name for f in found.families] == [f.name for f in plain.families]
    assert set(found.structure.changed_variables) == {
        v.name for v in before.variables if v.cardinality > 1
    }
    assert "states in another order" in str(found)
    same = bg.diff(after, turned)
    assert not same.families
    assert not same.is_empty  # the order differs, which is said


def test_rows_behind_states_in_another_order():
    random = np.random.default_rng(0)
    y, x = random.integers(2, size=(2, 300))
    z = np.where(random.random(300) < 0.1, 1 - x, x)
    names = np.array(["a", "b"])
    before, after = (
        bg.TANClassifier(check_columns=False).fit({"x": names[x], "z": names[other]}, y)
        for other in (z, np.where(x == 1, 0, z))
    )
    turned = SimpleNamespace(network_=before.network_.with_states("x", ["b", "a"]))
    plain, found = bg.diff(before, after), bg.diff(turned, after)
    assert {f.name: f.rows_after for f in found.families} == {
        f.name: f.rows_after for f in plain.families
    }
    (z_given_x,) = found.families
    assert "x=b" in z_given_x.where
    assert z_given_x.rows_after in {((x == 1) & (y == c)).sum() for c in (0, 1)}


def test_rows_behind_a_distribution_of_an_estimator():
    rows = {"x": ["a"] * 30 + ["b"] * 10, "z": ["u", "v"] * 20}
    before = bg.NaiveBayesClassifier().fit(rows, [0] * 30 + [1] * 10)
    after = bg.NaiveBayesClassifier().fit(rows, [0] * 25 + [1] * 15)
    found = {f.name: f for f in bg.diff(before, after).families}
    assert (found["class"].rows_before, found["class"].rows_after) == (40, 40)
    assert "class=1" in found["x"].where
    assert (found["x"].rows_before, found["x"].rows_after) == (10, 15)
    assert bg.diff(before.network_, after).families[0].rows_before is None


# -------------------------------------------------------------------------------- predictions


def test_predictions_that_change_are_explained():
    c, x, z = yes_no("c"), yes_no("x"), yes_no("z")
    tables = {"x": [[0.8, 0.2], [0.3, 0.7]], "z": [[0.6, 0.4], [0.5, 0.5]]}

    def model(x_table):
        cpds = [bg.TableCPD(c, [0.5, 0.5]), bg.TableCPD(x, x_table, [c])]
        return bg.BayesianNetwork([*cpds, bg.TableCPD(z, tables["z"], [c])])

    before, after = model(tables["x"]), model([[0.4, 0.6], [0.7, 0.3]])
    frame = {"x": ["yes", "no", None, "other"], "z": ["no", "no", "yes", "yes"], "more": [1] * 4}
    found = bg.diff(before, after, frame, target="c").predictions
    assert (found.n_rows, found.n_changed) == (4, 2)
    assert found.moves == {("yes", "no"): 1, ("no", "yes"): 1}
    known = [{"x": "yes", "z": "no"}, {"x": "no", "z": "no"}, {"z": "yes"}, {"z": "yes"}]
    gaps = [abs(before.query("c", e)["yes"] - after.query("c", e)["yes"]) for e in known]
    assert found.mean_distance == pytest.approx(np.mean(gaps))
    first = found.largest[0]
    shares = [m.query("c", known[first.row])[first.after] for m in (before, after)]
    assert (first.probability_before, first.probability_after) == pytest.approx(shares)
    assert first.distance == pytest.approx(gaps[first.row])
    odds = [m.contributions("c", known[first.row], positive=first.after) for m in (before, after)]
    (name, moved), *_ = first.why
    assert name == "x"
    assert moved == pytest.approx(odds[1]["x"] - odds[0]["x"])
    # All terms together are the change of the log odds.
    assert math.fsum(v for _, v in first.why) == pytest.approx(odds[1].total - odds[0].total)


def test_a_feature_named_prior_is_told_besides_the_prior():
    c, named = bg.Discrete("c", ["no", "yes"]), bg.Discrete("prior", ["no", "yes"])
    before, after = (
        bg.BayesianNetwork([bg.TableCPD(c, shares), bg.TableCPD(named, table, [c])])
        for shares, table in (
            ([0.5, 0.5], [[0.5, 0.5], [0.4, 0.6]]),
            ([0.1, 0.9], [[0.5, 0.5], [0.2, 0.8]]),
        )
    )
    found = bg.diff(before, after, {"prior": ["yes"]}, target="c")
    gaps = [gap for name, gap in found.predictions.largest[0].why if name == "prior"]
    assert gaps == pytest.approx([math.log(9.0), math.log(0.8 / 0.6)])


def test_impossible_rows_get_the_prior_and_are_counted():
    c, x = yes_no("c"), bg.Discrete("x", list("abc"))
    before = bg.BayesianNetwork(
        [bg.TableCPD(c, [0.9, 0.1]), bg.TableCPD(x, [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]], [c])]
    )
    after = redrawn(before, 1)
    found = bg.diff(before, after, {"x": ["a", "c"]}, target="c").predictions
    assert found.impossible == (1, 0)
    assert "impossible in the first model" in found.tables()[0].text()


# --------------------------------------------------------------------------------------- page


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.names = []

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        assert not any(name.startswith("on") or name in ("src", "href") for name, _ in attrs)


def test_the_page_has_no_scripts_and_escapes_names(tmp_path):
    name = "<script>alert(1)</script>"
    a, b = bg.Discrete(name, ["<b>", "&"]), bg.Discrete("\x1b[31m", ['"', "'"])
    nets = [
        bg.BayesianNetwork(
            [bg.TableCPD(a, [0.5, 0.5]), bg.TableCPD(b, [[p, 1 - p], [0.5, 0.5]], [a])]
        )
        for p in (0.2, 0.7)
    ]
    found = bg.diff(*nets, {name: ["<b>"]}, target="\x1b[31m")
    found.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    tags = Tags()
    tags.feed(page)
    assert "script" not in tags.names
    assert tags.names.count("table") == len(found.tables())
    assert "\x1b" not in page
    assert "<b>" not in page
    found.save(tmp_path / "page.txt")
    text = (tmp_path / "page.txt").read_text()
    assert text == repr(found)
    assert "\x1b" not in text
    with pytest.raises(FileFormatError, match="html"):
        found.save(tmp_path / "page.pdf")


def test_what_cannot_be_compared():
    a, x = yes_no("a"), bg.Continuous("x")
    net = bg.BayesianNetwork([bg.TableCPD(a, [0.5, 0.5]), bg.GaussianCPD(x, 0.0, 1.0)])
    with pytest.raises(DataTypeError, match="a model or a fitted estimator"):
        bg.diff(net, bg.NaiveBayesClassifier())
    with pytest.raises(DataError, match="target= is needed"):
        bg.diff(net, net, {"a": ["no"]})
    with pytest.raises(EvidenceError, match="not discrete"):
        bg.diff(net, net, {"a": ["no"]}, target="x")
    graph = bg.FactorGraph.of(net)
    assert "factor graph" in bg.diff(graph, graph).remarks[0]
    mixture = bg.Ensemble([net, net])
    assert "1 and 2 networks" in bg.diff(net, mixture).remarks[0]


def test_numbers_of_averages_that_differ_are_named():
    rain = bg.Discrete("rain", ["no", "yes"])
    network = bg.BayesianNetwork([bg.TableCPD(rain, [0.8, 0.2])])
    plain = bg.Ensemble([network, network], combine="posterior")
    assert bg.diff(plain, bg.Ensemble([network, network], [2, 2], combine="posterior")).is_empty
    for other, remark in (
        ({"weights": [1, 3]}, "weights of the average: [0.5, 0.5] → [0.25, 0.75]"),
        ({"exponents": {"rain": [1, 2]}}, "exponents of the average: {} → {'rain': [1.0, 2.0]}"),
        ({"prior_ratios": {"rain": [2, 1]}}, "prior_ratios of the average: {} → {'rain': [2.0,"),
    ):
        found = bg.diff(plain, bg.Ensemble([network, network], **other, combine="posterior"))
        assert not found.is_empty
        assert remark in repr(found)
