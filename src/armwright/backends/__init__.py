"""Backends, which run a `Program` and know nothing of robots."""
