"""Integer sets of instances: the only user of islpy.

Does: turn formulas over names into sets, decide emptiness within a budget, sample points.  Does not: know kernels.
Invariants: a set over-approximates (`may`) or under-approximates (`must`); an undecided question counts as "not empty".
The budget is counted in the library's operations, so that an answer does not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Container, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from lend.model.evaluate import Names
from lend.model.linear import (
    FALSE,
    TRUE,
    All,
    Any_,
    AtLeastZero,
    Direction,
    Formula,
    Linear,
    Zero,
    at_least,
    both,
    conjunction,
    disjunction,
    disjuncts,
    equal,
    names_of,
    rename,
    resolved,
)
from lend.model.narrowing import narrowed
from lend.model.quick_islpy import import_islpy

if TYPE_CHECKING:
    import islpy as isl
else:
    isl = import_islpy()

BUDGET = 2_000_000
"""Operations of the integer set library for one question."""


MOST_NAMES = 48
"""Names in one question."""

MOST_ALTERNATIVES = 2048
"""Conjunctions that one question may fall apart into."""


class OverBudget(Exception):
    """A question took more operations than it may."""


class Space:
    """Sets over the names of one kernel."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.context = isl.Context()
        self.truncated = False  # whether the last set lacks far definitions
        self.held: frozenset[str] | set[str] = frozenset[str]()  # names that copies of an instance share
        self._floors = 0
        self._sets: dict[tuple[Any, ...], Any] = {}  # by what they say: many accesses ask the same
        self._spaces: dict[tuple[Any, ...], Any] = {}  # by parameters, names and the number of existential names

    def closure(self, mentioned: Iterable[str]) -> list[str]:
        """The names and all that their definitions mention, nearest first."""
        found: dict[str, None] = {}
        pending = sorted(set(mentioned))
        while pending:
            following: set[str] = set()
            for name in pending:
                if name not in found:
                    found[name] = None
                    following.update(names_of(self.names.definitions[name]))
            pending = sorted(following - found.keys())
        return list(found)

    def defined(self, mentioned: Iterable[str], direction: Direction) -> dict[str, Formula]:
        """The definitions of the closure. A may set can do without those of far names; a must set cannot.

        Raises OverBudget for a must set of too many names. Whether something was left out is in `self.truncated`.
        """
        names = self.closure(mentioned)
        self.truncated = len(names) > MOST_NAMES
        if not self.truncated:
            return {name: self.names.definitions[name] for name in names}
        if direction == "must":
            raise OverBudget
        near = names[:MOST_NAMES]
        definitions = {name: self.names.definitions[name] for name in near}
        for name in {n for formula in definitions.values() for n in names_of(formula)} - definitions.keys():
            low, high = self.names.ranges[name]
            definitions[name] = both(
                at_least(Linear.of(name), Linear.constant(low)), at_least(Linear.constant(high), Linear.of(name))
            )
        return definitions

    def set(
        self,
        tuple_names: Sequence[str],
        formulas: Sequence[Formula],
        direction: Direction = "may",
        copies: Sequence[str] = (),
        existential: Iterable[str] = (),
    ) -> Any:
        """`{ [tuple_names] : formulas }` with launch constants as parameters, all other names existential.

        Names ending in a suffix of `copies` are renamed copies, with the same definitions. `existential`: launch constants that
        are not to be parameters here (counters of host-level loops, and what depends on them).
        """
        bound = set(existential)
        mentioned: set[str] = set(tuple_names)
        for formula in formulas:
            mentioned.update(names_of(formula))
        constraints: list[Formula] = list(formulas)
        plain = [n for n in mentioned if not n.endswith(tuple(copies))] if copies else list(mentioned)
        constraints += self.defined(plain, direction).values()
        truncated = self.truncated
        for suffix in copies:
            own = self.defined((n.removesuffix(suffix) for n in mentioned if n.endswith(suffix)), direction)
            renaming = self.copy(own, suffix)
            # What the caller renamed beside these (counters of host-level loops) it has defined, and does not mention as itself.
            given = {n for n in own if n in self.names.launch and n + suffix in mentioned}
            constraints += [rename(definition, renaming) for name, definition in own.items() if name not in given]
            truncated = truncated or self.truncated
        self.truncated = truncated
        constraints = self.affordable([resolved(formula, direction) for formula in constraints], direction)
        everything = {n for formula in constraints for n in names_of(formula)} | set(tuple_names)
        parameters = sorted(
            n for n in everything if n in self.names.launch and n not in tuple_names and not self.varies(n, bound)
        )
        visible = (*parameters, *tuple_names)
        near, *apart = components(constraints, visible)
        for group in apart:  # they only say whether there is an instance at all: most often there is
            if self.kept((), tuple(sorted({n for c in group for n in names_of(c)})), tuple(group)).is_empty():
                near = [FALSE]
        return self.kept(tuple(parameters), tuple(tuple_names), tuple(near))

    def kept(self, parameters: tuple[str, ...], tuple_names: tuple[str, ...], constraints: tuple[Formula, ...]) -> Any:
        """A set of parameters and named dimensions, all other names existential; made once, which is most of what it costs."""
        key = parameters, tuple_names, constraints
        if key not in self._sets:
            inner = {n for c in constraints for n in names_of(c)}.difference(parameters, tuple_names)
            self._sets[key] = self.guarded(lambda: self.made(*key, tuple(sorted(inner))))
        return self._sets[key]

    def made(
        self, parameters: tuple[str, ...], tuple_names: tuple[str, ...], constraints: tuple[Formula, ...], inner: tuple[str, ...]
    ) -> Any:
        """`[parameters] -> { [tuple_names] : exists inner: constraints }`, in which nothing is unknown."""
        dimensions = len(tuple_names) + len(inner)
        shape = (parameters, tuple_names, len(inner))
        space = self._spaces.get(shape)
        if space is None:
            space = isl.Space.set_alloc(self.context, len(parameters), dimensions)
            for kind, names in ((isl.dim_type.param, parameters), (isl.dim_type.set, tuple_names)):
                for position, name in enumerate(names):
                    space = space.set_dim_name(kind, position, name)
            self._spaces[shape] = space
        columns = {name: position + 1 for position, name in enumerate((*tuple_names, *inner, *parameters))}
        found = Matrices(self.context, space, columns, f"{dimensions} 0 0 {len(parameters)}").conjunction(constraints)
        return found.project_out(isl.dim_type.set, len(tuple_names), len(inner)) if inner else found

    def affordable(self, constraints: list[Formula], direction: Direction) -> list[Formula]:
        """The conjuncts that do not fall apart into too many alternatives together. A may set can do without the rest.

        Later conjuncts of a question are nearer to its point than the facts it begins with, so that they are kept first. Raises
        OverBudget for a must set; `truncated` says whether something was left out.
        """
        parts = [p for c in constraints for p in (c.parts if isinstance(c, All) else (c,))]
        if disjuncts(All(tuple(parts))) > MOST_ALTERNATIVES:
            parts = narrowed(parts)
        kept: list[Formula] = []
        alternatives = 1
        for part in sorted(dict.fromkeys(reversed(parts)), key=lambda p: disjuncts(p) > 1):
            if alternatives * disjuncts(part) <= MOST_ALTERNATIVES:
                alternatives *= disjuncts(part)
                kept.append(part)
            elif direction == "must":
                raise OverBudget
            else:
                self.truncated = True
        return kept

    def element_names(self, dimensions: int) -> list[str]:
        """Names for the subscripts of an element."""
        return self.plain_names("at", dimensions)

    def plain_names(self, hint: str, count: int) -> list[str]:
        """Names of which nothing is known: `hint0`, `hint1`, …"""
        names = [f"{hint}{k}" for k in range(count)]
        for name in names:
            self.names.definitions.setdefault(name, TRUE)
            self.names.made_in.setdefault(name, ())
        return names

    def varies(self, name: str, counters: set[str]) -> bool:
        """Whether a launch constant changes with one of these loops."""
        return name in counters or bool(counters & set(self.names.made_in.get(name, ())))

    def copy(self, names: Iterable[str], suffix: str) -> dict[str, str]:
        """A renaming of a region's names; launch constants keep theirs, and what is held."""
        return {n: n + suffix for n in names if n not in self.names.launch and n not in self.held}

    @contextmanager
    def holding(self, names: set[str]) -> Generator[None]:
        """Inside, these names stand for one value in all copies of an instance."""
        before, self.held = self.held, names
        try:
            yield
        finally:
            self.held = before

    # -------------------------------------------------------------------------------------------------------------- greatest

    def extreme(self, found: Any, dimension: int, which: Literal["least", "most"]) -> list[tuple[Formula, Linear]] | None:
        """The least or greatest value of a dimension, in terms of launch constants: a value under each of some conditions, of
        which none holds where the set is empty. None if it takes divisions to say it. Raises OverBudget, too if there is none.
        """
        bound = self.guarded(lambda: (found.dim_min if which == "least" else found.dim_max)(dimension).coalesce())
        pieces: list[tuple[Any, Any]] = []

        def keep(domain: Any, value: Any) -> None:
            pieces.append((domain, value))

        bound.foreach_piece(keep)
        cases: list[tuple[Formula, Linear]] = []
        for domain, value in pieces:
            if value.dim(isl.dim_type.div) or not value.get_denominator_val().is_one():
                return None
            parameters = [value.get_dim_name(isl.dim_type.param, k) for k in range(value.dim(isl.dim_type.param))]
            result = linear(value, ((isl.dim_type.param, parameters),))
            for one in domain.get_basic_sets():
                if one.dim(isl.dim_type.div):
                    return None
                cases.append((self.constraints(one, ()), result))
        return cases

    def latest(
        self, given: Sequence[str], order: Sequence[str], alternatives: Sequence[Sequence[Formula]], copies: Sequence[str]
    ) -> Any:
        """For each value of `given`, the lexicographically greatest `order` that an alternative has. Raises OverBudget."""
        found = [self.set((*given, *order), formulas, "must", copies) for formulas in alternatives]

        def greatest() -> Any:
            whole = found[0]
            for one in found[1:]:
                whole = whole.union(one)
            relation = isl.Map.from_domain(whole).move_dims(isl.dim_type.out, 0, isl.dim_type.in_, len(given), len(order))
            return relation.lexmax().coalesce()

        return self.guarded(greatest)

    def pieces(
        self, latest: Any, given: Sequence[str], order: Sequence[str], fixed: Mapping[str, int], naming: Mapping[str, str]
    ) -> Formula | None:
        """Where the answer of `latest` has the `fixed` values, in terms of `given` and of the rest as `naming` calls it."""

        def part() -> Any:
            found = latest
            for name, value in fixed.items():
                found = found.fix_val(isl.dim_type.out, order.index(name), isl.Val.int_from_si(self.context, value))
            for position in reversed(range(len(order))):
                if order[position] not in naming:
                    found = found.project_out(isl.dim_type.out, position, 1)
            return found.coalesce()

        found = self.guarded(part)
        if self.guarded(found.is_empty):
            return None
        names = [*given, *(naming[name] for name in order if name in naming)]
        flat = found.move_dims(isl.dim_type.in_, len(given), isl.dim_type.out, 0, len(names) - len(given)).domain()
        return self.guarded(lambda: disjunction(self.constraints(one, names) for one in flat.compute_divs().get_basic_sets()))

    def constraints(self, one: Any, names: Sequence[str]) -> Formula:
        """A basic set as a formula; what it divides by numbers has names of its own."""
        parameters = [one.get_dim_name(isl.dim_type.param, k) for k in range(one.dim(isl.dim_type.param))]
        divisions = [self.floor_name() for _ in range(one.dim(isl.dim_type.div))]
        formulas: list[Formula] = []
        for position, name in enumerate(divisions):
            division = one.get_local_space().get_div(position)
            denominator = division.get_denominator_val()
            columns = ((isl.dim_type.param, parameters), (isl.dim_type.in_, names), (isl.dim_type.div, divisions[:position]))
            rest = linear(division.scale_val(denominator), columns).add(Linear.of(name), -denominator.to_python())
            formulas += [at_least(rest, Linear.constant(0)), at_least(Linear.constant(denominator.to_python() - 1), rest)]
        columns = ((isl.dim_type.param, parameters), (isl.dim_type.set, names), (isl.dim_type.div, divisions))
        for constraint in one.get_constraints():
            expression = linear(constraint, columns)
            formulas.append(
                equal(expression, Linear.constant(0)) if constraint.is_equality() else at_least(expression, Linear.constant(0))
            )
        return conjunction(formulas)

    def floor_name(self) -> str:
        """A name for a quotient that the library has introduced."""
        self._floors += 1
        (name,) = self.plain_names(f"floor{self._floors}n", 1)
        return name

    def guarded(self, question: Any) -> Any:
        """Ask within the budget. Raises OverBudget."""
        self.context.reset_operations()
        self.context.set_max_operations(BUDGET)
        try:
            return question()
        except isl.Error:  # the library says no more than that it has stopped
            raise OverBudget from None
        finally:
            self.context.set_max_operations(0)

    def empty(self, formulas: Sequence[Formula], tuple_names: Sequence[str], copies: Sequence[str] = ()) -> bool:
        """Whether no instance can exist. Undecided is no."""
        try:
            found = self.set(tuple_names, formulas, "may", copies)
            return bool(self.guarded(found.is_empty))
        except OverBudget:
            return False


