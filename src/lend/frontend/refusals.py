"""What is said about Python that kernels do not have.

Does: word the refusal of each construct, with what to write instead.  Does not: find them (`parse.py`).
Invariants: one entry for each construct; the label makes sense alone.
"""

from __future__ import annotations

from lend.diagnostics.diagnostic import Diagnostic, Label
from lend.diagnostics.records import dataclass
from lend.diagnostics.spans import Span


@dataclass(frozen=True)
class Refusal:
    """The wording for one construct."""

    code: str
    message: str
    label: str
    fix: str

    def at(self, span: Span) -> Diagnostic:
        """The refusal of the construct at `span`."""
        return Diagnostic(self.code, self.message, Label(span, self.label), fix=self.fix)


ASYNC_FUNCTION = Refusal(
    "L0105", "a kernel is not a coroutine", "`async` here", "write `def` without `async`: a call returns when the work is done"
)
AWAIT = Refusal("L0105", "kernels have no `await`", "waits here", "leave out `await`: calls inside a kernel return their result")
ASYNC_FOR = Refusal("L0105", "kernels have no `async for`", "`async` here", "write `for` without `async`")
ASYNC_WITH = Refusal("L0105", "kernels have no `async with`", "`async` here", "write `with` without `async`")
YIELD = Refusal(
    "L0106",
    "kernels have no `yield`",
    "hands out a value here",
    "store the values into an array parameter, or `return` them at the end",
)
VARARGS = Refusal(
    "L0107",
    "the parameters of a kernel are fixed, so there is no `*args`",
    "any number of arguments",
    "name each parameter; several arrays can be one parameter of type `tuple[Ref[f64, N], ...]`",
)
KWARGS = Refusal(
    "L0107",
    "the parameters of a kernel are fixed, so there is no `**kwargs`",
    "any keywords",
    "name each parameter; they can be given by keyword",
)
DECORATOR = Refusal(
    "L0108",
    "a function defined inside a kernel takes no decorator",
    "this decorator",
    "leave it out: a function inside a kernel is a device function already",
)
LIST_COMPREHENSION = Refusal(
    "L0110",
    "kernels have no list comprehensions",
    "builds a list",
    "make an array, `a = lend.local(f64, 8)`, and fill it in a loop, `for k in range(8): a[k] = ...`",
)
GENERATOR = Refusal(
    "L0110",
    "kernels have no generator expressions",
    "hands out values one by one",
    "write the loop: for a sum, `s = 0.0`, then `for k in range(n): s += ...`",
)
SET_COMPREHENSION = Refusal(
    "L0110", "kernels have no set comprehensions", "builds a set", "mark what is in the set in a `bool_` array, in a loop"
)
DICT_COMPREHENSION = Refusal(
    "L0110", "kernels have no dict comprehensions", "builds a dict", "fill an array in a loop, with the key as its subscript"
)
LIST = Refusal(
    "L0111",
    "kernels have no lists",
    "this list",
    "write a tuple, `(a, b)`, for a few fixed values, or `lend.local(f64, 8)` for an array to store into",
)
DICT = Refusal(
    "L0112", "kernels have no dicts", "this dict", "use an array with the key as its subscript, or a `@lend.struct` record"
)
SET = Refusal(
    "L0112", "kernels have no sets", "this set", "use a tuple of values, or a `bool_` array that marks what is in the set"
)
FSTRING = Refusal(
    "L0113", "kernels build no strings", "this f-string", "return the numbers, and format them where the kernel is called"
)
STARRED = Refusal("L0114", "kernels do not unpack with `*`", "unpacked here", "write out each element: `t[0], t[1]`")
STARRED_TARGET = Refusal(
    "L0114",
    "kernels do not gather values with `*`",
    "gathers a list",
    "name each element, or keep the tuple whole: `t[0]`, `t[1]`",
)
DOUBLE_STARRED = Refusal("L0114", "kernels do not unpack with `**`", "unpacked here", "write out each keyword: `name=value`")
WALRUS = Refusal(
    "L0115", "kernels have no `:=`", "assigns inside an expression", "assign on a line of its own before this statement"
)
IN = Refusal(
    "L0116", "kernels have no test with `in`", "this test", "compare with each value, `x == a or x == b`, or search in a loop"
)
NOT_IN = Refusal(
    "L0116",
    "kernels have no test with `not in`",
    "this test",
    "compare with each value, `x != a and x != b`, or search in a loop",
)
ELLIPSIS = Refusal("L0117", "kernels have no `...` as a value", "this `...`", "write the value that is meant")
ELLIPSIS_SUBSCRIPT = Refusal(
    "L0117",
    "kernels name every dimension of an array, so `...` is not a subscript",
    "stands for dimensions that are not named",
    "write one `:` for each dimension that `...` stands for: `x[:, :, 0]`",
)
BYTES = Refusal("L0118", "kernels have no bytes", "this literal", "use numbers, or an array of `u8`")
UNKNOWN = Refusal(
    "L0119",
    "this Python construct is not part of kernels",
    "not known here",
    "write it with assignments, `if`, `for` and `while`",
)
TRY = Refusal(
    "L0120",
    "kernels have no `try`, because nothing raises inside a kernel",
    "this `try`",
    "put the `try` around the call of the kernel: `BoundsError` and `ArithmeticFault` are raised there",
)
RAISE = Refusal(
    "L0121",
    "kernels have no `raise`",
    "raises an exception",
    "state what must hold of the arguments as an `assert` at the top of the kernel, or return a status to the caller",
)
WITH_AS = Refusal("L0122", "kernels have no `with ... as`", "named here", 'leave out `as`: `with lend.unchecked("reason"):`')
CLASS = Refusal(
    "L0123",
    "kernels define no classes",
    "this class",
    "define it at the top of the file; a record is a class with `@lend.struct`",
)
IMPORT = Refusal("L0124", "kernels import nothing", "this import", "move it to the top of the file")
GLOBAL = Refusal(
    "L0125",
    "kernels cannot rebind global names",
    "this `global`",
    "leave it out to read the name; to change it, `return` the new value and assign it where the kernel is called",
)
NONLOCAL = Refusal(
    "L0125",
    "kernels cannot rebind names of an enclosing function",
    "this `nonlocal`",
    "leave it out to read the name; to change it, `return` the new value and assign it where the function is called",
)
DELETE = Refusal("L0126", "kernels have no `del`", "this `del`", "leave it out: arrays made in a kernel are freed when it ends")
MATCH = Refusal("L0127", "kernels have no `match`", "this `match`", "write `if`, `elif` and `else`")
LOOP_ELSE = Refusal(
    "L0128",
    "loops in kernels have no `else`",
    "this loop has an `else`",
    "set `found = True` before the `break`, and test `if not found:` after the loop",
)
TYPE_ALIAS = Refusal("L0129", "kernels define no type aliases", "this alias", "move it to the top of the file")
ANNOTATED_TARGET = Refusal(
    "L0130",
    "only a plain name can be annotated",
    "annotated here",
    "leave out the annotation: an element has the type of its array",
)


HOLES = frozenset(("L0110", "L0111", "L0112", "L0113", "L0116", "L0117", "L0118"))
"""Codes of expressions in whose place a hole is left: the rest of the function can be checked around it."""


def too_deep(span: Span) -> Diagnostic:
    """Code nested beyond what the compiler follows."""
    return Diagnostic(
        "L0104",
        "this code is nested too deeply",
        Label(span, "the innermost part"),
        fix="split it into several statements or functions",
    )
