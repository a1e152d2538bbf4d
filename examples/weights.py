"""Naive Bayes with exponents: what each feature's word is worth, by twelve schemes."""

import sys
from pathlib import Path

import bayesgraph as bg

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)
heart = bg.read_table(Path(__file__).parent / "data" / "heart.csv")
X, y = heart.drop_columns("disease"), heart.select(["disease"])

print("Exponents of maximum conditional likelihood (WANBIA); 0 is not listened to:")
clf = bg.WeightedNaiveBayesClassifier().fit(X, y)
model = clf.network_
for name, exponent in model.exponents.items():
    print(f"  {name:<9}{float(exponent):.2f}  {'#' * round(20 * float(exponent))}")

print("\nWhat is missing is left out before the exponents:")
print(clf.query(evidence={"cp": "asympt", "thal": "reversable_defect"}))
print(clf.query("exang", {"cp": "asympt"}))
print(clf.contributions(evidence={"cp": "asympt", "thal": "reversable_defect", "age": 63}), "\n")

print("The same as a literal product of powered tables, where everything is observed:")
row = {name: X[name][0].as_py() for name in X.column_names}
graph = bg.FactorGraph.of(clf)
print(clf.query(evidence=row)["yes"], graph.query("disease", row)["yes"])
print("and where it is not, a factor graph sums the powered tables:")
print(
    clf.query(evidence={"cp": "asympt"})["yes"],
    graph.query("disease", {"cp": "asympt"})["yes"],
    "\n",
)

print("Other schemes, on the same five folds:")
schemes = ("variable", "class", "mixed", "selective", "fractional", "averaged", "gain_ratio")
models = {name: bg.WeightedNaiveBayesClassifier(name) for name in schemes}
models = {"all ones": bg.NaiveBayesClassifier(discretizer="mdlp"), **models}
models["a tree too"] = bg.BayesianNetworkClassifier("forest", exponents="variable")
for result in bg.evaluate(models, X, y, cv=5):
    print(f"  {result.name:<12}accuracy {result.accuracy:.3f}  log loss {result.log_loss:.3f}")

clf.render(out / "weights.svg", states=False)
