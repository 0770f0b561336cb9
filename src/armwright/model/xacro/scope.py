"""Properties, macros and XML blocks of a xacro file, and the scopes of their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from armwright.model.refusal import Refused
from armwright.model.xacro.evaluate import BUILT_IN_NAMES, Value
from armwright.model.xml import Element

_PARAMETER = re.compile(
    r"\s*([^\s:=]+)(?:\s*:?=\s*(\^\|?)?((?:\$\{[^}]*\}|\$\([^)]*\)|'[^']*'|\"[^\"]*\"|[^\s'\"])*))?"
)

MAX_PARAMETER_CHARS = 10_000
"""The largest number of characters in the parameters of a macro."""


@dataclass(frozen=True)
class LazyProperty:
    """The text of a property, evaluated at its first use."""

    text: str
    element: Element


@dataclass(frozen=True)
class MacroParameter:
    """A parameter of a macro. If missing, `inherits` (^) takes the caller's property, else `default` applies."""

    name: str
    inherits: bool = False
    default: str | None = None

    @property
    def block(self) -> bool:
        return self.name.startswith("*")

    @property
    def optional(self) -> bool:
        return self.inherits or self.default is not None


@dataclass(frozen=True)
class Macro:
    """A macro definition, expanded anew for every call."""

    name: str
    parameters: tuple[MacroParameter, ...]
    body: Element


@dataclass(frozen=True)
class Block:
    """XML to insert: the text of a property, or the elements of a macro call, which are `expanded` already."""

    elements: tuple[Element, ...]
    text: str
    expanded: bool


class Scope:
    """Properties, blocks and macros of a file or of one call; the enclosing scopes have further names.

    A `namespace` is the scope of a file included with ns=.
    """

    def __init__(self, outer: Scope | None, evaluate: Callable[[str, Scope], Value], namespace: bool = False) -> None:
        self.outer, self.evaluate, self.namespace = outer, evaluate, namespace
        self.values: dict[str, Value] = {}
        self.blocks: dict[str, Block] = {}
        self.macros: dict[str, Macro] = {}
        self.pending: list[str] = []

    def nested(self, namespace: bool = False) -> Scope:
        return Scope(self, self.evaluate, namespace)

    def enclosing(self) -> Iterator[Scope]:
        """Yield this scope and the scopes around it, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def value_of(self, name: str) -> Value:
        for scope in self.enclosing():
            if name in scope.values:
                return scope._evaluated(name)
        return BUILT_IN_NAMES[name]

    def known_names(self) -> Iterable[str]:
        return [*(name for scope in self.enclosing() for name in scope.values), *BUILT_IN_NAMES]

    def block(self, name: str) -> Block | None:
        """Return a block or None; `**name` precedes `*name`, as in xacro."""
        keys = ("**" + name, "*" + name)
        return next((scope.blocks[key] for key in keys for scope in self.enclosing() if key in scope.blocks), None)

    def macro(self, name: str) -> tuple[Macro, Scope] | None:
        """Return a macro and its scope, which for a name like `arm.link` is in a namespace."""
        scope = self
        *namespaces, last = name.split(".")
        for namespace in namespaces:
            value = next((s.values[namespace] for s in scope.enclosing() if namespace in s.values), None)
            if not isinstance(value, Scope):
                return None
            scope = value
        return next(((s.macros[last], scope) for s in scope.enclosing() if last in s.macros), None)

    def _evaluated(self, name: str) -> Value:
        """Return the value of a property of this scope, evaluated at its first use."""
        value = self.values[name]
        if not isinstance(value, LazyProperty):
            return value
        if name in self.pending:
            cycle = " -> ".join([*self.pending, name])
            text = f"property {name!r} refers to itself ({cycle})"
            raise Refused(f'{text}; lazy_eval="false" evaluates it at its definition')
        self.pending.append(name)
        try:
            self.values[name] = self.evaluate(value.text, self)
        except Refused as error:
            if len(self.pending) > 1:  # the message names only the requested property
                raise
            raise Refused(f"{error}, in property {name!r} ({value.element.file}, line {value.element.line})") from None
        finally:
            self.pending.pop()
        return self.values[name]


def parameters(text: str) -> tuple[MacroParameter, ...]:
    """Return the parameters of a macro: `a b:=1 c:=^ d:=^|1 *block **content`."""
    by_name: dict[str, MacroParameter] = {}
    text, i = text.strip(), 0
    if len(text) > MAX_PARAMETER_CHARS:
        raise Refused(f"params has {len(text)} characters; expected at most {MAX_PARAMETER_CHARS}")
    while i < len(text):
        match = _PARAMETER.match(text, i)
        if match is None or set(match[1]) & set("'\"${}()") or not match[1].strip("*"):
            raise Refused(f"params = {text[:80]!r}: expected names, with defaults as in a:=1 b:='two words' c:=^|0")
        if match[1] in by_name:
            raise Refused(f"params = {text[:80]!r}: two parameters are called {match[1]!r}")
        by_name[match[1]] = MacroParameter(match[1], bool(match[2]), match[3] or None)
        i = match.end()
    return tuple(by_name.values())
