"""Properties, macros and XML blocks of a xacro file, and the scopes in which their names are known."""

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
"""Characters of the parameters of a macro."""


@dataclass(frozen=True)
class LazyProperty:
    """The text of a property that is not used yet."""

    text: str
    element: Element


@dataclass(frozen=True)
class MacroParameter:
    """A parameter; `inherits` (^) takes the caller's property, `default` replaces a missing value."""

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
    """XML to insert: already expanded if it was passed to a macro, else a property's."""

    elements: tuple[Element, ...]
    text: str
    expanded: bool


class Scope:
    """The properties, blocks and macros of a file or of one call; unknown names are looked up outside.

    A `namespace` is the scope of a file that was included with ns=.
    """

    def __init__(self, outer: Scope | None, settle: Callable[[str, Scope], Value], namespace: bool = False) -> None:
        self.outer, self.settle, self.namespace = outer, settle, namespace
        self.values: dict[str, Value] = {}
        self.blocks: dict[str, Block] = {}
        self.macros: dict[str, Macro] = {}
        self.settling: list[str] = []

    def inside(self, namespace: bool = False) -> Scope:
        return Scope(self, self.settle, namespace)

    def mechanism(self) -> Iterator[Scope]:
        """Yield this scope and those around it, from within."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def value_of(self, name: str) -> Value:
        for scope in self.mechanism():
            if name in scope.values:
                return scope._settled(name)
        return BUILT_IN_NAMES[name]

    def known(self) -> Iterable[str]:
        return [*(name for scope in self.mechanism() for name in scope.values), *BUILT_IN_NAMES]

    def block(self, name: str) -> Block | None:
        """Return a block; `**name` precedes `*name`, as in xacro."""
        keys = ("**" + name, "*" + name)
        return next((scope.blocks[key] for key in keys for scope in self.mechanism() if key in scope.blocks), None)

    def macro(self, name: str) -> tuple[Macro, Scope] | None:
        """Return a macro and the scope of its call: this one, or the namespace in a name like `arm.link`."""
        scope = self
        *namespaces, last = name.split(".")
        for namespace in namespaces:
            found = next((s.values[namespace] for s in scope.mechanism() if namespace in s.values), None)
            if not isinstance(found, Scope):
                return None
            scope = found
        return next(((s.macros[last], scope) for s in scope.mechanism() if last in s.macros), None)

    def _settled(self, name: str) -> Value:
        """Return the value of a property of this scope, evaluated at its first use."""
        value = self.values[name]
        if not isinstance(value, LazyProperty):
            return value
        if name in self.settling:
            raise Refused(
                f"property {name!r} refers to itself ({' -> '.join([*self.settling, name])}); "
                'lazy_eval="false" computes it where it stands'
            )
        self.settling.append(name)
        try:
            self.values[name] = self.settle(value.text, self)
        except Refused as error:
            if len(self.settling) > 1:  # only the property that was asked for tells
                raise
            raise Refused(f"{error}, in property {name!r} ({value.element.file}, line {value.element.line})") from None
        finally:
            self.settling.pop()
        return self.values[name]


def parameters(text: str) -> tuple[MacroParameter, ...]:
    """Return the parameters of a macro: `a b:=1 c:=^ d:=^|1 *block **content`."""
    found: dict[str, MacroParameter] = {}
    text, i = text.strip(), 0
    if len(text) > MAX_PARAMETER_CHARS:
        raise Refused(f"params has {len(text)} characters; expected at most {MAX_PARAMETER_CHARS}")
    while i < len(text):
        match = _PARAMETER.match(text, i)
        if match is None or set(match[1]) & set("'\"${}()") or not match[1].strip("*"):
            raise Refused(f"params = {text[:80]!r}: expected names, with defaults as in a:=1 b:='two words' c:=^|0")
        if match[1] in found:
            raise Refused(f"params = {text[:80]!r}: two are called {match[1]!r}")
        found[match[1]] = MacroParameter(match[1], bool(match[2]), match[3] or None)
        i = match.end()
    return tuple(found.values())
