"""Integration of y' = f(t, y) by every method of the papers and today's best; it knows nothing of robots."""

from armwright.integrate.events import Event
from armwright.integrate.runge_kutta import dense, solve
from armwright.integrate.second_order import semi_implicit_euler
from armwright.integrate.solution import IntegrationError, Occurrence, Solution, Statistics, Stopped
from armwright.integrate.stiff import STIFF, solve_stiff
from armwright.integrate.tableaus import Tableau, method, methods
from armwright.integrate.taylor import Taylor

__all__ = [
    "STIFF",
    "Event",
    "IntegrationError",
    "Occurrence",
    "Solution",
    "Statistics",
    "Stopped",
    "Tableau",
    "Taylor",
    "dense",
    "method",
    "methods",
    "semi_implicit_euler",
    "solve",
    "solve_stiff",
]
