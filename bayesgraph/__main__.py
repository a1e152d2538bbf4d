"""``python -m bayesgraph`` is the command line."""

from bayesgraph.cli import main

main()
