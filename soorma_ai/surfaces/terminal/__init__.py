"""Printing on a terminal or into a file, and reading typed input. `print_trace` in `soorma_ai.features.tracking.story`
is for programs of your own."""
