"""The table of error codes: what each one stands for.

Does: give each code one line.  Does not: word the messages of single errors (those know the names involved).
Invariants: a code keeps its meaning for ever; every code used in `src` stands here (a unit test looks).

Ranges: L01 Python that kernels do not have · L02 names and types · L03 proofs · L04 levels: parallel loops, reductions, host-only
things · L05 signatures and annotations.
"""

from __future__ import annotations

TITLES: dict[str, str] = {
    # ---------------------------------------------------------------- L01: Python that kernels do not have
    "L0101": "the source of a kernel cannot be read",
    "L0102": "the source of a kernel has changed since it was loaded",
    "L0103": "a method as a kernel",
    "L0104": "code nested too deeply",
    "L0105": "`async` and `await`",
    "L0106": "`yield`",
    "L0107": "a parameter list of open length (`*args`, `**kwargs`)",
    "L0108": "a decorator inside a kernel",
    "L0110": "a comprehension or generator expression",
    "L0111": "a list",
    "L0112": "a dict or a set",
    "L0113": "an f-string",
    "L0114": "`*` or `**` that unpacks",
    "L0115": "an assignment inside an expression (`:=`)",
    "L0116": "`in` as a test",
    "L0117": "`...` in an expression",
    "L0118": "a bytes literal",
    "L0119": "a Python construct that lend does not know",
    "L0120": "`try`",
    "L0121": "`raise`",
    "L0122": "`with` that names or joins contexts",
    "L0123": "a class inside a kernel",
    "L0124": "an import inside a kernel",
    "L0125": "`global` or `nonlocal`",
    "L0126": "`del`",
    "L0127": "`match`",
    "L0128": "`else` on a loop",
    "L0129": "a type alias inside a kernel",
    "L0130": "an annotation on something other than a plain name",
    # ---------------------------------------------------------------- L02: names and types
    "L0201": "a name that is not defined",
    "L0202": "a name that some path leaves unassigned",
    "L0203": "types that do not join",
    "L0204": "a conversion that can lose information",
    "L0205": "wrong arguments in a call",
    "L0206": "something that cannot be called",
    "L0207": "an attribute that does not exist",
    "L0208": "a literal out of the range of its type",
    "L0209": "a negative subscript",
    "L0210": "the wrong number of subscripts",
    "L0211": "an operator that these types do not have",
    "L0212": "a store into something that is read only",
    "L0213": "a value that must be known when the kernel is compiled",
    "L0214": "a Python value that kernels cannot use",
    "L0215": "unpacking into the wrong number of names",
    "L0216": "recursion",
    # ---------------------------------------------------------------- L04: levels
    "L0401": "`break`, `return` or `raise` inside a parallel loop",
    "L0402": "a host-level variable changed in a parallel loop other than by a reduction",
    "L0403": "a reduction variable that is read in its loop",
    "L0404": "something that only the host level has, inside a parallel loop",
    "L0405": "a parallel loop inside a parallel loop",
    "L0406": "a parallel loop with the wrong number of indices",
    # ---------------------------------------------------------------- L05: signatures and annotations
    "L0501": "a parameter without an annotation",
    "L0502": "an annotation that lend does not know",
    "L0503": "a size that no argument gives",
    "L0504": "a contract that is not about sizes, scalars and comptime values",
}


def title(code: str) -> str:
    """The one line that says what `code` stands for; raises KeyError for a code that does not exist."""
    return TITLES[code]
