"""Temporal networks answer as enumeration, as the unrolled network, and as other libraries do."""

import math

import numpy as np
import pytest
from time_templates import Enumerated, cells, of_random

import bayesgraph as bg

SEEDS = range(200)


def template(seed):
    rng = np.random.default_rng(seed)
    order, numbers, static = 1 + seed % 2, seed % 3 == 0, seed % 4 >= 2
    return rng, of_random(rng, order=order, numbers=numbers, static=static)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", SEEDS)
def test_rows_as_enumeration_and_as_the_unrolled_network(seed):
    rng, model = template(seed)
    n = 3 if seed % 4 >= 2 else 4
    rows = cells(rng, model, n)
    oracle = Enumerated(model, n, rows)
    assert model.log_likelihood(rows)[0] == pytest.approx(oracle.log_likelihood, abs=1e-10)
    unrolled = model.unrolled(n)
    evidence = {}
    for v in model.variables:
        fixed = v in {c.variable for c in model.static}
        for t, value in enumerate(rows[v.name]):
            evidence[v.name if fixed else f"{v.name}_{t}"] = value
    assert unrolled.log_probability(evidence) == pytest.approx(oracle.log_likelihood, abs=1e-10)
    for v in model.variables:
        smoothed = model.smooth(rows, v.name)
        filtered = model.filter(rows, v.name)
        for t in range(n):
            if isinstance(v, bg.Discrete):
                np.testing.assert_allclose(smoothed[t], oracle.marginal(v.name, t), atol=1e-10)
                head = {k: x[: t + 1] for k, x in rows.items()}
                past = Enumerated(model, t + 1, head).marginal(v.name, t)
                np.testing.assert_allclose(filtered[t], past, atol=1e-10)
            elif math.isnan(rows[v.name][t]):
                answer = unrolled.query(f"{v.name}_{t}", evidence)
                expected = [answer.mean[0] if np.ndim(answer.mean) else answer.mean]
                np.testing.assert_allclose(smoothed[t, :1], expected, atol=1e-9)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", SEEDS)
def test_most_probable_states_as_enumeration(seed):
    rng, model = template(seed)
    n = 3
    rows = cells(rng, model, n)
    oracle = Enumerated(model, n, rows)
    best, log = oracle.best()
    table = model.most_probable(rows, frame="dict")
    fixed = {c.variable.name for c in model.static}
    codes = {
        (v.name, None if v.name in fixed else t): v.index(table[v.name][t])
        for v in model.variables
        if isinstance(v, bg.Discrete)
        for t in range(n)
    }
    at = oracle.states.index(codes)
    assert oracle.logs[at] == pytest.approx(log, abs=1e-10)
    assert codes == best or np.sum(np.isclose(oracle.logs, log)) > 1


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", SEEDS)
def test_soft_evidence_and_interventions_as_enumeration(seed):
    rng, model = template(seed)
    n = 3
    own = [v for v in model.variables if isinstance(v, bg.Discrete)]
    fixed = {c.variable.name for c in model.static}
    told, soft, do, setting = {}, {}, {}, {}
    free = [v for v in own if v.name not in fixed]
    for t in range(n):
        v = free[rng.integers(len(free))]
        kind = rng.integers(3)
        if kind == 0:
            told.setdefault(t, {})[v.name] = v.states[rng.integers(v.cardinality)]
        elif kind == 1:
            weights = rng.random(v.cardinality)
            told.setdefault(t, {})[v.name] = dict(zip(v.states, weights, strict=True))
            soft[v.name, t] = weights
        else:
            value = v.states[rng.integers(v.cardinality)]
            setting.setdefault(t, {})[v.name] = value
            do[v.name, t] = value
    hard = {
        v.name: [told.get(t, {}).get(v.name) if (v.name, t) not in soft else None for t in range(n)]
        for v in free
    }
    oracle = Enumerated(model, n, hard, soft, do)
    for v in own:
        for t in range(n):
            if v.name in told.get(t, {}) or v.name in setting.get(t, {}):
                if (v.name, t) not in soft:
                    continue
                answer = None
            answer = _asked(model, v, t, told, setting, soft)
            if answer is not None:
                np.testing.assert_allclose(answer, oracle.marginal(v.name, t), atol=1e-10)


