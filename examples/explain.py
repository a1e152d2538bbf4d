"""Why this class? One patient's log odds finding by finding, and three kinds of pictures."""

import sys
from pathlib import Path

from matplotlib.figure import Figure

import bayesgraph as bg
from bayesgraph.pictures import nomogram_figure, plot_decision_boundary, save_figure

heart = bg.read_table(Path(__file__).parent / "data" / "heart.csv")
X, y = heart.drop_columns("disease"), heart.select(["disease"])
out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("out")
out.mkdir(parents=True, exist_ok=True)

print("Log odds are a sum, in a TAN too; what is not observed is summed out:")
tan = bg.TANClassifier().fit(X, y)
patient = {"age": 63, "thalach": 150, "cp": "asympt", "slope": "flat", "oldpeak": 2.3}
why = tan.contributions(evidence=patient, positive="yes")
print(why, "\n")

print("What a finding says alone, and what the arc from its parent changes about that:")
term = why.term("oldpeak")
arcs = ", ".join(f"given {parent} {added:+.3f}" for parent, added in term.arcs.items())
print(f"  {term.name}: alone {term.alone:+.3f}, {arcs}, together {term.log_odds:+.3f}\n")
save_figure(bg.plot(why, arcs=True), out / "why.png")

print("The same for a whole table at once: an array of rows by features.")
whole = tan.ask.contributions_rows(X, positive="yes")
print(whole)
print("The first patients' log odds:", whole.total[:4].round(3), "\n")

print("A naive Bayes on paper: a ruler for each feature, to add up by hand.")
bayes = bg.NaiveBayesClassifier().fit(X, y)
save_figure(nomogram_figure(bayes, positive="yes"), out / "nomogram.png")

print("Where each model draws the line, the other eleven features not observed.")
figure = Figure(figsize=(10, 4), layout="constrained")
for clf, ax in zip((bayes, tan), figure.subplots(1, 2), strict=True):
    plot_decision_boundary(clf, X, heart["disease"].to_pylist(), ("age", "thalach"), ax)
save_figure(figure, out / "boundaries.png")

print("\nMore patients like this one, drawn from the exact posterior:")
drawn = tan.network_.sample(1000, evidence=patient, random_state=0, frame="dict")
print(f"  {(drawn['disease'] == 'yes').mean():.3f} ill; the model says {why.probability:.3f}")
