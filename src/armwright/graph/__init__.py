"""The expression graph: a scalar that records its operations, rules that simplify them, operation counts."""

from armwright.graph.count import OperationCount, count
from armwright.graph.expression import Expr, Graph

__all__ = ["Expr", "Graph", "OperationCount", "count"]
