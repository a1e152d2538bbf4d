"""Posteriors of leaves of every family, against sums over the worlds and numeric integrals."""

import functools
import itertools
import math

import cases
import numpy as np
import oracle as brute
import pytest
from scipy import special, stats

import bayesgraph as bg
from bayesgraph.core.errors import EvidenceError, UnknownVariableError, UnsupportedModelError
from bayesgraph.files.payloads import STORED
from bayesgraph.models import FAMILIES

A, B = bg.Discrete("a", ["u", "v"]), bg.Discrete("b", [0, 1, 2])
WORDS = bg.CountVector("words", ["red", "green", "blue"])


class Mixed:
    """The mixture of SciPy's normal distributions of a kernel density estimate, or a histogram."""

    def __init__(self, pdf, cdf):
        self.pdf, self.cdf = pdf, cdf

    def sf(self, x):
        return 1.0 - self.cdf(x)


def parameters(random, name, shape):
    bounds = STORED[name].parameters
    found = {
        key: random.gamma(2.0, 1.5, shape) + 0.3 if above == 0 else random.normal(size=shape)
        for key, above in bounds.items()
    }
    if name == "student":
        found["dof"] += 2.0
    return found


def kernel(random, variable, parents, shape):
    counts = random.integers(1, 4, shape)
    values, weights = (make(size=counts.sum()) for make in (random.normal, random.uniform))
    width = random.uniform(0.2, 1.0, shape)
    cpd = bg.models.KernelDensityCPD(variable, values, weights, counts, width, parents)
    ends = np.concatenate([[0], counts.ravel().cumsum()])

    def at(cell):
        flat = np.ravel_multi_index(cell, shape)
        part = slice(ends[flat], ends[flat + 1])
        share = weights[part] / weights[part].sum()
        points = stats.norm(values[part], width[cell])
        return Mixed(lambda x: share @ points.pdf(x), lambda x: share @ points.cdf(x))

    return cpd, at


def histogram(random, variable, parents, shape):
    edges = np.array([-1.0, 0.0, 0.5, 2.0])
    values = random.dirichlet(np.ones(5), shape)
    cpd = bg.models.HistogramCPD(variable, edges, values, parents)

    def at(cell):
        below, *bins, above = values[cell]
        height, tail = bins / np.diff(edges), stats.lomax(3.0, scale=3.0)

        def pdf(x):
            inside = height[np.searchsorted(edges, x) - 1] if -1 < x < 2 else 0.0
            return inside + below * tail.pdf(-1 - x) + above * tail.pdf(x - 2)

        def cdf(x):
            inside = np.interp(x, edges, np.concatenate([[0.0], np.cumsum(bins)]))
            return inside + below * tail.sf(-1 - x) + above * tail.cdf(x - 2)

        return Mixed(pdf, cdf)

    return cpd, at


def density(name):
    def make(random, variable, parents, shape):
        chosen = parameters(random, name, shape)
        cpd = STORED[name](variable, parents=parents, **chosen)
        return cpd, lambda cell: cases.DENSITIES[name][1](**{k: v[cell] for k, v in chosen.items()})

    return make


MAKE = {name: density(name) for name in cases.DENSITIES}
MAKE |= {"kernel": kernel, "histogram": histogram}
# Those of which a hundred-thousandth of the variance may lie beyond where integrals end.
HEAVY = {"student", "histogram", "lognormal"}
SUPPORT = {"positive": (0.0, np.inf), "shares": (0.0, 1.0), "continuous": (-np.inf, np.inf)}


def is_count(name):
    return name in cases.DENSITIES and cases.DENSITIES[name][0] == "counts"


def support(name):
    return SUPPORT[cases.DENSITIES[name][0] if name in cases.DENSITIES else "continuous"]


@functools.cache
def network(name, seed=0):
    """Return a network with the leaves x and y, and SciPy's distributions of these."""
    random = np.random.default_rng(seed)
    kind = bg.Count if is_count(name) else bg.Continuous
    x, of_x = MAKE[name](random, kind("x"), [A, B], (2, 3))
    y, of_y = MAKE[name](random, kind("y"), [B], (3,))
    prior, table = random.dirichlet([1, 1]), random.dirichlet([1, 1, 1], 2)
    table[0, 1] = 0.0
    table /= table.sum(axis=1, keepdims=True)
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(A, prior),
            bg.TableCPD(B, table, [A]),
            x,
            y,
            bg.GaussianCPD(bg.Continuous("g"), [0.0, 1.0], [1.0, 2.0], [A]),
        ]
    )
    return net, prior[:, None] * table, of_x, of_y


