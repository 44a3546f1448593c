"""Forks: new plans that begin with the beginning of another."""
