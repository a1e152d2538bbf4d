"""Programs and their compiled executor."""
