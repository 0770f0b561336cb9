"""Expressions in robot files, evaluated on Python's syntax tree within limits, without executing code.

A name is a definition of the file or a function below; an attribute is a key of a loaded dictionary, or one of a few
methods of texts. Other Python objects are not accessible. Every node costs a step of a budget, and the sizes of
integers, texts and lists are checked before these are made.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, TypeAlias, runtime_checkable

from armwright.errors import ArmwrightError, closest_name
from armwright.model.refusal import Refused

Value: TypeAlias = Any
"""None, a bool, int, float, str, list or dict; inside an expression also a XacroFunction or a Lookup of names."""

MAX_EXPRESSION_CHARS = 4000
MAX_TEXT_CHARS = 100_000
MAX_LIST_SIZE = 10_000
MAX_INTEGER_BITS = 1100
"""Largest number of bits of an integer, slightly more than those of the largest float."""
MAX_EXPRESSION_DEPTH = 60
CREATING_NODES = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.BinOp, ast.Call)
"""Nodes that create values; the others select existing values."""


@runtime_checkable
class Lookup(Protocol):
    """The values of names: the properties of a file, or a namespace like `math`."""

    def value_of(self, name: str) -> Value:
        """Return a value, or raise a KeyError for an unknown name."""

    def known_names(self) -> Iterable[str]: ...


@dataclass(frozen=True)
class Namespace:
    """Names with constant values."""

    values: Mapping[str, Value]

    def value_of(self, name: str) -> Value:
        return self.values[name]

    def known_names(self) -> Iterable[str]:
        return self.values


@dataclass(frozen=True)
class XacroFunction:
    """A function that an expression may call."""

    name: str
    call: Callable[..., Value]


@dataclass
class Budget:
    """The number of steps left until an expansion is refused as too large."""

    left: int

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise Refused("expanding takes too many steps; a macro or a property multiplies itself")


def evaluate(source: str, names: Lookup, budget: Budget) -> Value:
    """Return the value of an expression, or raise `Refused` with the fault."""
    shown = source.strip() if len(source) <= 80 else f"{source.strip()[:77]}..."
    budget.spend(len(source) // 10)
    try:
        return _Evaluation(names, budget).value(_parsed(source))
    except (Refused, ArmwrightError):
        raise
    except (ArithmeticError, TypeError, ValueError, LookupError, AttributeError) as error:
        raise Refused(f"cannot compute {shown!r}: {error}") from None


@lru_cache(maxsize=1024)
def _parsed(source: str) -> ast.expr:
    if len(source) > MAX_EXPRESSION_CHARS:
        raise Refused(f"an expression of {len(source)} characters; expected at most {MAX_EXPRESSION_CHARS}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in a text
            return ast.parse(source.strip(), mode="eval").body
    except SyntaxError as error:
        raise Refused(f"{source.strip()[:80]!r} is not an expression: {error.msg}") from None
    except (ValueError, MemoryError, RecursionError):
        raise Refused(f"{source.strip()[:80]!r} is not an expression: too deep, or with a NUL") from None


class _Evaluation:
    """The evaluation of one expression, with a method for every allowed node."""

    def __init__(self, names: Lookup, budget: Budget) -> None:
        self.names, self.budget, self.depth = names, budget, 0

    def value(self, node: ast.AST) -> Value:
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise Refused(f"{_quoted_source(node)} is not allowed: expected numbers, texts, operators and functions")
        self.budget.spend(1)
        self.depth += 1
        if self.depth > MAX_EXPRESSION_DEPTH:
            raise Refused(f"an expression nested more than {MAX_EXPRESSION_DEPTH} deep")
        result = method(node)
        self.depth -= 1
        return self._bounded(result) if isinstance(node, CREATING_NODES) else result

    def _bounded(self, value: Value) -> Value:
        if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
            raise Refused("a whole number of more than 300 digits")
        if isinstance(value, str):
            _at_most("text", len(value), MAX_TEXT_CHARS)
        self._spend_on(value)
        return value

    def _spend_on(self, *values: Value) -> None:
        """Spend steps on operations that read entire values."""
        for value in values:
            if isinstance(value, (list, dict)):
                self.budget.spend(size(value))
            elif isinstance(value, str):
                self.budget.spend(len(value) // 100)

    def _constant(self, node: ast.Constant) -> Value:
        if node.value is not None and not isinstance(node.value, (bool, int, float, str)):
            raise Refused(f"{_quoted_source(node)} is not allowed: expected a number or a text")
        return node.value

    def _name(self, node: ast.Name) -> Value:
        return look_up(self.names, node.id, "name")

    def _list(self, node: ast.List | ast.Tuple) -> Value:
        return [self.value(part) for part in node.elts]

    _tuple = _list

    def _dict(self, node: ast.Dict) -> Value:
        if None in node.keys:
            raise Refused("** is not allowed in a dictionary")
        return {self.value(key): self.value(value) for key, value in zip(node.keys, node.values, strict=True) if key}

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        if type(node.op) not in UNARY_OPERATORS:
            raise Refused(f"{_quoted_source(node)} is not allowed: expected one of + - not")
        return UNARY_OPERATORS[type(node.op)](self.value(node.operand))

    def _binop(self, node: ast.BinOp) -> Value:
        if type(node.op) not in BINARY_OPERATORS:
            raise Refused(f"{_quoted_source(node)} is not allowed: expected one of + - * / // % **")
        return BINARY_OPERATORS[type(node.op)](self.value(node.left), self.value(node.right))

    def _boolop(self, node: ast.BoolOp) -> Value:
        stop_at = isinstance(node.op, ast.Or)
        result = None
        for part in node.values:
            result = self.value(part)
            if bool(result) is stop_at:
                break
        return result

    def _ifexp(self, node: ast.IfExp) -> Value:
        return self.value(node.body if self.value(node.test) else node.orelse)

    def _compare(self, node: ast.Compare) -> Value:
        left = self.value(node.left)
        for op, part in zip(node.ops, node.comparators, strict=True):
            right = self.value(part)
            self._spend_on(left)
            if not isinstance(right, dict) or not isinstance(op, (ast.In, ast.NotIn)):  # the search for a key is fast
                self._spend_on(right)
            if not COMPARISONS[type(op)](left, right):
                return False
            left = right
        return True

    def _subscript(self, node: ast.Subscript) -> Value:
        holder, key = self.value(node.value), self.value(node.slice)
        if isinstance(holder, dict) and not isinstance(key, (slice, list)):
            return _key(holder, key)
        if not isinstance(holder, (list, str)):
            text = f"{_quoted_source(node.value)} is {_kind(holder)}"
            raise Refused(f"{text}; only lists, texts and dictionaries have [ ]")
        return holder[key]

    def _slice(self, node: ast.Slice) -> Value:
        return slice(*(None if part is None else self.value(part) for part in (node.lower, node.upper, node.step)))

    def _attribute(self, node: ast.Attribute) -> Value:
        holder, name = self.value(node.value), node.attr
        if isinstance(holder, dict) and (name in holder or ("dict", name) not in ALLOWED_METHODS):
            return _key(holder, name)
        if isinstance(holder, Lookup):
            return look_up(holder, name, f"name in {_quoted_source(node.value)}")
        method = ALLOWED_METHODS.get((type(holder).__name__, name))
        if method is None:
            raise Refused(f"{_quoted_source(node)}: {_kind(holder)} has no attribute {name!r} that may be used")
        if isinstance(holder, str):
            self._spend_on(holder)
        return XacroFunction(name, lambda *arguments: method(holder, *arguments))

    def _call(self, node: ast.Call) -> Value:
        function = self.value(node.func)
        if not isinstance(function, XacroFunction):
            raise Refused(f"{_quoted_source(node.func)} is {_kind(function)}, not a function")
        arguments = [self.value(argument) for argument in node.args]
        self._spend_on(*arguments)
        if any(keyword.arg is None for keyword in node.keywords):
            raise Refused(f"** is not allowed in {_quoted_source(node)}")
        named = {keyword.arg: self.value(keyword.value) for keyword in node.keywords if keyword.arg}
        return function.call(*arguments, **named)


def look_up(names: Lookup, name: str, what: str) -> Value:
    """Return the value of a name, or raise `Refused` with a suggestion."""
    try:
        return names.value_of(name)
    except KeyError:
        closest = closest_name(name, names.known_names())
        guess = f"; did you mean {closest!r}?" if closest else ""
        raise Refused(f"unknown {what} {name!r}{guess}") from None


def _key(holder: dict[Any, Any], key: Value) -> Value:
    if key in holder:
        return holder[key]
    closest = closest_name(key, map(str, holder))
    raise Refused(f"no key {key!r}" + (f"; did you mean {closest!r}?" if closest else f" among {list(holder)[:12]}"))


def size(value: Value) -> int:
    """Return the number of entries of a list or dictionary, nested ones included."""
    count, stack = 0, [value]
    while stack:
        part = stack.pop()
        count += 1
        _at_most("list or dictionary", count + len(stack), MAX_LIST_SIZE)
        if isinstance(part, list):
            stack.extend(part[: MAX_LIST_SIZE + 1])
        elif isinstance(part, dict):
            stack.extend(part.values())
    return count


def text_of(value: Value) -> str:
    """Return a value as text for the expanded file."""
    if isinstance(value, str):
        return value
    if isinstance(value, (XacroFunction, Lookup)):
        raise Refused(f"{_kind(value)} is not a value; expected a number or a text")
    if isinstance(value, (list, dict)):
        size(value)
    return str(value)


def _at_most(what: str, got: int, limit: int) -> None:
    if got > limit:
        raise Refused(f"a {what} of more than {limit} entries")


def _kind(value: Value) -> str:
    if isinstance(value, XacroFunction):
        return f"the function {value.name}"
    if isinstance(value, Lookup):
        return "a namespace"
    names = {"str": "a text", "list": "a list", "dict": "a dictionary", "NoneType": "nothing"}
    return names.get(type(value).__name__, "a number")


def _quoted_source(node: ast.AST) -> str:
    try:
        text = ast.unparse(node)
    except (RecursionError, ValueError):
        text = type(node).__name__
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def _times(a: Value, b: Value) -> Value:
    for one, other in ((a, b), (b, a)):
        if isinstance(one, (str, list)) and isinstance(other, int):
            _at_most("text or list", len(one) * max(other, 0), MAX_LIST_SIZE)
    return a * b


def _power(a: Value, b: Value) -> Value:
    if isinstance(a, int) and isinstance(b, int) and a.bit_length() * abs(b) > MAX_INTEGER_BITS + abs(b):
        raise Refused(f"{a} ** {b} is too large a number")
    result = a**b
    if isinstance(result, complex):
        raise Refused(f"{a} ** {b} is not a real number")
    return result


_FORMAT = re.compile(r"%(?:%|[-+ #0]*\d{0,2}(?:\.\d{0,2})?[sdifgeGEr])")


def _remainder(a: Value, b: Value) -> Value:
    """Return the remainder of numbers, or Python's formatting of a text, with widths of at most two digits."""
    if not isinstance(a, str):
        return a % b
    if "%" in _FORMAT.sub("", a):
        raise Refused(f"{a!r} is not a format like '%s_%d' or '%.3f'")
    return a % (tuple(map(_printable, b)) if isinstance(b, list) else _printable(b))


