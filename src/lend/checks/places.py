"""What places of a kernel look like in its source: the target of an assignment, its subscripts, the loops around an access.

Does: find and cut source text, and write linear expressions in the user's names.  Does not: decide, or word whole sentences.
Invariants: text that cannot be found is None, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from lend.diagnostics.records import dataclass
from lend.diagnostics.spans import Span
from lend.ir import typed
from lend.ir.typed import Region, Value
from lend.model.linear import Linear
from lend.model.records import Access, Model, Scope


@dataclass(frozen=True)
class Loop:
    """A loop around an access: its index by name and value, where it ends, and the sign of its step (0: not known)."""

    name: str
    index: Linear
    upper: Linear
    direction: int


class Places:
    """The names and texts of one kernel."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._loops: dict[str, Loop] | None = None
        self._sources: dict[str, Value] | None = None

    # ------------------------------------------------------------------------------------------------------------- names

    def source_name(self, name: str) -> str:
        """The user's name of a launch constant or an index."""
        value = self.model.space.names.launch.get(name)
        if value is not None and value.name:
            return value.name
        if value is not None and self.load_of(value) is not None:
            return value.span.text
        return name.rsplit("_", 1)[0]

    def array(self, root: Value) -> str:
        """The user's name of an array."""
        return next((p.name for p in self.model.kernel.parameters if p.value is root), None) or root.name or "an array"

    def linear(self, expression: Linear) -> str | None:
        """An expression in the user's names; None if it mentions a value without one."""
        texts: dict[str, str] = {}
        for name in expression.names():
            text = self.named(name)
            if text is None:
                return None
            texts[name] = text
        return str(Linear(tuple((texts[n], c) for n, c in expression.terms), expression.offset))

    def named(self, name: str) -> str | None:
        """A name as the user wrote it: a size, a scalar, an index, or an operation on those."""
        value = self.model.space.names.launch.get(name)
        if value is not None and value.name:
            return value.name
        for (operator, a, b, _), result in self.model.evaluator.computed.items():
            if result == Linear.of(name) and operator in _SYMBOLS:
                left, right = self.linear(a), self.linear(b)
                if left is not None and right is not None:
                    return f"{_bracketed(left)} {_SYMBOLS[operator]} {_bracketed(right)}"
        loop = self.loops().get(name)
        return loop.name if loop is not None and loop.index == Linear.of(name) else None

    def pretty(self, text: str) -> str:
        """A condition of the integer set library in the user's names."""
        for name, value in sorted(self.model.space.names.launch.items(), key=lambda item: -len(item[0])):
            if name in text:
                if value is not None and value.scalar.kind == "bool":
                    text = re.sub(rf"\b{name} (=|<=) 0\b", f"not {self.source_name(name)}", text)
                    text = re.sub(rf"\b{name} (= 1|>= 1|> 0)(?!\d)", self.source_name(name), text)
                text = re.sub(rf"(?<=\d){name}\b", f" * {name}", text)
                text = re.sub(rf"\b{name}\b", self.named(name) or self.source_name(name), text)
        return re.sub(r"(?<![<>=!])=(?!=)", "==", text)

    def unknown(self, expression: Linear) -> Value | None:
        """The first value in an expression that is known at run time only."""
        if self._sources is None:
            self._sources = {}
            for value, number in self.model.evaluator.numbers.items():
                if len(number.terms) == 1:
                    self._sources.setdefault(number.terms[0][0], value)
        names = self.model.space.names
        opaque = (n for n in self.model.space.closure(expression.names()) if n in names.opaque)
        return next((self._sources[n] for n in opaque if n in self._sources), None)

    def load_of(self, value: Value) -> Access | None:
        """The read that a value comes from."""
        reads = (a for a in self.model.accesses if isinstance(a.operation, typed.Load) and a.operation.result is value)
        return next(reads, None)

    # ------------------------------------------------------------------------------------------------------------- loops

    def loops(self) -> dict[str, Loop]:
        """All loops by the name that counts them."""
        if self._loops is None:
            self._loops = {}
            self._collect(self.model.kernel.body)
            for region in self.model.regions:
                extents = zip(region.operation.box, region.operation.body.parameters, region.indices, strict=False)
                for name, (extent, parameter, index) in zip(region.scope.threads, extents, strict=True):
                    self._loops[name] = self._loop(extent, parameter, index)
        return self._loops

    def _collect(self, region: Region) -> None:
        for operation in region.operations:
            if isinstance(operation, typed.For):
                parameter = operation.body.parameters[0]
                index = self.model.evaluator.numbers.get(parameter)
                for name in index.names() if index is not None else ():
                    if name not in self._loops_so_far():
                        assert index is not None
                        self._loops_so_far()[name] = self._loop(operation.extent, parameter, index)
            for inner in _regions(operation):
                self._collect(inner)

    def _loops_so_far(self) -> dict[str, Loop]:
        assert self._loops is not None
        return self._loops

    def _loop(self, extent: typed.Extent, parameter: Value, index: Linear) -> Loop:
        numbers = self.model.evaluator.numbers
        step = numbers.get(extent.step, Linear.constant(0)).value or 0
        upper = numbers.get(extent.upper, Linear.constant(0))
        return Loop(parameter.name or "i", index, upper, (step > 0) - (step < 0))

    def around(self, scope: Scope) -> list[Loop]:
        """The loops around a place, innermost first."""
        counted = (*reversed(scope.counters), *reversed(scope.threads))
        return [self.loops()[name] for name in counted if name in self.loops()]


_SYMBOLS = {"floordiv": "//", "mod": "%", "mul": "*", "shr": ">>", "shl": "<<"}


def _bracketed(text: str) -> str:
    return text if re.fullmatch(r"\w+", text) else f"({text})"


def _regions(operation: typed.Operation) -> Iterator[Region]:
    match operation:
        case typed.If():
            yield from (operation.then, operation.orelse)
        case typed.While():
            yield from (operation.condition, operation.body)
        case typed.For() | typed.Parallel() | typed.Call():
            yield operation.body
        case _:
            return


# --------------------------------------------------------------------------------------------------------------- source text


def target(span: Span) -> Span:
    """The part of a load or a store that names the element: `y[i]` of `y[i] += 1`; the whole where that is not plain."""
    text = span.source.line(span.line)[span.column :]
    begin = re.match(r"[^\W\d][\w.]*(?=\[)", text)
    if begin is None:
        return span
    end = begin.end()
    while end < len(text):
        if text[end] == "[":
            closed = _closed(text, end)
            if closed is None:
                return span
            end = closed
        elif following := re.match(r"\.[^\W\d]\w*", text[end:]):
            end += following.end()
        else:
            break
    return replace(span, end_line=span.line, end_column=span.column + end)


def _closed(text: str, start: int) -> int | None:
    """The position after the bracket that closes the one at `start`."""
    depth = 0
    for position in range(start, len(text)):
        depth += (text[position] in "([{") - (text[position] in ")]}")
        if depth == 0:
            return position + 1
    return None


def subscripts(span: Span) -> list[str] | None:
    """The subscripts of an element as written; None where that is not plain."""
    text = target(span).text
    start = text.find("[")
    if start < 0 or _closed(text, start) is None:
        return None
    parts, depth = [""], 0
    for character in text[start + 1 : (_closed(text, start) or 0) - 1]:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]
