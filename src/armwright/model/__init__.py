"""Descriptions of robots: read from files, brought to canonical frames and SI units, checked and written."""
