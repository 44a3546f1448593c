"""The command line as `python -m soorma_ai`."""

from soorma_ai.apps.cli.main import main

main()
