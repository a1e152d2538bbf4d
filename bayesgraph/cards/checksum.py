"""The checksum of a model's parameters, the same for the same distributions in any file."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from bayesgraph.errors import LossyExportError
from bayesgraph.io.archive import ArrayWriter
from bayesgraph.io.models_payload import MODELS
from bayesgraph.models.model import Model

# What files hold of a model beside its distributions.
_BESIDE = (
    *("training", "annotations", "scored_arcs", "arc_scores", "arc_probabilities", "posterior"),
)
_GROUPS = ("arc_scores", "arc_probabilities", "posterior.")


def parameter_checksum(model: Model) -> str | None:
    """Return the SHA-256 of a model's variables, states, arcs and numbers, as 64 digits.

    Notes, positions, scores of arcs and what the model was fitted on are left out. It is None for a
    model that native files do not hold.
    """
    kind = next((kind for kind in MODELS.values() if kind.holds(model)), None)
    if kind is None:
        return None
    arrays = ArrayWriter()
    try:
        item = kind.encode(model, arrays)
    except LossyExportError:
        return None
    digest = hashlib.sha256(json.dumps(_kept(item), sort_keys=True).encode())
    for group, parts in sorted(arrays.groups.items()):
        if not group.startswith(_GROUPS):
            digest.update(group.encode())
            for part in parts:
                digest.update(part.data)
    return digest.hexdigest()


def _kept(item: Any) -> Any:
    """Return JSON without what is beside the distributions."""
    if isinstance(item, dict):
        return {key: _kept(value) for key, value in item.items() if key not in _BESIDE}
    return [_kept(value) for value in item] if isinstance(item, list) else item
