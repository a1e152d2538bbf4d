"""The memory that the statistics of a fit take."""

from __future__ import annotations

import math

from bayesgraph.cpds.item_counts import LENGTHS
from bayesgraph.learning import tiles
from bayesgraph.learning.structure import Structure
from bayesgraph.statistics import CountSource, Family
from bayesgraph.variables import Continuous, CountVector, Discrete


def statistics_bytes(source: CountSource, counts: str | Structure) -> int:
    """Return the number of bytes of the statistics that a fit holds at a time.

    Numbers are taken to have no missing values, and the distributions of leaves to need no more
    than counts of states, moments and totals of items. What depends on the rows is left out: the
    candidates of `candidates=` and the families that a search tries, which are checked where they
    are counted.

    Parameters
    ----------
    source : CountSource
        The columns and the class; nothing is counted.
    counts : str or Structure
        What a learner counts, as in `LearnerCard`, or the structure whose parameters are estimated.
    """
    given, columns = source.target, source.features
    n_groups = 1 if given is None else given.cardinality
    n_items = [len(v.items) for v in columns if isinstance(v, CountVector)]
    totals = n_groups * sum(n + 1 + len(LENGTHS) for n in n_items)
    n_numbers = sum(isinstance(v, Continuous) for v in columns)
    if isinstance(counts, Structure):
        above = counts.parents()
        families = [Family.of(*above[v], v) for v in above if not isinstance(v, CountVector)]
        values = totals
        for family in families:
            n_cells, n = math.prod(v.cardinality for v in family.discrete), len(family.continuous)
            values += n_cells * (1 + n + n**2)
        if any(v != given and parents != [given] for v, parents in above.items()):
            # The variance of each number in all rows; a star's follows from its single columns.
            values += 3 * n_numbers
        return 8 * source.copies * values
    if given is not None and counts.startswith("joint"):
        columns, given, n_groups = (given, *columns), None, 1
    n_states = sum(v.cardinality for v in columns if isinstance(v, Discrete))
    singles = n_groups * (1 + n_states + 3 * n_numbers)
    if counts == "singles":
        return 8 * source.copies * (totals + singles)
    order = 1
    if counts.endswith("tiles"):
        order = tiles.tile_order(columns, given, tiles.budget() // source.copies)
    pairs = source.copies * (8 * totals + tiles.tile_bytes(columns, given, order))
    # A tile is dropped for the next one; what was counted of single columns before is kept.
    return pairs if order == 1 else pairs + 8 * singles
