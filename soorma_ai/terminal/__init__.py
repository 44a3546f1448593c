"""What is printed on a terminal, or into a file, and what is typed there.

`print_trace` in `soorma_ai.terminal.story` is for programs of your own.
"""
