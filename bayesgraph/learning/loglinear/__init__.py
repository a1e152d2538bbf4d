"""Log-linear class models: Bayesian networks whose tables are trained by conditional likelihood."""
