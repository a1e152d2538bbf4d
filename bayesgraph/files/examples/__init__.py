"""Networks, causal diagrams and tables of the literature, their sources and licences."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
