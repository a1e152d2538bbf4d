"""A network from a table without a class: methods, knowledge, equivalence and confidence."""

import textwrap
from pathlib import Path

import bayesgraph as bg

data = Path(__file__).parent / "data" / "heart.csv"
Path("out").mkdir(exist_ok=True)
table = bg.read_table(data)
codes = ["ca"]  # 0 to 3 vessels are states here: few numbers, which are not a Gaussian's

print("Four ways to a structure, over all columns of a table:")
for method in ("hill_climb", "tabu", "pc", "chow_liu"):
    net = bg.BayesianNetwork.learn(table, method=method, categorical=codes)
    fit = net.log_likelihood(table).sum()
    print(f"{method:11} {net.graph.number_of_edges():3} arcs, log likelihood {fit:10.1f}")

print("\nAge and sex come first, and then what is measured:")
measured = [name for name in table.column_names if name not in ("age", "sex", "disease")]
net = bg.BayesianNetwork.learn(
    table,
    method="tabu",
    tiers=[["age", "sex"], measured, "disease"],
    categorical=codes,
    check_columns=False,  # no arc leads from a number, such as age, to a category
)
for (parent, child), score in sorted(net.arc_scores.items(), key=lambda item: -item[1])[:6]:
    print(f"  {parent} -> {child}: {score:.4f} nats a row")
posterior = net.query("disease", {"thal": "reversable_defect"})
print(f"P(disease | thal) = {posterior['yes']:.3f}")

print("\nWhat the data alone direct, and what could as well be turned:")
free = bg.BayesianNetwork.learn(table, categorical=codes)
print(textwrap.fill(str(bg.graphs.cpdag(free)), 80))
distance = bg.graphs.structural_hamming_distance(free, net)
print(f"{distance} pairs of columns differ between the two networks")

print("\nHow often arcs come back in samples of the rows:")
found = bg.arc_confidence(table, n_samples=5, categorical=codes)
print(textwrap.fill(str(found), 80, replace_whitespace=False))
found.render("out/heart_arcs.svg", states=False)
print("Drawn to out/heart_arcs.svg, the less certain arcs paler")
