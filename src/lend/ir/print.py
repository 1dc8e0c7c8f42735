"""Both trees as text, for tests, `lend inspect` and people.

Does: print a `syntax.Function` as fully bracketed Python, a `typed.Kernel` one operation a line.  Does not: parse it back.
Invariants: the text depends on the tree only. A value is `%x` after the user's name, `%x.1`, `%x.2` for later values of that
name, and `%0`, `%1` where there is no name, numbered in order; its type stands where it is defined.

Example: `%3: f32 = load %y[%i] !0` reads y[i], whose fault is site 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lend.diagnostics.errors import InternalError
from lend.diagnostics.spans import Span
from lend.ir import syntax, typed
from lend.ir.typed import Value

INDENT = "    "

# ------------------------------------------------------------------------------------------------ the untyped tree


def print_syntax(function: syntax.Function) -> str:
    """The untyped tree as Python text in which brackets say everything."""
    return "\n".join(_function_lines(function, "")) + "\n"


def _function_lines(function: syntax.Function, indent: str) -> list[str]:
    lines = [f"{indent}def {function.name}({', '.join(_parameters(function))}):"]
    return lines + _block(function.body, indent + INDENT)


def _parameters(function: syntax.Function) -> Iterable[str]:
    starred = False
    for parameter in function.parameters:
        if parameter.keyword_only and not starred:
            starred = True
            yield "*"
        text = parameter.name
        if parameter.annotation is not None:
            text += f": {_expression(parameter.annotation)}"
        if parameter.default is not None:
            text += f" = {_expression(parameter.default)}"
        yield text


def _block(statements: Sequence[syntax.Stmt], indent: str) -> list[str]:
    lines = [line for statement in statements for line in _statement(statement, indent)]
    return lines or [f"{indent}pass"]


def _statement(statement: syntax.Stmt, indent: str) -> list[str]:
    inner = indent + INDENT
    match statement:
        case syntax.Assign():
            return [indent + " = ".join(map(_expression, (*statement.targets, statement.value)))]
        case syntax.AugAssign():
            return [f"{indent}{_expression(statement.target)} {statement.op}= {_expression(statement.value)}"]
        case syntax.AnnAssign():
            value = "" if statement.value is None else f" = {_expression(statement.value)}"
            return [f"{indent}{statement.target.id}: {_expression(statement.annotation)}{value}"]
        case syntax.For():
            header = f"{indent}for {_expression(statement.target)} in {_expression(statement.iterable)}:"
            return [header, *_block(statement.body, inner)]
        case syntax.While():
            return [f"{indent}while {_expression(statement.test)}:", *_block(statement.body, inner)]
        case syntax.If():
            lines = [f"{indent}if {_expression(statement.test)}:", *_block(statement.then, inner)]
            return [*lines, f"{indent}else:", *_block(statement.orelse, inner)] if statement.orelse else lines
        case syntax.With():
            return [f"{indent}with {_expression(statement.context)}:", *_block(statement.body, inner)]
        case syntax.FunctionDef():
            return _function_lines(statement.function, indent)
        case syntax.Return():
            return [f"{indent}return" if statement.value is None else f"{indent}return {_expression(statement.value)}"]
        case syntax.Assert():
            message = "" if statement.message is None else f", {statement.message!r}"
            return [f"{indent}assert {_expression(statement.test)}{message}"]
        case syntax.ExprStmt():
            return [indent + _expression(statement.value)]
        case syntax.Break():
            return [f"{indent}break"]
        case syntax.Continue():
            return [f"{indent}continue"]
        case syntax.Pass():
            return [f"{indent}pass"]


def _expression(expression: syntax.Expr | syntax.Slice) -> str:
    match expression:
        case syntax.Name():
            return expression.id
        case syntax.Literal():
            return repr(expression.value)
        case syntax.Unary():
            space = " " if expression.op == "not" else ""
            return f"({expression.op}{space}{_expression(expression.operand)})"
        case syntax.Binary():
            return f"({_expression(expression.left)} {expression.op} {_expression(expression.right)})"
        case syntax.Compare():
            rest = (f" {op} {_expression(e)}" for op, e in zip(expression.ops, expression.rest, strict=True))
            return f"({_expression(expression.first)}{''.join(rest)})"
        case syntax.BoolOp():
            return f"({f' {expression.op} '.join(map(_expression, expression.values))})"
        case syntax.Conditional():
            then, test, orelse = map(_expression, (expression.then, expression.test, expression.orelse))
            return f"({then} if {test} else {orelse})"
        case syntax.Call():
            arguments = [_expression(a) for a in expression.arguments]
            arguments += [f"{name}={_expression(value)}" for name, value in expression.keywords]
            return f"{_expression(expression.function)}({', '.join(arguments)})"
        case syntax.Attribute():
            return f"{_expression(expression.value)}.{expression.name}"
        case syntax.Slice():
            parts = ["" if part is None else _expression(part) for part in (expression.lower, expression.upper)]
            return ":".join([*parts, _expression(expression.step)] if expression.step is not None else parts)
        case syntax.Subscript():
            return f"{_expression(expression.value)}[{', '.join(map(_expression, expression.indices))}]"
        case syntax.Tuple():
            items = ", ".join(map(_expression, expression.items))
            return f"({items},)" if len(expression.items) == 1 else f"({items})"
        case syntax.Lambda():
            body = expression.function.body
            result = next((s.value for s in body if isinstance(s, syntax.Return) and s.value is not None), None)
            head = " ".join(["lambda", ", ".join(_parameters(expression.function))]).rstrip()
            return f"({head}: {'...' if result is None else _expression(result)})"


# -------------------------------------------------------------------------------------------------- the typed tree


def print_kernel(kernel: typed.Kernel, *, spans: bool = False) -> str:
    """The typed tree, one operation a line; with `spans`, each line ends in `; line:column`."""
    return _Printer(spans).kernel(kernel)


class _Printer:
    def __init__(self, spans: bool) -> None:
        self.spans = spans
        self.lines: list[str] = []
        self.names: dict[Value, str] = {}
        self.taken: dict[str, int] = {}
        self.unnamed = 0

    def kernel(self, kernel: typed.Kernel) -> str:
        dims = ", ".join(map(self.define, kernel.dims))
        parameters = ", ".join(self.define(parameter.value) for parameter in kernel.parameters)
        self.line(f"kernel {kernel.name}[{dims}]({parameters}) math={kernel.math} {{", kernel.span, "")
        self.region(kernel.body, INDENT)
        self.lines.append("}")
        for parameter in kernel.parameters:
            if parameter.index is not None:
                kind, bound = parameter.index
                text = self.use(bound) if isinstance(bound, Value) else str(bound)
                self.lines.append(f"facts {self.use(parameter.value)}: {kind} {text}")
        if kernel.contracts.yields:
            self.lines.append("contracts {")
            self.region(kernel.contracts, INDENT)
            self.lines.append("}")
        for number, site in enumerate(kernel.sites):
            words = [site.kind, *([f"{site.access} of {site.array}"] if site.access else [site.array or ""]), site.text or ""]
            text = " ".join(word for word in words if word)
            self.line(f"!{number} = {text}{self.threads(site.threads)}", site.span, "")
        for block in kernel.unchecked:
            self.line(f"unchecked {block.reason!r}", block.span, "")
        return "\n".join(self.lines) + "\n"

    @staticmethod
    def threads(names: tuple[str, ...]) -> str:
        return f" in {', '.join(names)}" if names else ""

    def line(self, text: str, span: Span, indent: str) -> None:
        place = f"  ; {span.line}:{span.column + 1}" if self.spans else ""
        self.lines.append(f"{indent}{text}{place}")

    # ------------------------------------------------------------------------------------------------- values

    def define(self, value: Value) -> str:
        """The name of a value, made now, with its type."""
        if value.name is None:
            name = f"%{self.unnamed}"
            self.unnamed += 1
        else:
            count = self.taken.get(value.name, 0)
            self.taken[value.name] = count + 1
            name = f"%{value.name}.{count}" if count else f"%{value.name}"
        self.names[value] = name
        return f"{name}: {value.type}"

    def use(self, value: Value) -> str:
        """The name of a value defined before; a wrong tree prints too."""
        return self.names.get(value, f"?{value.name or ''}")

    def uses(self, values: Iterable[Value]) -> str:
        return ", ".join(map(self.use, values))

    def extent(self, extent: typed.Extent) -> str:
        return f"{self.use(extent.lower)}:{self.use(extent.upper)}:{self.use(extent.step)}"

    def element(self, array: Value, indices: tuple[Value, ...], path: tuple[int, ...]) -> str:
        return f"{self.use(array)}[{self.uses(indices)}]{''.join(f'.{position}' for position in path)}"

    @staticmethod
    def site(*numbers: int | None) -> str:
        return "".join(f" !{number}" for number in numbers if number is not None)

    # --------------------------------------------------------------------------------------------- operations

    def region(self, region: typed.Region, indent: str) -> None:
        for operation in region.operations:
            self.operation(operation, indent)
        if region.yields:
            self.lines.append(f"{indent}yield {self.uses(region.yields)}")

    def operation(self, operation: typed.Operation, indent: str) -> None:
        if operation.regions:
            self.control(operation, indent)
            return
        text = self.simple(operation)
        if operation.results:
            text = f"{self.define(operation.results[0])} = {text}"
        self.line(text, operation.span, indent)

    def simple(self, operation: typed.Operation) -> str:
        match operation:
            case typed.Constant():
                return f"constant {operation.value!r}"
            case typed.Unary():
                return f"{operation.operator} {self.use(operation.operand)}"
            case typed.Binary():
                operands = self.uses((operation.left, operation.right))
                return f"{operation.operator} {operands}{self.site(operation.site)}"
            case typed.Math():
                return f"{operation.function}({self.uses(operation.arguments)})"
            case typed.Cast():
                return f"cast {self.use(operation.operand)}"
            case typed.Load():
                return f"load {self.element(operation.array, operation.indices, operation.path)}{self.site(operation.site)}"
            case typed.Store():
                place = self.element(operation.array, operation.indices, operation.path)
                return f"store {place} = {self.use(operation.value)}{self.site(operation.site)}"
            case typed.Size():
                return f"size {self.use(operation.array)}, {operation.dimension}"
            case typed.View():
                parts = (self.use(p) if isinstance(p, Value) else self.extent(p) for p in operation.parts)
                return f"view {self.use(operation.array)}[{', '.join(parts)}]{self.site(operation.site)}"
            case typed.Reshape():
                sites = self.site(operation.shape_site, operation.view_site)
                return f"reshape {self.use(operation.array)}, {self.uses(operation.sizes)}{sites}"
            case typed.Allocate():
                return f"allocate {self.uses(operation.sizes)}{self.site(operation.extent_site, operation.memory_site)}"
            case typed.Local():
                return f"local {', '.join(map(str, operation.sizes))}"
            case typed.Shared():
                return f"shared {', '.join(map(str, operation.sizes))}"
            case typed.Sync():
                return "sync inserted" if operation.inserted else "sync"
            case typed.Subgroup():
                return f"subgroup {operation.operator} {operation.size} {self.uses(operation.operands)}".rstrip()
            case typed.Atomic():
                return self.atomic(operation)
            case typed.Distinct():
                return f"distinct {self.uses(operation.operands)}"
            case typed.Within():
                return f"within {self.uses(operation.operands)}{' in order' if operation.offsets else ''}"
            case typed.WithinRest():
                return f"within rest {self.uses(operation.operands)}"
            case typed.Exceed():
                return f"exceed {self.uses(operation.operands)}"
            case typed.Require():
                said = ""
                if operation.facts is not None:
                    array, kind, bound = operation.facts
                    said = f": {self.use(array)} is {kind} {self.use(bound)}"
                return f"require {self.uses(operation.operands)}{self.site(operation.site)}{said}"
            case _:
                raise InternalError(f"no text for {type(operation).__name__}", operation.span)

    def atomic(self, operation: typed.Atomic) -> str:
        place = self.element(operation.array, operation.indices, ())
        expected = "" if operation.expected is None else f" if {self.use(operation.expected)}"
        value = "" if operation.value is None else f" {self.use(operation.value)}"
        return f"atomic {operation.operator} {place}{expected}{value} {operation.order}{self.site(operation.site)}"

    def control(self, operation: typed.Operation, indent: str) -> None:
        inner = indent + INDENT
        match operation:
            case typed.If():
                self.line(f"if {self.use(operation.condition)} {{", operation.span, indent)
                self.region(operation.then, inner)
                self.lines.append(f"{indent}}} else {{")
                self.region(operation.orelse, inner)
            case typed.For():
                extent, inits = self.extent(operation.extent), self.uses(operation.inits)
                index, *carried = map(self.define, operation.body.parameters)
                stops = " stops" if operation.stops else ""
                head = f"for {index} in {extent}{self.carried(carried, inits)}{stops}{self.site(operation.site)} {{"
                self.line(head, operation.span, indent)
                self.region(operation.body, inner)
            case typed.While():
                inits = self.uses(operation.inits)
                head = self.carried(list(map(self.define, operation.condition.parameters)), inits)
                self.line(f"while{head}{' stops' if operation.stops else ''} {{", operation.span, indent)
                self.region(operation.condition, inner)
                self.lines.append(f"{indent}}} do ({', '.join(map(self.define, operation.body.parameters))}) {{")
                self.region(operation.body, inner)
            case typed.Call():
                arguments = self.uses(operation.arguments)
                parameters = ", ".join(map(self.define, operation.body.parameters))
                lent = ", ".join(f"{'mut ' if loan.writes else ''}{loan.argument}" for loan in operation.loans)
                known = f" lends {lent}" if lent else ""
                self.line(f"call {operation.name}({arguments}) ({parameters}){known} {{", operation.span, indent)
                self.region(operation.body, inner)
            case typed.Parallel():
                known = (" independent" if operation.independent else "") + (" final" if operation.final_writes else "")
                self.parallel(operation, "parallel", self.box(operation), f"{self.site(operation.site)}{known}", indent)
            case typed.Blocks():
                known = " independent" if operation.independent else ""
                self.parallel(operation, "blocks", self.box(operation), f"{self.site(operation.site)}{known}", indent)
            case typed.Threads():
                self.parallel(operation, "threads", list(map(str, operation.sizes)), "", indent)
            case _:
                raise InternalError(f"no text for {type(operation).__name__}", operation.span)
        results = ", ".join(map(self.define, operation.results))
        self.lines.append(f"{indent}}} -> {results}" if results else f"{indent}}}")

    @staticmethod
    def carried(parameters: list[str], inits: str) -> str:
        return f" ({', '.join(parameters)}) = ({inits})" if parameters else ""

    def box(self, operation: typed.Parallel | typed.Blocks) -> list[str]:
        return list(map(self.extent, operation.box))

    def parallel(
        self, operation: typed.Parallel | typed.Blocks | typed.Threads, word: str, box: list[str], after: str, indent: str
    ) -> None:
        inits = [f"{r.operator}({self.uses(r.inits)})" for r in operation.reductions]
        parameters = list(map(self.define, operation.body.parameters))
        indices, values = parameters[: len(box)], parameters[len(box) :]
        reduced = f" reduce ({', '.join(values)}) = {', '.join(inits)}" if values else ""
        self.line(f"{word} {', '.join(indices)} in {', '.join(box)}{reduced}{after} {{", operation.span, indent)
        self.region(operation.body, indent + INDENT)
