"""Save, load, draw and hand over: the native format, BIF, UAI, DOT, SVG and pgmpy."""

import tempfile
import warnings
from pathlib import Path

import bayesgraph as bg

rain = bg.Discrete("rain", ["no", "yes"])
wet = bg.Discrete("wet", ["dry", "wet"])
net = bg.BayesianNetwork(
    [
        bg.TableCPD(rain, [0.8, 0.2]),
        bg.TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], parents=[rain]),
    ]
)

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)

    # The native format keeps every name, state, type and number, and checks them when it loads.
    net.save(folder / "net.bayesgraph")
    print("native, the same:", bg.load(folder / "net.bayesgraph") == net)

    # BIF is read by most other tools; it holds discrete variables with text states.
    net.save(folder / "net.bif")
    print("BIF, the same:", bg.load(folder / "net.bif") == net)
    numbers = bg.BayesianNetwork([bg.TableCPD(bg.Discrete("dice", [1, 2]), [0.5, 0.5])])
    try:
        numbers.save(folder / "dice.bif")
    except bg.errors.LossyExportError as error:
        print("... and what it cannot hold it refuses:", error)

    # UAI, the format of the inference competitions, holds numbers only and factor graphs too.
    graph = net.to_factor_graph()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bg.errors.LossyExportWarning)  # names and states
        graph.save(folder / "net.uai", strict=False)
    back = bg.load(folder / "net.uai", variables=graph.variables)
    print("UAI:", back.query("rain", {"wet": "wet"}))

    # pgmpy's object of the same network, and back.
    print("pgmpy, the same:", bg.from_pgmpy(net.to_pgmpy()) == net)

    # Pictures: evidence is shaded, beliefs are drawn as bars.
    net.render(folder / "net.svg", evidence={"wet": "wet"}, beliefs=True)
    print("drawn:", (folder / "net.svg").stat().st_size > 1000)

print("DOT, the arc:", net.to_dot(states=False).splitlines()[-2].strip())
