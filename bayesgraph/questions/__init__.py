"""Whatever asks a model more than once: explain, ask, what if, causes, compare, how sure."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
