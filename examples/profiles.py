"""Maps of a table: profiles, correspondence analysis, principal and discriminant axes."""

import textwrap
from pathlib import Path

import bayesgraph as bg
from bayesgraph.pictures import save_figure

heart = bg.read_table(Path(__file__).parent / "data" / "heart.csv")
out = Path("out")
out.mkdir(exist_ok=True)

print("Which pain goes with which disease:")
table = bg.questions.crosstab(heart, "cp", "disease")
for line in str(table).splitlines():
    print(textwrap.fill(line, 80, drop_whitespace=False))

print("Categories of several columns on the same axes:")
names = ["cp", "thal", "slope", "exang", "disease"]
map_ = bg.questions.multiple_correspondence(heart, names)
print(map_, "\n")
save_figure(bg.plot(map_), out / "heart_map.svg")

print("Axes along which the numbers vary, and one that sets the classes apart:")
numbers = ["age", "trestbps", "chol", "thalach", "oldpeak"]
print(bg.questions.principal_axes(heart, numbers), "\n")
axes = bg.questions.discriminant_axes(heart, "disease", numbers)
print(axes)
save_figure(bg.plot(axes, table=heart, labels=heart["disease"].to_pylist()), out / "heart_axes.svg")

print("\nA model answers in the place of rows, and for cases that the rows do not have:")
model = bg.TANClassifier().fit(heart.drop_columns("disease"), heart.select(["disease"]))
young = bg.questions.crosstab(model, "cp", "disease", evidence={"age": 35})
print(young)
print("\nIts posterior of a number is a mixture:")
print(model.query("chol", {"disease": "yes"}))
print(f"\nThe maps are in {out}.")
