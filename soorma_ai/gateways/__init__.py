"""Doors to other worlds, each built of agents and of the platform's own calls."""
