"""Clients of a platform, composed of the calls of the kernel and of each feature."""
