"""A stream that never ends and changes on the way: learn it in one pass, in bounded memory."""

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayesgraph as bg
from bayesgraph.pictures import save_figure

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)

# Six sources of two classes, and sensors that hear them: three of them hear the first.
SENSORS = ("pressure", "pressure_2", "pressure_3", "flow", "vibration", "noise")
mixing = np.eye(6)
mixing[0, 1:3] = 1.5
random = np.random.default_rng(0)
y = random.integers(0, 2, 20_000)
sign = np.where(y == 1, 1.0, -1.0)[:, None]
sources = random.normal(size=(20_000, 6)) + sign * np.array([1.5, 0, 0, 1, 1, 0]) / 2
# Then somebody changes the plant: flow speaks the other way, vibration by its variance.
late = slice(10_000, None)
sources[late, 3] -= 1.5 * sign[late, 0]
sources[late, 4] = random.normal(size=10_000) * np.exp(0.75 * sign[late, 0])
X = sources @ mixing
rows = pa.table(dict(zip(SENSORS, X.T, strict=True)))
labels = np.where(y == 1, "fault", "fine")

models = {
    "naive Bayes": bg.StreamingNaiveBayesClassifier(),
    "nB, forgets": bg.StreamingNaiveBayesClassifier(decay=0.999),
    "weighted": bg.StreamingWeightedNaiveBayesClassifier(),
    "w., forgets": bg.StreamingWeightedNaiveBayesClassifier(decay=0.999),
    "w., watches": bg.StreamingWeightedNaiveBayesClassifier(detector="adwin"),
    "scikit-learn": make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=0)),
}
print("Each row is predicted and then learned from; the plant changes at row 10,000.")
found = bg.prequential(models, rows, labels)
print(found)
print("The one that watches saw the change at rows", found["w., watches"].alarms.tolist())
save_figure(bg.plot(found, changes=[10_000], title="A stream that changes"), out / "stream.png")

clf = models["w., forgets"].refresh()
print("\nThree sensors say the same; exponents of each class, learned on the way:")
for sensor, exponent in clf.network_.exponents.items():
    print(f"  {sensor:<11}" + " ".join(f"{value:.2f}" for value in np.atleast_1d(exponent)))
print(f"The model holds {clf.star_.nbytes / 1e3:,.0f} kB, however long the stream is.")
clf.render(out / "stream.svg", states=False)

print("\nHalf of the sensors are silent, and left out before the exponents:")
print(clf.query(evidence={"pressure": 1.0, "flow": -1.0, "vibration": 2.5}))
print(clf.query(evidence={"vibration": 2.5}))

# A model that is saved goes on exactly where it stopped.
clf.save(out / "stream.bayesgraph")
resumed = bg.load(out / "stream.bayesgraph")
more, classes = rows.slice(0, 500), labels[:500]
same = resumed.test_then_train(more, classes)[1] == clf.test_then_train(more, classes)[1]
print("\nSaved, loaded and taught 500 more rows, the same to the bit:", same.all())

print("\nOne row at a time, with a sensor and a state that nobody has seen:")
clf.learn_one({"pressure": 9.0, "humidity": 0.4}, "flooded")
print(clf.classes_.tolist(), clf.predict_one({"pressure": -1.0, "flow": 1.0}))

if find_spec("river"):  # its tools take the same models, and prequential takes its models
    from river import linear_model, preprocessing
    from river.datasets import Phishing

    print("\nBeside river, on one of its streams of rows and labels:")
    own = bg.to_river(bg.StreamingWeightedNaiveBayesClassifier())
    peer = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    print(bg.prequential({"weighted": own, "logistic": peer}, Phishing()))
