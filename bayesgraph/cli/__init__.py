"""The command line: fit, query, evaluate, draw and convert models without writing Python.

Modules are imported when they are first used: each command imports what it needs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
