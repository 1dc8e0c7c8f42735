"""docs/semantics.md against the type checker: every row of its tables with every type, and no function that it does not name."""

from __future__ import annotations

import builtins
import itertools
import linecache
import math
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeVar

import numpy as np
import pytest
from documents import ROOT

import lend
from lend.driver.definition import define
from lend.driver.pipeline import run
from lend.language import functions
from lend.language.types import BOOL_, F64, I64, INDEX, PART, SCALARS, U64, ScalarType, widens

PAGE = (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8")
V = TypeVar("V")
VARIABLES = {"T": lend.T, "U": lend.U, "V": V}
ONLY_REFUSED = {"print", "isinstance", "sum", "any", "all", "sorted"}
"""Functions that are known so that their refusal can say what to write."""
OF_LOOPS = {"range", "enumerate", "zip"}
"""Functions that stand in a `for` (docs/language.md)."""

Types = tuple[ScalarType, ...]


def rows(heading: str) -> list[list[str]]:
    """The cells of all table rows in the section under `heading`, heads left out."""
    section = re.search(rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None
    lines = [line for line in section[1].splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    rules = [number for number, row in enumerate(cells) if set(row[0]) == {"-"}]
    return [row for number, row in enumerate(cells) if number not in rules and number + 1 not in rules]


def spans(cell: str) -> list[str]:
    """The code in a cell."""
    return [code.replace("\\|", "|") for code in re.findall(r"`([^`]+)`", cell)]


# ------------------------------------------------------------------------------------------------------- what the page says


@cache
def becoming() -> dict[str, set[str]]:
    """The page's first table: the names of the types that each type becomes without a cast."""
    names = {type.name: type for type in SCALARS}
    signed, unsigned = (sorted((t for t in SCALARS if t.kind == k), key=lambda t: t.bits) for k in ("int", "uint"))
    found: dict[str, set[str]] = {"index": set()} | {name: set() for name in names}
    parts: list[str] = []
    for source, words, *_ in rows("How types join"):
        if "literal" in source:
            continue
        if source.startswith("a type that is"):
            parts = spans(source)
            continue
        for name in ["index"] if "index" in source else spans(source):
            bits = names[name].bits if name in names else 64
            found[name] |= set(spans(words)) | (set(names) if words == "every type" else set())
            found[name] |= {t.name for t in signed if "signed integers" in words.split(" and ")[-1] and t.bits > bits}
            found[name] |= {t.name for t in unsigned if "wider unsigned" in words and t.bits > bits}
    for name, targets in found.items():
        reached = {part for part in parts if part in targets or part == name}
        targets |= {complex.name for complex, part in PART.items() if part.name in reached}
    return found


def becomes(source: ScalarType, target: ScalarType) -> bool:
    """Whether the page lets `source` become `target` without a cast."""
    return source is target or target.name in becoming()[source.name]


@cache
def joined(types: Types) -> ScalarType | None:
    """The type that all of `types` become, if one of two holds every value of the other."""
    first, *rest = types
    for other in rest:
        if becomes(other, first):
            continue
        if not becomes(first, other):
            return None
        first = other
    return first


def kind(type: ScalarType) -> str:
    """The page's word for a type."""
    return {"int": "integer", "uint": "integer", "bool": "`bool_`"}.get(type.kind, type.kind)


def has(operands: str, type: ScalarType) -> bool:
    """Whether the operands' column names a type."""
    return operands == "any number" or kind(type) in re.split(", ", operands)


def result(words: str, type: ScalarType) -> ScalarType:
    """What the result's column says for operands of the joined type `type`."""
    if words.endswith("(`bool_`: `i64`)"):
        words = words.removesuffix("(`bool_`: `i64`)").strip()
        type = I64 if type is BOOL_ else type
    match words:
        case "joined" | "the operand's":
            return type
        case "the part's":
            return PART.get(type, type)
        case _:
            (name,) = spans(words)
            return next(t for t in SCALARS if t.name == name)


# --------------------------------------------------------------------------------------------------- what the checker says


def typed(expression: str, arity: int, **names: Any) -> Callable[[Types], ScalarType | None]:
    """The checker's type of an expression over `a`, `b`, `c` for their types; None where it is refused."""
    parameters = ", ".join(f"{name}: {variable}" for name, variable in zip("abc", list(VARIABLES)[:arity], strict=False))
    source = f"def k({parameters}):\n    return {expression}\n"
    file = f"<semantics {expression}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope: dict[str, Any] = {**VARIABLES, **names}
    exec(compile(source, file, "exec", dont_inherit=True), scope)
    definition = define(scope["k"], "default")

    def type_for(types: Types) -> ScalarType | None:
        compilation = definition.compilation(types, dict(zip(VARIABLES.values(), types, strict=False)))
        try:
            found = run(compilation, until="typecheck").kernel.result
        except lend.CompileError:
            return None
        return getattr(found, "type", None)

    return type_for


def compare(expression: str, arity: int, wanted: Callable[[Types], ScalarType | None], **names: Any) -> None:
    """Hold an expression's types, for all operand types, against what the page says."""
    checker = typed(expression, arity, **names)
    wrong: list[str] = []
    for types in itertools.product(SCALARS, repeat=min(arity, 2)):
        types = (*types, *types[-1:])[: max(arity, 1)] if arity > 2 else types
        said, found = wanted(types), checker(types)
        if said is not found:
            wrong.append(f"{expression} of {', '.join(map(str, types))}: the page says {said}, the checker {found}")
    assert not wrong, "\n".join(wrong[:20])


def arity_of(expression: str) -> int:
    return max(["abc".index(name) + 1 for name in re.findall(r"\b[abc]\b", expression)])


# ------------------------------------------------------------------------------------------------------------------ tests


def test_what_becomes_what_is_what_the_checker_widens() -> None:
    for source, target in itertools.product((*SCALARS, INDEX), SCALARS):
        assert becomes(source, target) is widens(source, target), (source, target)


def expressions() -> list[tuple[str, list[list[str]]]]:
    """Each expression of the operators' and the built-ins' tables, with all its rows."""
    found: dict[str, list[list[str]]] = {}
    for row in (*rows("Operators"), *rows("Built-in functions")):
        for code in spans(row[0]):
            code = {"x if c else y": "a if f(a) else b"}.get(code, code)
            if "…" not in code and "((" not in code and code != "len(x)" and not row[1].startswith("as "):
                found.setdefault(code, []).append(row)
    return list(found.items())


@pytest.mark.parametrize(("expression", "table"), expressions(), ids=[expression for expression, _ in expressions()])
def test_operators_and_builtins_have_the_types_of_the_table(expression: str, table: list[list[str]]) -> None:
    def wanted(types: Types) -> ScalarType | None:
        for _, operands, words, *_ in table:
            if operands.endswith(", in any mixture"):
                if all(has(operands.removesuffix(", in any mixture"), type) for type in types):
                    return result(words, types[0])
                continue
            type = joined(types)
            if type is not None and has(operands, type):
                return result(words, type)
        return None

    compare(expression, arity_of(expression), wanted, f=lend.function(lambda a: a != 0))


def objects(cell: str) -> Iterator[tuple[str, Any]]:
    """The functions that a cell names, where this Python and this NumPy have them."""
    for name in spans(cell):
        module, _, attribute = name.rpartition(".")
        modules = {"math": [math], "np": [np], "int": [int], "": [math, np]}[module]
        for owner in modules:
            function = getattr(owner, attribute, None)
            if function is not None and (module or owner is math or function in functions.table()):
                yield f"{owner.__name__}.{attribute}", function


def known_rows(*, floating: bool) -> list[tuple[str, Any, list[str]]]:
    """Each function that has a type of its own, with its row."""
    found: list[tuple[str, Any, list[str]]] = []
    for row in rows("Mathematical functions"):
        if len(row) != 3 or (row[1] in ("float", "float, complex")) is not floating:
            continue
        for name, function in objects(row[0]):
            if not name.startswith("int."):
                found.append((name, function, row))
    return found


def parameters(function: Any, name: str) -> int:
    """How many arguments a function of the table takes."""
    entry = functions.table()[function]
    match entry:
        case functions.Primitive() | functions.OperatorFunction():
            return entry.arity
        case functions.Library():
            return entry.python.__code__.co_argcount
        case functions.Fold():
            return 2
        case functions.Special():
            return 3 if name == "numpy.where" else 1


@pytest.mark.parametrize(("name", "function", "row"), known_rows(floating=True), ids=[n for n, *_ in known_rows(floating=True)])
def test_mathematical_functions_have_the_types_of_the_table(name: str, function: Any, row: list[str]) -> None:
    def wanted(types: Types) -> ScalarType | None:
        type = joined(types)
        if type is None:
            return None
        if kind(type) in ("integer", "`bool_`"):
            if row[2] == "`i64`":
                return type  # whole already
            if any(t in (I64, U64) for t in types):
                return None
            type = F64
        return result(row[2], type) if has(row[1], type) else None

    arity = parameters(function, name)
    compare(f"f({', '.join('abc'[:arity])})", arity, wanted, f=function)


@pytest.mark.parametrize(("name", "function", "row"), known_rows(floating=False), ids=[n for n, *_ in known_rows(floating=False)])
def test_functions_that_keep_integers_have_the_types_of_the_table(name: str, function: Any, row: list[str]) -> None:
    def wanted(types: Types) -> ScalarType | None:
        if name == "numpy.where":
            types = types[1:]
        if row[1] == "integers" and any(kind(type) != "integer" for type in types):
            return None
        type = types[0] if row[2] == "`bool_`" else joined(types)
        return result(row[2], type) if type is not None and has(row[1].replace("integers", "integer"), type) else None

    arity = parameters(function, name)
    compare(f"f({', '.join('abc'[:arity])})", arity, wanted, f=function)


def test_functions_that_are_operators_are_the_operators_of_the_table() -> None:
    for row in rows("Mathematical functions"):
        if len(row) != 2:
            continue
        names, signs = spans(row[0]), spans(row[1])[0].split()
        assert len(names) == len(signs)
        for name, sign in zip(names, signs, strict=True):
            entry = functions.table()[getattr(np, name.removeprefix("np."))]
            assert (entry.op if isinstance(entry, functions.OperatorFunction) else entry.name) == sign  # type: ignore[union-attr]
            assert not getattr(entry, "floating", False)


def test_every_known_function_stands_in_the_tables_and_no_other() -> None:
    documented = {function for row in rows("Mathematical functions") for _, function in objects(row[0])}
    builtin = {name for row in rows("Built-in functions") for name in re.findall(r"`(\w+)\(", row[0])}
    documented |= {getattr(builtins, name) for name in builtin} - {int, float, bool, complex}
    documented |= {getattr(builtins, name) for name in ONLY_REFUSED | OF_LOOPS}
    known = set(functions.table())
    assert {getattr(f, "__name__", f) for f in known - documented} == set()
    assert {getattr(f, "__name__", f) for f in documented - known} == set()
