"""Columns of every kind in one naive Bayes: fitted, updated, forgotten, explained, drawn, saved."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import BaggingClassifier

import bayesgraph as bg

out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("out")
out.mkdir(exist_ok=True)

# Customers of a made-up company: some leave. Ages are missing here and there.
random = np.random.default_rng(0)
n = 600
leaves = random.random(n) < 0.35
frame = pd.DataFrame(
    {
        "age": np.where(random.random(n) < 0.2, np.nan, random.normal(45 - 8 * leaves, 10)),
        "plan": np.where(random.random(n) < 0.3 + 0.4 * leaves, "monthly", "yearly"),
        "paid": np.exp(random.normal(4 - 0.6 * leaves, 0.5)),
        "calls": random.poisson(1 + 2 * leaves),
        "newsletter": random.random(n) < 0.6 - 0.3 * leaves,
        "refund": random.poisson(0.3 + 0.9 * leaves),
        "thanks": random.poisson(1.2 - 0.6 * leaves),
        "error": random.poisson(0.8, n),
    }
)
y = pd.Series(np.where(leaves, "leaves", "stays"), name="customer")

print("Each column with its own family; words of the letters are one vector of counts:")
families = {
    "paid": "lognormal",
    "calls": "poisson",
    ("refund", "thanks", "error"): "multinomial",
}
clf = bg.NaiveBayesClassifier(families)
for result in bg.evaluate({"all Gaussian": bg.NaiveBayesClassifier(), "named": clf}, frame, y):
    print(f"  {result.name:<13}accuracy {result.accuracy:.3f}  log loss {result.log_loss:.3f}")

print("\nRows may come in parts and go again, the model is that of the rows that remain:")
clf.fit(frame[:300], y[:300]).partial_fit(frame[300:], y[300:])
whole = bg.NaiveBayesClassifier(families).fit(frame, y)
difference = abs(clf.predict_proba(frame) - whole.predict_proba(frame)).max()
print(f"  added: differs from one fit by {difference:.0e}")
clf.forget(frame[500:], y[500:])
rest = bg.NaiveBayesClassifier(families).fit(frame[:500], y[:500])
difference = abs(clf.predict_proba(frame) - rest.predict_proba(frame)).max()
print(f"  forgotten: differs from a fit without them by {difference:.0e}\n")

print("Ask with what is known, the age is not:")
customer = {"plan": "monthly", "paid": 20.0, "calls": 4, "refund": 2, "thanks": 0, "error": 1}
print(clf.contributions(evidence=customer, positive="leaves"), "\n")

print("Customers like those who leave, drawn from the model:")
drawn = clf.network_.sample(4, evidence={"customer": "leaves"}, random_state=0)
print(drawn.round(1).to_string(), "\n")

print("Random rows and columns, averaged posteriors, by scikit-learn's bagging:")
bag = BaggingClassifier(
    bg.NaiveBayesClassifier(check_columns=False),
    n_estimators=30,
    max_features=0.5,
    oob_score=True,
    random_state=0,
)
numbers = frame.drop(columns=["age", "plan"]).to_numpy(float)
print(f"  accuracy on rows that a member has not seen: {bag.fit(numbers, y).oob_score_:.3f}\n")

clf.render(out / "naive_bayes.svg", tables=True)
clf.save(out / "naive_bayes.bayesgraph")
again = bg.load(out / "naive_bayes.bayesgraph")
print(f"Saved and loaded, the same model: {again.network_ == clf.network_}")
