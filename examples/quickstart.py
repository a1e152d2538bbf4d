"""Fit naive Bayes and TAN to three real data sets, ask a question, draw what was learned.

Run it from the root of the project: python examples/quickstart.py [DIRECTORY FOR THE PICTURES]

Digits and iris ship with scikit-learn. heart.csv has 303 patients with numeric and categorical
columns and some missing values: the Cleveland part of the Heart Disease set of the UCI repository
(Janosi, Steinbrunn, Pfisterer, Detrano 1989, doi 10.24432/C52P4X, CC BY 4.0).
"""

import sys
from pathlib import Path

import pyarrow as pa
from sklearn.datasets import load_digits, load_iris
from sklearn.naive_bayes import GaussianNB

import bayesgraph as bg
from bayesgraph.pictures import evaluation_figure, save_figure

here = Path(__file__).parent
out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)

# 1. Data. Any data frame will do; these are pyarrow tables.
digits, iris = load_digits(), load_iris()
pixels = pa.table(dict(zip(digits.feature_names, digits.data.T, strict=True)))
flowers = pa.table(dict(zip(iris.feature_names, iris.data.T, strict=True)))
species = iris.target_names[iris.target]
heart = bg.read_table(here / "data" / "heart.csv")
patients, disease = heart.drop_columns("disease"), heart.select(["disease"])

# 2. Accuracy on rows that the model has not seen: ten folds, the same for all models.
models = {"naive Bayes": bg.NaiveBayesClassifier(), "TAN": bg.TANClassifier()}
on_digits = bg.evaluate(models, pixels, digits.target)
on_iris = bg.evaluate(models, flowers, species)
on_heart = bg.evaluate(models, patients, disease)
(peer_digits,) = bg.evaluate({"": GaussianNB()}, digits.data, digits.target)
(peer_iris,) = bg.evaluate({"": GaussianNB()}, iris.data, species)

print("Accuracy, 10-fold cross-validation")
print(f"{'':<20}{'digits':>10}{'iris':>10}{'heart':>10}")
for a, b, c in zip(on_digits, on_iris, on_heart, strict=True):
    print(f"{a.name:<20}{a.accuracy:>10.3f}{b.accuracy:>10.3f}{c.accuracy:>10.3f}")
print(
    f"{'sklearn GaussianNB':<20}{peer_digits.accuracy:>10.3f}{peer_iris.accuracy:>10.3f}{'-':>10}"
)
print(f"{'study of 2021, NB':<20}{0.87:>10.2f}{'-':>10}{'-':>10}")
print("(heart has text columns and missing values, which GaussianNB does not take)\n")

# 3. One model, any question: what is not mentioned is not observed.
tan = bg.TANClassifier().fit(patients, disease)
print("A man of 60 with flat ST slope; nothing else is known:")
print(tan.query(evidence={"sex": "male", "age": 60, "slope": "flat"}), "\n")
print("How high may his heart rate go?")
print(tan.query("thalach", {"sex": "male", "age": 60, "slope": "flat"}), "\n")

# 4. Pictures: the graph that was learned, and where the digits are confused.
tan.render(out / "heart_tan.svg")
save_figure(evaluation_figure(on_digits), out / "digits_confusion.png")
print(f"Drawn: {out / 'heart_tan.svg'} and {out / 'digits_confusion.png'}")
