"""Settings of a fit as text."""

from functools import partial

import numpy as np

import bayesgraph as bg
from bayesgraph.learning import changed_settings
from bayesgraph.learning.structure import as_text


def test_settings_as_text_are_short_and_the_same_each_time():
    def learner(source, smoothing):
        return bg.learning.star(source)

    graph = bg.BayesianNetwork.fit([("a", "b")], {"a": list("xy"), "b": list("xy")}).graph
    texts = {
        "learner": learner,
        "selective_kdb(k=2)": partial(bg.learning.selective_kdb, k=2),
        "a graph of 2 nodes and 1 arcs": graph,
        "{'a': 1, 'b': [1, 2]}": {"a": 1, "b": (1, 2)},
        "[0.5, 0.5]": np.array([0.5, 0.5]),
        "{'a', 'b'}": {"b", "a"},
        "generator": (i for i in range(2)),
        "[0, 1, 2, 3, 4, 5, 6, 7, and 92 more]": list(range(100)),
    }
    assert list(map(as_text, texts.values())) == list(texts)
    assert len(as_text("x" * 500)) == 60
    # A number is written the same whatever its type.
    assert [as_text(np.float64(0.5)), as_text([np.int64(2), np.True_])] == ["0.5", "[2, True]"]


def test_only_what_is_not_as_by_default_is_a_setting():
    given = {"smoothing": "dirichlet", "missing": "em", "n_jobs": None, "extra": 3}
    found = changed_settings(bg.BayesianNetwork.fit, given)
    assert found == {"extra": "3", "missing": "'em'"}
    given = {"restarts": np.int64(1), "max_iter": np.int64(1000), "tol": np.float64(1e-5)}
    assert changed_settings(bg.BayesianNetwork.fit, given) == {"tol": "1e-05"}
