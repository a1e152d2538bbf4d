"""Parameters of estimators: declared and documented once, with the smoothing in one place."""

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
from bayesgraph.learning.smoothing import Smoothing, as_smoothing
from bayesgraph.learning.structure import LEARNERS
from bayesgraph.variables import Discrete

EstimatorT = TypeVar("EstimatorT", bound=type)

# The values of a Smoothing, and those that matter to tables.
SMOOTHING = tuple(f.name for f in fields(Smoothing))
OF_TABLES = ("alpha", "estimation", "scheme", "strength")


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def estimator(cls: EstimatorT) -> EstimatorT:
    """Give an estimator the `__init__` of its parameters: its annotations and those of its bases.

    In its docstring ``{parameters}`` stands for what its bases say of their parameters, and
    ``{attributes}`` for what they say of their attributes.
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
    """Return the line of a family in the docstring of ``distributions=``."""
    stored = "; keeps the distinct values of the column" if family.keeps_values else ""
    text = f'* "{family.name}": {family.summary}{stored}.'
    return _indented(text, 10)


def _indented(text: str, below: int) -> str:
    """Return text wrapped as the description of a parameter, with deeper lines below the first."""
    return textwrap.fill(text, 100, initial_indent=" " * 8, subsequent_indent=" " * below) + "\n"


def _entries(doc: str, section: str) -> Iterator[tuple[str, str]]:
    """Yield the first name of each entry in a section of a docstring, and its text."""
    _, _, rest = doc.partition(f"\n    {section}\n    {'-' * len(section)}\n")
    text = rest.partition("\n\n")[0] + "\n"
    for found in re.finditer(r"    (\w+).*\n(?: {8}.*\n)*", text):
        yield found[1], found[0]


class Smoothed:
    """Mixed into estimators whose parameter `smoothing` is a name, a number or a Smoothing."""

    smoothing: Any
    # The values of a Smoothing that the estimator reads.
    _reads: ClassVar[Collection[str]] = SMOOTHING
    # Attributes of a fitted estimator that files hold besides those that all have.
    _fitted: ClassVar[Collection[str]] = ()
    # The name on the command line, if it has one, and the arguments that it means.
    command: ClassVar[str | None] = None
    command_options: ClassVar[Mapping[str, Any]] = {}
    # The class of `network_`, for the docstring.
    _model_name: ClassVar[str] = "BayesianNetwork"

    def _smoothing(self) -> Smoothing:
        """Return the smoothing.

        Raises
        ------
        DataError
            If it sets what this estimator does not read.
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
        """Return the values of a Smoothing that are read, given the other parameters."""
        return self._reads

    def _check_alpha(self, smoothing: Smoothing, target: Discrete, *, numbers: bool) -> None:
        """Raise a DataError if `alpha` is for others than the class, which alone is smoothed."""
        alpha = smoothing.alpha
        named = isinstance(alpha, Mapping)
        if {*alpha} - {target.name} if named else not numbers and "alpha" in smoothing.changed():
            form = "takes a number or" if numbers else "takes"
            raise DataError(
                f"{type(self).__name__} smooths {target.name!r} alone: alpha {form} a mapping such "
                f"as {{{target.name!r}: 1.0}}; got {alpha!r}."
            )

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the smoothing as ``smoothing__alpha``; see scikit-learn."""
        own = {n: v for n, v in params.items() if not n.startswith("smoothing__")}
        super().set_params(**own)  # type: ignore[misc]
        if rest := {n.removeprefix("smoothing__"): v for n, v in params.items() if n not in own}:
            self.smoothing = as_smoothing(self.smoothing).set_params(**rest)
        return self
