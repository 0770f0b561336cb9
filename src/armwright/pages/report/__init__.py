"""Self-contained HTML pages: curves, tables, and a run with an animation of its robot.

Pages take plain numbers, or records with fields of given names. So this package imports few others, and all others may
use it.
"""
