"""The typed tree: structured SSA, the one form that proofs, schedules, code generation and `kernel.py` read.

Does: define values, operations and regions.  Does not: check them (`verify.py`) or print them (`print.py`).

Invariants (checked by `verify.py`):
- A `Value` is defined once: by an operation, as a region's parameter, or as a kernel's dim or parameter. It is visible in the
  region that defines it, after its definition, and in the regions nested there.
- Control flow is regions: `If` yields values, loops carry them. There are no jumps, no mutable names, no tuples and no records:
  tuples, records and vectors are taken apart by the type checker; element types may be records, reached by `path`.
- Operands of `Binary` have the type of each other (shifts too); conversions are explicit `Cast`s. Conditions are `bool_`.
- Subscripts, sizes, extents and loop bounds are `INDEX` or `I64` values.
- Device functions are inlined as `Call`, which keeps their name and file for messages and for `kernel.py`.

Example (printed): `saxpy`'s loop is
    parallel i in 0..N { %1 = load y[i]; %2 = load x[i]; %3 = mul a %2; %4 = add %1 %3; store y[i] = %4 }
"""

from __future__ import annotations

from typing import Literal

from lend.diagnostics.records import dataclass
from lend.diagnostics.sites import Site
from lend.diagnostics.spans import Span
from lend.language.borrows import IndexKind
from lend.language.signature import ResultShape
from lend.language.types import ArrayType, MathMode, ScalarType, Type, VectorType


class Value:
    """One SSA value. `name` is the user's name for it where there is one; identity is what counts."""

    __slots__ = ("name", "span", "type")

    def __init__(self, type: Type, span: Span, name: str | None = None) -> None:
        self.type = type
        self.span = span
        self.name = name

    @property
    def scalar(self) -> ScalarType:
        """The type of a scalar value."""
        assert isinstance(self.type, ScalarType)
        return self.type

    @property
    def array(self) -> ArrayType:
        """The type of an array value."""
        assert isinstance(self.type, ArrayType)
        return self.type

    def __repr__(self) -> str:
        return f"%{self.name or hex(id(self))}:{self.type}"


@dataclass(frozen=True, eq=False)
class Region:
    """A list of operations with parameters, ending in the values it yields."""

    parameters: tuple[Value, ...]
    operations: tuple[Operation, ...]
    yields: tuple[Value, ...]


# ------------------------------------------------------------------------------------------------- operations


class _OneResult:
    """An operation without regions that gives one value."""

    result: Value

    @property
    def results(self) -> tuple[Value, ...]:
        return (self.result,)

    @property
    def regions(self) -> tuple[Region, ...]:
        return ()


class _NoResult:
    """An operation without regions that gives nothing."""

    @property
    def results(self) -> tuple[Value, ...]:
        return ()

    @property
    def regions(self) -> tuple[Region, ...]:
        return ()


@dataclass(frozen=True, eq=False)
class Constant(_OneResult):
    """A literal, already of its type: int for integers (in range), bool, float, complex."""

    span: Span
    result: Value
    value: int | float | complex | bool

    @property
    def operands(self) -> tuple[Value, ...]:
        return ()


UnaryOperator = Literal["neg", "invert", "not", "abs"]
"""`abs` of a complex value is real; `not` is of `bool_`; `neg` and `abs` of integers wrap; `invert` flips all bits."""


@dataclass(frozen=True, eq=False)
class Unary(_OneResult):
    """`operator operand`."""

    span: Span
    result: Value
    operator: UnaryOperator
    operand: Value

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.operand,)


BinaryOperator = Literal[
    "add", "sub", "mul", "div", "floordiv", "mod", "pow", "shl", "shr", "and", "or", "xor", "min", "max",
    "eq", "ne", "lt", "le", "gt", "ge",
]  # fmt: skip
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