def value(distribution, x):
    return distribution.pmf(x) if hasattr(distribution, "mean") and hasattr(
        distribution.dist, "pmf"
    ) else distribution.pdf(x)  # fmt: skip


def weights(name, evidence):
    """Return P(a, b | evidence) by its definition, and the log density of the evidence."""
    _, joint, _, of_y = network(name)
    joint = joint.copy()
    for i, j in np.ndindex(2, 3):
        if "g" in evidence:
            joint[i, j] *= stats.norm.pdf(evidence["g"], i, math.sqrt(1 + i))
        if "y" in evidence:
            joint[i, j] *= value(of_y((j,)), evidence["y"])
        if "a" in evidence:
            joint[i, j] *= evidence["a"][A.states[i]]
        if "b" in evidence:
            joint[i, j] *= evidence["b"] == B.states[j]
    return joint / joint.sum(), math.log(joint.sum())


GIVEN = [
    {},
    {"g": 0.3, "y": 0.5},
    {"b": 2},
    {"a": {"u": 0.2, "v": 0.9}, "g": 1.5},
]
POINTS = np.array([0.2, 0.7, 0.9, 3.0])
WHOLE = np.array([0.0, 1.0, 2.0, 7.0])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", MAKE)
def test_posteriors_equal_sums_over_the_worlds(name):
    counts = is_count(name)
    points = WHOLE if counts else POINTS
    net, _, of_x, of_y = network(name)
    cells = {c: of_x(c) for c in np.ndindex(2, 3)}
    densities = np.array([[value(d, x) for x in points] for d in cells.values()])
    below = np.array([[d.cdf(x) for x in points] for d in cells.values()])
    above = np.array([[d.sf(x) for x in points] for d in cells.values()])
    for given in GIVEN:
        evidence = {**given, **({"y": 2.0} if counts and "y" in given else {})}
        share, log_evidence = weights(name, evidence)
        found = net.query("x", evidence)
        assert found.log_evidence == pytest.approx(log_evidence, rel=1e-12)
        np.testing.assert_allclose(found.density(points), share.ravel() @ densities, rtol=1e-11)
        np.testing.assert_allclose(found.cdf(points), share.ravel() @ below, rtol=1e-10)
        np.testing.assert_allclose(found.sf(points), share.ravel() @ above, rtol=1e-10, atol=1e-15)
        at = found.quantile(0.3)
        if counts:
            assert found.cdf(at) >= 0.3 > found.cdf(at - 1)
        else:
            assert found.cdf(at) == pytest.approx(0.3, abs=1e-12)
    both, (share, _) = net.query(["x", "y", "b"], {"g": 1.5}), weights(name, {"g": 1.5})
    pair, j = both.given(1), 1
    given_b = share[:, j] / share[:, j].sum() @ densities[[j, 3 + j], 1]
    expected = given_b * value(of_y((j,)), points[2])
    assert pair.density([points[1], points[2]]) == pytest.approx(expected, rel=1e-11)
    assert pair.marginal("y").density(points[2]) == pytest.approx(value(of_y((j,)), points[2]))


def random_leaves(seed):
    """Return a random network with Gaussians and three leaves, a row of it, and evidence."""
    random = np.random.default_rng(seed)
    base = brute.random_network(seed, n_discrete=4, n_continuous=2, zeros=0.3)
    discrete = [v for v in base.variables if isinstance(v, bg.Discrete)]
    cpds = list(base._blocks)
    for i in range(3):
        name = list(MAKE)[(seed + 4 * i) % len(MAKE)]
        chosen = random.permutation(len(discrete))[: random.integers(1, 3)].tolist()
        parents = [discrete[j] for j in chosen]
        kind = bg.Count if is_count(name) else bg.Continuous
        shape = tuple(p.cardinality for p in parents)
        cpds.append(MAKE[name](random, kind(f"leaf{i}"), parents, shape)[0])
    net = bg.BayesianNetwork(cpds)
    row = {k: c[0] for k, c in net.sample(1, random_state=seed, frame="dict").items()}
    evidence = {name: x for name, x in row.items() if random.random() < 0.3}
    soft = [v for v in discrete if v.name not in evidence and random.random() < 0.2]
    return net, row, {**evidence, **{v.name: random.random(v.cardinality) + 0.1 for v in soft}}


