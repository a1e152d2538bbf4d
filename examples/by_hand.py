"""Build a small network by hand, with discrete and continuous variables, and ask it everything."""

import bayesgraph as bg

# Variables keep names and states as typed: booleans stay booleans.
rain = bg.Discrete("rain", ["no", "yes"])
sprinkler = bg.Discrete("sprinkler", [False, True])
wet = bg.Discrete("wet", [False, True])
temperature = bg.Continuous("temperature")

net = bg.BayesianNetwork(
    [
        bg.TableCPD(rain, [0.8, 0.2]),
        bg.TableCPD(sprinkler, [[0.6, 0.4], [0.99, 0.01]], parents=[rain]),
        # One axis for each parent, the child's states on the last one.
        bg.TableCPD(
            wet,
            [[[1.0, 0.0], [0.1, 0.9]], [[0.2, 0.8], [0.01, 0.99]]],
            parents=[rain, sprinkler],
        ),
        bg.GaussianCPD(temperature, mean=[20.0, 14.0], variance=[9.0, 4.0], parents=[rain]),
    ]
)
print(net, "\n")

print("Why is the lawn wet?")
print(net.query("rain", {"wet": True}))
print(net.query("sprinkler", {"wet": True}), "\n")

print("... on a cold day? Continuous evidence is evidence like any other.")
print(net.query("rain", {"wet": True, "temperature": 12.5}), "\n")

print("The joint posterior of both causes:")
print(net.query(["rain", "sprinkler"], {"wet": True}), "\n")

print("How warm is it when the lawn is wet? The posterior is an exact mixture:")
warm = net.query("temperature", {"wet": True})
print(warm)
print(f"P(temperature <= 15 | wet) = {warm.cdf(15.0):.4f}\n")

print("I think I saw it wet, 4 to 1 (soft evidence, a likelihood per state):")
print(net.query("rain", {"wet": {True: 4.0, False: 1.0}}), "\n")

print("The most probable explanation, which is not the list of most probable states:")
print(net.most_probable({"wet": True}), "\n")

print(f"log P(wet) = {net.log_probability({'wet': True}):.6f}\n")

print("What a query would compute, before it runs:")
print(net.plan("rain", ["wet"]), "\n")

print("Five rows from the model:")
for name, column in net.sample(5, random_state=0, frame="dict").items():
    values = (f"{x:.1f}" if isinstance(x, float) else str(x) for x in column.tolist())
    print(f"  {name:<12}", *(f"{value:>6}" for value in values))
fitted = bg.BayesianNetwork.fit(net.graph, net.sample(20_000, random_state=1))
print("P(rain) estimated from 20,000 rows:", round(fitted.query("rain")["yes"], 3))
