"""A table of what this library and its peers have, each entry looked up where that is possible.

python benchmarks/compare_features.py [--check]

An entry is the place in a library where the feature is, which is imported to see that it is there,
or a word by its manual: of R's bnlearn, and where a library has none. --check prints which places
were found, were not, or belong to libraries that are not installed. README.md has the table.
"""

from __future__ import annotations

import argparse
import importlib.util
import pkgutil
import warnings

LIBRARIES = ("bayesgraph", "pgmpy", "pyAgrum", "bnlearn (R)", "scikit-learn", "river")
NO = "no"
# Rows of the table; "a:b" is the attribute b of the module a, "a:" the module.
FEATURES: dict[str, tuple[str, ...]] = {
    "exact posteriors of any variable": (
        "bayesgraph:BayesianNetwork.query", "pgmpy.inference:VariableElimination",
        "pyagrum:LazyPropagation", "by gRain", NO, NO,
    ),
    "naive Bayes and TAN that answer any question": (
        "bayesgraph:TANClassifier.query", "pgmpy.estimators:TreeSearch",
        "pyagrum.skbn:BNClassifier", "yes", NO, NO,
    ),
    "text, numbers and empty cells in one fit": (
        "bayesgraph:NaiveBayesClassifier.fit", NO, "no empty cells", "numbers, factors",
        "sklearn.ensemble:HistGradientBoostingClassifier", "river.naive_bayes:GaussianNB",
    ),
    "parameters from incomplete rows (EM)": (
        "bayesgraph:BayesianNetwork.fit", "pgmpy.estimators:ExpectationMaximization",
        "pyagrum:BNLearner.useEM", "yes", NO, NO,
    ),
    "learning a structure": (
        "bayesgraph:BayesianNetwork.learn", "pgmpy.estimators:HillClimbSearch",
        "pyagrum:BNLearner", "yes", NO, NO,
    ),
    "effects of interventions, identification": (
        "bayesgraph:CausalGraph", "pgmpy.inference:CausalInference", "pyagrum.causal:CausalModel",
        "interventions", NO, NO,
    ),
    "smallest change that turns an answer": (
        "bayesgraph.questions:flip", NO, NO, NO, NO, NO,
    ),
    "which finding to ask for next, by cost": (
        "bayesgraph.questions:next_question", NO, NO, NO, NO, NO,
    ),
    "sequences and hidden states": (
        "bayesgraph:TemporalNetwork", "pgmpy.models:DynamicBayesianNetwork", "pyagrum.ktbn:", NO,
        NO, NO,
    ),
    "streams with drift": (
        "bayesgraph:StreamingNaiveBayesClassifier", NO, NO, NO, NO, "river.drift:ADWIN",
    ),
    "tables larger than memory": (
        "bayesgraph:open_dataset", NO, NO, NO, "sklearn.naive_bayes:GaussianNB.partial_fit",
        "river.stream:iter_csv",
    ),
    "a page that answers in a browser, offline": (
        "bayesgraph:BayesianNetwork.to_html", NO, NO, NO, NO, NO,
    ),
    "influence diagrams": (NO, NO, "pyagrum:InfluenceDiagram", NO, NO, NO),
    "intervals of probability (credal networks)": (NO, NO, "pyagrum:CredalNet", NO, NO, NO),
    "conditional distributions by a program, variational": (
        NO, "pgmpy.models:FunctionalBayesianNetwork", NO, NO, NO, NO,
    ),
    "boosting and forests at scale": (
        NO, NO, NO, NO, "sklearn.ensemble:HistGradientBoostingClassifier",
        "river.forest:ARFClassifier",
    ),
}  # fmt: skip


def places() -> list[str]:
    """Return every place of the table, once."""
    return sorted({entry for row in FEATURES.values() for entry in row if ":" in entry})


def is_there(place: str) -> bool | None:
    """Tell whether a place is found; None if its library is not installed."""
    if importlib.util.find_spec(place.partition(":")[0].partition(".")[0]) is None:
        return None
    try:
        pkgutil.resolve_name(place)
    except (AttributeError, ImportError):
        return False
    return True


def table() -> str:
    """Return the table as Markdown: a place is a yes."""
    lines = ["| | " + " | ".join(LIBRARIES) + " |", "|---" * (len(LIBRARIES) + 1) + "|"]
    for feature, row in FEATURES.items():
        cells = ["yes" if ":" in entry else entry for entry in row]
        lines.append("| " + " | ".join([feature, *("" if c == NO else c for c in cells)]) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--check", action="store_true", help="print which places were found")
    if options.parse_args().check:
        warnings.simplefilter("ignore")
        words = {True: "found", False: "MISSING", None: "not installed"}
        print("\n".join(f"{words[is_there(place)]:14} {place}" for place in places()))
    else:
        print(table())
