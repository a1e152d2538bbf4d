"""Learning a weighted naive Bayes model from a stream in one pass."""
