"""The card of a model: a report of what it was fitted on, made of, and of its accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bayesgraph.cards.checksum import parameter_checksum
from bayesgraph.cards.structure import (
    described,
    distributions,
    n_arcs,
    shortened,
    variables_table,
    width_of,
)
from bayesgraph.display import DisplayTable, rounded
from bayesgraph.errors import DataTypeError
from bayesgraph.models.model import Model
from bayesgraph.models.training import Training, TrainingRows
from bayesgraph.report import Report
from bayesgraph.variables import Discrete

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
    if not isinstance(model, Model):
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
    training = Training(method, len(source.layout.columns) + 1, source.rows)
    facts = [
        ("kind", "collected statistics: 'bayesgraph merge' makes a classifier of them"),
        ("class", _of_class(source.target)),
        ("features", f"{len(source.features):,}"),
    ]
    parts = (*_training_tables(training), DisplayTable("Structure", facts, labels=2))
    return ModelCard(title or "Card of collected statistics", training, None, parts)


def _training_tables(training: Training | None) -> list[DisplayTable]:
    if training is None:
        return []
    facts = [("by", f"{training.method} of bayesgraph {training.version}")]
    facts += _row_facts(training.rows)
    facts.insert(2, ("columns", f"{training.n_columns:,}"))
    if not training.settings:
        facts.append(("settings", "all as by default"))
    found = [DisplayTable("Fitted on", facts, labels=2)]
    if training.missing:
        found.append(_missing_table(training))
    if training.settings:
        rows = list(training.settings.items())
        found.append(DisplayTable("Settings that differ from the defaults", rows, labels=2))
    return found


def _row_facts(rows: TrainingRows | None) -> list[tuple[str, str]]:
    if rows is None:
        return [("rows", "not known"), ("missing values", "not known")]
    weights = (
        "without weights"
        if rows.weight is None
        else f"of weight {rounded(rows.weight, 7, grouped=True)}"
    )
    n, total = len(rows.missing), sum(rows.missing.values())
    missing = f"{total:,} in {n:,} column{'s' * (n != 1)}" if n else "none"
    return [("rows", f"{rows.n_rows:,}, {weights}"), ("missing values", missing)]


def _missing_table(training: Training) -> DisplayTable:
    ranked = sorted(training.missing.items(), key=lambda item: -item[1])
    shown, n_rows = ranked[:_LISTED], training.rows.n_rows if training.rows else 0
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


def _structure_table(source: Any, model: Model, checksum: str | None) -> DisplayTable:
    kinds = [isinstance(v, Discrete) for v in model.variables]
    facts = [("kind", described(model))]
    target = getattr(source, "target_", getattr(model, "target", None))
    if target is not None:
        facts.append(("class" if isinstance(target, Discrete) else "target", _of_class(target)))
    n, n_discrete = len(kinds), sum(kinds)
    facts.append(("variables", f"{n:,}, of which {n_discrete:,} discrete"))
    if (arcs := n_arcs(model)) is not None:
        facts.append(("arcs", f"{arcs:,}"))
    facts.append(("treewidth", f"at most {width_of(model):,}"))
    if (n_parameters := getattr(model, "n_parameters", None)) is not None:
        facts.append(("parameters", f"{n_parameters:,}"))
    facts.append(("distributions", shortened(distributions(model) or "none", 60)))
    digits = checksum or "none: native files do not hold the model"
    note = f"checksum of the parameters (SHA-256):\n{digits}"
    return DisplayTable("Structure", facts, note=note, labels=2)


def _of_class(target: Any) -> str:
    name = shortened(target.name, 40)
    return f"{name}, of {target.cardinality:,} states" if isinstance(target, Discrete) else name


def _evaluation_table(found: Any) -> DisplayTable:
    if not all(hasattr(found, name) for name in (*_MEASURES, "fold_accuracy", "y_true")):
        raise DataTypeError(
            "evaluation= takes an Evaluation, such as the first that bayesgraph.evaluate returns; "
            f"got {found!r:.80}."
        )
    rows = [(text, f"{getattr(found, name):.4f}") for name, text in _MEASURES.items()]
    n_folds, n_rows = len(found.fold_accuracy), len(found.y_true)
    note = f"{n_rows:,} rows, each predicted by a fit without its fold; {n_folds} folds."
    return DisplayTable(f"Accuracy of {found.name}, cross-validated", rows, note=note)
