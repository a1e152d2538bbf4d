"""Naive Bayes beside scikit-learn's, and families beside scipy.stats, to nine digits."""

import itertools

import cases
import numpy as np
import pytest
from scipy import sparse, stats
from scipy.special import gammaln, logsumexp, softmax
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KernelDensity

import bayesgraph as bg

SHAPES = ((40, 1, 2), (150, 7, 3), (90, 60, 5))
shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)
weighted = pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
# By default the smallest, and an array; one alpha for all columns is an array of equal ones.
_MORE = [pytest.param(alpha, marks=pytest.mark.slow) for alpha in (1.0, 3.5)]
ALPHAS = (*_MORE, 0.01, "array")


def labels(random, n, k):
    y = random.integers(k, size=n)
    y[: 2 * k] = np.arange(2 * k) % k  # two rows of each class in the first batch: a variance
    return y


def some_weights(random, n, weighted):
    return random.uniform(0.05, 4.0, n) if weighted else None


def in_chunks(random, classifier, X, y, weights):
    """Return a classifier that has learned the rows in about four batches."""
    ends = [0, *sorted(random.choice(np.arange(12, len(y)), 3, replace=False).tolist()), len(y)]
    for a, b in itertools.pairwise(ends):
        some = None if weights is None else weights[a:b]
        classifier.partial_fit(X[a:b], y[a:b], np.unique(y), some)
    return classifier


