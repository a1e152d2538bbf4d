"""Offline pages to look at and touch: a classifier of patients, and a network for alarms."""

from pathlib import Path

import bayesgraph as bg

HERE = Path(__file__).parent
OUT = Path("out")
OUT.mkdir(exist_ok=True)


def told(path, what):
    """Print what was written, and how large it is."""
    print(f"{path}: {what}, {path.stat().st_size / 1000:.0f} KB")


print("A classifier. Its page asks nobody: mail it, open it from disk, for ever.")
heart = bg.read_table(HERE / "data" / "heart.csv")
clf = bg.TANClassifier().fit(heart.drop_columns("disease"), heart.select(["disease"]))
patient = {"age": 63, "sex": "male", "cp": "asympt", "thalach": 150, "oldpeak": 2.3}
clf.to_html(
    OUT / "heart.html",
    title="Heart disease",
    evidence=patient,  # the findings to begin with
    data=heart,
    embed_rows=True,  # these patients are public; without it, no row is in the file
)
told(OUT / "heart.html", "findings, the answer and why, what to ask next")

print("\nThe page answers as Python does:")
print(clf.query(evidence=patient))

print("\nThe file is an archive, too: the classifier comes back exactly.")
back = bg.load(OUT / "heart.html")
print(f"  the same posterior: {back.query(evidence=patient) == clf.query(evidence=patient)}")

print("\nA network: cards with bars to click on.")
net = bg.examples.network("alarm")
observed = {"HRBP": "HIGH", "CO": "LOW"}
net.to_html(OUT / "alarm.html", title="alarm", target="LVFAILURE", evidence=observed)
told(OUT / "alarm.html", f"{len(net.variables)} variables")
