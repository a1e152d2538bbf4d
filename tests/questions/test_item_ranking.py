"""Words: what each adds to the log odds of a document, and which speak most for a class."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer

import bayesgraph as bg
from bayesgraph.core.errors import DataError, EvidenceError, UnsupportedModelError

TEXTS = [
    "free money free offer now",
    "money offer today",
    "free lunch",
    "lunch at noon with the team",
    "meeting at noon",
    "team meeting about the offer",
    "holiday at the sea",
    "free holiday offer at the sea",
]
Y = np.array(["spam", "spam", "spam", "work", "work", "work", "fun", "fun"])
VECTORIZER = CountVectorizer()
X = VECTORIZER.fit_transform(TEXTS)
WORDS = VECTORIZER.get_feature_names_out().tolist()
FRAME = dict(zip(WORDS, X.toarray().T.astype(float), strict=True))

MODELS = {
    "multinomial": lambda: bg.NaiveBayesClassifier("multinomial"),
    "predictive": lambda: bg.NaiveBayesClassifier(
        "multinomial", smoothing=bg.Smoothing(estimation="predictive")
    ),
    "bernoulli": lambda: bg.NaiveBayesClassifier("bernoulli"),
    "complement": bg.ComplementNaiveBayesClassifier,
    "complement-norm": lambda: bg.ComplementNaiveBayesClassifier(norm=True, smoothing=0.2),
}
every = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


def document(classifier, row):
    """Return a row of counts under the names of the words."""
    return dict(zip(WORDS, X.toarray()[row].tolist(), strict=True))


@every
@pytest.mark.parametrize("pair", [("spam", None), ("spam", "work"), ("fun", None)], ids=str)
def test_terms_of_words_add_up_to_the_log_odds(make, pair):
    positive, negative = pair
    classifier = make().fit(FRAME, Y)
    odds = bg.classifiers.log_odds(classifier, FRAME, positive=positive, negative=negative)
    for row in range(len(Y)):
        why = classifier.contributions(
            evidence=document(classifier, row), positive=positive, negative=negative
        )
        np.testing.assert_allclose(why.total, odds[row], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(why.prior + sum(why.values()), odds[row], rtol=1e-9, atol=1e-12)


@every
def test_terms_add_up_where_counts_are_missing(make):
    table = {name: column.copy() for name, column in FRAME.items()}
    table["free"][0] = table["sea"][0] = np.nan
    classifier = make().fit(FRAME, Y)
    odds = bg.classifiers.log_odds(classifier, table, positive="spam")[0]
    row = {name: column[0] for name, column in table.items()}
    why = classifier.contributions(evidence=row, positive="spam")
    assert "free" not in why
    np.testing.assert_allclose(why.prior + sum(why.values()), odds, rtol=1e-9)


def test_a_multinomial_has_the_words_that_occur():
    classifier = bg.NaiveBayesClassifier("multinomial").fit(FRAME, Y)
    why = classifier.contributions(
        evidence=document(classifier, 0), positive="spam", negative="work"
    )
    assert set(why) == {"free", "money", "offer", "now"}
    assert why.term("free").value == 2
    assert isinstance(why.term("free").value, int)
    shares = classifier.network_["counts"].probabilities
    spam, work = (classifier.target_.index(name) for name in ("spam", "work"))
    at = WORDS.index("free")
    np.testing.assert_allclose(why["free"], 2 * np.log(shares[spam, at] / shares[work, at]))
    assert "free = 2 " in repr(why)


def test_presence_speaks_and_so_does_absence():
    classifier = bg.NaiveBayesClassifier("bernoulli").fit(FRAME, Y)
    why = classifier.contributions(
        evidence=document(classifier, 1), positive="spam", negative="work"
    )
    assert list(why) == WORDS
    assert why.term("money").value is True
    assert why.term("team").value is False
    share = classifier.network_["presence"].probabilities
    spam, work = (classifier.target_.index(name) for name in ("spam", "work"))
    there, gone = WORDS.index("money"), WORDS.index("team")
    np.testing.assert_allclose(why["money"], np.log(share[spam, there] / share[work, there]))
    np.testing.assert_allclose(
        why["team"], np.log((1 - share[spam, gone]) / (1 - share[work, gone]))
    )


def test_a_predictive_multinomial_has_a_term_for_the_length():
    classifier = bg.NaiveBayesClassifier(
        "multinomial", smoothing=bg.Smoothing(estimation="predictive")
    ).fit(FRAME, Y)
    why = classifier.contributions(evidence=document(classifier, 0), positive="spam")
    assert set(why) == {"free", "money", "offer", "now", "counts"}
    assert why.term("counts").value == 5
    nothing = classifier.contributions(evidence={"counts": {}}, positive="spam")
    assert len(nothing) == 0
    assert nothing.total == pytest.approx(nothing.prior)


@every
def test_a_document_names_what_occurs_and_columns_what_is_known(make):
    classifier = make().fit(FRAME, Y)
    (vector,) = classifier.features_
    whole = {"free": 2, "money": 1}
    sparse = csr_array([[whole.get(word, 0) for word in WORDS]])
    posterior = classifier.query(evidence={vector.name: whole}).probabilities
    for given in (whole, sparse, {**dict.fromkeys(WORDS, 0), **whole}):
        row = given if len(np.shape(given)) == 0 and len(given) > 2 else {vector.name: given}
        why = classifier.contributions(evidence=row, positive="spam")
        assert why.probability == pytest.approx(posterior[classifier.target_.index("spam")])
    # Columns that are not named are not known.
    known = classifier.contributions(evidence=whole, positive="spam")
    blank = {name: np.array([whole.get(name, np.nan)]) for name in WORDS}
    np.testing.assert_allclose(
        known.total, bg.classifiers.log_odds(classifier, blank, positive="spam")[0]
    )
    with pytest.raises(EvidenceError, match="some of its items"):
        classifier.contributions(evidence={vector.name: whole, "free": 1}, positive="spam")


def test_names_that_words_share_with_features():
    data = {"money": [1.0, 2.0, 5.0, 6.0], "counts": csr_array([[1, 2], [0, 1], [3, 0], [2, 1]])}
    classifier = bg.NaiveBayesClassifier({"counts": "multinomial"}).fit(data, [0, 0, 1, 1])
    vector = bg.CountVector("words", ["money", "free"])
    target = bg.Discrete("class", [0, 1])
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(target, [0.5, 0.5]),
            bg.GaussianCPD(bg.Continuous("money"), [0.0, 1.0], [1.0, 1.0], parents=[target]),
            bg.MultinomialCPD(vector, [[0.3, 0.7], [0.6, 0.4]], [target]),
        ]
    )
    why = net.contributions("class", {"money": 0.2, "words": {"money": 1, "free": 2}})
    assert set(why) == {"money", ("words", "money"), "free"}
    assert why["words", "money"] == pytest.approx(np.log(0.6 / 0.3))
    assert why["free"] == pytest.approx(2 * np.log(0.4 / 0.7))
    # Items of a matrix are numbered.
    mixed = classifier.contributions(evidence={"money": 1.5, "counts": {0: 1, 1: 1}})
    assert set(mixed) == {"money", 0, 1}
    assert mixed.total == pytest.approx(mixed.prior + sum(mixed.values()))


def test_words_beside_features_that_the_engine_must_answer_for():
    target, hidden = bg.Discrete("class", [0, 1]), bg.Discrete("hidden", ["a", "b"])
    seen = bg.Discrete("seen", ["a", "b"])
    words = bg.CountVector("words", ["x", "y"])
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(target, [0.4, 0.6]),
            bg.MultinomialCPD(words, [[0.3, 0.7], [0.6, 0.4]], [target]),
            bg.TableCPD(hidden, [[0.9, 0.1], [0.2, 0.8]], [target]),
            bg.TableCPD(seen, [[0.7, 0.3], [0.4, 0.6]], [hidden]),
        ]
    )
    row = {"words": {"x": 2, "y": 1}, "seen": "b"}
    why = net.contributions("class", row)
    p = net.query("class", row).probabilities
    assert why.total == pytest.approx(np.log(p[1] / p[0]))
    assert why.prior + sum(why.values()) == pytest.approx(why.total)
    assert set(why) == {"x", "y", "seen"}


def test_a_word_that_is_impossible_in_a_class():
    classifier = bg.NaiveBayesClassifier(
        "multinomial", smoothing=bg.Smoothing(estimation="ml")
    ).fit(FRAME, Y)
    why = classifier.contributions(
        evidence=document(classifier, 0), positive="spam", negative="work"
    )
    assert why["money"] == np.inf
    assert why.total == np.inf


def test_a_figure_of_words():
    pytest.importorskip("matplotlib")
    classifier = bg.NaiveBayesClassifier("bernoulli").fit(FRAME, Y)
    why = classifier.contributions(evidence=document(classifier, 0), positive="spam")
    labels = [label.get_text() for label in bg.plot(why, max_findings=5).axes[0].get_yticklabels()]
    assert labels[0] == "prior"
    assert "free = True" in labels
    assert labels[-2] == f"{len(WORDS) - 5} more"


# ----------------------------------------------------------------------------------- top items


@every
def test_top_items_move_the_log_odds_as_one_occurrence_does(make):
    classifier = make().fit(FRAME, Y)
    found = classifier.ask.top_items(n=4)
    assert list(found) == ["fun", "spam", "work"]
    nothing = dict.fromkeys(WORDS, 0)
    for state, items in found.items():
        assert list(items.values()) == sorted(items.values(), reverse=True)
        if "bernoulli" in classifier.layout_.families.values():
            continue  # there, absence of the other words speaks too
        without = classifier.contributions(evidence=nothing, positive=state).total
        alone = {
            word: classifier.contributions(evidence={**nothing, word: 1}, positive=state).total
            - without
            for word in WORDS
        }
        best = sorted(WORDS, key=lambda word: -alone[word])[:4]
        np.testing.assert_allclose([alone[w] for w in best], list(items.values()), rtol=1e-9)


def test_top_words_of_spam():
    classifier = bg.NaiveBayesClassifier("multinomial").fit(FRAME, Y)
    assert set(classifier.ask.top_items(n=2)["spam"]) == {"free", "money"}
    shown = repr(classifier.ask.top_items(n=3))
    assert shown.startswith("Items that speak most for each class")
    assert "money +" in shown
    assert max(map(len, repr(classifier.ask.top_items(n=len(WORDS))).splitlines())) <= 98


def test_top_items_of_two_classes_are_each_others_opposites():
    y = np.where(Y == "spam", "spam", "ham")
    found = bg.NaiveBayesClassifier("bernoulli").fit(FRAME, y).ask.top_items(n=len(WORDS))
    for word, value in found["spam"].items():
        assert found["ham"][word] == pytest.approx(-value)


def test_top_items_of_several_vectors_and_of_none():
    parts = {"title": X[:, :6], "body": X[:, 6:]}
    classifier = bg.NaiveBayesClassifier(dict.fromkeys(parts, "multinomial")).fit(parts, Y)
    with pytest.raises(DataError, match=r"'title', 'body'.*feature="):
        classifier.ask.top_items()
    assert set(classifier.ask.top_items(n=3, feature="title")["fun"]) <= set(range(6))
    with pytest.raises(DataError, match="names a vector of counts"):
        classifier.ask.top_items(feature="class")
    with pytest.raises(DataError, match="n is a number"):
        classifier.ask.top_items(n=0, feature="title")
    plain = bg.NaiveBayesClassifier().fit(X.toarray().astype(float), Y)
    with pytest.raises(UnsupportedModelError, match="no vector of counts"):
        plain.ask.top_items()