@dataclass(frozen=True, eq=False)
class Binary(_OneResult):
    """`left operator right`, both of one type; comparisons give `bool_`, the rest that type.

    Integers wrap. `div` is of floats and complex only. `floordiv` and `mod` floor; of integers they have a `site` ("division":
    the result is 0 after the fault). `shl`/`shr` by the width or more give what Python's would, truncated; a negative count is
    a "shift" fault (site None where the count is a constant in range or unsigned). Integer `pow` with a negative exponent is an
    "exponent" fault. `and or xor` are of integers and bool_. `min`/`max` propagate NaN; of -0.0 and 0.0, min is -0.0 and max 0.0.
    """

    span: Span
    result: Value
    operator: BinaryOperator
    left: Value
    right: Value
    site: int | None = None

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.left, self.right)


@dataclass(frozen=True, eq=False)
class Math(_OneResult):
    """A mathematical function of `language/functions.py`, by name; arguments all of one float or complex type.

    The result has that type, except where the table says otherwise (`isnan` gives bool_, `real` the part's type). `as_u64` and
    its kin give the argument's bits as a number of the type they name.
    """

    span: Span
    result: Value
    function: str
    arguments: tuple[Value, ...]

    @property
    def operands(self) -> tuple[Value, ...]:
        return self.arguments


@dataclass(frozen=True, eq=False)
class Cast(_OneResult):
    """Conversion to the result's type: integers wrap; float to integer saturates and NaN gives 0; to bool_ is `!= 0`;
    real to complex has imaginary part 0; complex to real does not exist. Float to float rounds to nearest even."""

    span: Span
    result: Value
    operand: Value

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.operand,)


@dataclass(frozen=True, eq=False)
class Load(_OneResult):
    """`array[indices]`, then the fields `path` (positions, outermost first) down to a scalar.

    `site` is a "bounds" site; None only inside `lend.unchecked`, whose accesses are not tested. A failed read gives 0.
    """

    span: Span
    result: Value
    array: Value
    indices: tuple[Value, ...]
    path: tuple[int, ...]
    site: int | None

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.array, *self.indices)


@dataclass(frozen=True, eq=False)
class Store(_NoResult):
    """`array[indices].path = value`; a store that fails its test is skipped."""

    span: Span
    array: Value
    indices: tuple[Value, ...]
    path: tuple[int, ...]
    value: Value
    site: int | None

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.array, *self.indices, self.value)


@dataclass(frozen=True, eq=False)
class Size(_OneResult):
    """The size of dimension `dimension` of an array, an INDEX."""

    span: Span
    result: Value
    array: Value
    dimension: int

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.array,)


@dataclass(frozen=True, eq=False)
class Within(_OneResult):
    """Whether the element `first` of an index array of layout C lies in 0..bound-1 (planned).

    Of `offsets`, it and the next one: in 0..bound, and the second not less than the first.
    If not, the kernel ends after the region with a fault at `site`, which is `WRONG_INDEX`.
    """

    span: Span
    result: Value
    array: Value
    first: Value
    bound: Value | int
    site: int
    offsets: bool = False

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.array, self.first, *((self.bound,) if isinstance(self.bound, Value) else ()))


@dataclass(frozen=True, eq=False)
class WithinRest(_OneResult):
    """Whether the elements of an index array that lie before the first of `offsets`, or from the last one on, lie in 0..bound-1
    (planned, host level). Both arrays have layout C. The offsets' own ends are tested: the first is not above the last, nor that
    above the array's size.

    If not, the kernel ends with a fault at `site`, which is `WRONG_INDEX`; so the result is true.
    """

    span: Span
    result: Value
    array: Value
    offsets: Value
    bound: Value | int
    site: int

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.array, self.offsets, *((self.bound,) if isinstance(self.bound, Value) else ()))


@dataclass(frozen=True, eq=False)
class Exceed(_OneResult):
    """Whether some arrays are larger than the cache that a core has for itself (planned, host level)."""

    span: Span
    result: Value
    arrays: tuple[Value, ...]

    @property
    def operands(self) -> tuple[Value, ...]:
        return self.arrays


