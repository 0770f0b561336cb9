"""Robots in other programs, for tests and timing. Each module needs its package."""
