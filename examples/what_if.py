"""What would have to be different: flips, nearest rows, explanations and a tornado chart."""

import textwrap
from pathlib import Path

import bayesgraph as bg

HERE = Path(__file__).parent
OUT = Path("out")
OUT.mkdir(exist_ok=True)

heart = bg.read_table(HERE / "data" / "heart.csv")
X, y = heart.drop_columns("disease"), heart.select(["disease"])
clf = bg.NaiveBayesClassifier(discretizer="mdlp").fit(X, y)
patient = {name: values[0] for name, values in X.slice(1, 1).to_pydict().items()}

print("A patient:")
print(textwrap.fill(", ".join(f"{name} {value}" for name, value in patient.items()), 80))
print(clf.query(evidence=patient), "\n")

print("The smallest change of findings with another answer; age and sex stay:")
found = clf.ask.flip(evidence=patient, fixed=["age", "sex"])
print(found, "\n")

print("What is easier to change costs less, and the answer shall be clear:")
costs = {"chol": 0.5, "trestbps": 0.5, "thalach": 0.8, "ca": 3, "thal": 3}
print(
    clf.ask.flip(evidence=patient, to="no", at_least=0.8, fixed=["age", "sex"], costs=costs), "\n"
)

print("Patients who were there:")
for near in clf.ask.nearest_rows(evidence=patient, table=X, n=3, fixed=["sex"]).rows:
    changes = ", ".join(near.differences)
    print(f"  row {near.row}, {near.answer}: differs in {changes}")
print()

print("What explains two findings best, of three others:")
seen = {"exang": "yes", "oldpeak": 2.6}
for explanation in clf.ask.most_relevant(["disease", "thal", "slope"], seen, k=2):
    print(explanation)

print("\nWhich findings the answer hangs on:")
tornado = clf.ask.tornado(evidence=patient, by="findings")
print(tornado)
bg.pictures.save_figure(bg.plot(tornado), OUT / "tornado.svg")
print("Drawn to out/tornado.svg")
