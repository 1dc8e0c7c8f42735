"""A writer of textual LLVM IR for one function, block by block.

Does: number names, keep track of the open block, collect declarations and metadata of the module.  Does not: know lend's types.
Invariants: every block that is opened is closed by exactly one terminator; names never repeat in a function.

Scalars in registers: bool_ is `i1`, integers `iN`, INDEX `i64`, f16 and bf16 are `float` holding a value of the narrow type
exactly, f32 `float`, f64 `double`, complex64 `{float, float}`, complex128 `{double, double}`. In memory: bool_ `i8`, f16 and
bf16 `i16` bits, the rest alike.
"""

from __future__ import annotations

from collections.abc import Callable

from lend.lower.dialect import HOST, Dialect


class ModuleBuilder:
    """The text of one module: declarations, globals and functions. `dialect`: what its scalar instructions are called."""

    def __init__(self, dialect: Dialect = HOST) -> None:
        self.dialect = dialect
        self._declarations: dict[str, str] = {}
        self._functions: list[str] = []
        self._metadata: list[str] = []

    def declare(self, name: str, text: str) -> None:
        """Add `text` (a `declare`, a global or a helper function's definition) once under `name`."""
        self._declarations.setdefault(name, text)

    def declared(self, name: str) -> bool:
        """Whether `declare` was called for `name`."""
        return name in self._declarations

    def metadata(self, text: str) -> str:
        """Add a metadata node (`!{…}` or `distinct !{…}`, where `!self` stands for itself) and give its name."""
        name = f"!{len(self._metadata)}"
        self._metadata.append(f"{name} = {text.replace('!self', name)}")
        return name

    def add_function(self, text: str) -> None:
        """Add a whole function definition."""
        self._functions.append(text)

    def text(self) -> str:
        """The module."""
        parts = [*self._declarations.values(), *self._functions, "\n".join(self._metadata)]
        return "\n\n".join(part for part in parts if part) + "\n"


_PURE = (
    *(
        "add ",
        "sub ",
        "mul ",
        "and ",
        "or ",
        "xor ",
        "shl ",
        "lshr ",
        "udiv ",
        "urem ",
        "icmp ",
        "select ",
        "zext ",
        "sext ",
        "trunc ",
    ),
    *("getelementptr ", "insertelement ", "extractelement ", "shufflevector "),
)
"""Instructions of integers and addresses without effects: the optimiser would find them twice, and takes longer to."""


class FunctionBuilder:
    """The text of one function's body."""

    def __init__(self, module: ModuleBuilder) -> None:
        self.module = module
        self._lines: list[str] = []
        self._entry: list[str] = []
        self._names = 0
        self.block = "entry"
        self._closed = False
        self._known: dict[str, str] = {}  # results of pure instructions of the open block, by their text

    def fresh(self, hint: str = "v") -> str:
        """A new local name, with its `%`."""
        self._names += 1
        return f"%{hint}.{self._names}"

    def emit(self, text: str, hint: str = "v") -> str:
        """Append `%name = text` and give the name. What the block has computed already is not computed again."""
        pure = text.startswith(_PURE)
        if pure and text in self._known:
            return self._known[text]
        name = self.fresh(hint)
        self.append(f"{name} = {text}")
        if pure:
            self._known[text] = name
        return name

    def later(self) -> Callable[[str], None]:
        """Leave room for an instruction whose operands are not known yet: the phis of a loop. Call what this gives once."""
        self.append("")
        position = len(self._lines) - 1

        def write(text: str) -> None:
            self._lines[position] = f"  {text}"

        return write

    def append(self, text: str) -> None:
        """Append an instruction without a result."""
        assert not self._closed, f"block {self.block} is already closed: {text}"
        self._lines.append(f"  {text}")

    def alloca(self, type: str, hint: str = "slot", align: int | None = None) -> str:
        """Reserve stack memory in the function's entry block."""
        name = self.fresh(hint)
        self._entry.append(f"  {name} = alloca {type}" + (f", align {align}" if align else ""))
        return name

    def new_block(self, hint: str = "b") -> str:
        """A new block's name, without `%`."""
        self._names += 1
        return f"{hint}.{self._names}"

    def open(self, block: str) -> None:
        """Begin `block`; the last one must be closed."""
        assert self._closed, f"block {self.block} has no terminator"
        self._lines.append(f"{block}:")
        self.block = block
        self._closed = False
        self._known.clear()

    def jump(self, block: str) -> None:
        """Close the block with a jump."""
        self.append(f"br label %{block}")
        self._closed = True

    def branch(
        self, condition: str, then: str, orelse: str, weights: tuple[int, int] | None = None, properties: tuple[str, ...] = ()
    ) -> None:
        """Close the block with a conditional jump.

        `weights` say how likely each side is; `properties` are metadata nodes about the loop that the jump closes.
        """
        suffix = ""
        if properties:
            node = self.module.metadata(f"distinct !{{!self, {', '.join(properties)}}}")
            suffix = f", !llvm.loop {node}"
        if weights is not None:
            node = self.module.metadata(f'!{{!"branch_weights", i32 {weights[0]}, i32 {weights[1]}}}')
            suffix += f", !prof {node}"
        self.append(f"br i1 {condition}, label %{then}, label %{orelse}{suffix}")
        self._closed = True

    def ret(self, text: str) -> None:
        """Close the block with `ret text`."""
        self.append(f"ret {text}")
        self._closed = True

    @property
    def closed(self) -> bool:
        """Whether the open block has its terminator."""
        return self._closed

    def body(self) -> str:
        """The blocks' text, entry first, for between `{` and `}`."""
        return "\n".join(["entry:", *self._entry, *self._lines])
