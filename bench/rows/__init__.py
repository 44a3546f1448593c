"""The measured programs of ours: each works in a folder of its own and prints one JSON line."""
