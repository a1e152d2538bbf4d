"""What a file holds: the card of a model, as text, as Markdown and as a page."""

from pathlib import Path

import bayesgraph as bg

HERE = Path(__file__).parent
OUT = Path("out")
OUT.mkdir(exist_ok=True)

heart = bg.read_table(HERE / "data" / "heart.csv")
X, y = heart.drop_columns("disease"), heart.select(["disease"])

print("Two halves of a table, learned one after the other, and saved:")
half = heart.num_rows // 2
clf = bg.TANClassifier(smoothing=0.5).fit(X.slice(0, half), y.slice(0, half))
clf.partial_fit(X.slice(half), y.slice(half))
clf.save(OUT / "heart_tan.bayesgraph")

print("What somebody who gets the file can see of it:\n")
loaded = bg.load(OUT / "heart_tan.bayesgraph")
card = bg.card(loaded, title="Heart disease, TAN")
print(card)
assert card.checksum == bg.card(clf).checksum

print("\nWith its accuracy in a cross-validation, as a page and as Markdown:")
(found,) = bg.evaluate({"TAN": bg.TANClassifier(smoothing=0.5)}, X, y, cv=5)
card = bg.card(loaded, evaluation=found, title="Heart disease, TAN")
print(card.tables()[-1].text())
for name in ("heart_card.html", "heart_card.md"):
    card.save(OUT / name)
    print(f"written to {OUT / name}")