@pytest.mark.one_in(26)
@pytest.mark.parametrize("seed", range(60))
def test_densities_are_ratios_of_probabilities_of_evidence(seed):
    """p(x | e) = p(x, e) / p(e), whose terms take the values of leaves as evidence."""
    net, row, evidence = random_leaves(seed)
    log_evidence = net.log_probability(evidence)

    def ratio(more):
        return net.log_probability({**evidence, **more}) - log_evidence

    free = [f"leaf{i}" for i in range(3) if f"leaf{i}" not in evidence]
    for name in free:
        x, found = float(row[name]), net.query(name, evidence)
        assert found.log_density(x) == pytest.approx(ratio({name: row[name]}), rel=1e-10, abs=1e-10)
        if found.whole:
            around = np.log(found.density([x - 1, x, x + 1]).sum())
        else:
            around = np.log(found.cdf(x + 1) - found.cdf(x - 1))
        assert ratio({name: bg.Between(x - 1, x + 1)}) == pytest.approx(around, abs=1e-8)
    others = [v.name for v in net.variables if type(v) is bg.Continuous and v.name not in evidence]
    targets = list(dict.fromkeys([*others, *free]))
    if free and len(targets) > len(free):
        point = {name: row[name] for name in targets}
        expected = ratio(point)
        joint = net.query(targets, evidence)
        values = [float(x) for x in point.values()]
        assert joint.log_density(values) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert set(free) <= set(net.most_probable(evidence))


@pytest.mark.parametrize("name", MAKE)
def test_moments_equal_numeric_integrals(name):
    net, *_ = network(name, 3)
    found = net.query("x", {"g": 0.8})
    if is_count(name):
        x, weight = np.arange(2000.0), 1.0
    else:
        # Gauss-Legendre quadrature on pieces that cover sixteen powers of ten, up to 1e7.
        low, high = support(name)
        nodes, own = np.polynomial.legendre.leggauss(200)
        ends = np.array([0.0, *np.geomspace(1e-9, 1e7, 40)])
        if math.isfinite(high):
            ends = np.concatenate([ends[ends < 0.5], 1.0 - ends[ends < 0.5][::-1]])
        ends = np.unique([*ends, 0.5, 1.0, *([2.0] if math.isinf(high) else [])])
        half = np.diff(ends)[:, None] / 2
        x = ((ends[:-1, None] + half) + half * nodes).ravel()
        weight = (half * own).ravel()
        if math.isinf(low):
            x, weight = np.concatenate([-x, x]), np.concatenate([weight, weight])
    p = found.density(x) * weight
    moments = [p @ x**k for k in range(3)]
    assert moments[0] == pytest.approx(1.0, abs=1e-8)
    assert found.mean == pytest.approx(moments[1], rel=1e-8)
    spread = moments[2] - moments[1] ** 2
    assert found.variance == pytest.approx(spread, rel=1e-5 if name in HEAVY else 1e-8)
    drawn = found.sample(4000, random_state=0)
    assert abs(drawn.mean() - found.mean) < 5 * found.std / math.sqrt(4000)


def test_families_are_all_there():
    """Each family answers by this solver or by that of Gaussians, tables or vectors."""
    vectors = {"multinomial", "bernoulli"}
    assert set(FAMILIES) == {*MAKE} - {"histogram"} | {"gaussian", "categorical"} | vectors


def test_the_most_probable_assignment_has_conditional_means():
    net, _, of_x, of_y = network("gamma")
    best = net.most_probable({"g": 0.8})
    i, j = A.index(best["a"]), B.index(best["b"])
    assert best["x"] == pytest.approx(of_x((i, j)).mean())
    assert best["y"] == pytest.approx(of_y((j,)).mean())
    assert list(best) == ["a", "b", "x", "y"]
    expected = net.k_most_probable(1, {"g": 0.8})[0].log_probability
    assert best.log_probability == pytest.approx(expected)


