"""From probabilities to decisions: can they be trusted, what do mistakes cost, when to abstain."""

import sys
from pathlib import Path

from sklearn.calibration import CalibratedClassifierCV

import bayesgraph as bg

heart = bg.read_table(Path(__file__).parent / "data" / "heart.csv")
X, y = heart.drop_columns("disease"), heart.select(["disease"])

print("Probabilities of rows left out, and how far they can be trusted:")
models = {"star": bg.NaiveBayesClassifier(), "forest": bg.BayesianNetworkClassifier("forest")}
results = bg.evaluate(models, X, y)
for result in results:
    print(
        f"{result.name:<8}log loss {result.log_loss:.3f}  RMSE {result.rmse:.3f}  "
        f"calibration error {result.calibration_error:.3f}"
    )
forest = results[1]
out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)
bg.pictures.save_figure(bg.pictures.evaluation_figure(results), out / "reliability.svg")
bg.pictures.save_figure(bg.pictures.ranking_figure(results, positive="yes"), out / "roc.svg")

print("\nA disease that is overlooked costs ten times a false alarm:")
losses = {("yes", "no"): 10, ("no", "yes"): 1}
clf = bg.BayesianNetworkClassifier("forest").fit(X, y)
some = X.slice(0, 8)
print("most probable ", clf.predict(some).tolist())
print("least costly  ", clf.decide(some, losses=losses).tolist())
print("or ask first  ", clf.decide(some, losses=losses, abstain=0.5, abstained="ask").tolist())

print("\nWhat that would have cost on the rows left out, a row:")
mistakes = dict(zip(forest.classes, forest.confusion.tolist(), strict=True))
cost = (10 * mistakes["yes"][0] + mistakes["no"][1]) / len(forest.y_true)
print(f"most probable  {cost:.4f}")
print("least costly  ", forest.decide(losses=losses))
print("or ask first  ", forest.decide(losses=losses, abstain=0.5))

print("\nscikit-learn's calibration takes these classifiers as they are:")
rows = heart.to_pandas()
calibrated = CalibratedClassifierCV(clf, method="temperature", cv=5)
features, labels = rows.drop(columns="disease"), rows["disease"].to_numpy()
(result,) = bg.evaluate(calibrated, features, labels)
print(f"log loss {result.log_loss:.3f}  calibration error {result.calibration_error:.3f}")
