"""Models and classifiers that commands load from files, and their variables by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import bayesgraph as bg
from bayesgraph.cli.evidence import named
from bayesgraph.cli.streams import readable
from bayesgraph.errors import DataError, quoted
from bayesgraph.io import tables
from bayesgraph.variables import Name

if TYPE_CHECKING:
    from bayesgraph.classifiers.graph_classifier import GraphClassifier
    from bayesgraph.models.model import Model


def is_classifier(model: Any) -> TypeGuard[GraphClassifier]:
    """Tell whether a model is a fitted classifier, or another estimator."""
    return hasattr(model, "network_")


def network_of(loaded: Any) -> Model:
    """Return what answers questions: the network of an estimator, or the model itself."""
    if is_classifier(loaded):
        return loaded.network_
    # Collected statistics name the estimator to make of them; models have none.
    if hasattr(loaded, "estimator"):
        raise DataError(f"The file holds {loaded!r}; 'bayesgraph merge' makes a classifier of it.")
    model: Model = loaded
    return model


@contextmanager
def model_file(path: Path) -> Iterator[Path]:
    """Yield the path of a file with a model, which may be what standard input has.

    Raises
    ------
    DataError
        If it is a table by its suffix.
    """
    if path.name.lower().endswith(tables.READ):
        raise DataError(
            f"{path} is a table, and a model is needed; 'bayesgraph fit' or 'bayesgraph learn' "
            "makes one of it."
        )
    with readable(path) as file:
        yield file


def load_whole(path: Path) -> Any:
    """Return what a file or standard input holds, with all that it learns from."""
    with model_file(path) as file:
        return bg.load(file)


def load_answering(path: Path) -> Any:
    """Return what a file or standard input holds; of a classifier, what answers questions."""
    with model_file(path) as file:
        return bg.io.load_saved(file)


def load_model(path: Path) -> Model:
    """Return the model of a file, or the network of its classifier."""
    return network_of(load_answering(path))


def load_classifier(path: Path) -> GraphClassifier:
    """Return the classifier of a file."""
    return checked_classifier(load_whole(path), path)


def checked_classifier(model: Any, path: Path) -> GraphClassifier:
    """Return a classifier; raise an error if what a file holds is none."""
    if not is_classifier(model):
        raise DataError(
            f"{path} holds {model!r}, which has no class to predict; use 'bayesgraph query', or "
            "'bayesgraph fit' to make a classifier."
        )
    return model


def targets_of(
    loaded: Any, path: Path, target: Sequence[str] | None, needed: str = "--target"
) -> list[Name]:
    """Return the variables that options name; a classifier's class by default.

    Of a model that is no classifier an option is `needed`.
    """
    network = network_of(loaded)
    if target:
        return [named(network, text) for text in target]
    if is_classifier(loaded):
        return [loaded.target_.name]
    raise DataError(
        f"{needed} is needed: {path} is not a classifier. It has {quoted(network.names)}."
    )


def one_target(path: Path, target: str | None) -> tuple[Model, Name]:
    """Return the model of a file, and the variable that an option names."""
    loaded = load_answering(path)
    (name,) = targets_of(loaded, path, None if target is None else [target])
    return network_of(loaded), name
