"""Clients of a platform over HTTP, and the Protocol of their calls.

They load no other part of the platform: no store, no model, no agents.
"""
