"""Integration of y' = f(t, y) by every method of the papers and today's best; it knows nothing of robots."""

from armwright.integrate.events import Event
from armwright.integrate.jets import POLYNOMIALS, solve_jets
from armwright.integrate.runge_kutta import dense, solve, solve_increments
from armwright.integrate.second_order import semi_implicit_euler
from armwright.integrate.solution import IntegrationError, Occurrence, Solution, Statistics, Stopped
from armwright.integrate.stiff import STIFF, solve_stiff
from armwright.integrate.tableaus import Tableau, method, methods
from armwright.integrate.taylor import Taylor

__all__ = [
    "POLYNOMIALS",
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
    "solve_increments",
    "solve_jets",
    "solve_stiff",
]
