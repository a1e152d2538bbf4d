"""What differs between two models, and between two tables: a page for a review, and drift."""

import textwrap
from pathlib import Path

import numpy as np

import bayesgraph as bg

HERE = Path(__file__).parent
OUT = Path("out")
OUT.mkdir(exist_ok=True)

heart = bg.read_table(HERE / "data" / "heart.csv")
X, y = heart.drop_columns("disease"), heart.select(["disease"])

print("A naive Bayes and a tree-augmented one, on the same rows:")
before = bg.NaiveBayesClassifier(discretizer="mdlp").fit(X, y)
after = bg.TANClassifier(discretizer="mdlp").fit(X, y)
found = bg.diff(before, after, heart, n=3)
print(textwrap.fill(found.summary, 80))
for change in found.families[:3]:
    print(f"  {change.name}: {change.divergence:.3f} nats a row, most at")
    print(f"    {change.where}")
print("rows whose prediction moves most, and why:")
for row in found.predictions.largest:
    why = ", ".join(f"{name} {value:+.2f}" for name, value in row.why)
    print(f"  row {row.row}: {row.before} becomes {row.after} ({why})")
found.save(OUT / "review.html")
print("The page for a review: out/review.html")

print("\nThe same hospital a year later: a new device measures cholesterol higher.")
random = np.random.default_rng(0)
rows = heart.to_pydict()
picked = random.integers(heart.num_rows, size=300)
later = {name: [values[i] for i in picked] for name, values in rows.items()}
later["chol"] = [None if v is None else v + 40 for v in later["chol"]]
gaussian = bg.NaiveBayesClassifier().fit(X, y)
drift = bg.questions.table_drift(gaussian, heart, later)
for family in drift.families[:4]:
    print(f"  {family.name:<9} {family.information:.4f} nats a row, p = {family.p_value:.2g}")
bg.pictures.save_figure(bg.plot(drift), OUT / "drift.svg")
print("Drawn to out/drift.svg")
