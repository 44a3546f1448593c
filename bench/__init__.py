"""The costs of the platform beside those of rivals. `README.md` explains them; `python -m bench.run` measures."""
