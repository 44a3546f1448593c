"""Every code sample of the seed documents is a test, or says why it is none: see `table.py`."""
