"""Recursions and algebra that several formulations share."""
