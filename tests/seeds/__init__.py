"""Tests of every code sample of the seed documents; `table.py` has the reason for each sample without one."""
