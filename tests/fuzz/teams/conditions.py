"""Random team kernels whose threads do things under conditions on data: the same ones again, others, and none.

Does and invariants: as `kernels.py`; N is a multiple of the block, and few conditions recur often.
"""

from __future__ import annotations

from choices import Choices

from .kernels import HEADER


class ConditionKernels:
    """One program."""

    def __init__(self, choices: Choices) -> None:
        self.choices = c = choices
        self.lines: list[str] = []
        self.size = c.pick((2, 3, 4, 4, 8))
        self.careful = c.pick((100, 97, 97, 90, 70))
        self.count = 0
        self.local = False
        uniform = [
            "d > 0.0",
            "d > 0.0",
            "d <= 0.0",
            "c",
            "c",
            "not c",
            "f",
            "d > 0.0 and f",
            "c or f",
            "e > 0",
            "z > 1.0",
            "k > 1",
        ]
        own = ["own > 0.0", "own > 0.0", "own >= 0.0", "own > 0.0 and c", "own > d", "v > 0.0", "t < 1", "not own > 0.0", "g > 0"]
        self.uniform = [c.pick(uniform) for _ in range(c.pick((1, 2, 2)))]
        self.own = [c.pick(own) for _ in range(c.pick((1, 1, 2)))]

    def program(self) -> str:
        """The whole source text."""
        c, size = self.choices, self.size
        self.write(1, f"assert N % {size} == 0", f"for b in lend.blocks(N // {size}):")
        self.write(2, f"s = lend.shared(f64, {size})", f"r = lend.shared(f64, {size})")
        self.write(2, "d = x[b]", "e = q[b]", "c = d > 0.5", "z = 0.0")
        self.write(2, f"for t in lend.threads({size}):", f"    z += x[b * {size} + t]")
        depth = 2
        if c.chance(15):
            self.write(2, f"for a in range({c.pick(('2', 'k', 'b'))}):", "    w = x[(a + b) % N] if N > 0 else 0.0")
            depth = 3
        for _ in range(c.pick((1, 1, 2, 3))):
            inner = depth
            if c.chance(20):
                self.write(depth, f"if {c.pick(self.uniform)}:")
                inner += 1
            self.threads(inner)
        out = "Out" if c.chance(40) else "Mut"
        signature = (
            f"x: Ref[f64, N], q: Ref[i64, N], y: Mut[f64, N], o: {out}[f64, N], h: Atomic[i32, Literal[4]], k: i64, f: bool_"
        )
        return f"{HEADER}@lend.kernel\ndef kernel({signature}):\n" + "\n".join(self.lines) + "\n"

    def write(self, depth: int, *lines: str) -> None:
        """Lines at a depth."""
        self.lines += ["    " * depth + line for line in lines]

    def threads(self, depth: int) -> None:
        """A loop over threads."""
        c, size = self.choices, self.size
        self.write(depth, f"for t in lend.threads({size}):")
        depth += 1
        self.write(depth, f"own = x[b * {size} + t]", f"g = q[b * {size} + t]", "v = 0.0")
        self.local = c.chance(30)
        if self.local:
            self.write(depth, "l = lend.local(f64, 2)")
        for _ in range(c.pick((1, 2, 3, 4))):
            self.statement(depth, 0)
        self.write(depth, f"{c.pick(('y', 'o'))}[b * {size} + t] = v")

    def sync(self, depth: int) -> None:
        if self.choices.chance(self.careful):
            self.write(depth, "lend.sync()")

    def condition(self) -> str:
        c = self.choices
        return c.pick(self.uniform if c.chance(65) else self.own)

    def statement(self, depth: int, loops: int) -> None:
        c = self.choices
        match c.often(((45, 0), (8, 1), (12, 2), (8, 3), (6, 4), (5, 5), (4, 6), (6, 7))):
            case 0:
                self.sync(depth)
                own = c.chance(25)  # each thread under its own condition, and its own element
                condition, name = c.pick(self.own if own else self.uniform), c.pick(("s", "s", "r"))
                self.fill(depth, condition, name, own)
                self.sync(depth)
                if not c.chance(self.careful):
                    self.statement(depth, 2)
                self.read(depth, condition if c.chance(self.careful - 5) else self.condition(), name, own)
            case 1:
                self.read(depth, self.condition(), c.pick(("s", "r")), c.chance(20))
                self.sync(depth)
            case 2:
                self.write(depth, "lend.sync()")
            case 3 if loops < 2:
                self.count += 1
                name = f"j{self.count}"
                self.write(depth, f"for {name} in range({c.pick(('2', '3', 'k', 'b', 'e'))}):")
                for _ in range(c.pick((2, 3, 4))):
                    self.statement(depth + 1, loops + 1)
                if c.chance(40):
                    self.write(depth + 1, c.pick(("own = own - 1.0", "own = x[(b + t) % N] if N > 0 else own", "v = own")))
                self.sync(depth + 1)
            case 4:
                self.write(depth, f"if {c.pick(self.uniform)}:")
                for _ in range(c.pick((1, 2))):
                    self.statement(depth + 1, loops + 1)
                if c.chance(40):
                    self.write(depth, "else:")
                    self.statement(depth + 1, loops + 1)
            case 5:
                self.write(depth, c.pick(("own = own + v", "own = v", f"own = x[b * {self.size}]", "own = own * 2.0")))
            case 6:
                self.write(depth, f"{c.pick(('s', 'r'))}[t] = {c.pick(('v', 'own', 'd'))}")
                self.sync(depth)
            case 7 if self.local:
                condition = self.condition()
                self.write(depth, f"if {c.often(((1, 't == 0'), (4, condition)))}:", "    l[0] = own")
                self.sync(depth)
                condition = self.condition() if c.chance(30) else condition
                self.write(depth, f"if {condition}:", f"    v += l[{c.pick(('0', '0', '0', 't % 2'))}]")
            case _:
                self.write(depth, "v += own")

    def fill(self, depth: int, condition: str, name: str, own: bool) -> None:
        """A tile is written under a condition."""
        c, size = self.choices, self.size
        at = "t" if own and c.chance(self.careful) else c.pick(("t", "t", f"{size} - 1 - t", f"(t + 1) % {size}"))
        value = c.pick(("1.0", "own", "v", "d"))
        if c.chance(85):
            self.write(depth, f"if {condition}:", f"    {name}[{at}] = {value}")
            if c.chance(15):
                self.write(depth, "else:", f"    {c.pick(('s', 'r', name))}[{at}] = 2.0")
        else:
            self.write(depth, f"{name}[{at}] = {value} if {condition} else 0.0")

    def read(self, depth: int, condition: str, name: str, own: bool) -> None:
        """It is read under a condition."""
        c, size = self.choices, self.size
        at = "t" if own and c.chance(self.careful) else c.pick(("t", f"{size} - 1 - t", f"(t + 1) % {size}", "0"))
        if c.chance(30):
            self.write(depth, f"v += {name}[{at}] if {condition} else 1.0")
        else:
            self.write(depth, f"if {condition}:", f"    v += {name}[{at}]")
