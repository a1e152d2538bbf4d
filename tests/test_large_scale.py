"""Generated sets: their moments, their classes, what methods reach on them, and drift."""

import tracemalloc

import numpy as np
import pytest
from large_scale import (
    GaussianConcept,
    drifting,
    large_scale_concept,
    large_scale_like,
)
from scipy import stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import average_precision_score
from sklearn.naive_bayes import GaussianNB

import bayesgraph as bg

# d_lin and d_or of issue and docstring.
DISTANCES = {
    "alpha": (1.56, 3.32),
    "beta": (0.05, 0.722),
    "gamma": (1.68, 3.33),
    "delta": (1.57, 2.077),
}


@pytest.fixture(scope="module")
def gamma():
    return large_scale_like("gamma", 20_000, random_state=1)


class TestConcepts:
    @pytest.mark.parametrize("name", DISTANCES)
    def test_distances_are_those_of_the_recipe(self, name):
        linear, oracle = DISTANCES[name]
        found = large_scale_concept(name, 3)
        assert np.linalg.norm(found.shift) == pytest.approx(linear)
        assert (found.spread**2).sum() == pytest.approx(2 * (oracle**2 - linear**2))
        assert (found.mixing is None) == (name in {"gamma", "delta"})

    def test_covariance_of_mixed_features_has_harmonic_eigenvalues(self):
        mixing = large_scale_concept("alpha").mixing
        values = np.linalg.eigvalsh(mixing.T @ mixing)
        np.testing.assert_allclose(np.sort(values)[::-1], 1 / np.arange(1, 501))

    def test_concepts_differ_and_return(self):
        first, same, other = (large_scale_concept("beta", k) for k in (0, 0, 1))
        np.testing.assert_array_equal(first.mixing, same.mixing)
        assert abs(np.corrcoef(first.shift, other.shift)[0, 1]) < 0.9
        assert not np.allclose(first.mixing, other.mixing)


