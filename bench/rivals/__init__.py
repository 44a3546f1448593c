"""The same work by rivals: a program for each, run in an environment of its own, with pinned versions."""