def assert_parity(ours, peer, X, tolerance=1e-9):
    expected = peer.predict_log_proba(X)
    np.testing.assert_allclose(ours.predict_log_proba(X), expected, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(ours.predict_proba(X), np.exp(expected), atol=tolerance)
    ranked = np.sort(expected, axis=1)
    clear = ranked[:, -1] - ranked[:, -2] > 1e-9
    np.testing.assert_array_equal(ours.predict(X)[clear], peer.predict(X)[clear])


def assert_both_ways(random, make, peer, X, y, weights):
    """Compare fit, and partial_fit in random batches, with the peer fitted on all rows."""
    peer.fit(X, y, sample_weight=weights)
    assert_parity(make().fit(X, y, weights), peer, X)
    assert_parity(in_chunks(random, make(), X, y, weights), peer, X)


# ------------------------------------------------------------------------------- scikit-learn


@pytest.mark.one_in(8)
@shapes
@weighted
@pytest.mark.parametrize("options", [{"estimation": "ml"}, {"shrinkage": 0.0}], ids=str)
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_gaussian(shape, weighted, options, offset):
    n, d, k = shape
    random = np.random.default_rng([n, weighted])
    y = labels(random, n, k)
    X = random.normal(size=(n, d)) * random.uniform(0.1, 9.0, d) + y[:, None] * 0.5 + offset
    weights = some_weights(random, n, weighted)
    for priors in (None, random.dirichlet(np.full(k, 5.0))):

        def make(priors=priors):
            return bg.NaiveBayesClassifier(
                "gaussian", smoothing=bg.Smoothing(var_smoothing=0.0, **options), priors=priors
            )

        peer = GaussianNB(var_smoothing=0.0, priors=priors)
        if offset:
            # The peer's own digits: its variances are those of numbers far from zero.
            peer.fit(X - offset, y, sample_weight=weights)
            assert_parity(make().fit(X, y, weights), _Shifted(peer, offset), X, 1e-7)
        else:
            assert_both_ways(random, make, peer, X, y, weights)


class _Shifted:
    """A model asked about values minus an offset."""

    def __init__(self, model, offset):
        self._model, self._offset = model, offset

    def predict(self, X):
        return self._model.predict(X - self._offset)

    def predict_log_proba(self, X):
        return self._model.predict_log_proba(X - self._offset)


@pytest.mark.one_in(16)
@shapes
@weighted
@pytest.mark.parametrize("alpha", [1.0, 0.01, 3.5])
def test_categorical(shape, weighted, alpha):
    n, d, k = shape
    random = np.random.default_rng([n, weighted, 1])
    y = labels(random, n, k)
    X = (random.integers(4, size=(n, d)) + (random.random((n, d)) < 0.2 * y[:, None])) % 4
    X[:4] = np.arange(4)[:, None]
    weights = some_weights(random, n, weighted)
    for priors in (None, random.dirichlet(np.full(k, 5.0))):

        def make(priors=priors):
            return bg.NaiveBayesClassifier(
                "categorical", smoothing=bg.Smoothing(alpha=alpha), priors=priors
            )

        assert_both_ways(
            random, make, CategoricalNB(alpha=alpha, class_prior=priors), X, y, weights
        )


def counts_of(random, n, d, y, fractions):
    rate = random.gamma(0.5, 2.0, size=(y.max() + 1, d))
    X = random.poisson(rate[y]).astype(float)
    if fractions:  # as tf-idf has them
        X *= random.uniform(0.5, 3.0, d)
        norms = np.linalg.norm(X, axis=1, keepdims=True)
        X = np.divide(X, norms, out=np.zeros_like(X), where=norms > 0)
    return X


@pytest.mark.one_in(33)
@shapes
@weighted
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("form", ["dense", "csr", "tf-idf", "csr tf-idf"])
def test_multinomial(shape, weighted, alpha, form):
    n, d, k = shape
    random = np.random.default_rng([n, weighted, 2])
    y = labels(random, n, k)
    X = counts_of(random, n, d, y, "tf-idf" in form)
    X = sparse.csr_array(X) if "csr" in form else X
    alpha = random.uniform(0.1, 2.0, d) if alpha == "array" else alpha
    weights = some_weights(random, n, weighted)
    for priors in (None, "uniform", random.dirichlet(np.full(k, 5.0))):

        def make(priors=priors):
            return bg.NaiveBayesClassifier(
                "multinomial", smoothing=bg.Smoothing(alpha=alpha), priors=priors
            )

        given = None if isinstance(priors, str) else priors
        peer = MultinomialNB(alpha=alpha, fit_prior=priors is None, class_prior=given)
        assert_both_ways(random, make, peer, X, y, weights)


class _Bernoulli:
    """BernoulliNB with one alpha for each column, which scikit-learn's cannot broadcast."""

    def __init__(self, alpha, threshold, priors):
        self._alpha, self._threshold, self._priors = alpha, threshold, priors

    def _there(self, X):
        dense = X.toarray() if sparse.issparse(X) else X
        return (dense > self._threshold).astype(float)

    def fit(self, X, y, sample_weight):
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        member = weights * (y == np.unique(y)[:, None])
        n = member.sum(axis=1)
        self._p = (member @ self._there(X) + self._alpha) / (n[:, None] + 2 * self._alpha)
        self._share = n / n.sum() if self._priors is None else self._priors

    def predict_log_proba(self, X):
        there = self._there(X)
        joint = there @ np.log(self._p).T + (1 - there) @ np.log(1 - self._p).T
        joint += np.log(self._share)
        return joint - np.logaddexp.reduce(joint, axis=1)[:, None]

    def predict(self, X):
        return self.predict_log_proba(X).argmax(axis=1)


@pytest.mark.one_in(11)
@shapes
@weighted
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("threshold", [0.0, 1.0])
@pytest.mark.parametrize("csr", [False, True], ids=["dense", "csr"])
def test_bernoulli(shape, weighted, alpha, threshold, csr):
    n, d, k = shape
    random = np.random.default_rng([n, weighted, 3])
    y = labels(random, n, k)
    X = counts_of(random, n, d, y, fractions=False)
    X = sparse.csr_array(X) if csr else X
    alpha = random.uniform(0.1, 2.0, d) if alpha == "array" else alpha
    weights = some_weights(random, n, weighted)
    for priors in (None, random.dirichlet(np.full(k, 5.0))):

        def make(priors=priors):
            return bg.NaiveBayesClassifier(
                "bernoulli", smoothing=bg.Smoothing(alpha=alpha, threshold=threshold), priors=priors
            )

        if np.ndim(alpha):
            peer = _Bernoulli(alpha, threshold, priors)
        else:
            peer = BernoulliNB(alpha=alpha, binarize=threshold, class_prior=priors)
        assert_both_ways(random, make, peer, X, y, weights)


@pytest.mark.parametrize("kind", ["multinomial", "bernoulli"])
def test_text_of_many_words(kind):
    random = np.random.default_rng(5)
    y = labels(random, 300, 4)
    X = sparse.random_array((300, 5000), density=0.01, rng=random, format="csr")
    X.data = np.ceil(3 * X.data)
    peer = (MultinomialNB if kind == "multinomial" else BernoulliNB)(alpha=0.1)
    assert_both_ways(random, lambda: bg.NaiveBayesClassifier(kind, smoothing=0.1), peer, X, y, None)


# -------------------------------------------------------------------------------- scipy.stats


def log_joint(X, y, weights, density):
    """Return the log of the class shares plus a sum of log densities, shape (n_rows, n_classes).

    `density` takes a column, its values and weights in one class, and all values and weights.
    """
    columns = []
    for label in np.unique(y):
        rows = y == label
        total = np.log(weights[rows].sum() / weights.sum())
        for j in range(X.shape[1]):
            total = total + density(X[:, j], X[rows, j], weights[rows], X[:, j], weights, rows)
        columns.append(total)
    return np.stack(columns, axis=1)


def assert_joint(classifier, X, y, expected, tolerance=1e-9):
    whole = np.logaddexp.reduce(expected, axis=1)
    np.testing.assert_allclose(classifier.score_samples(X), whole, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(
        classifier.predict_log_proba(X), expected - whole[:, None], rtol=tolerance, atol=tolerance
    )


def sample(seed, kind="normal", n=120, k=3, weighted=True):
    random = np.random.default_rng([seed, 9])
    y = labels(random, n, k)
    X = random.normal(size=(n, 4)) * [1, 5, 0.2, 2] + y[:, None] * [1, 2, 0.1, 0]
    X = {"normal": X, "positive": np.exp(X), "counts": random.poisson(np.exp(0.4 * X))}[kind]
    return X.astype(float), y, random.uniform(0.2, 3, n) if weighted else np.ones(n)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("bandwidth", [0.3, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_kernel_densities_of_a_given_bandwidth(seed, bandwidth):
    X, y, w = sample(seed)

    def density(at, values, weights, *_):
        peer = KernelDensity(bandwidth=bandwidth, rtol=1e-12)
        peer.fit(values[:, None], sample_weight=weights)
        return peer.score_samples(at[:, None])

    classifier = bg.NaiveBayesClassifier("kernel", smoothing=bg.Smoothing(bandwidth=bandwidth)).fit(
        X, y, w
    )
    assert_joint(classifier, X, y, log_joint(X, y, w, density))
    parts = in_chunks(np.random.default_rng(seed), bg.NaiveBayesClassifier(
        "kernel", smoothing=bg.Smoothing(bandwidth=bandwidth)), X, y, w)  # fmt: skip
    assert_joint(parts, X, y, log_joint(X, y, w, density))


@pytest.mark.parametrize("rule", ["scott", "silverman"])
def test_kernel_densities_of_a_rule(rule):
    X, y, w = sample(4, weighted=False)

    def density(at, values, *_):
        spread = values.std()
        if rule == "silverman":
            low, high = np.quantile(values, [0.25, 0.75], method="hazen")
            spread = 0.9 / 1.06 * min(spread, (high - low) / 1.34)
        return stats.gaussian_kde(
            values, bw_method=1.06 * spread * len(values) ** -0.2 / values.std(ddof=1)
        ).logpdf(at)

    classifier = bg.NaiveBayesClassifier("kernel", smoothing=bg.Smoothing(bandwidth=rule)).fit(X, y)
    assert_joint(classifier, X, y, log_joint(X, y, w, density))


@pytest.mark.parametrize("shrinkage", [0.0, 20.0])
@pytest.mark.parametrize("seed", range(2))
def test_students_t(seed, shrinkage):
    X, y, w = sample(seed)
    pooled = {}

    def density(at, values, weights, everything, heavy, rows):
        key = everything.tobytes()
        if key not in pooled:
            squares = 0.0
            for label in np.unique(y):
                own = y == label
                mean = np.average(everything[own], weights=heavy[own])
                squares += heavy[own] @ (everything[own] - mean) ** 2
            pooled[key] = squares / heavy.sum()
        n = weights.sum()
        mean = np.average(values, weights=weights)
        dof = n - 1 + shrinkage
        variance = (weights @ (values - mean) ** 2 + shrinkage * pooled[key]) / dof
        return stats.t.logpdf(at, dof, mean, np.sqrt(variance * (1 + 1 / n)))

    classifier = bg.NaiveBayesClassifier(
        smoothing=bg.Smoothing(estimation="predictive", shrinkage=shrinkage, var_smoothing=0.0)
    ).fit(X, y, w)
    assert_joint(classifier, X, y, log_joint(X, y, w, density))


def test_students_t_is_the_integral_over_mean_and_variance():
    values = np.array([0.3, 1.1, -0.4, 2.0, 0.9])
    classifier = bg.NaiveBayesClassifier(
        smoothing=bg.Smoothing(estimation="predictive", shrinkage=0.0, var_smoothing=0.0)
    ).fit(values[:, None], ["only"] * 5)
    # p(mean, log variance | values) on a grid, under p(mean, variance) ~ 1 / variance.
    mean, log_variance = np.meshgrid(np.linspace(-20, 20, 801), np.linspace(-6, 12, 401))
    scale = np.exp(log_variance / 2)
    log_posterior = stats.norm.logpdf(values[:, None, None], mean, scale).sum(axis=0)
    weight = np.exp(log_posterior - log_posterior.max())
    weight /= weight.sum()
    for x in (-2.0, 0.5, 4.0):
        expected = np.log((weight * stats.norm.pdf(x, mean, scale)).sum())
        assert classifier.score_samples([[x]])[0] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 1.0, 4.5])
@pytest.mark.parametrize("estimation", ["mean", "ml", "map"])
def test_poisson(alpha, estimation):
    X, y, w = sample(1, "counts")

    def density(at, values, weights, everything, heavy, _):
        prior = 0.0 if estimation == "ml" else alpha
        centre = np.average(everything, weights=heavy)
        shape = weights @ values + prior * centre - (estimation == "map")
        return stats.poisson.logpmf(at, shape / (weights.sum() + prior))

    classifier = bg.NaiveBayesClassifier(
        "poisson", smoothing=bg.Smoothing(alpha=alpha, estimation=estimation)
    )
    assert_joint(classifier.fit(X, y, w), X, y, log_joint(X, y, w, density))


def test_negative_binomial():
    X, y, w = sample(2, "counts")

    def density(at, values, weights, everything, heavy, _):
        shape = weights @ values + 2.0 * np.average(everything, weights=heavy)
        exposure = weights.sum() + 2.0
        return stats.nbinom.logpmf(at, shape, exposure / (exposure + 1))

    classifier = bg.NaiveBayesClassifier(
        "poisson", smoothing=bg.Smoothing(alpha=2.0, estimation="predictive")
    )
    assert_joint(classifier.fit(X, y, w), X, y, log_joint(X, y, w, density))


@pytest.mark.parametrize("ddof", [0, 1])
def test_lognormal(ddof):
    X, y, w = sample(3, "positive")

    def density(at, values, weights, *_):
        logs = np.log(values)
        mean = np.average(logs, weights=weights)
        variance = weights @ (logs - mean) ** 2 / (weights.sum() - ddof)
        return stats.lognorm.logpdf(at, np.sqrt(variance), scale=np.exp(mean))

    classifier = bg.NaiveBayesClassifier(
        "lognormal", smoothing=bg.Smoothing(shrinkage=0.0, var_smoothing=0.0, ddof=ddof)
    ).fit(X, y, w)
    assert_joint(classifier, X, y, log_joint(X, y, w, density))


@pytest.mark.parametrize("estimation", ["mean", "map"])
def test_shrunken_gaussians(estimation):
    X, y, w = sample(5)
    shrinkage, smoothing = 7.0, 1e-3

    def density(at, values, weights, everything, heavy, _):
        parts = [(everything[y == c], heavy[y == c]) for c in np.unique(y)]
        squares = [v @ (x - np.average(x, weights=v)) ** 2 for x, v in parts]
        pooled = sum(squares) / heavy.sum()
        total = np.average((everything - np.average(everything, weights=heavy)) ** 2, weights=heavy)
        mean = np.average(values, weights=weights)
        rows = weights.sum() + shrinkage + (3 if estimation == "map" else 0)
        own = (weights @ (values - mean) ** 2 + shrinkage * pooled) / rows
        return stats.norm.logpdf(at, mean, np.sqrt(own + smoothing * total))

    classifier = bg.NaiveBayesClassifier(
        smoothing=bg.Smoothing(estimation=estimation, shrinkage=shrinkage, var_smoothing=smoothing)
    ).fit(X, y, w)
    assert_joint(classifier, X, y, log_joint(X, y, w, density))


@pytest.mark.parametrize("alpha", [1.0, [0.2, 1.0, 3.0, 0.5]])
def test_dirichlet_multinomial(alpha):
    X, y, w = sample(6, "counts")
    # scipy's has the multinomial coefficient, which ours leaves out.
    coefficient = gammaln(X.sum(axis=1) + 1) - gammaln(X + 1).sum(axis=1)
    expected = np.empty((len(y), 3))
    for c in range(3):
        a = w[y == c] @ X[y == c] + alpha
        log_share = np.log(w[y == c].sum() / w.sum())
        mass = [stats.dirichlet_multinomial.logpmf(x, a, x.sum()) for x in X.astype(int)]
        expected[:, c] = log_share + mass - coefficient
    for form in (np.asarray, sparse.csr_array):
        classifier = bg.NaiveBayesClassifier(
            "multinomial", smoothing=bg.Smoothing(alpha=alpha, estimation="predictive")
        )
        assert_joint(classifier.fit(form(X), y, w), form(X), y, expected)


@pytest.mark.parametrize("name", ["multinomial", "bernoulli", "categorical"])
def test_weights_and_biases_are_those_of_scikit_learn(name):
    X, y, w = sample(9, "counts")
    X = np.minimum(X, 2.0)
    peers = {"multinomial": MultinomialNB, "bernoulli": BernoulliNB, "categorical": CategoricalNB}
    peer = peers[name]().fit(X, y, sample_weight=w)
    clf = bg.NaiveBayesClassifier(name).fit(X, y, w)
    weights, biases = peer.feature_log_prob_, peer.class_log_prior_
    if name == "bernoulli":
        absent = np.log1p(-np.exp(weights))
        weights, biases = weights - absent, biases + absent.sum(axis=1)
    if name == "categorical":
        weights = np.concatenate(weights, axis=1)
    np.testing.assert_allclose(clf.w_, weights, rtol=1e-9)
    np.testing.assert_allclose(clf.w0_, biases, rtol=1e-9)


def test_weights_and_biases_of_mixed_columns_give_the_probabilities():
    data = cases.make_data("mixed")
    frame = data.pandas()
    frame["n"] = np.random.default_rng(0).poisson(2.0, len(frame))
    frame["t"] = np.random.default_rng(1).exponential(2.0, len(frame))
    frame = frame[["a", "n", "b", "t"]].dropna()
    clf = bg.NaiveBayesClassifier({"n": "poisson", "t": "exponential"}, check_columns=False)
    clf.fit(frame, data.y[frame.index])
    design = np.column_stack([
        frame[v.name] == v.states[i] if isinstance(v, bg.Discrete) else frame[v.name]
        for v in clf.features_
        for i in range(v.cardinality if isinstance(v, bg.Discrete) else 1)
    ])  # fmt: skip
    proba = softmax(design @ clf.w_.T + clf.w0_, axis=1)
    np.testing.assert_allclose(proba, clf.predict_proba(frame), atol=1e-12)
    with pytest.raises(NotFittedError):
        _ = bg.NaiveBayesClassifier().w_
    gaussian = bg.NaiveBayesClassifier("gaussian").fit(frame[["t"]], data.y[frame.index])
    with pytest.raises(AttributeError, match=r"GaussianCPD p\(t \| class\) is none of these"):
        _ = gaussian.w0_
    assert not hasattr(gaussian, "w_")


@pytest.mark.parametrize("estimation", ["mean", "predictive"])
def test_the_multinomial_coefficient_of_documents_is_an_option(estimation):
    X, y, _ = sample(8, "counts")
    fitted = bg.NaiveBayesClassifier(
        "multinomial", smoothing=bg.Smoothing(estimation=estimation)
    ).fit(X, y)
    network = fitted.network_
    masses = []
    for c in range(3):
        a, counts = X[y == c].sum(axis=0) + 1.0, X.astype(int)
        if estimation == "mean":
            logs = stats.multinomial.logpmf(counts, counts.sum(axis=1), a / a.sum())
        else:
            logs = [stats.dirichlet_multinomial.logpmf(x, a, x.sum()) for x in counts]
        masses.append(np.log(np.mean(y == c)) + logs)
    expected = logsumexp(masses, axis=0)
    names = [f"x{i}" for i in range(X.shape[1])]
    tables = [dict(zip(names, X.T, strict=True)), {network.variables[1].name: sparse.csr_array(X)}]
    mixture = bg.Ensemble([network, network], [0.3, 0.7])
    for model in (network, mixture, bg.FactorGraph.of(network)):
        for table in tables:
            counted = model.log_likelihood(table, multinomial_coefficient=True)
            np.testing.assert_allclose(counted, expected, rtol=1e-9)
            orders = gammaln(X.sum(axis=1) + 1) - gammaln(X + 1).sum(axis=1)
            np.testing.assert_allclose(model.log_likelihood(table), expected - orders, rtol=1e-9)
    # Counts that are missing are neither in the sum nor in the product; presence has no orders.
    fewer = dict(zip(names[1:], X.T[1:], strict=True))
    gap = network.log_likelihood(fewer, multinomial_coefficient=True)
    rest = gammaln(X[:, 1:].sum(axis=1) + 1) - gammaln(X[:, 1:] + 1).sum(axis=1)
    np.testing.assert_allclose(gap - network.log_likelihood(fewer), rest, rtol=1e-9)
    words = bg.NaiveBayesClassifier("bernoulli").fit(X, y).network_
    same = words.log_likelihood(tables[0], multinomial_coefficient=True)
    np.testing.assert_array_equal(same, words.log_likelihood(tables[0]))


@pytest.mark.parametrize("estimation", ["mean", "map", "ml"])
def test_multinomial_is_that_of_scipy_but_for_the_coefficient(estimation):
    X, y, w = sample(7, "counts")
    coefficient = gammaln(X.sum(axis=1) + 1) - gammaln(X + 1).sum(axis=1)
    expected = np.empty((len(y), 3))
    for c in range(3):
        cells = w[y == c] @ X[y == c] + {"mean": 2.0, "map": 1.0, "ml": 0.0}[estimation]
        mass = stats.multinomial.logpmf(X, X.sum(axis=1), cells / cells.sum())
        expected[:, c] = np.log(w[y == c].sum() / w.sum()) + mass - coefficient
    classifier = bg.NaiveBayesClassifier(
        "multinomial", smoothing=bg.Smoothing(alpha=2.0, estimation=estimation)
    )
    assert_joint(classifier.fit(X, y, w), X, y, expected)


class _Logs:
    """A model asked about the logarithms of values."""

    def __init__(self, model):
        self._model = model

    def predict(self, X):
        return self._model.predict(np.log(X))

    def predict_log_proba(self, X):
        return self._model.predict_log_proba(np.log(X))


def test_a_constant_added_to_every_variance():
    random = np.random.default_rng(0)
    y = labels(random, 120, 3)
    X = random.normal(size=(120, 4)) * [0.1, 1.0, 3.0, 0.0] + y[:, None] * [0.1, 1.0, 1.0, 0.0]
    # scikit-learn's constant is a share of the largest variance.
    peer = GaussianNB(var_smoothing=0.05).fit(X, y)
    smoothing = bg.Smoothing(shrinkage=0.0, var_smoothing=0.0, reg_covar=peer.epsilon_)
    assert_parity(bg.NaiveBayesClassifier("gaussian", smoothing=smoothing).fit(X, y), peer, X)
    stream = bg.StreamingNaiveBayesClassifier(
        summary="gaussian",
        smoothing=bg.Smoothing(shrinkage=0.0, var_smoothing=0.0, reg_covar=peer.epsilon_),
    )
    logs = bg.NaiveBayesClassifier("lognormal", smoothing=smoothing).fit(np.exp(X[:, :3]), y)
    of_logs = GaussianNB(var_smoothing=peer.epsilon_ / X[:, :3].var(axis=0).max())
    assert_parity(logs, _Logs(of_logs.fit(X[:, :3], y)), np.exp(X[:, :3]))
    np.testing.assert_allclose(
        stream.fit(X, y).network_.query("x1", {"class": 0}).variance,
        peer.var_[0, 1],
    )
    for structure in ("full", "diagonal"):
        plain, more = (
            bg.DiscriminantAnalysisClassifier(
                "class", structure=structure, smoothing=bg.Smoothing(reg_covar=added)
            ).fit(X[:, :3], y)
            for added in (0.0, 0.25)
        )
        extra = more.covariance_ - plain.covariance_
        np.testing.assert_allclose(extra, np.broadcast_to(np.eye(3) / 4, (3, 3, 3)), atol=1e-12)