@dataclass(frozen=True, eq=False)
class Extent:
    """`lower, lower + step, …` below `upper` (above it, if the step is negative)."""

    lower: Value
    upper: Value
    step: Value


@dataclass(frozen=True, eq=False)
class View(_OneResult):
    """A sub-view: per dimension of `array` either an index (which drops the dimension) or an `Extent`.

    The k-th kept dimension has the size of its extent. Site: "bounds" for an index, "slice" for an extent that is neither empty
    (`lower >= upper`) nor inside the dimension (`0 <= lower`, `upper <= size`); both share `site`, and the record's dimension
    tells.
    Steps are positive. After a fault at grid level the view is empty (all sizes 0).
    """

    span: Span
    result: Value
    array: Value
    parts: tuple[Value | Extent, ...]
    site: int | None

    @property
    def operands(self) -> tuple[Value, ...]:
        out: list[Value] = [self.array]
        for part in self.parts:
            out += [part] if isinstance(part, Value) else [part.lower, part.upper, part.step]
        return tuple(out)


@dataclass(frozen=True, eq=False)
class Reshape(_OneResult):
    """`array` with other sizes, no copy (host level only): `shape_site` if the products differ, `view_site` if no view exists.

    Only arrays without gaps in row-major order can be reshaped (sizes of 1 and empty arrays aside); the result is of layout C
    if the operand's type is, else strided.
    """

    span: Span
    result: Value
    array: Value
    sizes: tuple[Value, ...]
    shape_site: int
    view_site: int

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.array, *self.sizes)


@dataclass(frozen=True, eq=False)
class Allocate(_OneResult):
    """A temporary of layout C (host level), of zeros or, where that makes no difference, of any content.

    Freed when the region it is made in can no longer reach it. Sites: "extent" and "memory".
    """

    span: Span
    result: Value
    sizes: tuple[Value, ...]
    extent_site: int
    memory_site: int
    zeroed: bool = True  # not for `lend.empty`; scheduled: only where nothing is read before it is written, which is proved
    assumed: bool = False  # made inside `lend.unchecked`: that nothing is read before it is written is not judged

    @property
    def operands(self) -> tuple[Value, ...]:
        return self.sizes


@dataclass(frozen=True, eq=False)
class Local(_OneResult):
    """A private array of constant sizes, layout C, zeroed each time it is reached."""

    span: Span
    result: Value
    sizes: tuple[int, ...]
    zeroed: bool = True  # planned: not for what a team shares and for what its threads keep across barriers

    @property
    def operands(self) -> tuple[Value, ...]:
        return ()


@dataclass(frozen=True, eq=False)
class Shared(_OneResult):
    """Block level: an array that the threads of a block share, of constant sizes, layout C.

    Each time it is reached it is the same memory with undefined content. Its borrow is OWNED, or ATOMIC: then it is zeroed each
    time it is reached, before any thread goes on.
    """

    span: Span
    result: Value
    sizes: tuple[int, ...]

    @property
    def operands(self) -> tuple[Value, ...]:
        return ()


@dataclass(frozen=True, eq=False)
class Sync(_NoResult):
    """Inside `Threads`: no thread of the block passes before all have arrived. Orders shared and global memory.

    `inserted`: not written by the user, but the barrier after a loop of unknown length or a branch that holds one.
    """

    span: Span
    inserted: bool = False

    @property
    def operands(self) -> tuple[Value, ...]:
        return ()


