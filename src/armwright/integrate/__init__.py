"""Integration of y' = f(t, y): the methods of the papers and current ones, independent of robots."""

from armwright.integrate.events import Event
from armwright.integrate.integrators import INTEGRATORS, POLYNOMIALS, TaylorPolynomials, method, methods
from armwright.integrate.jets import solve_jets
from armwright.integrate.runge_kutta import dense, solve, solve_increments
from armwright.integrate.second_order import semi_implicit_euler
from armwright.integrate.solution import IntegrationError, Occurrence, Solution, Statistics, Stopped
from armwright.integrate.stiff import STIFF, solve_stiff
from armwright.integrate.tableaus import Tableau
from armwright.integrate.taylor import Taylor

__all__ = [
    "INTEGRATORS",
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
    "TaylorPolynomials",
    "dense",
    "method",
    "methods",
    "semi_implicit_euler",
    "solve",
    "solve_increments",
    "solve_jets",
    "solve_stiff",
]
