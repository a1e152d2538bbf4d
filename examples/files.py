"""Save, load, draw and hand over: files of every format, DOT, SVG and pgmpy."""

import tempfile
import textwrap
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

    # GeNIe, Hugin, Netica, Weka and most tools of the field: the suffix names the format.
    for suffix in (".xdsl", ".net", ".dne", ".xmlbif", ".bif"):
        net.save(folder / f"net{suffix}")
        print(f"{suffix}, the same:", bg.load(folder / f"net{suffix}") == net)

    # What a format cannot hold it refuses.
    dice = bg.Discrete("first throw", [1, 2])
    numbers = bg.BayesianNetwork([bg.TableCPD(dice, [0.5, 0.5])])
    try:
        numbers.save(folder / "dice.net")
    except bg.errors.LossyExportError as error:
        print(textwrap.fill(str(error), 80))

    # Or it writes similar words, and comments from which bayesgraph restores what they stand for.
    report = numbers.save(folder / "dice.net", strict=False)
    print(len(report.restored), "restored,", len(report.lost), "lost")
    print("dice, the same:", bg.load(folder / "dice.net") == numbers)

    # Positions, notes and titles of graphical programs are annotations.
    drawn = bg.models.annotated(
        net, bg.models.Annotations(positions={"rain": (100, 60), "wet": (100, 160)})
    )
    drawn.save(folder / "drawn.xdsl")
    print("positions:", dict(bg.load(folder / "drawn.xdsl").annotations.positions))

    # UAI, the format of the inference competitions, has no names, and factor graphs too.
    graph = bg.FactorGraph.of(net)
    graph.save(folder / "net.uai", strict=False)
    print("UAI:", bg.load(folder / "net.uai").query("rain", {"wet": "wet"}))

    # pgmpy's object of the same network, and back.
    print("pgmpy, the same:", bg.from_pgmpy(bg.files.to_pgmpy(net)) == net)

    # Pictures: evidence is shaded, beliefs are drawn as bars.
    net.render(folder / "net.svg", evidence={"wet": "wet"}, beliefs=True)
    print("drawn:", (folder / "net.svg").stat().st_size > 1000)

print("DOT, the arc:", bg.pictures.to_dot(net, states=False).splitlines()[-2].strip())