SubgroupOperator = Literal[
    "shuffle", "shuffle_xor", "shuffle_up", "shuffle_down", "ballot", "sync",
    "reduce_add", "reduce_mul", "reduce_min", "reduce_max", "reduce_and", "reduce_or", "reduce_xor",
    "scan_add", "scan_mul", "scan_min", "scan_max", "scan_and", "scan_or", "scan_xor",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Subgroup:
    """Inside `Threads`: an operation of `size` neighbouring threads, in row-major order of the block's threads.

    `size` is a power of two up to 64 that divides their number. All threads of the sub-group get here together, like those of a
    block to a `Sync`.

    `value` is each thread's own part (None for `sync`); `lane` what a shuffle is told: the lane to read (`shuffle`), a mask
    (`shuffle_xor`) or a distance (`up`, `down`), an i32. Where that names no lane of the sub-group, the result is the thread's
    own value. `ballot` of a bool_ is a u64 with a bit for each lane. `reduce_*` combines the lanes as the halving tree of
    `language/reduction.py` does, the same result in each lane; `scan_*` is inclusive, in the order of lanes, from the left.
    `sync` orders memory between the lanes, the others do not.
    """

    span: Span
    results: tuple[Value, ...]
    operator: SubgroupOperator
    size: int
    value: Value | None
    lane: Value | None

    @property
    def operands(self) -> tuple[Value, ...]:
        return tuple(v for v in (self.value, self.lane) if v is not None)

    @property
    def regions(self) -> tuple[Region, ...]:
        return ()


AtomicOperator = Literal["add", "min", "max", "and", "or", "xor", "exchange", "compare_exchange", "load", "store"]
MemoryOrder = Literal["relaxed", "acquire", "release", "acq_rel", "seq_cst"]


@dataclass(frozen=True, eq=False)
class Atomic(_OneResult):
    """One indivisible operation on `array[indices]` of an ATOMIC array of i32, i64, u32, u64, f32 or f64.

    The result is the value before it (of a `store`, nothing reads it). `expected` is of `compare_exchange`: `value` is stored if
    the element is bitwise equal to it. Integers wrap; `min` and `max` propagate NaN as `Binary` does. `site` is a "bounds" site
    as of `Load`: a failed operation does nothing and gives 0.
    """

    span: Span
    result: Value
    operator: AtomicOperator
    array: Value
    indices: tuple[Value, ...]
    value: Value | None  # None for `load`
    expected: Value | None
    order: MemoryOrder
    site: int | None

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.array, *self.indices, *(v for v in (self.value, self.expected) if v is not None))


@dataclass(frozen=True, eq=False)
class Distinct(_OneResult):
    """Host level: whether the elements of a row of integers (layout C) lie in 0..bound-1 and differ; `bool_`."""

    span: Span
    result: Value
    array: Value
    bound: Value

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.array, self.bound)


@dataclass(frozen=True, eq=False)
class Require(_NoResult):
    """Host level: if `condition` is false, the fault `site` ends the kernel. `index` and `size` go into the record.

    `facts`: an array, and what holds of its elements from here on, as in `Parameter.index`; nothing writes the array after this.
    """

    span: Span
    condition: Value
    site: int
    index: Value | None = None
    size: Value | None = None
    facts: tuple[Value, IndexKind, Value] | None = None

    @property
    def operands(self) -> tuple[Value, ...]:
        return tuple(v for v in (self.condition, self.index, self.size) if v is not None)


@dataclass(frozen=True, eq=False)
class If:
    """Both regions have no parameters and yield as many values as `results`, of the same types."""

    span: Span
    results: tuple[Value, ...]
    condition: Value
    then: Region
    orelse: Region

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.condition,)

    @property
    def regions(self) -> tuple[Region, ...]:
        return (self.then, self.orelse)


@dataclass(frozen=True, eq=False)
class For:
    """Sequential `for index in range(lower, upper, step)`.

    `body` has parameters (index, *carried) and yields the next carried values, preceded by a bool_ "stop" where `stops` is true:
    the loop ends after an iteration that yields stop = true (that is `break`). `results` are the last carried values
    (`inits` if there was no iteration). A zero step is a fault at `site` (None if the step is a non-zero constant), and then
    there is no iteration. The index does not wrap: the iterations are those of Python's `range` on unbounded integers.
    """

    span: Span
    results: tuple[Value, ...]
    extent: Extent
    inits: tuple[Value, ...]
    body: Region
    stops: bool
    site: int | None

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.extent.lower, self.extent.upper, self.extent.step, *self.inits)

    @property
    def regions(self) -> tuple[Region, ...]:
        return (self.body,)


