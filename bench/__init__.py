"""What the platform costs, beside what others cost. `README.md` says how to read it; `python -m bench.run` runs it."""