def test_leaves_and_gaussians_have_a_joint_posterior():
    net, joint, of_x, _ = network("poisson", 5)
    found = net.query(["g", "x"])
    at = [0.4, 2.0]
    expected = sum(
        joint[i, j] * stats.norm.pdf(0.4, i, math.sqrt(1 + i)) * of_x((i, j)).pmf(2)
        for i, j in np.ndindex(2, 3)
    )
    assert found.density(at) == pytest.approx(expected, rel=1e-12)
    assert found.mean == pytest.approx([net.query("g").mean, net.query("x").mean])
    assert found.marginal("g").cdf(0.4) == pytest.approx(net.query("g").cdf(0.4))
    assert found.std[0] == pytest.approx(net.query("g").std)
    drawn = found.sample(20_000, random_state=1)
    np.testing.assert_allclose(np.cov(drawn.T), found.covariance, atol=0.1)
    assert "cov(·, g)" in repr(found)
    with pytest.raises(EvidenceError, match="one at a time"):
        found.cdf(1.0)
    with pytest.raises(EvidenceError, match="expected some of these"):
        found.marginal("nobody")


# --------------------------------------------------------------------------------- kinds of models


def models():
    """Return each kind of model, and P(a, b | g = 0.8) and the networks that it averages."""
    first, second = network("gamma", 1)[0], network("student", 2)[0]
    net = first
    return {
        "network": net,
        "set": net.do({"b": 1}),
        "weighted": bg.WeightedNetwork(net, "a", {"g": 0.5}),
        "mixture": bg.Ensemble([first, second], [0.3, 0.7]),
        "average": bg.Ensemble([first, second], [0.3, 0.7], combine="posterior"),
        "factor graph": bg.FactorGraph.of(net),
    }


