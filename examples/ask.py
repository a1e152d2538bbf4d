"""What to ask next: a session on heart disease in which every question has its price.

The prices are those of Turney (1995, Journal of Artificial Intelligence Research 2), in Canadian
dollars of 1992: what a patient says costs 1, an exercise test or a scan about 100.
"""

import sys
from pathlib import Path

import bayesgraph as bg

PRICES = {
    **dict.fromkeys(["age", "sex", "cp", "trestbps"], 1.0),
    "chol": 7.27,
    "fbs": 5.2,
    "restecg": 15.5,
    "thalach": 102.9,
    "thal": 102.9,
    "ca": 100.9,
    **dict.fromkeys(["exang", "oldpeak", "slope"], 87.3),
}

OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("out")
OUT.mkdir(parents=True, exist_ok=True)

heart = bg.read_table(Path(__file__).parent / "data" / "heart.csv")
X, y = heart.drop_columns("disease"), heart.select(["disease"])
clf = bg.TANClassifier().fit(X, y)
patient = X.slice(7, 1).to_pylist()[0]

print("What says most, whatever it costs, and what says most per dollar:")
print(clf.ask.next_question(evidence={"sex": "female"}), "\n")
ranking = clf.ask.next_question(evidence={"sex": "female"}, costs=PRICES)
print(ranking, "\n")
bg.pictures.save_figure(bg.plot(ranking), OUT / "ask_next.svg")

print("A session that ends at a probability of 0.8, question after question:")
session = clf.ask.questionnaire(evidence={"sex": "female"}, costs=PRICES, threshold=0.8)
while session.question is not None:
    name = session.question
    answer = patient[name]
    session = session.answered(answer)
    sick = session.posterior["yes"]
    print(f"  {name}? {answer}. P(disease) = {sick:.3f}, {session.spent:.2f} dollars so far")
print(session, "\n")

print("Losses in dollars: a disease overlooked costs 2,000, a false alarm 1,500.")
losses = {("yes", "no"): 2000.0, ("no", "yes"): 1500.0}
session = clf.ask.questionnaire(costs=PRICES, losses=losses)
print(session.run(patient.get), "\n")

print("The next question of many patients, the first 100 without an exercise test:")
rows = X.to_pydict()
for column in ("thalach", "exang", "oldpeak", "slope"):
    rows[column] = [None] * 100 + rows[column][100:]
rows["cp"] = [None if i % 2 else value for i, value in enumerate(rows["cp"])]
print(clf.ask.next_question_rows(rows, costs=PRICES))
