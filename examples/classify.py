"""Classifiers on a table with text columns, numbers and missing values."""

from functools import partial
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV

import bayesgraph as bg

heart = bg.read_table(Path(__file__).parent / "data" / "heart.csv")
X, y = heart.drop_columns("disease"), heart.select(["disease"])

print("Columns as they are; a feature that is missing is summed out exactly:")
clf = bg.TANClassifier().fit(X, y)
print(clf.network_)
print(clf.predict_proba(X.slice(0, 3)).round(4), "\n")

print("Ask with whatever is known, about the class or any other column:")
print(clf.query(evidence={"age": 63, "cp": "asympt"}))
print(clf.query("thal", {"disease": "yes"}), "\n")

print("Four structures on the same folds:")
models = {
    "star": bg.NaiveBayesClassifier(),
    "TAN": bg.TANClassifier(),
    "TAN rooted at cp": bg.BayesianNetworkClassifier(partial(bg.learning.tan, root="cp")),
    "forest": bg.BayesianNetworkClassifier("forest"),
}
for result in bg.evaluate(models, X, y):
    print(
        f"{result.name:<18}accuracy {result.accuracy:.3f}  log loss {result.log_loss:.3f}  "
        f"{result.n_parameters} parameters"
    )

print("\nIt is an estimator like any other:")
rows = heart.to_pandas()
search = GridSearchCV(
    bg.TANClassifier(check_columns=False), {"smoothing__shrinkage": [0, 5, 20, 80]}, cv=5
)
search.fit(rows.drop(columns="disease"), rows["disease"])
print(search.best_params_, round(search.best_score_, 3), "\n")

print("A structure is a graph; look at what was learned before you trust it:")
structure = bg.learning.forest(bg.learning.count_source(heart, target="disease"))
for (parent, child), score in sorted(structure.scores.items(), key=lambda item: -item[1]):
    print(f"  {parent} -> {child}  {score:.3f} nats a row")

print("\nWhere absence says something, as of a test that few get, it is a feature:")
random = np.random.default_rng(0)
ill = random.random(600) < 0.3
made = random.random(600) < np.where(ill, 0.8, 0.3)
visits = {
    "fever": random.normal(np.where(ill, 38.5, 36.9), 0.8).round(1),
    "blood": np.where(made, random.normal(np.where(ill, 6.5, 5.5), 1.0), np.nan).round(1),
}
told = bg.BayesianNetworkClassifier(n_trees=0).fit(visits, ill)
print(told.contributions(evidence={"fever": 37.6, "blood": None}, positive=True))
