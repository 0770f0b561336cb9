"""The expression graph: a scalar that records what is done to it, rules that simplify it, operation counts."""

from armwright.graph.count import OperationCount, count
from armwright.graph.expression import Expr, Graph

__all__ = ["Expr", "Graph", "OperationCount", "count"]
