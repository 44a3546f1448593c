"""Texts by what they mean: vectors of an embedder, and events ranked by them."""
