"""Random kernels that lend two slices of one array to another kernel, and what each call of them must do.

Does: write the source of one, and say for given sizes and scalars whether it ends, or what ends it.  Does not: run it.
Invariants: subscripts are small, so that nothing wraps; the called kernel adds to what it may change, and reads the other.
"""

from __future__ import annotations

from dataclasses import dataclass

from choices import Choices

CALLEE = """
@lend.kernel
def touch(x: Ref[f64, M], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] += 1.0
    for i in lend.grid(1):
        if M > 0 and N > 0:
            y[0] += 0.0 * x[0]
"""

CONTRACTS = ("a <= b", "0 <= a", "b <= K", "a < b", "a + b == K", "K == 2 * a", "K % 2 == 0", "a >= 1", "b == a + 2", "K >= 3")


@dataclass(frozen=True)
class Slice:
    """`y[lower:upper:step]`."""

    lower: str
    upper: str
    step: int

    def __str__(self) -> str:
        return f"y[{self.lower}:{self.upper}{f':{self.step}' if self.step > 1 else ''}]"


@dataclass(frozen=True)
class Lending:
    """A kernel: its contracts, the trips of the loop around the call (None: no loop), and both slices."""

    contracts: tuple[str, ...]
    trips: str | None
    first: Slice
    second: Slice

    @property
    def source(self) -> str:
        """The kernel `lender`, after `CALLEE`."""
        lines = ["@lend.kernel", "def lender(y: Mut[f64, K], a: i64, b: i64):"]
        if self.contracts:
            lines.append(f"    assert {' and '.join(self.contracts)}")
        indent = "    "
        if self.trips is not None:
            lines.append(f"    for t in range({self.trips}):")
            indent *= 2
        lines.append(f"{indent}touch({self.first}, {self.second})")
        return CALLEE + "\n\n" + "\n".join(lines) + "\n"

    def ending(self, size: int, a: int, b: int) -> str:
        """How a call ends: "contract", "bounds", "alias" or "end"."""
        names = {"K": size, "a": a, "b": b}
        if not all(eval(contract, {}, names) for contract in self.contracts):
            return "contract"
        for t in range(eval(self.trips, {}, names)) if self.trips is not None else (0,):
            parts: list[set[int]] = []
            for one in (self.first, self.second):
                lower, upper = (eval(bound, {}, names | {"t": t}) for bound in (one.lower, one.upper))
                if lower < upper and not 0 <= lower <= upper <= size:
                    return "bounds"
                parts.append(set(range(lower, upper, one.step)))
            if parts[0] & parts[1]:
                return "alias"
        return "end"


def lending(choices: Choices) -> Lending:
    """A random one."""
    trips = choices.pick((None, None, "2", "a", "K"))
    atoms = ["a", "b", "K", "0", *(("t", "t") if trips is not None else ())]

    def bound() -> str:
        text = choices.pick(atoms)
        if choices.chance(30):
            text = f"{choices.pick((2, 2, 3, -1))} * {text}"
        if choices.chance(30):
            text += f" {choices.pick('+-')} {choices.pick(atoms)}"
        if choices.chance(40):
            text += f" {choices.pick('+-')} {1 + choices.below(3)}"
        return text

    def part(after: str | None) -> Slice:
        lower = after if after is not None else bound()
        upper = f"{lower} + {1 + choices.below(2)}" if choices.chance(40) else bound()
        return Slice(lower, upper, choices.pick((1, 1, 1, 2, 3)))

    first = part(None)
    second = part(first.upper if choices.chance(40) else None)
    if choices.chance(50):
        first, second = second, first
    contracts = dict.fromkeys(choices.pick(CONTRACTS) for _ in range(choices.pick((0, 1, 1, 2, 3))))
    return Lending(tuple(contracts), trips, first, second)
