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
    "L0202": "a name that some path leaves without a value",
    "L0203": "a name or a result without a single type",
    "L0204": "types that do not join without loss",
    "L0205": "a conversion that can lose information",
    "L0206": "a literal out of the range of its type",
    "L0207": "an integer is needed",
    "L0208": "another kind of value is needed",
    "L0209": "an operator or a function that these values do not have",
    "L0210": "arithmetic that always fails",
    "L0211": "the wrong number or kind of subscripts",
    "L0212": "a value that must be known when the kernel is compiled",
    "L0213": "a tuple index out of range",
    "L0214": "a negative subscript",
    "L0215": "an attribute or a field that does not exist",
    "L0216": "the step of a slice",
    "L0217": "the sizes or the element type of a new array",
    "L0218": "a store into a shared borrow",
    "L0219": "a value of another kind than the place it is stored in or passed to",
    "L0220": "an array, list, dict or set captured from outside the kernel",
    "L0221": "a size that no argument has",
    "L0222": "a call of something that is not a function",
    "L0223": "a function that kernels do not have",
    "L0224": "the wrong arguments in a call",
    "L0225": "a word of the language in the wrong place",
    "L0226": "recursion, or calls nested too deeply",
    "L0227": "an assignment to a whole row or array",
    "L0228": "a path that ends without `return`",
    "L0229": "a result that a kernel cannot return",
    # ---------------------------------------------------------------- L03: proofs (append here)
    "L0301": "an access that lies outside its array",
    "L0310": "a race between iterations of a parallel loop",
    "L0311": "iterations of a parallel loop that are not shown to be independent",
    "L0320": "a read of an element that may not have been written",
    "L0321": "an `Out` array that is not shown to be written whole",
    "L0330": "arithmetic that fails in every launch with work to do",
    "L0340": "a check that is left in a kernel required to be proved",
    # ---------------------------------------------------------------- L04: levels (append here)
    "L0401": "something that only the host level has, inside a parallel loop",
    "L0402": "`break`, `continue` or `return` where it cannot stand",
    "L0403": "a loop that kernels do not have, or that has the wrong indices",
    "L0404": "a host-level variable that a parallel loop reads or changes other than by one reduction",
    "L0405": "an `assert` that is not a contract",
    "L0406": "a contract of a called kernel that does not hold",
    "L0407": "arguments of a called kernel that may overlap",
    "L0408": "something that a contract cannot say",
    # ---------------------------------------------------------------- L05: signatures and annotations (append here)
    "L0501": "a parameter without an annotation",
    "L0502": "an annotation that cannot be evaluated",
    "L0503": "an annotation that is not a type of kernels",
    "L0504": "a size that no dimension gives",
    "L0505": "two sizes of one name",
    "L0506": "an index type where none can stand",
    "L0507": "a default value of another type",
}


def title(code: str) -> str:
    """The one line that says what `code` stands for; raises KeyError for a code that does not exist."""
    return TITLES[code]
