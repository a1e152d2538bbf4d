"""The card of a model: a report of what it was fitted on, made of, and of its accuracy."""

from __future__ import annotations

import hashlib
import heapq
import json
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bayesgraph import models
from bayesgraph.core.display import DisplayTable, Report, rounded
from bayesgraph.core.errors import DataTypeError, LossyExportError
from bayesgraph.core.variables import (
    Binned,
    Count,
    CountVector,
    Discrete,
    Grouped,
    MissingIndicator,
    Variable,
)
from bayesgraph.files.payloads import Writer
from bayesgraph.tables import Training, TrainingRows

# --------- What a model is made of: networks, arcs, distributions and the width of its moral graph


# Maximum length of a name, and number of variables that are listed.
_NAME, _LISTED_PARTS = 22, 40


def distributions(model: models.Model) -> str:
    """Return how many variables have a distribution of each kind."""
    kinds: Counter[str] = Counter()
    for block in _blocks(model):
        kinds[_kind(block)] += len(block.children)
    return ", ".join(f"{count:,} {name}" for name, count in kinds.most_common())


def _kind(block: models.CPD) -> str:
    """Return the kind of a distribution: its class without "CPD" or "Plate", or how many trees."""
    if isinstance(block, models.TreesCPD) and len(block.trees.roots) > 1:
        return f"mean of {len(block.trees.roots):,} trees"
    return type(block).__name__.removesuffix("CPD").removesuffix("Plate")


def _blocks(model: Any) -> Iterator[models.CPD]:
    """Yield the distributions of a model: those of its networks, or among its terms."""
    if not model.networks:
        yield from (term.source for term in model.terms if isinstance(term.source, models.CPD))
    for _, network in models.networks_in(model):
        yield from network._blocks


def width_of(model: Any) -> int:
    """Return a bound of the treewidth: the largest of those of its networks; see `width`."""
    if not model.networks:
        return width([term.source.scope for term in model.terms])
    return max(width(_scopes(network)) for _, network in models.networks_in(model))


def _scopes(network: models.BayesianNetwork) -> Iterator[Collection[Variable]]:
    """Yield the scopes of a network's distributions."""
    for block in network._blocks:
        # The children of a plate are alike: one of them stands for all, unless they depend on each
        # other.
        yield (*block.parents, *(block.children if block.siblings_depend else block.children[:1]))


def width(scopes: Iterable[Collection[Hashable]]) -> int:
    """Return the induced width of an elimination order: a bound of the treewidth from above.

    Variables of a scope are joined by edges. The variable with the fewest neighbours is eliminated
    next, and its neighbours are joined (the minimum degree heuristic; Kjærulff 1990).
    """
    number_of: dict[Hashable, int] = {}
    # The neighbours of each variable, by their numbers.
    neighbours: list[set[int]] = []
    for scope in scopes:
        clique = {number_of.setdefault(v, len(number_of)) for v in scope}
        neighbours += [set() for _ in range(len(number_of) - len(neighbours))]
        for v in clique:
            neighbours[v] |= clique - {v}
    heap = [(len(others), v) for v, others in enumerate(neighbours)]
    heapq.heapify(heap)
    widest, left = 0, set(range(len(neighbours)))
    # A variable has no more neighbours than are left.
    while widest < len(left) - 1:
        degree, v = heapq.heappop(heap)
        # Entries of variables whose degree has changed stay in the heap, beside newer ones.
        if v in left and degree == len(neighbours[v]):
            widest = max(widest, degree)
            left.remove(v)
            for u in neighbours[v]:
                neighbours[u] |= neighbours[v]
                neighbours[u] -= {u, v}
                heapq.heappush(heap, (len(neighbours[u]), u))
    return widest


