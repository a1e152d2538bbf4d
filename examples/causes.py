"""From what is seen to what happens if: confounding, the front door, and tests of a graph."""

import textwrap

import numpy as np

import bayesgraph as bg

random = np.random.default_rng(1)
n = 20_000

print("A drug is given to the old more often, and the old recover less often:")
old = random.random(n) < 0.4
drug = random.random(n) < np.where(old, 0.8, 0.2)
well = random.random(n) < 0.5 + 0.2 * drug - 0.3 * old
rows = {"old": old, "drug": drug, "well": well}
graph = bg.CausalGraph([("old", "drug"), ("old", "well"), ("drug", "well")])
print("sets to adjust for:", graph.adjustment_sets("drug", "well"))
print(bg.questions.adjusted_effect(rows, "drug", "well"), "\n")
print(bg.questions.adjusted_effect(rows, "drug", "well", graph))
print("The truth is +0.2.\n")

print("The same from a network: seeing that someone takes the drug, and giving it:")
net = bg.BayesianNetwork.fit(graph.arcs, rows)
print("P(well | drug)     ", round(net.query("well", {"drug": True})[True], 3))
print("P(well | do(drug)) ", round(net.query("well", do={"drug": True})[True], 3))
print("among the old      ", round(net.query("well", {"old": True}, do={"drug": True})[True], 3))

print("\nA gene that nobody measured makes people smoke, and ill; smoking makes tar:")
gene = random.random(n) < 0.5
smoke = random.random(n) < np.where(gene, 0.8, 0.2)
tar = random.random(n) < np.where(smoke, 0.9, 0.1)
ill = random.random(n) < 0.1 + 0.4 * tar + 0.3 * gene
rows = {"smoke": smoke, "tar": tar, "ill": ill}
graph = bg.CausalGraph([("smoke", "tar"), ("tar", "ill")], confounded=[("smoke", "ill")])
print("sets to adjust for:", graph.adjustment_sets("smoke", "ill"))
print("front doors:       ", graph.front_door_sets("smoke", "ill"))
estimand = graph.identify("ill", do="smoke")
left, right = str(estimand).split(" = ")
print(f"{left} =\n    {right}")
fitted = bg.BayesianNetwork.fit(graph.to_dag(), rows)
risk = {state: estimand.evaluate(fitted, {"smoke": state})[True] for state in (False, True)}
seen = {state: float(ill[smoke == state].mean()) for state in (False, True)}
print(f"seen difference    {seen[True] - seen[False]:+.3f}")
print(f"effect             {risk[True] - risk[False]:+.3f}   the truth is {0.8 * 0.4:+.3f}")

print("\nWithout tar there is no answer, and the message says why:")
try:
    bg.CausalGraph([("smoke", "ill")], [("smoke", "ill")]).identify("ill", do="smoke")
except bg.errors.NotIdentifiableError as error:
    print(textwrap.fill(str(error), 80))

print("\nWhat a graph implies can be tested on the rows:")
chain = bg.CausalGraph([("smoke", "tar"), ("tar", "ill")])
for statement in chain.pairwise_independencies():
    p_value = bg.independence_test(rows, *statement).p_value
    print(f"{statement}: p = {p_value:.2g}, so this graph lacks the gene")
