"""Crash test of a flow: a test runs again with a death before and after each commit, and its ends are compared."""
