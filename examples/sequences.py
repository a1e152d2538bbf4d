"""Days of patients, some of them missing: a hidden state, its course, and a forecast."""

import sys
from pathlib import Path

import numpy as np

import bayesgraph as bg

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)

random = np.random.default_rng(0)
rows = {"patient": [], "day": [], "steps": [], "mood": []}
for patient in range(20):
    ill = 0
    for day in range(60):
        ill = int(random.random() < (0.9 if ill else 0.05))
        if random.random() < 0.85:  # some days are missing, and some cells
            rows["patient"].append(patient)
            rows["day"].append(day)
            rows["steps"].append(random.normal(3.0 if ill else 8.0))
            low = random.random() < (0.7 if ill else 0.2)
            rows["mood"].append(None if random.random() < 0.2 else "low" if low else "good")

where = {"id": "patient", "time": "day", "step": 1}
template = bg.hidden_markov(["a", "b"], {"steps": "gaussian", "mood": ["good", "low"]})
model = bg.TemporalNetwork.fit(template, rows, restarts=3, random_state=0, **where)
print(model)
print(model.training.history)
for cpd in model.slices[-1]:
    print(cpd)

print("\nThe first days of the first patient, and the state that explains all days best:")
course = model.smooth(rows, "state", **where)
path = model.most_probable(rows, frame="dict", **where)["state"]
for i in range(10):
    print(rows["day"][i], f"{rows['steps'][i]:.1f}", rows["mood"][i], course[i].round(3), path[i])

print("\nThe next three days of the first two patients:")
print(model.forecast(rows, "mood", 3, **where)[:2].round(3))
bg.pictures.save_figure(bg.plot(course, sequence=0), out / "course.svg")
model.render(out / "template.svg")
model.save(out / "patients.bayesgraph")
