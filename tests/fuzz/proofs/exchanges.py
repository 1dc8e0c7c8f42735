"""Random kernels that pass temporaries around at host level: written whole or in part, exchanged, replaced, made anew; they are
arrays of their own, or parts of one.

Does: write source text.  Does not: keep to what is safe.
Invariants: every `while` has a counter; all temporaries (and parts) have size N, so that each can take another's place.
"""

from __future__ import annotations

from choices import Choices

from .kernels import HEADER


class Exchanges:
    """One program."""

    def __init__(self, choices: Choices, parts: bool = False) -> None:
        self.choices, self.parts = choices, parts
        self.lines: list[str] = []
        self.loops = 0
        self.names = ("t", "u", "v")[: choices.pick((2, 2, 3))]

    def program(self) -> str:
        """The whole source text."""
        if self.parts:
            self.write(1, "w = lend.zeros(f64, 4 * N + 4)")
        for number, name in enumerate(self.names):
            made = f"lend.{self.choices.pick(('empty', 'empty', 'empty', 'zeros'))}(f64, N)"
            if self.parts:
                first = self.choices.pick((f"{number} * N", f"{number} * N", f"{number} * N + 1", f"{number}"))
                made = f"w[{first} : {first} + N]"
            self.write(1, f"{name} = {made}")
        for name in self.names:
            if self.choices.chance(60):
                self.write(1, "for i in lend.grid(N):", f"    {name}[i] = x[i]")
        self.block(1, "", 1 + self.choices.below(3))
        self.write(1, "for i in lend.grid(N):", f"    y[i] = {self.choices.pick(self.names)}[i]")
        signature = "x: Ref[f64, N], z: Ref[f64, N, M], y: Mut[f64, N], k: i64, c: i32, b: bool_"
        return f"{HEADER}@lend.kernel\ndef kernel({signature}):\n" + "\n".join(self.lines) + "\n"

    def write(self, depth: int, *lines: str) -> None:
        """Lines at a depth."""
        self.lines += ["    " * depth + line for line in lines]

    def condition(self, loop: str) -> str:
        """Of a flag, of data, of a scalar, or of the loop's index."""
        own = (f"{loop} == 0", f"{loop} > 0", f"{loop} < k") if loop else ()
        return self.choices.pick(("b", "not b", "x[0] > 0.0", "k > 1", "c == 2", *own))

    def block(self, depth: int, loop: str, count: int) -> None:
        """Statements at host level."""
        for _ in range(count):
            match self.choices.often(((50, 0), (25, 1), (12, 2), (13, 3))):
                case 1:
                    self.exchange(depth)
                case 2 if depth < 4:
                    self.write(depth, f"if {self.condition(loop)}:")
                    self.block(depth + 1, loop, 1 + self.choices.below(2))
                    if self.choices.chance(50):
                        self.write(depth, "else:")
                        self.block(depth + 1, loop, 1)
                case 3 if depth < 3:
                    self.loop(depth)
                case _:
                    self.fill(depth)

    def loop(self, depth: int) -> None:
        """Some steps."""
        self.loops += 1
        name = f"s{self.loops}"
        if self.choices.chance(75):
            self.write(depth, f"for {name} in range({self.choices.pick(('1', '2', '3', 'k', 'N'))}):")
        else:
            self.write(depth, f"{name} = i64(0)", f"while {name} < {self.choices.pick(('2', 'k'))}:", f"    {name} += 1")
        self.block(depth + 1, name, 1 + self.choices.below(3))
        if self.choices.chance(20):
            self.write(depth + 1, f"if {self.condition(name)}:", "    break")
            self.block(depth + 1, name, 1)

    def fill(self, depth: int) -> None:
        """A parallel loop that writes an array."""
        c = self.choices
        name, source = c.pick(self.names), c.pick((*(f"{n}[i]" for n in self.names), "x[i]", "x[i]", "1.0"))
        box = c.pick(("N", "N", "N", "N", "N - 1", "(1, N)", "k"))
        if self.parts and source[-3:] == "[i]" and c.chance(50):
            box, source = "(1, N)", source.replace("[i]", "[i - 1]")
        self.write(depth, f"for i in lend.grid({box}):")
        if not c.chance(15):
            self.write(depth + 1, f"{name}[{c.pick(('i', 'i', 'i', 'i', 'N - 1 - i'))}] = {source}")
            return
        self.write(depth + 1, f"if {c.pick(('x[i] > 0.0', 'i > 0', 'b'))}:", f"    {name}[i] = {source}")
        if c.chance(70):
            self.write(depth + 1, "else:", f"    {name}[i] = 2.0")

    def exchange(self, depth: int) -> None:
        """Names for other arrays."""
        c = self.choices
        others = list(self.names)
        for position in range(len(others) - 1):
            other = position + c.below(len(others) - position)
            others[position], others[other] = others[other], others[position]
        one = c.pick(self.names)
        plain = f"{', '.join(self.names)} = {', '.join(others)}"
        made = f"{one} = lend.{c.pick(('empty', 'zeros'))}(f64, N)"
        self.write(depth, c.often(((7, plain), (1, f"{one} = {others[0]}"), (1, f"{one} = {others[0]}[0:N]"), (1, made))))