ANSWERS = {
    "network": {"query", "marginals", "joint", "most_probable"},
    "set": {"query", "marginals", "joint", "most_probable"},
    "weighted": {"query", "marginals", "joint", "most_probable"},
    "mixture": {"query", "marginals", "joint", "most_probable"},
    "average": {"query", "marginals", "joint"},
    "factor graph": set(),
}
ASK = {
    "query": lambda m: m.query("x", {"g": 0.8}).mean,
    "marginals": lambda m: m.marginals({"g": 0.8})["x"].mean,
    "joint": lambda m: m.query(["a", "x"], {"g": 0.8}),
    "most_probable": lambda m: m.most_probable({"g": 0.8})["x"],
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_kinds_of_models_answer_or_refuse(kind):
    model = models()[kind]
    for name, ask in ASK.items():
        if name not in ANSWERS[kind]:
            with pytest.raises(UnsupportedModelError):
                ask(model)
            continue
        found = ask(model)
        if name == "joint":
            total = sum(p * found.given(a).mean for a, p in found.discrete.items())
            assert total == pytest.approx(ASK["query"](model))
        elif name == "marginals":
            assert found == ASK["query"](model)


def test_weights_of_networks_move_with_the_evidence():
    first, second = (network(name, seed)[0] for name, seed in (("gamma", 1), ("student", 2)))
    mixture, average = models()["mixture"], models()["average"]
    for model, share in (
        (mixture, mixture.posterior_weights({"g": 0.8})),
        (average, np.array([0.3, 0.7])),
    ):
        found = model.query("x", {"g": 0.8})
        parts = [net.query("x", {"g": 0.8}) for net in (first, second)]
        for x in POINTS:
            expected = sum(p * part.density(x) for p, part in zip(share, parts, strict=True))
            assert found.density(x) == pytest.approx(expected, rel=1e-12)
        assert found.cdf(found.quantile(0.3)) == pytest.approx(0.3, abs=1e-12)
        assert found.mean == pytest.approx(sum(share * [part.mean for part in parts]))
    gaussian = bg.BayesianNetwork([bg.GaussianCPD(bg.Continuous("x"), 1.0, 2.0)])
    joined = bg.Ensemble([gaussian, first], combine="posterior").query("x")
    assert joined.kinds == ("Gaussian", "Gamma")
    assert joined.mean == pytest.approx((1.0 + first.query("x").mean) / 2)
    assert len(joined.sample(3, random_state=0)) == 3


def test_a_weighted_network_weighs_the_classes():
    weighted = models()["weighted"]
    classes = weighted.query("a", {"g": 0.8}).probabilities
    given = [weighted.network.query("x", {"a": a, "g": 0.8}).mean for a in A.states]
    assert weighted.query("x", {"g": 0.8}).mean == pytest.approx(classes @ given)


def test_a_child_with_evidence_is_refused_and_one_without_is_not():
    x, y = bg.Continuous("x"), bg.Continuous("y")
    net = bg.BayesianNetwork(
        [bg.models.StudentCPD(x, 0.0, 1.0, 5.0), bg.GaussianCPD(y, 0.0, 1.0, [x], [2.0])]
    )
    assert net.query("x").quantile(0.5) == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(UnsupportedModelError):
        net.query("x", {"y": 1.0})
    with pytest.raises(UnsupportedModelError):
        net.query(["x", "y"])


def test_moments_that_do_not_exist():
    net = bg.BayesianNetwork([bg.models.StudentCPD(bg.Continuous("x"), 1.0, 2.0, 1.0)])
    found = net.query("x")
    assert math.isnan(found.mean)
    assert found.interval(0.5) == pytest.approx((-1.0, 3.0))
    assert "nan" in repr(found)
    wide = bg.BayesianNetwork([bg.models.StudentCPD(bg.Continuous("x"), 1.0, 2.0, 1.5)]).query("x")
    assert (wide.mean, wide.variance) == (1.0, math.inf)
    beyond = bg.BayesianNetwork([bg.LogNormalCPD(bg.Continuous("x"), 800.0, 1.0)]).query("x")
    assert (beyond.mean, beyond.std) == (math.inf, math.inf)


def test_what_a_count_cannot_be_has_no_probability():
    found = network("poisson")[0].query("x")
    assert found.density([-1.0, 0.5, np.nan])[:2].tolist() == [0.0, 0.0]
    assert np.isnan(found.density(np.nan))
    assert found.cdf([-0.5, 2.7]) == pytest.approx([0.0, found.cdf(2.0)])
    assert found.whole
    assert sum(found.interval()) % 1 == 0
    with pytest.raises(EvidenceError, match="between 0 and 1"):
        found.quantile(1.0)


# -------------------------------------------------------------------------------- vectors of counts

SHARES = np.array([[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]])
VECTORS = {
    "multinomial": bg.MultinomialCPD(WORDS, SHARES, [A], [[0, 1, 3], [2, 2, 0]]),
    "dirichlet": bg.models.DirichletMultinomialCPD(WORDS, [[1.0, 2.0, 0.5], [3.0, 1.0, 4.0]], [A]),
    "presence": bg.models.PresenceCPD(WORDS, SHARES, [A]),
}


def vector_network(name):
    return bg.BayesianNetwork(
        [
            bg.TableCPD(A, [0.4, 0.6]),
            VECTORS[name],
            bg.GaussianCPD(bg.Continuous("g"), [0.0, 1.0], 1.0, [A]),
        ]
    )


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_of_counts_have_posteriors(name):
    net = vector_network(name)
    share = net.query("a", {"g": 0.3}).probabilities
    found = net.query("words", {"g": 0.3})
    scipy = {
        "multinomial": lambda k, x: stats.multinomial(int(sum(x)), SHARES[k]).pmf(x),
        "dirichlet": lambda k, x: stats.dirichlet_multinomial(
            VECTORS["dirichlet"].concentration[k], int(sum(x))
        ).pmf(np.array(x, dtype=int)),
        "presence": lambda k, x: np.prod(np.where(np.array(x) > 0, SHARES[k], 1 - SHARES[k])),
    }[name]
    for row in ([0, 0, 0], [1, 0, 1], [1, 1, 0]):
        expected = sum(share[k] * scipy(k, row) for k in range(2))
        counts = dict(zip(WORDS.items, row, strict=True))
        assert math.exp(found.log_probability(counts)) == pytest.approx(expected, rel=1e-11)
    one = {item: math.exp(found.log_probability({item: 1})) for item in WORDS.items}
    if name != "presence":  # the item of a document with one item
        assert dict(found) == pytest.approx(one)
        assert sum(found.values()) == pytest.approx(1.0)
        np.testing.assert_allclose(found.mean(5), 5 * found.probabilities)
        red = found.item("red", length=3)
        rows = [r for r in itertools.product(range(4), repeat=3) if sum(r) == 3]
        for count in range(4):
            expected = sum(
                math.exp(found.log_probability(dict(zip(WORDS.items, r, strict=True))))
                for r in rows
                if r[0] == count
            )
            assert red.density(count) == pytest.approx(expected, rel=1e-10)
        assert red.mean == pytest.approx(3 * found["red"])
        assert red.cdf(red.quantile(0.5)) >= 0.5
        assert red.cdf([-1, 3, 9]) == pytest.approx([0, 1, 1])
        np.testing.assert_allclose(red.sf([-1, 1, 9]), 1 - red.cdf([-1, 1, 9]), atol=1e-15)
        assert red.variance == pytest.approx(red.density(range(4)) @ (np.arange(4) - red.mean) ** 2)
    else:
        assert dict(found) == pytest.approx(dict(zip(WORDS.items, share @ SHARES, strict=True)))
        with pytest.raises(EvidenceError, match="present or absent"):
            found.item("red", length=3)
        with pytest.raises(EvidenceError, match="length="):
            found.mean(3)
    assert list(found.top(2)) == sorted(WORDS.items, key=lambda item: -found[item])[:2]
    assert "items of words" in repr(found)
    assert "words" in repr(net.marginals())
    if name != "dirichlet":
        drawn = found.sample(2000, random_state=0).toarray()
        mean = drawn.sum(axis=0) / (2000 if name == "presence" else drawn.sum())
        assert drawn.shape == (2000, 3)
        if name == "presence":
            np.testing.assert_allclose(mean, found.probabilities, atol=0.05)


def test_vectors_are_asked_alone_and_of_networks():
    net = vector_network("multinomial")
    with pytest.raises(UnsupportedModelError, match="answered alone"):
        net.query(["words", "a"])
    with pytest.raises(UnsupportedModelError, match="vector of counts, which has no posterior"):
        bg.FactorGraph.of(net).query("words")
    for ask in (net.weighted_samples, lambda over: net.most_probable(over=over)):
        with pytest.raises(UnsupportedModelError, match="'words' is a vector of counts"):
            ask("words")
    with pytest.raises(UnknownVariableError, match="'gren'"):
        net.query("words")["gren"]
    with pytest.raises(EvidenceError, match="length="):
        net.query("words").mean()
    mixture = bg.Ensemble([vector_network(name) for name in ("multinomial", "dirichlet")])
    parts = [n.query("words").probabilities for n in mixture.networks]
    np.testing.assert_allclose(mixture.query("words").probabilities, np.mean(parts, axis=0))
    assert mixture.query("words").item("red", length=2).cdf(2) == pytest.approx(1.0)
    assert "words" not in net.most_probable()


def test_the_only_item_of_a_vector_is_every_item():
    only = bg.CountVector("only", ["one"])
    net = bg.BayesianNetwork([bg.models.DirichletMultinomialCPD(only, [2.0])])
    assert net.query("only").item("one", length=4).density([3, 4]).tolist() == [0.0, 1.0]


# ------------------------------------------------------------------------------------- estimators


def test_estimators_answer_for_their_leaves():
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 200)
    X = {"calls": random.poisson(1 + 3 * y), "wait": random.gamma(1 + y, size=200)}
    model = bg.NaiveBayesClassifier({"calls": "poisson", "wait": "lognormal"}).fit(
        pandas.DataFrame(X), y
    )
    found = model.query("calls", {"wait": 2.0})
    share = model.query(evidence={"wait": 2.0}).probabilities
    rates = model.network_["calls"].rate[:, 0]
    assert found.mean == pytest.approx(share @ rates)
    assert found.density(0) == pytest.approx(share @ np.exp(-rates))
    assert model.network_.marginals()["wait"].cdf(1e9) == pytest.approx(1.0)
    assert set(model.network_.most_probable()) == {model.target_.name, "calls", "wait"}


def test_quantiles_of_counts_of_any_size():
    for rate in (1e-12, 0.3, 1e3, 1e12):
        net = bg.BayesianNetwork([bg.PoissonCPD(bg.Count("n"), rate)])
        for p in (1e-3, 0.5, 0.999):
            x = net.query("n").quantile(p)
            assert special.pdtr(x, rate) >= p
            assert x == 0 or special.pdtr(x - 1, rate) < p