def _asked(model, v, t, told, setting, soft):
    if (v.name, t) in soft:
        return None
    return model.query(v.name, t, told, do=setting).probabilities


@pytest.mark.parametrize("seed", range(12))
def test_a_stream_filters_as_a_table(seed):
    rng, model = template(seed)
    n = 5
    rows = cells(rng, model, n)
    state = model.start()
    for t in range(n):
        state.update({name: values[t] for name, values in rows.items()})
    for v in model.variables:
        if isinstance(v, bg.Discrete) and v not in {c.variable for c in model.static}:
            if rows[v.name][-1] is None:
                answer = state.query(v.name).probabilities
                np.testing.assert_allclose(answer, model.filter(rows, v.name)[-1], atol=1e-10)
            ahead = state.forecast(v.name, 3)
            np.testing.assert_allclose(ahead, model.forecast(rows, v.name, 3)[0], atol=1e-10)
    assert state.log_likelihood == pytest.approx(model.log_likelihood(rows)[0], abs=1e-10)
    assert state.n_slices == n


@pytest.mark.parametrize("seed", range(12))
def test_sequences_beside_each_other_are_as_each_alone(seed):
    rng, model = template(seed)
    parts = [cells(rng, model, n) for n in (1, 4, 2)]
    rows = {name: [x for part in parts for x in part[name]] for name in parts[0]}
    rows["who"] = [7] * 1 + [3] * 4 + [5] * 2
    target = model.variables[-2].name
    alone = [model.log_likelihood(part)[0] for part in parts]
    np.testing.assert_allclose(model.log_likelihood(rows, id="who"), alone, atol=1e-12)
    alone = np.concatenate([model.smooth(part, target) for part in parts])
    np.testing.assert_allclose(model.smooth(rows, target, id="who"), alone, atol=1e-12)


def test_intervals_and_counts_are_evidence_in_a_slice():
    z, calls = bg.Discrete("z", ["a", "b"]), bg.Count("calls")
    model = bg.TemporalNetwork(
        [bg.TableCPD(z, [0.3, 0.7]), bg.PoissonCPD(calls, [1.0, 4.0], [z])],
        [bg.TableCPD(z, [[0.9, 0.1], [0.2, 0.8]], [bg.before(z)])],
    )
    told = {0: {"calls": 2}, 2: {"calls": bg.Between(3, 5)}}
    unrolled = model.unrolled(3)
    evidence = {"calls_0": 2, "calls_2": bg.Between(3, 5)}
    for t in range(3):
        expected = unrolled.query(f"z_{t}", evidence).probabilities
        np.testing.assert_allclose(model.query("z", t, told).probabilities, expected, atol=1e-12)
    state = model.start()
    for t in range(3):
        state.update(told.get(t))
    np.testing.assert_allclose(state.query("z").probabilities, expected, atol=1e-12)
    assert state.log_likelihood == pytest.approx(unrolled.log_probability(evidence), abs=1e-12)


@pytest.mark.parametrize(("name", "static"), [("1", False), ("1_1", True)])
def test_names_that_are_one_text_are_not_unrolled(name, static):
    one, other = (bg.TableCPD(bg.Discrete(name, ["a", "b"]), [0.5, 0.5]) for name in (1, name))
    model = bg.TemporalNetwork([one] if static else [one, other], static=[other] * static)
    with pytest.raises(bg.errors.ModelError, match=r"more than one .* have the name '1_"):
        model.unrolled(2)


