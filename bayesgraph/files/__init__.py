"""One module for each format of files; what a file cannot hold is said."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