class TestRows:
    @pytest.mark.slow
    def test_moments_of_independent_features(self, gamma):
        X, y = gamma
        concept = large_scale_concept("gamma")
        assert abs(y.mean() - 0.5) < 5 * 0.5 / np.sqrt(len(y))
        for label, sign in ((1, 1.0), (0, -1.0)):
            rows = X[y == label]
            deviation = np.exp(sign * concept.spread / 4)
            far = (rows.mean(axis=0) - sign * concept.shift / 2) / deviation * np.sqrt(len(rows))
            spread = (rows.var(axis=0) / deviation**2 - 1) * np.sqrt(len(rows) / 2)
            # 500 standard normal numbers each.
            for numbers in (far, spread):
                assert stats.kstest(numbers, "norm").pvalue > 1e-4
                assert np.abs(numbers).max() < 5

    def test_moments_of_mixed_features(self):
        rng = np.random.default_rng(0)
        mixing = rng.standard_normal((3, 3))
        concept = GaussianConcept(np.array([1.0, 0.0, -2.0]), np.array([0.5, 0.0, -1.0]), mixing)
        X, y = concept.draw(200_000, 0)
        for label, sign in ((1, 1.0), (0, -1.0)):
            covariance = mixing.T @ np.diag(np.exp(sign * concept.spread / 2)) @ mixing
            found = X[y == label]
            np.testing.assert_allclose(
                found.mean(axis=0), sign * concept.shift / 2 @ mixing, atol=0.05
            )
            np.testing.assert_allclose(np.cov(found.T), covariance, atol=0.1)

    def test_log_odds_by_scipy(self):
        rng = np.random.default_rng(1)
        concept = GaussianConcept(
            rng.standard_normal(4), rng.standard_normal(4), rng.standard_normal((4, 4))
        )
        X, _ = concept.draw(50, 1)
        logs = [
            stats.multivariate_normal(
                sign * concept.shift / 2 @ concept.mixing,
                concept.mixing.T @ np.diag(np.exp(sign * concept.spread / 2)) @ concept.mixing,
            ).logpdf(X)
            for sign in (1.0, -1.0)
        ]
        np.testing.assert_allclose(concept.log_odds(X), logs[0] - logs[1], rtol=1e-6, atol=1e-8)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", DISTANCES)
    def test_the_best_classifier_is_as_good_as_the_oracle_distance_says(self, name):
        concept = large_scale_concept(name, 1)
        X, y = concept.draw(10_000, 1)
        accuracy = np.mean((concept.log_odds(X) > 0) == y)
        assert accuracy == pytest.approx(stats.norm.cdf(DISTANCES[name][1] / 2), abs=0.015)

    def test_random_state_changes_rows_only(self):
        one, two = (large_scale_like("gamma", 6000, random_state=k) for k in (0, 1))
        assert not np.array_equal(one[1], two[1])
        gap = [X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0) for X, y in (one, two)]
        truth = large_scale_concept("gamma").shift
        assert all(np.corrcoef(g, truth)[0, 1] > 0.85 for g in gap)

    def test_rows_do_not_know_the_seed_of_their_concept(self):
        # The bits that make concept 5 of the first set must not make its rows as well.
        rows, _ = GaussianConcept(np.zeros(500), np.zeros(500)).draw(20, 5)
        own = np.random.default_rng([5, 0]).standard_normal((20, 500))
        assert abs(np.corrcoef(rows.ravel(), own.ravel())[0, 1]) < 0.04
        assert abs(np.corrcoef(rows[0, :-1], own[0, 1:])[0, 1]) < 0.2
        labels = [large_scale_like("gamma", 9, concept=k, random_state=5)[1] for k in (0, 1)]
        np.testing.assert_array_equal(*labels)

    def test_same_seed_same_rows_and_fewer_are_the_first(self, gamma):
        X, y = large_scale_like("gamma", 5000, random_state=1)
        np.testing.assert_array_equal(X, gamma[0][:5000])
        np.testing.assert_array_equal(y, gamma[1][:5000])

    @pytest.mark.parametrize("name", ["alpha", "gamma"])
    def test_a_generator_goes_on_where_it_stopped(self, name):
        concept = large_scale_concept(name)
        whole, classes = concept.draw(900, np.random.default_rng(3))
        random = np.random.default_rng(3)
        parts = [concept.draw(n, random) for n in (500, 1, 399)]
        np.testing.assert_allclose(np.concatenate([X for X, _ in parts]), whole, atol=1e-13)
        np.testing.assert_array_equal(np.concatenate([y for _, y in parts]), classes)

    def test_a_random_state_is_a_seed_that_changes(self):
        for draw in (large_scale_like, drifting):
            state = np.random.RandomState(0)
            first, second = (draw("gamma", 5, random_state=state)[0] for _ in range(2))
            assert (first != second).all()
            again = draw("gamma", 5, random_state=np.random.RandomState(0))[0]
            np.testing.assert_array_equal(first, again)

    def test_no_rows(self):
        X, y = large_scale_like("delta", 0)
        assert X.shape == (0, 500)
        assert y.shape == (0,)

    @pytest.mark.slow
    def test_memory_is_bounded_beyond_the_output(self):
        concept = large_scale_concept("alpha")
        concept.draw(10, 0)
        tracemalloc.start()
        X, _ = concept.draw(30_000, 0)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak - X.nbytes < 40e6


class TestPublishedFigures:
    """Methods reach roughly what was published for the sets; see methods and docstring."""

    @pytest.mark.slow
    def test_naive_bayes_on_gamma(self, gamma):
        X, y = large_scale_like("gamma", 10_000, random_state=2)
        model = GaussianNB().fit(*gamma)
        assert model.score(X, y) == pytest.approx(0.95, abs=0.01)
        area = 1 - average_precision_score(y, model.predict_proba(X)[:, 1])
        assert area == pytest.approx(0.0114, abs=0.004)

    @pytest.mark.slow
    def test_alpha_is_linear_in_part_and_nothing_for_naive_bayes(self):
        X, y = large_scale_like("alpha", 20_000, random_state=1)
        test, labels = large_scale_like("alpha", 10_000, random_state=2)
        linear = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
        area = 1 - average_precision_score(labels, linear.decision_function(test))
        assert area == pytest.approx(0.1345, abs=0.02)
        assert GaussianNB().fit(X, y).score(test, labels) < 0.65


