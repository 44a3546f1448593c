"""The calls of programs outside, as one Protocol, and the clients that make them over HTTP.

They need nothing of a platform: neither store nor model nor agents are loaded.
"""