@dataclass(frozen=True, eq=False)
class While:
    """`condition` has the carried values as parameters and yields one bool_; `body` too, and yields as in `For`.

    `results` are the carried values when the condition is false or stop is true. The loop also ends when a fault has been
    recorded.
    """

    span: Span
    results: tuple[Value, ...]
    inits: tuple[Value, ...]
    condition: Region
    body: Region
    stops: bool

    @property
    def operands(self) -> tuple[Value, ...]:
        return self.inits

    @property
    def regions(self) -> tuple[Region, ...]:
        return (self.condition, self.body)


@dataclass(frozen=True)
class Loan:
    """An array that a called kernel borrows: which argument of the `Call` it is, and the parameter's name.

    `writes`: it is borrowed to be changed, so no other loan may share an element with it; `assumed`: the user promises that.
    """

    argument: int
    name: str
    writes: bool
    assumed: bool


@dataclass(frozen=True, eq=False)
class Call:
    """The body of a device function or of another kernel, in place: `body` has one parameter per argument.

    `loans`: what another kernel borrows; empty for a function.
    """

    span: Span
    results: tuple[Value, ...]
    name: str
    filename: str
    arguments: tuple[Value, ...]
    body: Region
    loans: tuple[Loan, ...] = ()

    @property
    def operands(self) -> tuple[Value, ...]:
        return self.arguments

    @property
    def regions(self) -> tuple[Region, ...]:
        return (self.body,)


@dataclass(frozen=True, eq=False)
class Reduction:
    """One reduction of a `Parallel`: `values` contributed by each iteration, combined by `operator` in one fixed tree.

    Of one value: `operator` as in `Binary` (add mul and or xor min max). Of several (arg-min): min or max, lexicographic, NaN
    smallest for min and greatest for max in each place. `inits` are the scalars before the loop: the result is
    `init operator tree`, or `init` if there is no iteration. The tree (see `language/reduction.py`) depends on the row-major
    position of the iteration and on nothing else.
    """

    operator: BinaryOperator
    inits: tuple[Value, ...]


@dataclass(frozen=True, eq=False)
class Parallel:
    """`for … in lend.grid(…)`: independent iterations over a box (host level only).

    `body` has as parameters one INDEX per extent, then for each reduction its values so far in this iteration (the operator's
    identity at its start); it yields those values at the iteration's end. `results`: per reduction, its values.
    A zero step is a fault at `site` (None if all steps are non-zero constants). `independent`: it is proved, for every run that
    gets here, that no two iterations touch one element, one of them writing; private arrays and reductions aside.
    `final_writes`: it is proved that no iteration touches an element again that it has written (asked only where vectors can come
    of it). `fallback`: this is the version for launches that fail the condition of another one. `team` (planned): this was
    `Blocks`; an iteration is a block, whose body holds the loops of its threads, `Parallel` too, which run where the block runs.
    """

    span: Span
    results: tuple[Value, ...]
    box: tuple[Extent, ...]
    reductions: tuple[Reduction, ...]
    body: Region
    site: int | None
    independent: bool = False
    final_writes: bool = False
    fallback: bool = False
    team: bool = False

    @property
    def operands(self) -> tuple[Value, ...]:
        out: list[Value] = []
        for extent in self.box:
            out += [extent.lower, extent.upper, extent.step]
        for reduction in self.reductions:
            out += reduction.inits
        return tuple(out)

    @property
    def regions(self) -> tuple[Region, ...]:
        return (self.body,)