def linear(row: Any, columns: Iterable[tuple[Any, Sequence[str]]]) -> Linear:
    """A constraint of the library, or a function of whole coefficients, as an expression."""
    result = Linear.constant(row.get_constant_val().to_python())
    for kind, names in columns:
        for position, name in enumerate(names):
            result = result.add(Linear.of(name), row.get_coefficient_val(kind, position).to_python())
    return result


def components(constraints: Iterable[Formula], visible: Iterable[str]) -> list[list[Formula]]:
    """The constraints that say something of visible names, perhaps by way of others; then groups without names of theirs."""
    position = {constraint: k for k, constraint in enumerate(dict.fromkeys(constraints))}
    by_name: dict[str, list[Formula]] = {}
    for constraint in position:
        for name in names_of(constraint) or ("",):
            by_name.setdefault(name, []).append(constraint)

    def reached(pending: list[str]) -> list[Formula]:
        found: set[Formula] = set()
        while pending:
            for constraint in by_name.pop(pending.pop(), ()):
                if constraint not in found:
                    found.add(constraint)
                    pending += names_of(constraint)
        return sorted(found, key=position.__getitem__)

    groups = [reached([*visible, ""])]
    while by_name:
        groups.append(reached([next(iter(by_name))]))
    return groups


class Matrices:
    """Makes sets of a space from formulas, by way of the library's matrices: its reader of formulas takes five times as long.

    A matrix is `rows columns sizes`, then a row per constraint: 0 (equal to zero) or 1 (at least zero), coefficients, constant.
    """

    def __init__(self, context: Any, space: Any, columns: dict[str, int], sizes: str) -> None:
        self.context = context
        self.space = space
        self.columns = columns
        self.width = len(columns) + 2
        self.sizes = sizes

    def conjunction(self, formulas: Sequence[Formula]) -> Any:
        """The set where all hold."""
        plain = [f for f in formulas if isinstance(f, (Zero, AtLeastZero))]
        found = self.polyhedron(plain) if plain else isl.Set.universe(self.space)
        choices = [self.alternatives(f) for f in formulas if isinstance(f, (All, Any_))]
        open_choices: list[Any] = []
        # What can hold in one way only, beside what holds anyway, multiplies nothing.
        for choice in reversed(choices):
            part = found.intersect(choice)
            ways = part.n_basic_set()
            if ways == 0:
                return part
            if ways == 1:
                found = part
            else:
                open_choices.append(choice)
        for choice in reversed(open_choices):
            found = found.intersect(choice)
        return found

    def alternatives(self, formula: All | Any_) -> Any:
        """The set where a formula of several parts holds."""
        return self.conjunction(formula.parts) if isinstance(formula, All) else self.disjunction(formula.parts)

    def disjunction(self, formulas: Sequence[Formula]) -> Any:
        """The set where one holds."""
        found = isl.Set.empty(self.space)
        for formula in formulas:
            match formula:
                case Any_():
                    part = self.disjunction(formula.parts)
                case All():
                    part = self.conjunction(formula.parts)
                case _:
                    part = self.conjunction((formula,))
            found = found.union(part)
        return found

    def polyhedron(self, constraints: Sequence[Zero | AtLeastZero]) -> Any:
        """The set where all of these comparisons hold."""
        rows = [f"{len(constraints)} {self.width} {self.sizes}"]
        for constraint in constraints:
            row = ["0"] * self.width
            if isinstance(constraint, AtLeastZero):
                row[0] = "1"
            for name, coefficient in constraint.expression.terms:
                row[self.columns[name]] = str(coefficient)
            row[-1] = str(constraint.expression.offset)
            rows.append(" ".join(row))
        return isl.Set.read_from_str(self.context, "\n".join(rows)).reset_space(self.space)


