"""Build a clinic from two parts, change it, and keep 30 causes of a fever small."""

import numpy as np

import bayesgraph as bg

NO_YES = ["no", "yes"]
random = np.random.default_rng(1)

print("A fever with thirty causes: a table of a billion rows, or thirty numbers:")
diseases = [bg.Discrete(f"disease {i}", NO_YES) for i in range(30)]
fever = bg.Discrete("fever", NO_YES)
strength = random.uniform(0.1, 0.9, 30)
priors = random.uniform(0.001, 0.05, 30)
clinic = bg.BayesianNetwork(
    [
        *[bg.TableCPD(d, [1 - p, p]) for d, p in zip(diseases, priors, strict=True)],
        bg.NoisyOrCPD(fever, strength, diseases, leak=0.01),
    ]
)
print(clinic.query("fever"))
posterior = clinic.marginals({"fever": "yes"})
likely = sorted((posterior[d.name]["yes"], d.name) for d in diseases)[::-1][:3]
print("causes of a fever:", ", ".join(f"{name} {p:.3f}" for p, name in likely))

print("\nA ward has a stand-in for the fever; merged, the clinic explains it:")
alarm = bg.Discrete("alarm", ["silent", "rings"])
night = bg.Discrete("night", NO_YES)
ward = bg.BayesianNetwork(
    [
        bg.TableCPD(fever, [0.5, 0.5]),
        bg.TableCPD(night, [0.6, 0.4]),
        bg.DeterministicCPD(
            alarm, lambda f, n: "rings" if f == "yes" and n == "no" else "silent", [fever, night]
        ),
    ]
)
whole = bg.models.merged(clinic, ward, prefer="self")
print("P(alarm) alone ", round(ward.query("alarm")["rings"], 3))
print("P(alarm) merged", round(whole.query("alarm")["rings"], 3))

print("\nEach change is a new network, and exact:")
top = likely[0][1]
treated = whole.conditioned({top: "no"})
print(f"without {top}: {len(treated)} variables, alarm", round(treated.query("alarm")["rings"], 3))
seen = whole.query("alarm", {top: "no"})["rings"]
print("the same, asked with evidence:        ", round(seen, 3))
rest = whole.marginalised(*[d.name for d in diseases[5:]])
print("summed out but for", ", ".join(p.name for p in rest["fever"].parents))
print("fever", round(whole.query("fever")["yes"], 6), "->", round(rest.query("fever")["yes"], 6))

print("\nThe evidence of an alarm makes its causes dependent, which takes arcs:")
ringing = rest.conditioned({"alarm": "rings"})
print(", ".join(f"{a} -> {b}" for a, b in sorted(ringing.graph.edges)[:3]), "...")
french = rest.renamed({"fever": "fièvre"}).with_states("fièvre", {"no": "non", "yes": "oui"})
print(french["alarm"])