def variables_table(model: models.Model) -> DisplayTable:
    """Return a table with a line for each variable: kind, parents, distribution, parameters.

    Only the first `_LISTED_PARTS` variables are listed. A model of one network alone has parents,
    distributions and parameters.
    """
    networks = [network for _, network in models.networks_in(model)]
    single = networks[0] if len(networks) == 1 else None
    shown = model.variables[:_LISTED_PARTS]
    rows = []
    for variable in shown:
        cells = [shortened(variable.name), _kind_of(variable)]
        if single is not None:
            cpd = single[variable.name]
            # A line has room for two parents.
            parents = ", ".join(shortened(p.name, 12) for p in cpd.parents[:2])
            more = len(cpd.parents) - 2
            parents += f" and {more} more" if more > 0 else ""
            cells += [parents, _kind(cpd), f"{cpd.n_parameters:,}"]
        rows.append(cells)
    left = len(model.variables) - len(shown)
    # Only the last column has numbers; the other four are labels.
    header = ["variable", "values", "parents", "distribution", "parameters"]
    return DisplayTable(
        "Variables",
        rows,
        header if single is not None else header[:2],
        note=f"... and {left:,} more" if left else "",
        labels=4,
    )


def _kind_of(variable: Variable) -> str:
    """Return in words what values a variable has."""
    match variable:
        case CountVector():
            return f"counts of {len(variable.items):,} items"
        case Binned():
            return f"{variable.cardinality:,} intervals"
        case Grouped():
            return f"{variable.cardinality:,} groups"
        case MissingIndicator():
            return f"whether {shortened(variable.of)} is missing"
        case Discrete():
            return f"{variable.cardinality:,} states"
        case Count():
            return "a count"
    return "a number"


def shortened(name: object, length: int = _NAME) -> str:
    """Return a name as text, cut to a length."""
    text = str(name)
    return text if len(text) <= length else f"{text[: length - 3]}..."


# ----------- The checksum of a model's parameters, the same for the same distributions in any file


# Fields that files hold of a model beside its distributions, and the beginning of the names of
# groups of arrays that posteriors of the parameters have.
_BESIDE = ("training", "annotations", "arc_scores", "arc_probabilities", "posterior")
_POSTERIORS = "ParameterPosterior."


def parameter_checksum(model: models.Model) -> str | None:
    """Return the SHA-256 of a model's variables, states, arcs and numbers, as 64 digits.

    Notes, positions, scores of arcs, posteriors of the parameters and what the model was fitted on
    are left out. It is None for a model that native files do not hold.
    """
    writer = Writer()
    try:
        item = writer.model(model)
    except LossyExportError:
        return None
    digest = hashlib.sha256(json.dumps(_kept(item), sort_keys=True).encode())
    # Groups of arrays are called after the record and the field that has them.
    for group, parts in sorted(writer.arrays.groups.items()):
        if not group.startswith(_POSTERIORS):
            digest.update(group.encode())
            for part in parts:
                digest.update(part.data)
    return digest.hexdigest()


def _kept(item: Any) -> Any:
    """Return the JSON of a model without the fields that the checksum ignores, at any depth."""
    if isinstance(item, dict):
        if item.keys() == {"fields"}:  # a mapping, whose keys may be names of variables
            return {"fields": {key: _kept(value) for key, value in item["fields"].items()}}
        return {key: _kept(value) for key, value in item.items() if key not in _BESIDE}
    return [_kept(value) for value in item] if isinstance(item, list) else item


# ------------ The card of a model: a report of what it was fitted on, made of, and of its accuracy


# Columns with missing values that are listed.
_LISTED = 20
# Measures of an evaluation, and how they are called.
_MEASURES = {
    "accuracy": "accuracy",
    "log_loss": "log loss (nats)",
    "brier": "Brier score (0 to 2)",
    "calibration_error": "calibration error",
}


