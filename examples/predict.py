"""The classifier that chooses by itself: one network to read, or its average with random trees."""

import sys
from pathlib import Path

import bayesgraph as bg

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)
heart = bg.read_table(Path(__file__).parent / "data" / "heart.csv")
X, y = heart.drop_columns("disease"), heart.select(["disease"])

print("One network, whose intervals, structure and exponents are chosen by the rows:")
clf = bg.BayesianNetworkClassifier(n_trees=0).fit(X, y)
print(clf.network_)
print("the structure that predicted held-out rows best:", clf.choice_.structure)
best = min(clf.choice_.losses.values())
print(f"its held-out log loss: {best:.3f} nats a row\n")

print("How far each feature moves the odds, on average, in nats:")
strengths = {child: s for (parent, child), s in clf.network_.arc_scores.items()}
for name, strength in sorted(strengths.items(), key=lambda item: -item[1])[:5]:
    print(f"  {name:<9}{strength:.2f}")

print("\nNumbers are intervals, and evidence stays a number:")
print(clf.network_.variable("oldpeak").states[:3], "...")
print(clf.query(evidence={"oldpeak": 2.3, "cp": "asympt"}))
print(clf.contributions(evidence={"oldpeak": 2.3, "cp": "asympt", "age": 63}), "\n")

print("Each cell of a table has an exponent, 1 where counting predicts best:")
graph = bg.FactorGraph.of(clf)
at = [term.source.variable.name for term in graph.terms].index("cp")
for kind, exponents in zip(clf.classes_, graph.terms[at].exponent.round(2).tolist(), strict=True):
    print(f"  P(cp | disease = {kind}) to the powers {exponents}")

print("\nBeside other models, on the same three folds:")
models = {
    "naive Bayes": bg.NaiveBayesClassifier(discretizer="mdlp"),
    "weighted": bg.WeightedNaiveBayesClassifier(),
    "TAN": bg.TANClassifier(discretizer="mdlp", smoothing="backoff"),
    "averaged TAN": bg.AveragedTANClassifier(discretizer="mdlp"),
    "AODE": bg.AODEClassifier(discretizer="mdlp"),
    "by itself": bg.BayesianNetworkClassifier(n_trees=0),
    "and trees": bg.BayesianNetworkClassifier(),
}
for result in bg.evaluate(models, X, y, cv=3):
    print(
        f"  {result.name:<13}accuracy {result.accuracy:.3f}  log loss {result.log_loss:.3f}  "
        f"calibration error {result.calibration_error:.3f}"
    )

both = bg.BayesianNetworkClassifier().fit(X, y)
print("\nThe average of the network and random trees:")
print(both.network_)
print(both.contributions(evidence={"oldpeak": 2.3, "cp": "asympt", "age": 63}))

clf.render(out / "by_itself.svg", states=False)
