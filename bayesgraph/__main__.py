"""Entry point of the command line, ``python -m bayesgraph``."""

from bayesgraph.cli import main

main()