def test_vectors_of_counts_are_evidence_in_a_slice():
    z, words = bg.Discrete("z", ["a", "b"]), bg.CountVector("words", ["red", "blue"])
    model = bg.TemporalNetwork(
        [bg.TableCPD(z, [0.5, 0.5]), bg.MultinomialCPD(words, [[0.2, 0.8], [0.7, 0.3]], [z])],
        [bg.TableCPD(z, [[0.9, 0.1], [0.2, 0.8]], [bg.before(z)])],
    )
    told = {0: {"words": {"red": 2}}, 2: {"words": {"blue": 1}}}
    evidence = {f"words_{t}": value["words"] for t, value in told.items()}
    rows = {"words": np.array([[2, 0], [0, 1]]), "day": [0, 2]}
    smoothed = model.smooth(rows, "z", time="day", step=1)
    state = model.start()
    for t in range(3):
        state.update(told.get(t))
        expected = model.unrolled(3).query(f"z_{t}", evidence).probabilities
        np.testing.assert_allclose(model.query("z", t, told).probabilities, expected, atol=1e-12)
        if t != 1:
            np.testing.assert_allclose(smoothed[t // 2], expected, atol=1e-12)
    np.testing.assert_allclose(state.query("z").probabilities, expected, atol=1e-12)


def aged(order=1):
    """States beside a static number, on which a number of each slice depends."""
    mood, age, y = bg.Discrete("mood", ["low", "high"]), bg.Continuous("age"), bg.Continuous("y")
    stay = bg.TableCPD(mood, [[0.9, 0.1], [0.3, 0.7]], parents=[bg.before(mood)])
    cpd = bg.GaussianCPD(y, [0.0, 3.0], [1.0, 2.0], [mood, age], [[1.0], [0.5]])
    static = [bg.GaussianCPD(age, 1.0, 2.0)]
    return bg.TemporalNetwork([[bg.TableCPD(mood, [0.5, 0.5]), cpd]], [stay, cpd], static=static)


@pytest.mark.parametrize("again", [False, True])
def test_a_stream_enters_a_static_number_beside_states_in_each_slice(again):
    model, state = aged(), aged().start()
    numbers = [0.3, 2.5, None, 4.0]
    rows = {"age": [1.5, None, None, None], "mood": [None] * 4, "y": numbers}
    for t, number in enumerate(numbers):
        entered = {} if number is None else {"y": number}
        state.update(entered | ({"age": 1.5} if t == 0 or again else {}))
    assert state.log_likelihood == pytest.approx(model.log_likelihood(rows)[0], abs=1e-10)
    answer = state.query("mood").probabilities
    assert answer == pytest.approx(model.filter(rows, "mood")[-1], abs=1e-10)
    for name in ("mood", "y"):
        expected = model.forecast(rows, name, 2)[0]
        assert state.forecast(name, 2) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("age", [None, float("nan"), bg.Between(1, 2)])
def test_a_stream_refuses_a_first_slice_without_a_static_number_beside_states(age):
    state = aged().start()
    with pytest.raises(bg.errors.UnsupportedModelError, match="'age': enter its value"):
        state.update({"y": 1.0} if age is None else {"y": 1.0, "age": age})
    state.update({"age": 1.0})
    with pytest.raises(bg.errors.EvidenceError, match=r"one value in all slices; got 2\.0"):
        state.update({"age": 2.0})


def test_a_stream_has_no_posterior_of_a_number_that_the_last_slice_observes():
    state = aged().start()
    state.update({"age": 1.0, "y": 2.0})
    for name in ("age", "y"):
        with pytest.raises(
            bg.errors.EvidenceError, match=r"both the target and observed .* slice 0"
        ):
            state.query(name)
    state.update({"age": None, "y": float("nan")})
    assert state.query("y").mean == pytest.approx(
        aged().query("y", 1, {0: {"age": 1.0, "y": 2.0}}).mean
    )
    with pytest.raises(bg.errors.EvidenceError, match="slice 1"):
        state.query("age")


def test_a_static_number_may_be_told_of_a_later_slice():
    model = aged()
    evidence = {0: {"y": 1.0}, 1: {"age": 1.0}}
    expected = model.query("y", at=2, evidence={0: {"y": 1.0, "age": 1.0}})
    answer = model.query("y", at=2, evidence=evidence)
    assert answer.mean == pytest.approx(expected.mean, abs=1e-12)
    with pytest.raises(bg.errors.EvidenceError, match="got two, the second in slice 2"):
        model.query("y", at=2, evidence={1: {"age": 1.0}, 2: {"age": 3.0}})


def autoregression(order):
    """A number that goes back, beside one that is never in the evidence of later slices."""
    z, y = bg.Continuous("z"), bg.Continuous("y")
    slices = [[bg.GaussianCPD(z, 0.0, 1.0), bg.GaussianCPD(y, 0.0, 0.5, [z], [1.0])]]
    for k in range(1, order + 1):
        past = [bg.before(z, j) for j in range(1, k + 1)]
        slices.append([bg.GaussianCPD(z, 1.0, 1.0, past, [0.5] * k)])
    return bg.TemporalNetwork(slices[:-1], slices[-1])


@pytest.mark.parametrize("order", [1, 2])
def test_a_stream_remembers_the_numbers_that_it_observes_and_hands_on(order):
    model, rows = autoregression(order), {"z": [3.0, 1.0, None, 2.0], "y": [None, 0.5, 1.0, None]}
    state = model.start()
    for t in range(4):
        state.update({name: values[t] for name, values in rows.items() if values[t] is not None})
        head = {name: values[: t + 1] for name, values in rows.items()}
        log = model.log_likelihood(head)[0]
        assert state.log_likelihood == pytest.approx(log, abs=1e-10)
        for name in ("z", "y"):
            expected = model.forecast(head, name, 3)[0]
            np.testing.assert_allclose(state.forecast(name, 3), expected, atol=1e-10)
        answer = state.query("z" if t == 2 else "y") if t in (0, 2, 3) else None
        if answer is not None:
            expected = model.filter(head, "z" if t == 2 else "y")[-1, 0]
            assert answer.mean == pytest.approx(expected, abs=1e-10)


def test_a_stream_remembers_a_number_that_is_set():
    model, state = autoregression(1), autoregression(1).start()
    state.update(do={"z": 3.0})
    state.update({"y": 1.0})
    expected = model.query("z", 1, {1: {"y": 1.0}}, do={0: {"z": 3.0}})
    assert state.query("z").mean == pytest.approx(expected.mean, abs=1e-10)


def test_a_stream_takes_a_static_number_with_the_first_slice_only():
    mood, kind = bg.Discrete("mood", ["low", "high"]), bg.Discrete("kind", ["p", "q"])
    age = bg.GaussianCPD(bg.Continuous("age"), [0.0, 70.0], 100.0, [kind])
    stay = bg.TableCPD(mood, [[0.9, 0.1], [0.3, 0.7]], parents=[bg.before(mood)])
    static = [bg.TableCPD(kind, [0.5, 0.5]), age]
    model = bg.TemporalNetwork([bg.TableCPD(mood, [0.5, 0.5])], [stay], static=static)
    state = model.start()
    state.update({"mood": "low"})
    assert state.query("age").mean == pytest.approx(35.0)
    with pytest.raises(bg.errors.UnsupportedModelError, match="'age' with the first slice"):
        state.update({"mood": "high", "age": 70.0})
    state.update({"mood": "high"})
    for ask in (state.query, state.forecast):
        with pytest.raises(bg.errors.UnsupportedModelError, match="static number 'age'"):
            ask("age")
    state = model.start()
    for mood in ("low", "high"):
        state.update({"mood": mood, "age": 20.0})
    rows = {"mood": ["low", "high"], "age": [20.0, 20.0]}
    assert state.query("kind").probabilities == pytest.approx(model.filter(rows, "kind")[-1])


@pytest.mark.parametrize("again", [False, True])
def test_a_stream_remembers_a_static_number_beside_numbers(again):
    z, age = bg.Continuous("z"), bg.Continuous("age")
    first = bg.GaussianCPD(z, 0.0, 1.0, [age], [0.5])
    later = bg.GaussianCPD(z, 0.0, 1.0, [bg.before(z), age], [0.5, 0.2])
    model = bg.TemporalNetwork([first], [later], static=[bg.GaussianCPD(age, 1.0, 2.0)])
    state = model.start()
    state.update({"age": 3.0})
    state.update({"z": 2.0} | ({"age": 3.0} if again else {}))
    rows = {"age": [3.0, 3.0], "z": [None, 2.0]}
    assert state.log_likelihood == pytest.approx(model.log_likelihood(rows)[0], abs=1e-10)
    np.testing.assert_allclose(state.forecast("z"), model.forecast(rows, "z")[0], atol=1e-10)
    state = model.start()
    state.update({"z": 2.0})
    assert state.query("age").mean == pytest.approx(model.query("age", 0, {0: {"z": 2.0}}).mean)
    with pytest.raises(bg.errors.UnsupportedModelError, match="'age' with the first slice"):
        state.update({"age": 3.0})
    with pytest.raises(bg.errors.EvidenceError, match="names 'z' more than once"):
        state.update({"z": 2.0, z: 3.0})


def test_an_interval_or_a_value_set_in_one_slice_leaves_the_number_in_others():
    state, x = bg.Discrete("state", ["a", "b"]), bg.Continuous("x")
    model = bg.TemporalNetwork(
        [bg.TableCPD(state, [0.5, 0.5]), bg.GaussianCPD(x, [0.0, 2.0], 1.0, [state])],
        [bg.TableCPD(state, [[0.9, 0.1], [0.2, 0.8]], [bg.before(state)])],
    )
    told = bg.Between(0, 1)
    expected = model.unrolled(2).query("x_0", {"x_1": told}).mean
    assert model.query("x", 0, {1: {"x": told}}).mean == pytest.approx(expected, abs=1e-12)
    expected = model.unrolled(2).query("x_0").mean
    answer = model.query("x", 0, do={1: {"x": 9.0}})
    assert answer.mean == pytest.approx(expected, abs=1e-12)


def test_a_number_that_is_set_goes_back_to_nothing():
    model = autoregression(1)
    answer = model.query("y", 1, {0: {"y": 0.3}}, do={1: {"z": 2.0}})
    assert (answer.mean, answer.variance) == pytest.approx((2.0, 0.5))


def test_an_interval_of_a_number_with_children_in_later_slices_is_refused():
    z = bg.Continuous("z")
    later = bg.GaussianCPD(z, 1.0, 1.0, [bg.before(z)], [0.5])
    model = bg.TemporalNetwork([bg.GaussianCPD(z, 0.0, 1.0)], [later])
    with pytest.raises(bg.errors.UnsupportedModelError, match="'z' has children in later slices"):
        model.query("z", 1, {0: {"z": bg.Between(1, 2)}})
    s, age, x = bg.Discrete("s", ["a", "b"]), bg.Continuous("age"), bg.Continuous("x")
    # A child in later slices alone is none of the first slice's.
    first = [bg.TableCPD(s, [0.5, 0.5]), bg.GaussianCPD(x, [0.0, 3.0], 1.0, [s])]
    y, same = bg.Continuous("y"), bg.TableCPD(s, [[0.9, 0.1], [0.1, 0.9]], [bg.before(s)])
    later = [same, bg.GaussianCPD(y, 0.0, 1.0, [x], [1.0])]
    model = bg.TemporalNetwork([*first, bg.GaussianCPD(y, 0.0, 1.0)], later)
    alone = bg.BayesianNetwork(first)
    told = {"x": bg.Between(0, 1)}
    expected = alone.query("s", told).probabilities
    assert model.query("s", 0, {0: told}).probabilities == pytest.approx(expected)
    model = bg.TemporalNetwork(
        [bg.TableCPD(s, [0.5, 0.5]), bg.GaussianCPD(x, 0.0, 1.0)],
        [bg.GaussianCPD(x, 0.0, 1.0, [age], [1.0])],
        static=[bg.GaussianCPD(age, 1.0, 1.0)],
    )
    with pytest.raises(bg.errors.UnsupportedModelError, match="'age' has children in later slices"):
        model.query("x", 1, {0: {"age": bg.Between(1, 2)}})


def test_likelihoods_of_the_target_are_a_mapping_or_a_list():
    mood = bg.Discrete("mood", ["low", "high"])
    model = bg.TemporalNetwork([bg.TableCPD(mood, [0.5, 0.5])])
    for told in ({"low": 1, "high": 2}, [1, 2]):
        answer = model.query("mood", 0, {0: {"mood": told}})
        assert answer.probabilities == pytest.approx([1 / 3, 2 / 3])