@dataclass(frozen=True, eq=False, repr=False)
class ModelCard(Report):
    """What a model was fitted on, what it is made of, and how well it predicts.

    It has numbers of rows and of missing values, and no value of the data. It prints as text;
    ``save("card.md")`` and ``save("card.html")`` write it.

    Attributes
    ----------
    title : str
    training : Training or None
        None if the model was not fitted, or its file does not say on what.
    checksum : str or None
        SHA-256 of the distributions: variables, states, arcs and numbers. None if native files do
        not hold the model.
    sections : tuple of DisplayTable
    """

    title: str
    training: Training | None
    checksum: str | None
    sections: tuple[DisplayTable, ...]

    @property
    def summary(self) -> str:
        """What the model was fitted on, in a sentence."""
        if self.training is None:
            return "Not fitted: made or changed by hand, or read from a file that does not say."
        rows = self.training.rows
        if rows is None:
            return f"Fitted by {self.training.method}, on rows that it was not told of."
        return f"Fitted by {self.training.method} on {rows.n_rows:,} rows."

    def tables(self) -> Sequence[DisplayTable]:
        """Return the sections."""
        return self.sections


def card(source: Any, *, evaluation: Any = None, title: str | None = None) -> ModelCard:
    """Return the card of a model: what it was fitted on, its structure, settings and accuracy.

    Rows, missing values and settings are those of the last fit; `partial_fit` adds rows, and
    `forget` removes them. Native files and pages keep them.

    Parameters
    ----------
    source : model, fitted estimator or collected statistics
    evaluation : Evaluation, optional
        What :func:`bayesgraph.evaluate` found for the estimator. The card has it, the model does
        not: another fit, on other rows, is a model of another accuracy.
    title : str, optional
        By default the name of the estimator.

    Returns
    -------
    ModelCard
        It prints as text; `to_markdown`, `to_html` and `save` give other forms.

    Raises
    ------
    DataTypeError
        For anything else, such as an estimator that is not fitted, and an evaluation that is none.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> rows = {"rain": list("nnynyn"), "wet": ["n", "n", "y", None, "y", "n"]}
    >>> net = bg.BayesianNetwork.fit([("rain", "wet")], rows)
    >>> print(card(net).sections[0].text())
    Fitted on
      by              BayesianNetwork.fit of bayesgraph 0.1.0
      rows            6, without weights
      columns         2
      missing values  1 in 1 column
      settings        all as by default
    """
    model = getattr(source, "network_", source)
    if not isinstance(model, models.Model):
        # Collected statistics have a layout of columns.
        if not hasattr(source, "layout"):
            raise DataTypeError(
                "A card is of a model, a fitted estimator or collected statistics; got "
                f"{source!r:.80}. Fit an estimator first."
            )
        return _of_statistics(source, title)
    training = model.training
    checksum = parameter_checksum(model)
    name = training.method if training is not None else type(model).__name__
    parts = [
        *_training_tables(training),
        _structure_table(source, model, checksum),
        variables_table(model),
        *([] if evaluation is None else [_evaluation_table(evaluation)]),
    ]
    return ModelCard(title or f"Model card: {name}", training, checksum, tuple(parts))


def _of_statistics(source: Any, title: str | None) -> ModelCard:
    """Return the card of collected statistics, of which no model was made yet."""
    method = f"collect of {type(source.estimator).__name__}"
    # The layout has the columns of the features; the class is one more.
    training = Training(method, len(source.layout.columns) + 1, source.rows)
    facts = [
        ("kind", "collected statistics: 'bayesgraph merge' makes a classifier of them"),
        ("class", _of_class(source.target)),
        ("features", f"{len(source.features):,}"),
    ]
    parts = (*_training_tables(training), DisplayTable("Structure", facts, labels=2))
    return ModelCard(title or "Card of collected statistics", training, None, parts)


def _training_tables(training: Training | None) -> list[DisplayTable]:
    """Return the sections on what a model was fitted on, none if nobody knows."""
    if training is None:
        return []
    n_rows, n_missing = _row_facts(training.rows)
    facts = [
        ("by", f"{training.method} of bayesgraph {training.version}"),
        n_rows,
        ("columns", f"{training.n_columns:,}"),
        n_missing,
    ]
    if not training.settings:
        facts.append(("settings", "all as by default"))
    tables = [DisplayTable("Fitted on", facts, labels=2)]
    if training.missing:
        tables.append(_missing_table(training))
    if training.settings:
        rows = list(training.settings.items())
        tables.append(DisplayTable("Settings that differ from the defaults", rows, labels=2))
    return tables


