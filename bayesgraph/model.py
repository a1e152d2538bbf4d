"""What Bayesian networks and factor graphs have in common: questions, batches and other verbs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from bayesgraph import upward
from bayesgraph.errors import (
    ImpossibleEvidenceWarning,
)
from bayesgraph.factors import Evidence, Factor
from bayesgraph.factors.algebra import Floats, log_sum_exp
from bayesgraph.inference import (
    blocks,
    marginal,
    rows_together,
)
from bayesgraph.questions import Questions
from bayesgraph.variables import Discrete, Name


def warn_of_impossible(count: int, n_rows: int, target: Discrete) -> None:
    """Warn of rows of probability zero, if there are any."""
    if count:
        warnings.warn(
            f"{count} of {n_rows} rows have probability zero under the model; they get the prior "
            f"of {target.name!r}.",
            ImpossibleEvidenceWarning,
            stacklevel=4,
        )


def log_normalised(joint: Floats) -> Floats:
    """Return logs of rows that sum to one, overwriting them; shape (n_rows, n_states)."""
    # The peak leaves first: beside a log density of -1e18 the log of a sum would vanish.
    joint -= joint.max(axis=1, keepdims=True)
    joint -= log_sum_exp(joint, 1)[:, None]
    return joint


class GraphicalModel(Questions):
    """A product of local functions over named variables, and the questions it answers.

    Attributes
    ----------
    variables : tuple of Variable
    """

    # ----------------------------------------------------------------------------------- batches

    def log_posterior_rows(self, target: Discrete, evidence: Evidence) -> Floats:
        """Return the unnormalised log posterior of a target for each row of encoded evidence.

        Returns
        -------
        ndarray, shape (n_rows, n_states)
            log P(target, evidence), for a factor graph up to its partition; minus infinity
            throughout a row of impossible evidence.
        """
        # States first in memory: sums over few states then run along the rows.
        result = np.empty((target.cardinality, evidence.n_rows)).T
        for rows, part, partial in blocks(self, evidence, [target]):
            if partial and self._engine is not None and not part.likelihoods:
                result[rows] = rows_together(self._engine, target, part)
                continue
            potential, _ = marginal(self, [target], part)
            assert isinstance(potential, Factor)  # the target is discrete
            found = potential.aligned([target])
            # All rows in an array that is nobody else's: there is no need to copy it.
            if len(found) > 1 and found.shape == result.shape and found.flags.writeable:
                result = found
            else:
                result[rows] = found
        if target in evidence:
            codes = evidence.columns[target][:, None]
            result[(codes >= 0) & (codes != np.arange(target.cardinality))] = -np.inf
        return result

    def settled_rows(self, target: Discrete, evidence: Evidence) -> tuple[Floats, int]:
        """Return log_posterior_rows with the prior where a row is impossible, and how many are."""
        joint = self.log_posterior_rows(target, evidence)
        suspects = np.flatnonzero(joint[:, 0] == -np.inf)
        impossible = suspects[np.isneginf(joint[suspects].max(axis=1))]
        if len(impossible):
            with np.errstate(divide="ignore"):
                joint[impossible] = np.log(self.query(target.name).probabilities)
        return joint, len(impossible)

    def normalised_rows(self, target: Discrete, evidence: Evidence) -> Floats:
        """Return the log posterior of a target for each row, shape (n_rows, n_states).

        One warning says how many rows are impossible; they get the prior.
        """
        joint, impossible = self.settled_rows(target, evidence)
        warn_of_impossible(impossible, len(joint), target)
        return log_normalised(joint)

    def log_evidence_rows(self, evidence: Evidence) -> Floats:
        """Return the log probability (density) of each row of encoded evidence."""
        result = np.empty(evidence.n_rows)
        for rows, part, partial in blocks(self, evidence, []):
            if partial and self._engine is not None and not part.likelihoods:
                result[rows] = rows_together(self._engine, None, part)[:, 0]
                continue
            potential, _ = marginal(self, [], part)
            assert isinstance(potential, Factor)  # no targets, no variables left
            result[rows] = potential.log_values
        return result - self._log_normaliser()

    # -------------------------------------------------------------- verbs of the layers above

    def log_likelihood(self, frame: Any) -> float:
        """Return the total log likelihood of the rows of a table.

        Missing values are marginalised; columns that the model does not have are ignored.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table, or mapping from name to column
        """
        return float(upward.call("log_likelihood", self, frame))

    def query_rows(self, target: Name, frame: Any) -> Floats:
        """Return the posterior of a discrete variable for each row of a table.

        Parameters
        ----------
        target : name
        frame : pandas, polars or pyarrow table, or mapping from name to column
            Any pattern of missing values; columns that the model does not have, and the target's
            own, are ignored.

        Returns
        -------
        ndarray, shape (n_rows, n_states)
            In the order of the target's states. Rows to which the model gives probability zero get
            the prior, with one warning that counts them.
        """
        result: Floats = upward.call("query_rows", self, target, frame)
        return result

    def save(self, path: Any) -> None:
        """Save to the native format, which keeps every name, state and number exactly."""
        upward.call("save", self, path)

    def write(self, path: Any, **options: Any) -> None:
        """Write to a file of the format that the suffix tells (.bif, .bif.gz, .uai, .dot, ...)."""
        upward.call("write", self, path, **options)

    def to_dot(self, **options: Any) -> str:
        """Return the graph in Graphviz' DOT language; see :func:`bayesgraph.io.dot.to_dot`."""
        return str(upward.call("to_dot", self, **options))

    def to_graphviz(self, **options: Any) -> Any:
        """Return the graph as a ``graphviz.Source``; options as for `to_dot`."""
        return upward.call("to_graphviz", self, **options)

    def render(self, path: Any, **options: Any) -> None:
        """Draw the graph to an SVG, PNG or PDF file; options as for `to_dot`."""
        upward.call("render", self, path, **options)

    def to_pgmpy(self) -> Any:
        """Return the model as a pgmpy object of the same names, states and numbers."""
        return upward.call("to_pgmpy", self)

    def _repr_svg_(self) -> str | None:
        result: str | None = upward.call("to_svg", self)
        return result
