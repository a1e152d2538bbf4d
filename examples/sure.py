"""How sure is a posterior: credible intervals, the rows behind it, and sets of classes."""

import warnings

import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

import bayesgraph as bg

random = np.random.default_rng(0)
warnings.simplefilter("always")


def patients(n):
    """Return rows of a disease, a symptom of it, and a test that few patients get twice."""
    ill = random.random(n) < 0.1
    fever = random.random(n) < np.where(ill, 0.8, 0.2)
    positive = random.random(n) < np.where(ill, 0.95, 0.03)
    return {"ill": ill, "fever": fever, "positive": positive}


arcs = [("ill", "fever"), ("ill", "positive")]
evidence = {"fever": False, "positive": True}
print("The same question after 50 and after 5,000 rows:")
for n in (50, 5000):
    net = bg.BayesianNetwork.fit(arcs, patients(n))
    estimate, low, high, _ = net.ask.credible_intervals("ill", evidence)[True]
    print(f"{n:>6} rows: P(ill) = {estimate:.2f}, between {low:.2f} and {high:.2f}")

net = bg.BayesianNetwork.fit(arcs, patients(50))
print("\nA warning below a number of rows:")
with warnings.catch_warnings(record=True) as caught:
    net.ask.credible_intervals("ill", evidence, min_rows=30)
print(caught[0].message)

print("\nAll posteriors at once:")
print(net.ask.credible_intervals())

print("\nClassifiers: sets that hold the class of nine in ten wines.")
X, y = load_wine(return_X_y=True, as_frame=True)
X = X.iloc[:, [0, 3]]
learn, test, classes, truth = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
clf = bg.NaiveBayesClassifier().fit(learn, classes)
print(clf.ask.credible_intervals(evidence={"alcohol": 12.9, "alcalinity_of_ash": 18.0}))
sets = clf.conformalize(learn, classes, cv=10).predict_set(test, coverage=0.9)
inside = sets[np.arange(len(truth)), truth]
sizes = np.bincount(sets.sum(axis=1), minlength=4)[1:]
print(f"{inside.mean():.0%} of {len(truth)} wines are in their set;", end=" ")
print(f"of one, two and three classes: {sizes.tolist()}")