def _row_facts(rows: TrainingRows | None) -> list[tuple[str, str]]:
    """Return the lines of a card that say how many rows, and how many missing values, there are."""
    if rows is None:
        return [("rows", "not known"), ("missing values", "not known")]
    weights = "without weights"
    if rows.weight is not None:
        weights = f"of weight {rounded(rows.weight, 7, grouped=True)}"
    n, total = len(rows.missing), sum(rows.missing.values())
    missing = f"{total:,} in {n:,} column{'s' * (n != 1)}" if n else "none"
    return [("rows", f"{rows.n_rows:,}, {weights}"), ("missing values", missing)]


def _missing_table(training: Training) -> DisplayTable:
    """Return the section with the columns that have the most missing values."""
    ranked = sorted(training.missing.items(), key=lambda item: -item[1])
    shown, n_rows = ranked[:_LISTED], (training.rows.n_rows if training.rows else 0)
    # A vector of counts may lack more cells than there are rows.
    shares = [min(n / n_rows, 1.0) if n_rows else 0.0 for _, n in shown]
    cells = [
        (shortened(name), f"{n:,}", f"{share:.1%}")
        for (name, n), share in zip(shown, shares, strict=True)
    ]
    left = len(ranked) - len(shown)
    return DisplayTable(
        "Missing values",
        cells,
        ("column", "missing", "of the rows"),
        bars=shares,
        note=f"... and {left:,} more" if left else "",
    )


def _structure_table(source: Any, model: models.Model, checksum: str | None) -> DisplayTable:
    """Return the section on what a model is made of."""
    is_discrete = [isinstance(v, Discrete) for v in model.variables]
    facts = [("kind", model._title)]
    target = getattr(source, "target_", model.target)
    if target is not None:
        facts.append(("class" if isinstance(target, Discrete) else "target", _of_class(target)))
    facts.append(("variables", f"{len(is_discrete):,}, of which {sum(is_discrete):,} discrete"))
    if model.networks:
        networks = models.networks_in(model)
        arcs = {arc for _, network in networks for block in network._blocks for arc in block.arcs()}
        facts.append(("arcs", f"{len(arcs):,}"))
    facts.append(("treewidth", f"at most {width_of(model):,}"))
    if model.n_parameters is not None:
        facts.append(("parameters", f"{model.n_parameters:,}"))
    facts.append(("distributions", shortened(distributions(model) or "none", 60)))
    digits = checksum or "none: native files do not hold the model"
    note = f"checksum of the parameters (SHA-256):\n{digits}"
    return DisplayTable("Structure", facts, note=note, labels=2)


def _of_class(target: Any) -> str:
    """Return the name of the target of a model, and of a class how many states it has."""
    name = shortened(target.name, 40)
    return f"{name}, of {target.cardinality:,} states" if isinstance(target, Discrete) else name


def _evaluation_table(evaluation: Any) -> DisplayTable:
    """Return the section on the accuracy that an evaluation found."""
    if not all(hasattr(evaluation, name) for name in (*_MEASURES, "fold_accuracy", "y_true")):
        raise DataTypeError(
            "evaluation= takes an Evaluation, such as the first that bayesgraph.evaluate returns; "
            f"got {evaluation!r:.80}."
        )
    rows = [(text, f"{getattr(evaluation, name):.4f}") for name, text in _MEASURES.items()]
    n_folds, n_rows = len(evaluation.fold_accuracy), len(evaluation.y_true)
    note = f"{n_rows:,} rows, each predicted by a fit without its fold; {n_folds} folds."
    return DisplayTable(f"Accuracy of {evaluation.name}, cross-validated", rows, note=note)
