"""scikit-learn estimators: each is a choice of structure, CPDs and exponents of CPDs.

An estimator is imported when it is first used: rows are encoded without any of them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
