"""Texts by their meaning: vectors of an embedder, and events ranked by them."""