def at_least_set(found: Any, name: str, bound: int) -> Any:
    """The part of a set where a parameter is at least `bound`."""
    position = found.find_dim_by_name(isl.dim_type.param, name)
    return (
        found
        if position < 0
        else found.lower_bound_val(isl.dim_type.param, position, isl.Val.int_from_si(found.get_ctx(), bound))
    )


def sample_of(found: Any) -> dict[str, int]:
    """One point of a set, with small values if it has such: parameters and dimensions by name."""
    small = found
    for kind in (isl.dim_type.param, isl.dim_type.set):
        for position in range(found.dim(kind)):
            for bound in (0, 1, 2, 3, 4, 6, 8, 12, 16, 64, 1024):
                tried = small.upper_bound_val(kind, position, isl.Val.int_from_si(found.get_ctx(), bound))
                tried = tried.lower_bound_val(kind, position, isl.Val.int_from_si(found.get_ctx(), -bound))
                if not tried.is_empty():
                    small = tried
                    break
    point = small.sample_point()
    values: dict[str, int] = {}
    for kind in (isl.dim_type.param, isl.dim_type.set):
        for position in range(found.dim(kind)):
            values[found.get_dim_name(kind, position)] = point.get_coordinate_val(kind, position).to_python()
    return values


def interval_of(found: Any) -> tuple[int | None, int | None] | None:
    """The least and the greatest value of a set of one dimension, over all parameters; None for an empty set.

    A bound that does not exist is None.
    """
    values = found.project_out(isl.dim_type.param, 0, found.dim(isl.dim_type.param))
    if values.is_empty():
        return None
    low, high = values.dim_min_val(0), values.dim_max_val(0)
    return (low.to_python() if low.is_int() else None, high.to_python() if high.is_int() else None)