class TestDrift:
    def test_abrupt_changes(self):
        X, y, positions = drifting("gamma", 9001, changes=2, concepts=[0, 1, 0], random_state=0)
        assert positions.tolist() == [3000, 6000]
        for rows, number in ((slice(0, 3000), 0), (slice(3000, 6000), 1), (slice(6000, None), 0)):
            odds = large_scale_concept("gamma", number).log_odds(X[rows])
            assert np.mean((odds > 0) == y[rows]) > 0.93
            other = large_scale_concept("gamma", 1 - number).log_odds(X[rows])
            assert np.mean((other > 0) == y[rows]) < 0.65

    @pytest.mark.slow
    def test_share_of_the_next_concept_is_sigmoidal(self):
        n, width = 12_000, 3000.0
        X, y, positions = drifting("gamma", n, width=width, random_state=0)
        assert positions.tolist() == [6000]
        right = (large_scale_concept("gamma", 1).log_odds(X) > 0) == y
        rows = np.arange(n)
        share = 1 / (1 + np.exp(-4 * (rows - 6000) / width))
        # Right with .952 on its own rows, and about by chance on others.
        other = np.mean(right[rows < 1500])
        expected = 0.952 * share + other * (1 - share)
        for part in np.split(rows, 12):
            assert right[part].mean() == pytest.approx(expected[part].mean(), abs=0.06)

    def test_given_positions_and_determinism(self):
        one, two = (drifting("delta", 300, changes=[40, 100], random_state=4) for _ in range(2))
        for a, b in zip(one, two, strict=True):
            np.testing.assert_array_equal(a, b)
        assert one[2].tolist() == [40, 100]

    def test_no_change_at_all(self):
        X, _, positions = drifting("gamma", 100, changes=0, random_state=0)
        assert X.shape == (100, 500)
        assert len(positions) == 0


class TestErrors:
    @pytest.mark.parametrize(
        ("seed", "error"), [("x", "DataTypeError"), (1.5, "DataTypeError"), (-1, "DataError")]
    )
    def test_seeds_that_are_none(self, seed, error):
        with pytest.raises(getattr(bg.errors, error), match=r"random_state= is None, a whole"):
            large_scale_like("gamma", 3, random_state=seed)

    def test_unknown_names_come_with_a_suggestion(self):
        with pytest.raises(bg.errors.DataError, match="Did you mean 'gamma'"):
            large_scale_like("gama", 10)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [({"n": -1}, "n is a number of rows"), ({"concept": -2}, "concept is a")],
    )
    def test_numbers_that_are_none(self, arguments, message):
        with pytest.raises(bg.errors.DataError, match=message):
            large_scale_like("gamma", **({"n": 3} | arguments))

    @pytest.mark.parametrize("n", [2.5, "3", True])
    def test_rows_are_counted_in_whole_numbers(self, n):
        with pytest.raises(bg.errors.DataTypeError, match="n is a whole number"):
            large_scale_like("gamma", n)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"changes": [50, 20]}, "ascend"),
            ({"changes": [0]}, "after row 0"),
            ({"changes": [100]}, "before row 100"),
            ({"changes": 100}, "ascend"),
            ({"concepts": [0, 1, 2]}, "1 changes part 2 concepts; got 3"),
            ({"width": -1.0}, "width"),
            ({"width": np.nan}, "width"),
        ],
    )
    def test_drift_that_makes_no_stream(self, arguments, message):
        with pytest.raises(bg.errors.DataError, match=message):
            drifting("gamma", 100, **arguments)
