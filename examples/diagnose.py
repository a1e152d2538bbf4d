"""A diagnosis: everything at once, explanations, conflicts, what-ifs, and a model too large to sum.

The chest clinic of Lauritzen and Spiegelhalter (1988): eight variables, dyspnoea and an X-ray.
"""

import textwrap

import bayesgraph as bg
from bayesgraph.core.errors import MemoryLimitError

NO_YES = ["no", "yes"]
asia, tub, smoke, lung, bronc, either, xray, dysp = (
    bg.Discrete(name, NO_YES)
    for name in ("asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp")
)
clinic = bg.BayesianNetwork(
    [
        bg.TableCPD(asia, [0.99, 0.01]),
        bg.TableCPD(tub, [[0.99, 0.01], [0.95, 0.05]], parents=[asia]),
        bg.TableCPD(smoke, [0.5, 0.5]),
        bg.TableCPD(lung, [[0.99, 0.01], [0.9, 0.1]], parents=[smoke]),
        bg.TableCPD(bronc, [[0.7, 0.3], [0.4, 0.6]], parents=[smoke]),
        bg.TableCPD(either, [[[1, 0], [0, 1]], [[0, 1], [0, 1]]], parents=[tub, lung]),
        bg.TableCPD(xray, [[0.95, 0.05], [0.02, 0.98]], parents=[either]),
        bg.TableCPD(dysp, [[[0.9, 0.1], [0.2, 0.8]], [[0.3, 0.7], [0.1, 0.9]]], [either, bronc]),
    ]
)
patient = {"dysp": "yes", "asia": "yes"}

print("All posteriors at once:")
print(clinic.marginals(patient), "\n")

print("The three best explanations, then the best of the diseases alone:")
for explanation in clinic.k_most_probable(3, patient):
    present = ", ".join(name for name, state in explanation.items() if state == "yes")
    print(f"  {explanation.log_probability:.4f}  {present or 'none of them'}")
print(" ", dict(clinic.most_probable(patient, over=["tub", "lung", "bronc"])), "\n")

print("The radiologist's word is not certain. Likelihoods count on top of the prior ...")
print(clinic.query("lung", patient | {"xray": {"no": 1, "yes": 4}}))
print("... a new belief replaces it (Jeffrey's rule):")
print(clinic.query("lung", patient | {"xray": bg.Belief({"no": 0.2, "yes": 0.8})}), "\n")

print("Do the findings go together? Above zero they contradict each other:")
print(clinic.ask.conflict({"xray": "yes", "dysp": "no", "bronc": "yes", "smoke": "no"}), "\n")

print("Which numbers of the model does this posterior hang on?")
print(clinic.ask.sensitivity("lung", "yes", patient | {"xray": "yes"}), "\n")

drawn = clinic.sample(10_000, patient, random_state=0)
share = (drawn["bronc"] == "yes").mean()
print(f"Patients like this one, drawn exactly: {share:.3f} have bronchitis\n")

print("A 40 x 40 grid is beyond any exact engine, and says so before it starts:")
cell = {(i, j): bg.Discrete((i, j), [0, 1]) for i in range(40) for j in range(40)}
near = [((i, j), (i, j + 1)) for i in range(40) for j in range(39)]
near += [((i, j), (i + 1, j)) for i in range(39) for j in range(40)]
grid = bg.FactorGraph(
    [bg.Factor([cell[a], cell[b]], [[1.3, 1.0], [1.0, 1.3]]) for a, b in near]
    + [bg.Factor([cell[0, 0]], [1, 9])]
)
try:
    grid.query((0, 1))
except MemoryLimitError as error:
    print(textwrap.fill(str(error), 80))
approximate = grid.query((0, 1), fallback="loopy")
print(approximate)
for line in str(approximate.approximation).splitlines():
    print(textwrap.fill(line, 80, drop_whitespace=False))

print("Its most probable assignment is found nevertheless, by search, and proved:")
best = grid.most_probable({(39, 39): 0})
print(sum(best.values()), "of", len(best), "cells are 1;", "proved" if best.proved else "a guess")
