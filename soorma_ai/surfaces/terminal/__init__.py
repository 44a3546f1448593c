"""Printing on a terminal, or into a file, and reading what is typed there.

`print_trace` in `soorma_ai.features.tracking.story` is for programs of your own.
"""
