"""Pictures of counts and of the leaves of a naive Bayes, and exports that refuse them."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import bayesgraph as bg
from bayesgraph.core.errors import LossyExportError, UnsupportedModelError
from bayesgraph.pictures import to_dot

random = np.random.default_rng(0)
WORDS = [*(f"word{i}" for i in range(13)), "<b>&amp;", r"\N"]
X = random.poisson(0.7, size=(50, len(WORDS))).astype(float)
X[:, 0] += 5.0
Y = np.array(["ham", "spam"])[random.integers(2, size=50)]
FRAME = dict(zip(WORDS, X.T, strict=True))
MIXED = {
    "text": csr_array(X),
    "title": csr_array(X[:, 5:7]),
    "calls": random.poisson(3.0, 50).astype(float),
    "pay": np.exp(random.normal(size=50)),
    "wait": random.normal(size=50),
    "age": random.normal(40.0, 9.0, 50),
    "seen": random.random(50) < 0.5,
}
FAMILIES = {
    "text": "multinomial",
    "title": "bernoulli",
    "calls": "poisson",
    "pay": "lognormal",
    "wait": "kernel",
}


def mixed():
    return bg.NaiveBayesClassifier(FAMILIES).fit(MIXED, Y)


def predictive():
    kept = ("text", "calls", "age")
    families = {name: FAMILIES[name] for name in kept if name in FAMILIES}
    classifier = bg.NaiveBayesClassifier(families, smoothing=bg.Smoothing(estimation="predictive"))
    return classifier.fit({name: MIXED[name] for name in kept}, Y)


def words():
    return bg.NaiveBayesClassifier("multinomial").fit(FRAME, Y)


def complement():
    return bg.ComplementNaiveBayesClassifier().fit(FRAME, Y)


MODELS = {
    "mixed": (mixed, {"text": {2: 3}, "calls": 4}),
    "predictive": (predictive, {"text": {2: 3}, "age": 30.0}),
    "words": (words, {"counts": {"word2": 3, "<b>&amp;": 1}}),
    "complement": (complement, {"counts": {"word2": 3, "<b>&amp;": 1}}),
}
OPTIONS = {
    "plain": {},
    "tables": {"tables": True},
    "beliefs": {"beliefs": True},
    "no states": {"states": False},
    "short": {"max_states": 1, "max_rows": 1, "tables": True},
}


def node(dot, name):
    """Return the statement of a node."""
    lines = dot.splitlines()
    return next(line for line in lines if f"<B>{name}</B>" in line and "->" not in line)


@pytest.mark.one_in(9)
@pytest.mark.parametrize(("make", "evidence"), MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("observed", [False, True], ids=["free", "observed"])
def test_everything_is_drawn(make, evidence, options, observed, tmp_path):
    pytest.importorskip("pygraphviz")
    classifier = make()
    given = {"evidence": evidence} if observed else {}
    classifier.render(tmp_path / "picture.svg", **options, **given)
    assert "<svg" in (tmp_path / "picture.svg").read_text()


def test_a_vector_of_counts_is_a_plate_with_its_items():
    drawn = node(bg.pictures.to_dot(words()), "counts")
    assert "peripheries" in drawn
    assert "counts of 15 items" in drawn
    assert "word0 · word1" in drawn
    assert "… 5 more" in drawn
    assert "word12" in drawn.partition("tooltip")[2]
    few = node(bg.pictures.to_dot(words(), max_states=2), "counts")
    assert "… 13 more" in few
    assert (
        "word1"
        not in node(bg.pictures.to_dot(words(), states=False), "counts").partition("tooltip")[0]
    )


def test_an_observed_plate_names_what_occurs():
    drawn = node(
        bg.pictures.to_dot(words(), evidence={"counts": {"word3": 2, "word9": 0.5}}), "counts"
    )
    assert "= word3 × 2, word9 × 0.5" in drawn
    assert "= nothing" in node(bg.pictures.to_dot(words(), evidence={"counts": {}}), "counts")
    unknown = bg.pictures.to_dot(words(), evidence={"counts": {"word3": None}})
    assert "= word3 × ?" in node(unknown, "counts")
    many = bg.pictures.to_dot(words(), evidence={"counts": dict.fromkeys(WORDS, 1)}, max_states=2)
    assert "= word0 × 1, word1 × 1, … 13 more" in node(many, "counts")


def test_counts_of_events():
    drawn = node(bg.pictures.to_dot(mixed()), "calls")
    assert "0, 1, 2, …" in drawn
    assert "ellipse" in drawn
    rates = mixed().network_["calls"].rate
    shown = node(bg.pictures.to_dot(mixed(), tables=True), "calls")
    assert f"{rates[0, 0]:.4g}" in shown
    assert "rate" in shown


def test_tables_have_the_most_probable_items_first():
    shown = node(bg.pictures.to_dot(words(), tables=True, max_states=3), "counts")
    shares = words().network_["counts"].probabilities
    best = [WORDS[i] for i in np.argsort(-shares.mean(axis=0), kind="stable")[:3]]
    assert best[0] == "word0"
    places = [shown.index(f">{word}<") for word in best]
    assert places == sorted(places)
    assert f"{shares[1, 0]:.3f}" in shown
    assert "… 12 more items" in shown


def test_tables_of_other_leaves():
    dot = bg.pictures.to_dot(mixed(), tables=True)
    network = mixed().network_
    assert "mean of log" in node(dot, "pay")
    assert f"{network['wait'].bandwidth[1, 0]:.4g}" in node(dot, "wait")
    dot = bg.pictures.to_dot(predictive(), tables=True)
    assert "location" in node(dot, "age")
    counts = predictive().network_["calls"]
    rate = counts.shape[0, 0] / counts.exposure[0, 0]
    assert f"{np.sqrt(rate + rate / counts.exposure[0, 0]):.4g}" in node(dot, "calls")


def test_exponents_of_a_complement_are_shown():
    assert "−1" in bg.pictures.to_dot(complement())
    assert "to the power −1" in bg.pictures.to_dot(complement(), tables=True)


# ------------------------------------------------------------------------------------- exports


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("suffix", ["bif", "uai"])
@pytest.mark.parametrize("make", [mixed, words], ids=["mixed", "words"])
def test_formats_of_tables_refuse_counts_by_name(make, suffix, strict, tmp_path):
    name = "text" if make is mixed else "counts"
    with pytest.raises(LossyExportError, match=f"'{name}' is a vector of counts of 15 items"):
        make().network_.save(tmp_path / f"model.{suffix}", strict=strict)
    assert not list(tmp_path.iterdir())


def test_uai_refuses_a_complement(tmp_path):
    with pytest.raises(LossyExportError, match="'counts' is a vector of counts of 15 items"):
        complement().network_.save(tmp_path / "model.uai")


def test_pgmpy_refuses_counts_by_name():
    pytest.importorskip("pgmpy")
    with pytest.raises(
        LossyExportError, match=r"(?s)'text' .*MultinomialCPD.*'calls' .*PoissonCPD"
    ):
        bg.files.to_pgmpy(mixed().network_)
    with pytest.raises(LossyExportError, match="'counts' is a vector of counts"):
        bg.files.to_pgmpy(complement().network_)


def test_uai_evidence_refuses_counts(tmp_path):
    from bayesgraph.files.uai import write_uai_evidence

    with pytest.raises(UnsupportedModelError, match="'counts' is a vector of counts"):
        write_uai_evidence({}, words().network_, tmp_path / "model.evid")


def test_the_same_model_gives_the_same_text():
    assert to_dot(mixed().network_, tables=True) == to_dot(mixed().network_, tables=True)
