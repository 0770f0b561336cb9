"""The expansion of a xacro file, with a method for every xacro element."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import NoReturn

from armwright.errors import ModelError, closest_name
from armwright.model import xml
from armwright.model.packages import MissingFile, ReadableFolders
from armwright.model.refusal import Refused
from armwright.model.xacro.evaluate import Budget, Lookup, Value, XacroFunction
from armwright.model.xacro.scope import Block, LazyProperty, Macro, MacroParameter, Scope, parameters
from armwright.model.xacro.text import TextExpander, literal
from armwright.model.xml import Element

MAX_STEPS = 300_000
ELEMENT_COST = 5
"""Steps of an element; a node of an expression costs one. Published robots take less than a tenth of MAX_STEPS."""

MAX_CALL_DEPTH = 200
MAX_INCLUDED_FILES = 500
XACRO_PREFIX = "xacro:"
_TAG = re.compile(r"[A-Za-z_][\w.:-]*")


def expand(
    path: str | Path,
    arguments: Mapping[str, str | float] | None = None,
    packages: Mapping[str, str | Path] | None = None,
) -> Element:
    """Return the root of an expanded xacro file; elements keep their file and line.

    `arguments` are those of <xacro:arg>, `packages` the folders of included packages.
    """
    path = Path(path)
    budget = Budget(MAX_STEPS)
    argument_texts = _argument_texts(arguments)
    texts = TextExpander(ReadableFolders.around(path, packages), dict(argument_texts), budget)
    root = _Expansion(texts, budget).document(path)
    for name in argument_texts:
        if name not in texts.used:
            raise ModelError(f"{path} has no argument {name!r}; {_guess(name, sorted(texts.used))}")
    return root


def _argument_texts(arguments: Mapping[str, str | float] | None) -> dict[str, str]:
    """Return the arguments as texts, as on the command line of xacro."""
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        expected = "a mapping of arguments to values, as in {'prefix': 'left_'}"
        raise ModelError(f"mappings = {arguments!r}; expected {expected}")
    for name, value in arguments.items():
        if not isinstance(name, str) or not isinstance(value, (str, Real)):
            expected = "the name of an argument, and a text or a number"
            raise ModelError(f"mappings[{name!r}] = {value!r}; expected {expected}")
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in arguments.items()}


@dataclass(frozen=True)
class Context:
    """The scope of an element, the chain of files that include it, and the macro call around it."""

    scope: Scope
    files: tuple[Path, ...]
    calls: int = 0
    call: str = ""

    @property
    def file(self) -> Path:
        return self.files[-1]


@dataclass(frozen=True, slots=True)
class Visit:
    """An element to expand into `output`, `level` deep in the result."""

    element: Element
    output: Element
    context: Context
    level: int

    def fail(self, message: str) -> NoReturn:
        self.element.fail(message + (f" (in {self.context.call})" if self.context.call else ""))


@dataclass(frozen=True)
class MacroCall:
    """A macro call with its blocks expanded into `blocks`."""

    macro: Macro
    scope: Scope
    blocks: Element
    visit: Visit


class _Expansion:
    """The expansion of a document and its includes, with a stack of pending elements."""

    def __init__(self, texts: TextExpander, budget: Budget) -> None:
        self.texts, self.budget = texts, budget
        self.parsed: dict[Path, Element] = {}
        self.bytes = 0
        self.stack: list[Visit | MacroCall] = []
        self.handlers: dict[str, Callable[[Visit], None]] = {
            "property": self._property,
            "arg": self._argument,
            "include": self._include,
            "macro": self._macro,
            "insert_block": self._insert,
            "if": self._condition,
            "unless": self._condition,
            "element": self._element,
            "attribute": self._attribute,
        }

    def document(self, path: Path) -> Element:
        root, resolved = xml.read(path), path.resolve()
        self.parsed[resolved] = root
        scope = Scope(None, self.texts.typed)
        scope.values["xacro"] = self.texts.functions()
        top = Element("", {}, root.file, root.line)
        self.stack.append(Visit(root, top, Context(scope, (resolved,)), 0))
        while self.stack:
            self._step(self.stack.pop())
        if not top.children:
            root.fail(f"<{root.tag}> expands to nothing; expected a robot")
        return top.children[0]

    def _step(self, step: Visit | MacroCall) -> None:
        visit = step if isinstance(step, Visit) else step.visit
        self.texts.file = visit.context.file
        try:
            if isinstance(step, MacroCall):
                self._expand_macro(step)
            elif step.element.tag.startswith(XACRO_PREFIX):
                self.handlers.get(step.element.tag.removeprefix(XACRO_PREFIX), self._call)(step)
            else:
                self._plain(step)
        except Refused as error:
            visit.fail(str(error))
        except RecursionError:
            visit.fail("elements, properties or expressions are nested too deeply")

    def _push(self, elements: Sequence[Element], output: Element, context: Context, level: int) -> None:
        """Push elements to expand next, in order, and spend their steps, which bounds the stack."""
        self.budget.spend(ELEMENT_COST * len(elements))
        self.stack.extend(Visit(element, output, context, level) for element in reversed(elements))

    def _content(self, element: Element, visit: Visit) -> None:
        """Expand the contents of an element in place of the visited one."""
        if element.text.strip():
            self._write(self.texts.text(element.text, visit.context.scope), visit.output)
        self._push(element.children, visit.output, visit.context, visit.level)

    def _write(self, text: str, output: Element) -> None:
        output.text += text
        self.budget.spend(len(output.text) // 50)  # the entire text is copied

    # elements

    def _plain(self, visit: Visit) -> None:
        """Copy an element with its texts expanded."""
        source, scope = visit.element, visit.context.scope
        if visit.level >= xml.MAX_XML_DEPTH:
            visit.fail(f"elements are nested more than {xml.MAX_XML_DEPTH} deep")
        self.budget.spend(len(source.attributes))
        attributes = {
            name: self.texts.text(value, scope)
            for name, value in source.attributes.items()
            if not name.startswith(XACRO_PREFIX) and name != "xmlns:xacro"
        }
        copy = Element(source.tag, attributes, source.file, source.line, text=self.texts.text(source.text, scope))
        visit.output.children.append(copy)
        self._push(source.children, copy, visit.context, visit.level + 1)

    def _element(self, visit: Visit) -> None:
        name = self._evaluated(visit, "xacro:name")
        if not _TAG.fullmatch(name) or name.startswith(XACRO_PREFIX):
            visit.fail(f"xacro:name = {name!r} is not the name of an element")
        self._plain(replace(visit, element=replace(visit.element, tag=name)))

    def _attribute(self, visit: Visit) -> None:
        name, value = self._evaluated(visit, "name"), self._evaluated(visit, "value")
        if not _TAG.fullmatch(name):
            visit.fail(f"name = {name!r} is not the name of an attribute")
        visit.output.attributes[name] = value

    def _condition(self, visit: Visit) -> None:
        if self._truth(visit, visit.element.text_of("value")) is (visit.element.tag == "xacro:if"):
            self._content(visit.element, visit)

    def _truth(self, visit: Visit, text: str) -> bool:
        value = self.texts.value(text, visit.context.scope)
        known = literal(value.strip()) if isinstance(value, str) else value
        if isinstance(known, (str, XacroFunction, Lookup)):
            visit.fail(f"{text!r} is {value!r}; expected true or false, or a number")
        return bool(known)

    def _evaluated(self, visit: Visit, name: str) -> str:
        """Return a required attribute, expanded."""
        return self.texts.text(visit.element.text_of(name), visit.context.scope)

    # properties, arguments and files

    def _property(self, visit: Visit) -> None:
        name, scope, attributes = self._evaluated(visit, "name"), visit.context.scope, visit.element.attributes
        if not name.isidentifier() or name.startswith("__"):
            visit.fail(f"property {name!r}: expected a name of letters, digits and _")
        keys = [key for key in ("value", "default", "remove") if key in attributes]
        if len(keys) > 1:
            visit.fail(f"property {name!r} has {' and '.join(keys)}; expected one of them")
        if self._truth(visit, attributes.get("remove", "false")):
            for holder in scope.enclosing():
                holder.values.pop(name, None)
        elif "default" not in attributes or not any(name in holder.values for holder in scope.enclosing()):
            self._set(visit, name, attributes.get("value", attributes.get("default")))

    def _set(self, visit: Visit, name: str, text: str | None) -> None:
        """Set a property, in the scope of its definition lazily; without a value it is a block."""
        scope, target = visit.context.scope, self._target(visit)
        if text is None:
            target.blocks["**" + name] = Block(tuple(visit.element.children), visit.element.text, expanded=False)
            return
        if target is not scope or not self._truth(visit, visit.element.attributes.get("lazy_eval", "true")):
            target.values[name] = self.texts.typed(text, scope)
            return
        value = literal(text)
        lazy = isinstance(value, str) and "$" in value
        target.values[name] = LazyProperty(value, visit.element) if lazy else literal(value)  # twice, as in xacro

    def _target(self, visit: Visit) -> Scope:
        """Return the scope of a property."""
        where, scope = visit.element.attributes.get("scope"), visit.context.scope
        if where is None:
            return scope
        if where == "global":
            return list(scope.enclosing())[-1]
        if where != "parent":
            visit.fail(f'scope = "{where}"; expected "parent" or "global"')
        outer = scope.outer
        while outer is not None and outer.namespace and not scope.namespace:  # the parent of a call is its caller
            outer = outer.outer
        if outer is None:
            visit.fail('scope="parent" outside of any macro')
        return outer

    def _argument(self, visit: Visit) -> None:
        name = visit.element.text_of("name")
        self.texts.used.add(name)
        self.texts.declared.add(name)
        if name not in self.texts.arguments and "default" in visit.element.attributes:
            self.texts.arguments[name] = self._evaluated(visit, "default")

    def _include(self, visit: Visit) -> None:
        context, name = visit.context, self._evaluated(visit, "filename")
        try:
            path = self.texts.folders.file(name, context.file)
        except MissingFile:
            if self._truth(visit, visit.element.attributes.get("optional", "false")):
                return
            raise
        if path in context.files:
            cycle = (*context.files[context.files.index(path) :], path)
            visit.fail(f"a file that includes itself: {' -> '.join(file.name for file in cycle)}")
        scope = context.scope
        if "ns" in visit.element.attributes:
            scope = context.scope.nested(namespace=True)
            context.scope.values[self._evaluated(visit, "ns")] = scope
        inside = replace(context, scope=scope, files=(*context.files, path))
        self._content(self._parse(visit, path), replace(visit, context=inside))

    def _parse(self, visit: Visit, path: Path) -> Element:
        """Return a parsed file from a cache, since expansion does not change it."""
        if path not in self.parsed:
            self.bytes += path.stat().st_size
            if len(self.parsed) >= MAX_INCLUDED_FILES or self.bytes > xml.MAX_XML_BYTES:
                megabytes = xml.MAX_XML_BYTES >> 20
                visit.fail(f"more than {MAX_INCLUDED_FILES} files, or {megabytes} MB of them, are included")
            self.parsed[path] = xml.read(path)
        return self.parsed[path]

    # macros and blocks

    def _macro(self, visit: Visit) -> None:
        name = visit.element.text_of("name").removeprefix(XACRO_PREFIX)
        if not name or "." in name or name in (*self.handlers, "call"):
            visit.fail(f"a macro cannot be called {name!r}: expected no dots, and no name of xacro itself")
        text = visit.element.attributes.get("params", "")
        self.budget.spend(len(text) // 5)
        visit.context.scope.macros[name] = Macro(name, parameters(text), visit.element)

    def _call(self, visit: Visit) -> None:
        """Schedule a macro call, and first the expansion of its blocks."""
        element, scope = visit.element, visit.context.scope
        name = element.tag.removeprefix(XACRO_PREFIX)
        if name == "call":
            name = self._evaluated(visit, "macro")
            others = {key: text for key, text in element.attributes.items() if key != "macro"}
            visit = replace(visit, element=replace(element, attributes=others))
        found = scope.macro(name)
        if found is None:
            known = [*self.handlers, *(known for outer in scope.enclosing() for known in outer.macros)]
            visit.fail(f"unknown macro {name!r}; {_guess(name, known)}")
        if visit.context.calls >= MAX_CALL_DEPTH:
            visit.fail(f"macros call each other more than {MAX_CALL_DEPTH} deep")
        blocks = Element("", {}, element.file, element.line)
        self.stack.append(MacroCall(*found, blocks, visit))
        self._push(element.children, blocks, visit.context, 0)

    def _expand_macro(self, call: MacroCall) -> None:
        macro, visit = call.macro, call.visit
        arguments, blocks = visit.element.attributes, list(call.blocks.children)
        self.budget.spend(len(macro.parameters))
        names = {parameter.name: None for parameter in macro.parameters if not parameter.block}
        for name in arguments:
            if name not in names:
                visit.fail(f"macro {macro.name!r} has no parameter {name!r}; {_guess(name, names)}")
        scope = call.scope.nested()
        for parameter in macro.parameters:
            if parameter.block:
                if not blocks:
                    visit.fail(f"macro {macro.name!r} needs a block {parameter.name!r}, an element inside the call")
                scope.blocks[parameter.name] = _block(parameter, blocks.pop(0))
            elif parameter.name in arguments:
                scope.values[parameter.name] = self.texts.typed(arguments[parameter.name], visit.context.scope)
            else:
                scope.values[parameter.name] = self._default(parameter, call)
        if blocks:
            visit.fail(f"macro {macro.name!r} has no parameter for the block <{blocks[0].tag}>")
        place = f"macro {macro.name!r} called at {visit.element.file}, line {visit.element.line}"
        inside = replace(visit.context, scope=scope, calls=visit.context.calls + 1, call=place)
        self._content(macro.body, replace(visit, context=inside))

    def _default(self, parameter: MacroParameter, call: MacroCall) -> Value:
        caller, macro = call.visit.context.scope, call.macro
        if parameter.inherits:
            try:
                return caller.value_of(parameter.name)
            except KeyError:
                if parameter.default is None:
                    call.visit.fail(f"there is no property {parameter.name!r} for macro {macro.name!r}")
        if parameter.default is None:
            needed = ", ".join(p.name for p in macro.parameters if not p.optional)
            call.visit.fail(f"macro {macro.name!r} is called without {parameter.name!r}; it needs {needed}")
        return self.texts.typed(parameter.default, caller)

    def _insert(self, visit: Visit) -> None:
        name, scope = self._evaluated(visit, "name"), visit.context.scope
        block = scope.block(name)
        if block is None:
            known = [key.lstrip("*") for outer in scope.enclosing() for key in outer.blocks]
            visit.fail(f"unknown block {name!r}; {_guess(name, known)}")
        if block.expanded:
            self._write(block.text.strip(), visit.output)
            visit.output.children.extend(self._copy(element) for element in block.elements)
        else:
            self._content(replace(visit.element, children=list(block.elements), text=block.text), visit)

    def _copy(self, element: Element) -> Element:
        """Return a copy of an element; every copy costs steps."""
        self.budget.spend(ELEMENT_COST + len(element.attributes))
        children = [self._copy(child) for child in element.children]
        return replace(element, attributes=dict(element.attributes), children=children)


def _block(parameter: MacroParameter, element: Element) -> Block:
    """Return a block: `*name` is the element, `**name` its contents."""
    if parameter.name.startswith("**"):
        return Block(tuple(element.children), element.text, expanded=True)
    return Block((element,), "", expanded=True)


def _guess(name: str, known: Iterable[str]) -> str:
    names = list(known)
    closest = closest_name(name, names)
    return f"did you mean {closest!r}?" if closest else f"known are {', '.join(names) or 'none'}"