def _printable(value: Value) -> Value:
    return value if isinstance(value, (int, float)) else text_of(value)


def _round(x: Value, digits: Value = None) -> Value:
    if digits is not None and abs(digits) > 30:
        raise Refused(f"round to {digits} digits; expected at most 30")
    return round(x, digits)


def _dictionary(source: Value = None, /, **named: Value) -> Value:
    return {**dict(source or {}), **named}


# fmt: off
UNARY_OPERATORS: dict[type, Callable[[Value], Value]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_,
}
BINARY_OPERATORS: dict[type, Callable[[Value, Value], Value]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: _times, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: _remainder, ast.Pow: _power,
}
COMPARISONS: dict[type, Callable[[Value, Value], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}
ALLOWED_METHODS: dict[tuple[str, str], Callable[..., Value]] = {
    **{("str", name): getattr(str, name) for name in ("split", "strip", "lower", "upper", "startswith", "endswith")},
    ("dict", "get"): dict.get,
}
# fmt: on


def _functions(**functions: Callable[..., Value]) -> dict[str, Value]:
    return {name: XacroFunction(name, function) for name, function in functions.items()}


_MATH_FUNCTIONS = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "sqrt", "hypot", "radians"),
    *("degrees", "exp", "log", "log10", "pow", "floor", "ceil", "trunc", "fabs", "fmod", "copysign", "isnan", "isinf"),
)
MATH_NAMES = _functions(**{name: getattr(math, name) for name in _MATH_FUNCTIONS}) | {
    "pi": math.pi,
    "tau": math.tau,
    "e": math.e,
    "inf": math.inf,
    "nan": math.nan,
}
PYTHON_NAMES = _functions(
    abs=abs, min=min, max=max, sum=sum, round=_round, len=len, int=int, float=float, str=text_of, bool=bool
) | _functions(list=list, sorted=sorted, dict=_dictionary)
BUILT_IN_NAMES = {
    "true": True,
    "false": False,
    **MATH_NAMES,
    **PYTHON_NAMES,
    "math": Namespace(MATH_NAMES),
    "python": Namespace(PYTHON_NAMES),
}
"""Names known to every expression."""
