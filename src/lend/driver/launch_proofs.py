"""Proofs that wait for the values of a call: subscripts such as `i * n + j` are linear once n is known.

Does: find out whether a kernel that could not be judged could be with such values; judge it again at a call and remember the
verdict under the sizes and integer scalars of that call.  Does not: decide obligations.
Invariants: a kernel with open proofs never runs before they are closed for its arguments.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lend.diagnostics.diagnostic import Diagnostic, Label
from lend.diagnostics.errors import ContractError
from lend.language.types import ScalarType
from lend.targets.cpu.exclusive import compile_exclusively

if TYPE_CHECKING:
    from lend.checks.judge import Judgement
    from lend.ir import typed
    from lend.ir.typed import Value
    from lend.runtime.arguments import Binding

SIZE = 12
"""The size of all arrays when a kernel is tried."""

REMEMBERED = 256
"""Calls with different values whose verdicts are kept."""

FEW = 3
"""Up to so many scalars that are multiplied are tried in all combinations of 3 and 2, with 5 for the others: pitches that are the
same and pitches that are not, and an offset that is no multiple of any."""

MOST_PITCHES = 4
"""Dimensions of a box whose pitches are all tried at once."""

_OPEN = ("L0311", "L0314", "L0315", "L0320", "L0321", "L0407")


class LaunchProofs:
    """The open proofs of one specialisation."""

    def __init__(self, kernel: typed.Kernel, values: tuple[Value, ...]) -> None:
        self.kernel = kernel
        self.values = values
        leaves = [parameter.value for parameter in kernel.parameters]
        self.places = [(True, kernel.dims.index(v)) if v in kernel.dims else (False, leaves.index(v)) for v in values]
        self._known: dict[tuple[int, ...], Judgement] = {}

    def judgement(self, binding: Binding) -> Judgement:
        """The judgement for the arguments of a call."""
        values = tuple(int(binding.dims[k] if is_dim else binding.leaves[k]) for is_dim, k in self.places)
        found = self._known.get(values)
        if found is None:
            if len(self._known) >= REMEMBERED:
                self._known.pop(next(iter(self._known)), None)
            found = self._known[values] = compile_exclusively(lambda: self._judged(values))
        return found

    def _judged(self, values: tuple[int, ...]) -> Judgement:
        from lend.checks.judge import judge

        return judge(self.kernel, dict(zip(self.values, values, strict=True)))

    def require(self, binding: Binding) -> None:
        """Raise ContractError if the kernel must not run with these arguments."""
        judgement = self.judgement(binding)
        refusals = barring(judgement)
        if refusals:
            raise ContractError(self._message(refusals[0], binding))
        for finding in judgement.races:  # all integers of the call are known; what still depends on something is not shown
            decision = finding.decision
            assumed = finding.first.operation.site is None or finding.second.operation.site is None
            if not assumed and (decision.kind != "never" or decision.assumptions):
                span = finding.first.operation.span
                label = Label(span, "it depends on values that the kernel computes")
                raise ContractError(
                    self._message(Diagnostic("L0311", "its iterations are not shown to be independent", label), binding)
                )

        for loans in judgement.aliases:
            decision, call = loans.decision, loans.lending.operation
            if not loans.first.assumed and (decision.kind != "never" or decision.assumptions):
                label = Label(call.span, "it depends on values that the kernel computes")
                what = f"the arguments `{loans.first.name}` and `{loans.second.name}` of `{call.name}` are not shown to be apart"
                raise ContractError(self._message(Diagnostic("L0407", what, label), binding))

    def _message(self, diagnostic: Diagnostic, binding: Binding) -> str:
        values = [binding.dims[k] if is_dim else binding.leaves[k] for is_dim, k in self.places]
        given = " and ".join(f"{v.name or 'a size'} = {x}" for v, x in zip(self.values, values, strict=True))
        span = diagnostic.primary.span
        where = f"  --> {span.source.filename}:{span.line}\n   |  {span.source.line(span.line).strip()}"
        return f"{self.kernel.name}: {diagnostic.message}, with {given}: {diagnostic.primary.text}\n{where}"


def open_values(kernel: typed.Kernel, judgement: Judgement) -> tuple[Value, ...]:
    """The sizes and scalars whose values could make the kernel acceptable; none if they change nothing."""
    from lend.checks.judge import judge

    if not judgement.diagnostics or any(d.code not in _OPEN for d in judgement.diagnostics):
        return ()
    kernel = judgement.kernel  # with the barriers that are asked for below
    values = entry_integers(kernel)
    launch = judgement.model.space.names.launch
    nonlinear = {launch.get(name) for name in judgement.model.evaluator.nonlinear}
    factors = [value for value in values if value in nonlinear]
    if not factors:
        return ()
    tried = False
    for sample in samples(kernel, factors):
        judged = judge(kernel, sample)
        if judged.model.space.empty([judged.model.context], []):
            continue  # the contracts do not allow it
        tried = True
        if not barring(judged):
            return values
    return () if tried else values


def samples(kernel: typed.Kernel, factors: Sequence[Value]) -> Iterator[dict[Value, int]]:
    """Values with which a kernel is tried: if it is refused with all that its contracts allow, it is refused at once."""
    values = entry_integers(kernel)
    flags = {value: 0 for value in values if value.scalar.kind == "bool"}
    yield from (dict.fromkeys(values, number) for number in (SIZE, 5))
    if flags:
        yield dict.fromkeys(values, SIZE) | flags
    others = dict.fromkeys(kernel.dims, SIZE) | dict.fromkeys(values[len(kernel.dims) :], 5)
    yield others | {value: 2 + number for number, value in enumerate(factors)}
    yield others | {value: 2 + number for number, value in enumerate(reversed(factors))}
    for ordered in (factors, factors[::-1]):  # pitches so far apart that none reaches the next
        yield others | {value: SIZE**number for number, value in enumerate(ordered[:MOST_PITCHES])}
    if len(factors) <= FEW:
        for numbers in itertools.product((3, 2), repeat=len(factors)):
            yield others | dict(zip(factors, numbers, strict=True))


def barring(judgement: Judgement) -> list[Diagnostic]:
    """The reasons not to run: races and reads of nothing. Subscripts and divisions that fail are faults of the run itself."""
    return [d for d in judgement.diagnostics if d.code in ("L0310", "L0312", "L0313", "L0350", *_OPEN)]


def entry_integers(kernel: typed.Kernel) -> tuple[Value, ...]:
    """The sizes and the integer scalars of a call, flags among them."""
    scalars = [p.value for p in kernel.parameters if isinstance(p.value.type, ScalarType)]
    return (*kernel.dims, *(value for value in scalars if value.scalar.is_integer or value.scalar.kind == "bool"))
