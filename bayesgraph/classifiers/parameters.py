"""Parameters of estimators: generated constructors and docstrings, and the smoothing."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from bayesgraph.classifiers.discretizers import DISCRETIZERS
from bayesgraph.errors import DataError, quoted
from bayesgraph.families import FAMILIES, LeafFamily
from bayesgraph.learning.settings import changed_settings
from bayesgraph.learning.smoothing import Smoothing, as_smoothing
from bayesgraph.learning.structure import LEARNERS
from bayesgraph.models.training import Training, TrainingRows
from bayesgraph.statistics import Samples
from bayesgraph.variables import Discrete

EstimatorT = TypeVar("EstimatorT", bound=type)

# The values of a Smoothing, and those that matter to tables.
SMOOTHING = tuple(f.name for f in fields(Smoothing))
OF_TABLES = ("alpha", "estimation", "scheme", "strength")


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def estimator(cls: EstimatorT) -> EstimatorT:
    """Generate the `__init__` of an estimator class from its annotations and those of its bases.

    In the docstring of the class, ``{parameters}`` and ``{attributes}`` are replaced by the entries
    of its bases; ``{families}``, ``{learners}`` and ``{discretizers}`` by lists of these names.
    """
    made: Any = dataclass(kw_only=True, eq=False, repr=False)(cls)
    bases = [base.__doc__ or "" for base in reversed(made.__mro__[1:])]
    taken = inspect.signature(made).parameters.keys() - inspect.get_annotations(made)
    parameters = "".join(
        text for doc in bases for name, text in _entries(doc, "Parameters") if name in taken
    )
    attributes = "".join(text for doc in bases for _, text in _entries(doc, "Attributes"))
    attributes = attributes.replace("BayesianNetwork", made._model_name)
    doc = (made.__doc__ or "").replace("    {parameters}\n", parameters)
    doc = doc.replace("    {attributes}\n", attributes)
    doc = doc.replace("        {families}\n", "".join(map(_bullet, FAMILIES.values())))
    listed: dict[str, Collection[str]] = {"learners": LEARNERS, "discretizers": DISCRETIZERS}
    for kind, known in listed.items():
        names = ", ".join(f'"{name}"' for name in sorted(known))
        text = _indented(f"Named ones are {names}.", 8)
        doc = doc.replace(f"        {{{kind}}}\n", text)
    made.__doc__ = doc
    return cls


def _bullet(family: LeafFamily) -> str:
    """Return a family as a list item of the docstring of the parameter `distributions`."""
    stored = "; keeps the distinct values of the column" if family.statistics is Samples else ""
    text = f'* "{family.name}": {family.summary}{stored}.'
    return _indented(text, 10)


def _indented(text: str, below: int) -> str:
    """Return wrapped text: the first line indented by 8 blanks, later lines by `below` blanks."""
    return textwrap.fill(text, 100, initial_indent=" " * 8, subsequent_indent=" " * below) + "\n"


def _entries(doc: str, section: str) -> Iterator[tuple[str, str]]:
    """Yield (name, text) for each entry in a section, such as "Parameters", of a docstring.

    The text includes the line of the name. An entry of several names is yielded under its first
    name.
    """
    _, _, rest = doc.partition(f"\n    {section}\n    {'-' * len(section)}\n")
    text = rest.partition("\n\n")[0] + "\n"
    for found in re.finditer(r"    (\w+).*\n(?: {8}.*\n)*", text):
        yield found[1], found[0]


class Smoothed:
    """Mixin of estimators with the parameter `smoothing`: a name, a number or a Smoothing."""

    smoothing: Any
    # Names of the Smoothing values that the estimator uses.
    _reads: ClassVar[Collection[str]] = SMOOTHING
    # Fitted attributes that files hold in addition to those that all estimators have.
    _fitted: ClassVar[Collection[str]] = ()
    # Name of the estimator on the command line (None: not available there), and the arguments of
    # the constructor that the command line passes.
    command: ClassVar[str | None] = None
    command_options: ClassVar[Mapping[str, Any]] = {}
    # Name of the class of `network_`, for the docstring.
    _model_name: ClassVar[str] = "BayesianNetwork"

    def _smoothing(self) -> Smoothing:
        """Return the parameter `smoothing` as a Smoothing.

        Raises
        ------
        DataError
            If the Smoothing changes an attribute that this estimator does not use.
        """
        found = as_smoothing(self.smoothing)
        read = self._read()
        ignored = {n: v for n, v in found.changed().items() if n not in read}
        if ignored:
            raise DataError(
                f"{type(self).__name__} reads {quoted(read)} of a smoothing, and would ignore "
                f"{ignored}; leave that out."
            )
        return found

    def _read(self) -> Collection[str]:
        """Return the names of the Smoothing attributes that the estimator uses."""
        return self._reads

    def _check_alpha(self, smoothing: Smoothing, target: Discrete, *, numbers: bool) -> None:
        """Raise a DataError unless `alpha` concerns the class alone, the only smoothed variable.

        `numbers` says whether a number, instead of a mapping from the class, is allowed too.
        """
        alpha = smoothing.alpha
        named = isinstance(alpha, Mapping)
        if {*alpha} - {target.name} if named else not numbers and "alpha" in smoothing.changed():
            form = "takes a number or" if numbers else "takes"
            raise DataError(
                f"{type(self).__name__} smooths {target.name!r} alone: alpha {form} a mapping such "
                f"as {{{target.name!r}: 1.0}}; got {alpha!r}."
            )

    def set_params(self, **params: Any) -> Self:
        """Set parameters as in scikit-learn; values of the smoothing as ``smoothing__alpha``."""
        own = {n: v for n, v in params.items() if not n.startswith("smoothing__")}
        super().set_params(**own)  # type: ignore[misc]
        if rest := {n.removeprefix("smoothing__"): v for n, v in params.items() if n not in own}:
            self.smoothing = as_smoothing(self.smoothing).set_params(**rest)
        return self


def training_of(estimator: Any, rows: TrainingRows | None) -> Training:
    """Return a note of what an estimator was fitted on: rows, columns and changed parameters."""
    settings = changed_settings(type(estimator), estimator.get_params(deep=False))
    n_columns = len(estimator.layout_.columns) + 1
    return Training(type(estimator).__name__, n_columns, rows, settings)


def note_training(estimator: Any, rows: TrainingRows | None) -> None:
    """Note on the network of an estimator what it was fitted on."""
    estimator.network_.training = training_of(estimator, rows)
