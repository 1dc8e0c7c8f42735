"""What integers and conditions of the typed tree are, as linear expressions and formulas.

Does: evaluate operations; keep, for each name it makes, its definition and its range.  Does not: walk regions (`build.py`).

Invariants:
- A name stands for a value by its definition, never by its source name. Names of region-level values are per instance.
- `definitions[name]` holds in every instance; where the value is not determined by others the name is in `opaque`.
- An operation is taken as exact only if it is shown not to wrap; otherwise its result is opaque, with the range of its type. What
  is shown may rest on `assumptions` about launch constants, which are conditions of every verdict that uses them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lend.ir import typed
from lend.ir.typed import Value
from lend.language.abi import MAX_SIZE
from lend.language.types import ScalarType
from lend.model.bits import I128, bitwise, mask
from lend.model.linear import (
    FALSE,
    TRUE,
    All,
    Formula,
    Linear,
    Unknown,
    assumed_of,
    at_least,
    both,
    either,
    equal,
    is_known,
    limited,
    names_of,
    negate,
)

LARGEST_SIZE = MAX_SIZE
"""No array has a larger dimension: the call sees to it."""

UNBOUNDED = 1 << 200
"""Integers of contracts have no width."""

Interval = tuple[int, int]


@dataclass
class Names:
    """All names made so far."""

    definitions: dict[str, Formula] = field(default_factory=dict[str, Formula])
    ranges: dict[str, Interval] = field(default_factory=dict[str, Interval])
    opaque: set[str] = field(default_factory=set[str])
    launch: dict[str, Value | None] = field(default_factory=dict[str, "Value | None"])  # constant while a region runs
    free: set[str] = field(default_factory=set[str])  # not determined by other names
    made_in: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])  # counters of the enclosing loops
    made: list[str] = field(default_factory=list[str])  # in this order


class Evaluator:
    """Evaluates typed operations."""

    def __init__(self, fixed: Mapping[Value, int] | None = None) -> None:
        self.names = Names()
        self.numbers: dict[Value, Linear] = {}
        self.conditions: dict[Value, Formula] = {}
        self.fixed = dict(fixed or {})
        self.assumptions: dict[str, Formula] = {}
        self.leaning: dict[str, tuple[str, ...]] = {}  # names whose range rests on the assumptions of these
        self.scalars: set[str] = set()  # launch constants that are taken to be of moderate size only where that is said
        self.relied: tuple[str, ...] = ()  # names whose assumptions the last answer of `known` used
        self.nonlinear: set[str] = set()  # launch constants whose values would make something linear
        self.computed: dict[tuple[str, Linear, Linear, ScalarType], Linear] = {}
        self.computed_here: dict[tuple[str, Linear, Linear, ScalarType, int], tuple[Formula, Linear]] = {}
        self.asked = False  # whether what is being computed holds only under the facts here
        self.in_region = False
        self.ideal = False  # contracts: unbounded integers

    # ------------------------------------------------------------------------------------------------------------ names

    def loops(self) -> tuple[str, ...]:
        """The counters of the loops around this point (`point.py` knows)."""
        return ()

    def fresh(self, hint: str, low: int, high: int, *, free: bool = False, value: Value | None = None) -> str:
        """A new name with a range; outside regions it is a launch constant. `free`: no definition will determine it."""
        letters = "".join(c for c in hint if c.isascii() and c.isalnum()) or "v"
        name = f"{letters}_{len(self.names.made) + 1}"
        if not letters[0].isalpha():
            name = f"v{name}"
        self.names.made.append(name)
        self.names.ranges[name] = (low, high)
        self.names.definitions[name] = both(
            at_least(Linear.of(name), Linear.constant(low)), at_least(Linear.constant(high), Linear.of(name))
        )
        if not self.in_region:
            self.names.launch[name] = value
        self.names.made_in[name] = self.loops()
        if free:
            self.names.free.add(name)
            if self.in_region:
                self.names.opaque.add(name)
        return name

    def define(self, name: str, formula: Formula) -> None:
        """Add to what is known of a name."""
        self.names.definitions[name] = both(self.names.definitions[name], formula)

    def interval(self, expression: Linear) -> Interval:
        """A range that holds the expression's values, from the ranges of its names."""
        low = high = expression.offset
        for name, coefficient in expression.terms:
            a, b = self.names.ranges[name]
            low += coefficient * (a if coefficient > 0 else b)
            high += coefficient * (b if coefficient > 0 else a)
        return low, high

    def type_range(self, type: ScalarType) -> Interval:
        """The values of an integer type."""
        return type.minimum, type.maximum

    def opaque(
        self, type: ScalarType, hint: str, value: Value | None = None, low: int | None = None, high: int | None = None
    ) -> Linear:
        """An integer of which only a range is known."""
        least, most = self.type_range(type)
        low, high = max(least, low if low is not None else least), min(most, high if high is not None else most)
        if self.in_region or (low >= -LARGEST_SIZE and high <= LARGEST_SIZE):
            return Linear.of(self.fresh(hint, low, high, free=True, value=value))
        # Launch constants of 64 bits are of moderate size where sums of them must not wrap: whatever uses that says so.
        name = self.fresh(hint, low, high, free=True, value=value)
        self.names.ranges[name] = moderate = max(low, -LARGEST_SIZE), min(high, LARGEST_SIZE)
        x = Linear.of(name)
        self.assumptions[name] = both(at_least(x, Linear.constant(moderate[0])), at_least(Linear.constant(moderate[1]), x))
        self.leaning[name] = (name,)
        self.scalars.add(name)
        return x

    def rests_on(self, names: Iterable[str], formulas: Iterable[Formula]) -> tuple[str, ...]:
        """The names on whose assumptions it rests that formulas (and the definitions of `names`, which they mention) are true."""
        found = {n for formula in formulas for n in assumed_of(formula)}
        for name in names:
            found.update(assumed_of(self.names.definitions[name]))
            if name not in self.scalars:  # the definitions of those are no narrower than their types
                found.update(self.leaning.get(name, ()))
        return tuple(sorted(found & self.assumptions.keys()))

    def held(self, name: str) -> None:
        """What was assumed of a name is known: nothing rests on it from here on."""
        self.define(name, self.assumptions.pop(name))
        self.leaning.pop(name)
        self.scalars.discard(name)

    def leans(self, *expressions: Linear) -> tuple[str, ...]:
        """The names on whose assumptions the expressions' intervals rest."""
        found = {n for e in expressions for n in e.assumed if n in self.assumptions}
        return tuple(sorted(found.union(*(self.leaning.get(n, ()) for e in expressions for n, _ in e.terms))))

    def bounded_by(self, name: str, *expressions: Linear) -> Linear:
        """A new name whose range comes from the intervals of expressions."""
        leans = self.leans(*expressions)
        if leans:
            self.leaning[name] = leans
        return Linear.of(name).assuming(leans)

    # ------------------------------------------------------------------------------------------------------------ values

    def number(self, value: Value) -> Linear:
        """An integer value; one not seen before is opaque."""
        found = self.numbers.get(value)
        if found is None:
            if value in self.fixed:
                found = Linear.constant(self.fixed[value])
            else:
                found = self.opaque(value.scalar, value.name or "v", value)
            self.numbers[value] = found
        return found

    def condition(self, value: Value) -> Formula:
        """A bool value."""
        return self.conditions.get(value, Unknown())

    def bind(self, value: Value, expression: Linear | None) -> None:
        """Say what an integer value is; None: opaque."""
        if value in self.fixed:
            expression = Linear.constant(self.fixed[value])
        if expression is None:
            expression = self.opaque(value.scalar, value.name or "v", value)
        self.numbers[value] = expression

    def fit(self, expression: Linear, type: ScalarType) -> Linear | None:
        """The expression, if no instance leaves the type's range, perhaps under an assumption about launch constants."""
        if self.ideal:
            return expression
        low, high = self.interval(expression)
        least, most = self.type_range(type)
        leans = self.leans(expression)
        inside = least <= low and high <= most
        if inside and not leans:
            return expression
        formula = both(at_least(expression, Linear.constant(least)), at_least(Linear.constant(most), expression))
        varies = any(name not in self.names.launch for name in expression.names())
        if (varies or leans or not inside) and self.bounded(expression) and self.known(formula):
            return expression.assuming(self.relied)
        if inside:
            return expression.assuming(leans)
        if varies:
            return None
        name = Linear.of(self.fresh("fit", max(least, low), min(most, high)))
        # The assumption is attached to a name of its own: whoever uses the value depends on it.
        (fresh,) = name.names()
        self.define(fresh, equal(name, expression))
        self.assumptions[fresh] = formula
        self.leaning[fresh] = tuple(sorted({fresh, *self.leans(expression)}))
        return name

    def wrapped(self, expression: Linear, type: ScalarType) -> Linear | None:
        """A number of an instance modulo a narrower type; not of what nothing determines."""
        if type.bits > 32 or self.ideal or set(expression.names()) & self.names.free:
            return None
        least = self.type_range(type)[0]
        times = self.quotient(expression.plus(-least), Linear.constant(1 << type.bits), I128)
        return None if times is None else expression.sub(times.scale(1 << type.bits))

    def bounded(self, expression: Linear) -> bool:
        """Whether facts or definitions could say more of these names than their ranges do (`point.py` knows the facts)."""
        _ = expression
        return True

    def piecewise(self, type: ScalarType, hint: str, cases: list[tuple[Formula, Linear]], value: Value | None = None) -> Linear:
        """The value of the case whose condition holds; the conditions are exhaustive in every instance, and exclusive where
        known.

        A definition that some instance could not satisfy would make that instance vanish from every set.
        """
        cases = [(condition, case) for condition, case in cases if condition != FALSE] or cases
        cases = next(([case] for case in cases if case[0] == TRUE), cases)
        first = cases[0][1]
        if all(case == first for _, case in cases):
            return first
        intervals = [self.interval(case) for _, case in cases]
        low, high = min(a for a, _ in intervals), max(b for _, b in intervals)
        known = all(is_known(condition) for condition, _ in cases)
        mentioned = {n for c, e in cases for n in (*names_of(c), *e.names())}
        name = self.fresh(hint, low, high, free=not known, value=value)
        result = Linear.of(name)
        formula: Formula = FALSE
        for condition, case in cases:
            formula = either(formula, both(condition, equal(result, case)))
        self.define(name, formula)
        if self.in_region and mentioned & self.names.opaque:
            self.names.opaque.add(name)
        return self.bounded_by(name, *(e for _, e in cases))

    # -------------------------------------------------------------------------------------------------------- operations

    def operation(self, operation: typed.Operation) -> None:
        """Evaluate one operation without regions."""
        match operation:
            case typed.Constant():
                self.constant(operation)
            case typed.Binary():
                self.binary(operation)
            case typed.Unary():
                self.unary(operation)
            case typed.Cast():
                self.cast(operation)
            case _:
                for result in operation.results:
                    self.unknown(result)

    def unknown(self, value: Value) -> None:
        """A value of which nothing is known but its type."""
        if isinstance(value.type, ScalarType):
            if value.type.is_integer:
                self.bind(value, None)
            elif value.type.kind == "bool":
                self.conditions[value] = Unknown()

    def constant(self, operation: typed.Constant) -> None:
        """A literal."""
        type = operation.result.scalar
        if type.kind == "bool":
            self.conditions[operation.result] = TRUE if operation.value else FALSE
        elif type.is_integer:
            assert isinstance(operation.value, int)
            self.numbers[operation.result] = Linear.constant(operation.value)

    def binary(self, operation: typed.Binary) -> None:
        """Arithmetic, comparisons and logic."""
        left, right, result = operation.left, operation.right, operation.result
        if operation.operator in typed.COMPARISONS:
            self.conditions[result] = limited(self.compare(operation))
            return
        if result.scalar.kind == "bool":
            self.conditions[result] = limited(self.logic(operation.operator, self.condition(left), self.condition(right)))
            return
        if not result.scalar.is_integer:
            return
        self.bind(result, self.arithmetic(operation, self.number(left), self.number(right)))

    def logic(self, operator: str, a: Formula, b: Formula) -> Formula:
        """`and`, `or`, `xor` (and min, max) of conditions."""
        match operator:
            case "and" | "min":
                return both(a, b)
            case "or" | "max":
                return either(a, b)
            case "xor":
                return either(both(a, negate(b)), both(negate(a), b))
            case _:
                return Unknown()

    def compare(self, operation: typed.Binary) -> Formula:
        """A comparison of integers or bools; of anything else it depends on data."""
        kind = operation.left.scalar.kind
        if kind == "bool":
            a, b = self.condition(operation.left), self.condition(operation.right)
            same = either(both(a, b), both(negate(a), negate(b)))
            return same if operation.operator == "eq" else negate(same) if operation.operator == "ne" else Unknown()
        if not operation.left.scalar.is_integer:
            return Unknown()
        a, b = self.number(operation.left), self.number(operation.right)
        match operation.operator:
            case "eq":
                return equal(a, b)
            case "ne":
                return negate(equal(a, b))
            case "lt":
                return at_least(b, a.plus(1))
            case "le":
                return at_least(b, a)
            case "gt":
                return at_least(a, b.plus(1))
            case _:
                return at_least(a, b)

    def arithmetic(self, operation: typed.Binary, a: Linear, b: Linear) -> Linear | None:
        """The exact result as a linear expression, or None. The same operation on the same operands has the same result."""
        key = (operation.operator, a, b, operation.result.scalar)
        if self.ideal:
            result = self.compute(operation, a, b)
            return Linear.of(self.fresh("ideal", -UNBOUNDED, UNBOUNDED, free=True)) if result is None else result
        if key in self.computed:
            return self.computed[key]
        facts = self.facts()
        here = (*key, id(facts))
        if here in self.computed_here:
            return self.computed_here[here][1]
        before, self.asked = self.asked, False
        result = self.compute(operation, a, b)
        if result is None:
            result = self.opaque(operation.result.scalar, operation.result.name or "v", operation.result)
        if self.asked:  # elsewhere the same operation may wrap
            self.computed_here[here] = facts, result
        else:
            self.computed[key] = result
        self.asked = before
        return result

    def facts(self) -> Formula:
        """What holds at this point (`point.py` knows)."""
        return TRUE

    def compute(self, operation: typed.Binary, a: Linear, b: Linear) -> Linear | None:
        """See `arithmetic`."""
        type = operation.result.scalar
        match operation.operator:
            case "add":
                return self.fit(a.add(b), type)
            case "sub":
                return self.fit(a.sub(b), type)
            case "mul":
                return self.product(a, b, type)
            case "floordiv":
                return self.quotient(a, b, type)
            case "mod":
                return self.remainder(a, b, type)
            case "shl" if b.value is not None and 0 <= b.value < type.bits:
                return self.product(a, Linear.constant(1 << b.value), type)
            case "shr" if b.value is not None and 0 <= b.value < type.bits:
                return self.quotient(a, Linear.constant(1 << b.value), type)
            case "and":
                return mask(self, a, b, type)
            case "or" | "xor":
                return bitwise(self, operation.operator, a, b, type)
            case "pow" if a.value is not None and b.value is not None and 0 <= b.value < type.bits:
                return self.fit(Linear.constant(a.value**b.value), type)
            case "min":
                return self.piecewise(type, "min", [(at_least(b, a), a), (at_least(a, b.plus(1)), b)])
            case "max":
                return self.piecewise(type, "max", [(at_least(a, b), a), (at_least(b, a.plus(1)), b)])
            case _:
                return None

    def product(self, a: Linear, b: Linear, type: ScalarType) -> Linear | None:
        """A product with a number; of two unknowns only its range is known."""
        if b.value is not None:
            return self.fit(a.scale(b.value), type)
        if a.value is not None:
            return self.fit(b.scale(a.value), type)
        for factor in (a, b):
            if all(name in self.names.launch for name in factor.names()):
                self.nonlinear.update(factor.names())
        corners = [x * y for x in self.interval(a) for y in self.interval(b)]
        least, most = self.type_range(type)
        if min(corners) < least or max(corners) > most:
            return None
        return self.bounded_by(self.fresh("product", min(corners), max(corners), free=True), a, b)

    def quotient(self, a: Linear, b: Linear, type: ScalarType) -> Linear | None:
        """`a // b`, floored, by a number other than 0; by a symbol where a is near to [0, b)."""
        divisor = b.value
        if divisor is None:
            near = self.near(a, b)
            if near is None:
                self.nonlinear.update(n for n in b.names() if n in self.names.launch)
                return None
            relied = self.relied
            return self.piecewise(type, "quotient", [(c, Linear.constant(k)) for c, k in near]).assuming(relied)
        if divisor == 0:
            return None
        if divisor < 0:
            a, divisor = a.scale(-1), -divisor
        if a.value is not None:
            return self.fit(Linear.constant(a.value // divisor), type)
        low, high = self.interval(a)
        name = self.fresh("quotient", low // divisor, high // divisor)
        q = Linear.of(name)
        rest = a.sub(q.scale(divisor))
        self.define(name, both(at_least(rest, Linear.constant(0)), at_least(Linear.constant(divisor - 1), rest)))
        if set(a.names()) & self.names.opaque:
            self.names.opaque.add(name)
        return self.fit(self.bounded_by(name, a), type)

    def remainder(self, a: Linear, b: Linear, type: ScalarType) -> Linear | None:
        """`a % b`, of the sign of b."""
        divisor = b.value
        if divisor in (1, -1):
            return Linear.constant(0)
        if divisor is not None and divisor != 0:
            q = self.quotient(a, b, type)
            if q is None:
                return None
            exact = a.sub(q.scale(divisor))
            if not set(a.names()) & self.names.free:
                return exact
            # Nothing bounds the dividend, so the remainder has a name, whose range is known.
            name = self.fresh("rest", min(divisor + 1, 0), max(divisor - 1, 0))
            self.define(name, equal(Linear.of(name), exact))
            if set(a.names()) & self.names.opaque:
                self.names.opaque.add(name)
            return Linear.of(name).assuming(exact.assumed)
        near = self.near(a, b)
        if near is not None:
            relied = self.relied
            return self.piecewise(type, "rest", [(c, a.sub(b.scale(k))) for c, k in near]).assuming(relied)
        low, high = self.interval(b)
        if low >= 0:
            self.nonlinear.update(n for n in b.names() if n in self.names.launch)
            name = self.fresh("rest", 0, max(high - 1, 0), free=True)
            # A divisor of 0 is a fault that gives 0.
            self.define(
                name,
                either(
                    at_least(b, Linear.of(name).plus(1)),
                    both(equal(b, Linear.constant(0)), equal(Linear.of(name), Linear.constant(0))),
                ),
            )
            return self.bounded_by(name, b)
        return None

    def near(self, a: Linear, b: Linear) -> list[tuple[Formula, int]] | None:
        """Cases of `a // b` where -b <= a < 2b is known of them from a's shape: a = i + c with i in [0, b) by definition."""
        zero = Linear.constant(0)
        if not self.known(
            both(at_least(b, Linear.constant(1)), both(at_least(a, b.scale(-1)), at_least(b.scale(2).plus(-1), a)))
        ):
            return None
        # Exhaustive in all instances: where the facts do not hold, one of these does all the same.
        return [
            (both(at_least(a, zero), at_least(b.plus(-1), a)), 0),
            (at_least(zero.plus(-1), a), -1),
            (both(at_least(a, zero), at_least(a, b)), 1),
        ]

    def known(self, formula: Formula) -> bool:
        """Whether a formula holds in every instance at this point (decided by `point.py`, which knows the facts)."""
        _ = formula
        return False

    def unary(self, operation: typed.Unary) -> None:
        """Negation, logical and bitwise not, absolute value."""
        result, type = operation.result, operation.result.type
        if operation.operator == "not":
            self.conditions[result] = limited(negate(self.condition(operation.operand)))
            return
        if not isinstance(type, ScalarType) or not type.is_integer:
            return
        a = self.number(operation.operand)
        match operation.operator:
            case "neg":
                self.bind(result, self.fit(a.scale(-1), type))
            case "invert":
                self.bind(result, self.fit(a.scale(-1).plus(-1), type) if type.kind == "int" else None)
            case _:
                negative = self.fit(a.scale(-1), type)
                zero = Linear.constant(0)
                cases = [(at_least(a, zero), a), (at_least(zero.plus(-1), a), negative)] if negative is not None else None
                self.bind(result, self.piecewise(type, "abs", cases) if cases is not None else None)  # type: ignore[arg-type]

    def cast(self, operation: typed.Cast) -> None:
        """Between integers the value stays if it fits."""
        source, target = operation.operand.scalar, operation.result.scalar
        if target.kind == "bool":
            if source.is_integer:
                self.conditions[operation.result] = negate(equal(self.number(operation.operand), Linear.constant(0)))
            else:
                self.conditions[operation.result] = self.condition(operation.operand) if source.kind == "bool" else Unknown()
            return
        if not target.is_integer:
            return
        if source.is_integer:
            number = self.number(operation.operand)
            fitted = self.fit(number, target)
            self.bind(operation.result, self.wrapped(number, target) if fitted is None else fitted)
        elif source.kind == "bool":
            condition = self.condition(operation.operand)
            cases = [(condition, Linear.constant(1)), (negate(condition), Linear.constant(0))]
            self.bind(operation.result, self.piecewise(target, "flag", cases))
        else:
            self.bind(operation.result, None)


__all__ = ["I128", "LARGEST_SIZE", "All", "Evaluator", "Names"]
