"""The same work by others: a program for each, run in an environment that holds only it, with pinned versions."""
