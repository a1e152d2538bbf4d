"""Sequences of rows: a network that repeats itself from slice to slice."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
