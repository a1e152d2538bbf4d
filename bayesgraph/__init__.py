"""Probabilistic graphical models: every classifier is a graph with conditional distributions.

One inference engine answers all queries of a model: the class of a row, a posterior with half the
columns missing, the most probable explanation, the likelihood of a table.
"""

import lazy_loader

from bayesgraph.core.version import __version__ as __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