def within(found: Any, low: int, high: int) -> Any:
    """The set simplified for parameters that are known to lie in a range."""
    known = isl.Set.universe(found.get_space())
    for position in range(found.dim(isl.dim_type.param)):
        known = known.lower_bound_val(isl.dim_type.param, position, isl.Val(str(low), found.get_ctx()))
        known = known.upper_bound_val(isl.dim_type.param, position, isl.Val(str(high), found.get_ctx()))
    return found.gist(known)


def only_over(found: Any, names: Container[str]) -> Any:
    """The set with all parameters that are not in `names` projected out: as large as it may be."""
    for position in reversed(range(found.dim(isl.dim_type.param))):
        if found.get_dim_name(isl.dim_type.param, position) not in names:
            found = found.project_out(isl.dim_type.param, position, 1)
    return found


def parameters_of(found: Any) -> list[str]:
    """The names of a set's parameters."""
    return [found.get_dim_name(isl.dim_type.param, k) for k in range(found.dim(isl.dim_type.param))]


def same_parameters(a: Any, b: Any) -> bool:
    """Whether two sets have equally many parameters."""
    return bool(a.dim(isl.dim_type.param) == b.dim(isl.dim_type.param))


Expression = tuple[Any, ...]
"""`("int", 3)`, `("name", "N_1")`, or an operator and its operands: `("and", …)`, `("le", …)`, `("add", …)`."""

_OPERATORS = {
    "and_": "and", "and": "and", "and_then": "and", "or_": "or", "or": "or", "or_else": "or",
    "fdiv_q": "floordiv", "pdiv_q": "floordiv", "div": "floordiv", "pdiv_r": "mod", "zdiv_r": "mod",
}  # fmt: skip


def expression_of(found: Any) -> Expression:
    """A set of parameters as a condition."""
    return _expression(isl.AstBuild.from_context(isl.Set.universe(found.get_space())).expr_from_set(found.coalesce()))


def _expression(node: Any) -> Expression:
    kind = node.get_type()
    if kind == isl.ast_expr_type.int:
        return ("int", node.get_val().to_python())
    if kind == isl.ast_expr_type.id:
        return ("name", node.get_id().get_name())
    name = node.get_op_type().name
    return (_OPERATORS.get(name, name), *(_expression(node.get_op_arg(k)) for k in range(node.get_op_n_arg())))
