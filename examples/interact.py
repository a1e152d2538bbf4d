"""Features that act together: a joint table, in one network that answers exactly."""

from pathlib import Path

import numpy as np

import bayesgraph as bg
from bayesgraph.pictures import save_figure

out = Path("out")
out.mkdir(exist_ok=True)
random = np.random.default_rng(0)

print("Parts repeat: only supplier, material and machine together tell the quality.")
made, grade = random.integers(6, size=(90, 3)), random.integers(3, size=90)
which, guess = random.integers(90, size=800), random.integers(3, size=800)
parts = {
    name: np.char.add(letter, made[which, at].astype(str))
    for at, (name, letter) in enumerate([("supplier", "S"), ("material", "M"), ("machine", "A")])
}
parts["shift"] = np.array(["day", "night"])[random.integers(2, size=800)]
quality = np.array(["low", "good", "high"])[np.where(random.random(800) < 0.1, guess, grade[which])]
past = {name: column[:500] for name, column in parts.items()}
new = {name: column[500:] for name, column in parts.items()}
for title, clf in (
    ("each alone", bg.BayesianNetworkClassifier("star", exponents="cells")),
    ("pairs", bg.BayesianNetworkClassifier("tan", exponents="cells")),
    ("a joint table", bg.BayesianNetworkClassifier(n_trees=0)),
):
    clf.fit(past, quality[:500])
    print(f"  {title:14s} accuracy on new parts {clf.score(new, quality[500:]):.3f}")
print(f"\nThe joint table has the weight {clf.choice_.joint_share:.2f} in the log probability:")
print(clf.shapes(positive="high"))
save_figure(bg.plot(clf.shapes(positive="high")), out / "parts_shapes.svg")
evidence = {name: str(column[0]) for name, column in new.items() if name != "machine"}
print("\nThe machine summed out, given", ", ".join(evidence.values()), "of the others:")
print(clf.query(evidence=evidence))
print(f"The shapes are in {out}.")