@dataclass(frozen=True, eq=False)
class Blocks:
    """`for … in lend.blocks(…)`: a box of blocks of threads, in no order (host level only).

    `box`, `reductions`, `site` and `fallback` as in `Parallel`, `independent` too (of the threads of a block between barriers
    as well), an iteration being a block: the tree of a reduction goes over the row-major position of the block. `body` is block
    level: run once for each block, with scalar operations, loads, `Shared`, `If`, `For`, `While`, `Call` and `Threads`; it stores
    nothing. Its values are the same for all threads of the block ("uniform").
    """

    span: Span
    results: tuple[Value, ...]
    box: tuple[Extent, ...]
    reductions: tuple[Reduction, ...]
    body: Region
    site: int | None
    independent: bool = False
    fallback: bool = False

    @property
    def operands(self) -> tuple[Value, ...]:
        out: list[Value] = []
        for extent in self.box:
            out += [extent.lower, extent.upper, extent.step]
        for reduction in self.reductions:
            out += reduction.inits
        return tuple(out)

    @property
    def regions(self) -> tuple[Region, ...]:
        return (self.body,)


@dataclass(frozen=True, eq=False)
class Threads:
    """`for … in lend.threads(…)`: the threads of a block, which may wait for each other (inside `Blocks` only, not nested).

    `sizes` are one to three constants, at most 1024 threads. `body` has as parameters one INDEX per size (from 0), then the
    reductions' values, as in `Parallel`, and yields these. Its `results` are block level. Threads run in no order but that of the
    `Sync`s they meet; there is one before and after the loop as well. A `Sync` may stand in `If`, `For`, `While` and `Call`
    of the body where all threads of a block get to it together (obligation "barrier").
    """

    span: Span
    results: tuple[Value, ...]
    sizes: tuple[int, ...]
    reductions: tuple[Reduction, ...]
    body: Region

    @property
    def operands(self) -> tuple[Value, ...]:
        return tuple(init for reduction in self.reductions for init in reduction.inits)

    @property
    def regions(self) -> tuple[Region, ...]:
        return (self.body,)


Operation = (
    Constant
    | Unary
    | Binary
    | Math
    | Cast
    | Load
    | Store
    | Size
    | Within
    | WithinRest
    | Exceed
    | View
    | Reshape
    | Allocate
    | Local
    | Shared
    | Sync
    | Subgroup
    | Atomic
    | Distinct
    | Require
    | If
    | For
    | While
    | Call
    | Parallel
    | Blocks
    | Threads
)

# ----------------------------------------------------------------------------------------------------- kernels


@dataclass(frozen=True, eq=False)
class Parameter:
    """One leaf of the kernel's arguments: a scalar or an array. `name` is `x`, `xs[0]` or `p.field`.

    `sizes` are an array's sizes as its annotation says them: numbers, dims, or values that the body computes from dims.
    `index` is what was tested of the elements before the body runs, with the bound as in `sizes`: they lie in 0..bound-1
    ("index"), are distinct too ("unique"), or lie in 0..bound and never decrease ("offsets").
    `vector`: what the elements along the last dimension are together, as the annotation says.
    """

    name: str
    value: Value
    sizes: tuple[Value | int, ...] = ()
    index: tuple[IndexKind, Value | int] | None = None
    vector: VectorType | None = None


@dataclass(frozen=True, eq=False)
class Unchecked:
    """A `with lend.unchecked("reason")` block."""

    span: Span
    reason: str


@dataclass(frozen=True, eq=False)
class Kernel:
    """One specialisation of a kernel.

    `dims` are its symbolic sizes in the signature's order; `contracts` yields the conditions that hold when the body starts
    (facts for proofs, evaluated at the call in unbounded integers, never compiled); `body` has no parameters and yields the
    leaves of `result` (`result` is None for a kernel that returns nothing).
    """

    span: Span
    name: str
    dims: tuple[Value, ...]
    parameters: tuple[Parameter, ...]
    body: Region
    result: ResultShape | None
    sites: tuple[Site, ...]
    unchecked: tuple[Unchecked, ...]
    math: MathMode
    contracts: Region = Region((), (), ())
