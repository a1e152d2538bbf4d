"""Tables larger than memory: files and engines that are read in runs of rows, pass by pass."""

from bayesgraph.datasets.dataset import Dataset
from bayesgraph.datasets.opening import as_dataset, open_dataset

__all__ = ["Dataset", "as_dataset", "open_dataset"]
