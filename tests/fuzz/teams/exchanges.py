"""Random team kernels that exchange tiles by name: in loops of the block and of its threads, of known length and of any.

Does and invariants: as `kernels.py`; N is a multiple of the block.
"""

from __future__ import annotations

from choices import Choices

from .kernels import HEADER


class ExchangeKernels:
    """One program."""

    def __init__(self, choices: Choices) -> None:
        self.choices = c = choices
        self.lines: list[str] = []
        self.size = c.pick((2, 3, 4, 4, 8))
        self.careful = c.pick((100, 100, 97, 90, 75))
        self.names = ("p", "w", "u")[: c.pick((2, 2, 2, 3))]
        self.count = 0

    def program(self) -> str:
        """The whole source text."""
        c, size = self.choices, self.size
        tiles = ["s", "r", "a"][: len(self.names)]
        self.write(1, f"assert N % {size} == 0", f"for b in lend.blocks(N // {size}):")
        self.write(2, *(f"{tile} = lend.shared(f64, {size})" for tile in tiles), "d = x[b]")
        if c.chance(10):
            self.write(2, f"for i in range({c.pick(('2', 'k'))}):", f"    {c.pick(tiles)} = lend.shared(f64, {size})")
        if c.chance(45):
            self.of_block(2, tiles)
        else:
            self.of_threads(2, tiles)
        out = "Out" if c.chance(40) else "Mut"
        signature = (
            f"x: Ref[f64, N], q: Ref[i64, N], y: Mut[f64, N], o: {out}[f64, N], h: Atomic[i32, Literal[4]], k: i64, f: bool_"
        )
        return f"{HEADER}@lend.kernel\ndef kernel({signature}):\n" + "\n".join(self.lines) + "\n"

    def write(self, depth: int, *lines: str) -> None:
        """Lines at a depth."""
        self.lines += ["    " * depth + line for line in lines]

    def sync(self, depth: int) -> None:
        if self.choices.chance(self.careful):
            self.write(depth, "lend.sync()")

    def named(self, depth: int, tiles: list[str]) -> None:
        """The names are given."""
        c = self.choices
        for name, tile in zip(self.names, tiles, strict=True):
            self.write(depth, f"{name} = {tile if c.chance(self.careful) else c.pick(tiles)}")

    def exchange(self, depth: int, index: str, thread: bool) -> None:
        """The names change places, or some do, or under a condition."""
        c = self.choices
        turned = (*self.names[1:], self.names[0])
        change = f"{', '.join(self.names)} = {', '.join(turned)}"
        if not c.chance(self.careful):
            change = c.pick((f"p = {self.names[1]}", f"{self.names[1]} = p", f"p, {self.names[1]} = p, p"))
        if c.chance(20):
            own = ("own > 0.0", "t < 1") if thread and c.chance(30) else ()
            self.write(depth, f"if {c.pick(own or ('f', 'd > 0.0', f'{index} % 2 == 0', 'k > 1'))}:")
            depth += 1
        self.write(depth, change)

    def move(self, depth: int, index: str, length: str) -> None:
        """From one of them to another."""
        c, size = self.choices, self.size
        target = self.names[1] if c.chance(self.careful) else c.pick(self.names)
        source = "p" if c.chance(85) else c.pick(self.names)
        at = "t" if c.chance(self.careful) else c.pick((f"{size} - 1 - t", f"(t + 1) % {size}", "0"))
        read = c.pick(("t", f"{size} - 1 - t", f"(t + 1) % {size}", "0"))
        match c.below(4):
            case 0:
                self.write(depth, f"if {index} + 1 < {length}:" if c.chance(70) else f"if {index} + 2 < {length}:")
                self.write(depth + 1, f"{target}[{at}] = {c.pick(('own', '1.0', f'f64({index})'))}")
                self.write(depth, f"v += {source}[{read}]")
            case 1:
                self.write(depth, f"v += {source}[{read}]")
                if c.chance(50):
                    self.sync(depth)
                self.write(depth, f"{target}[{at}] = {c.pick(('v', 'own'))}")
            case 2:
                self.write(
                    depth, f"if {c.pick(('f', 'd > 0.0', 't > 0', 'k > 1'))}:", f"    {target}[{at}] = {source}[{read}] + 1.0"
                )
                if c.chance(50):
                    self.write(depth, "else:", f"    {target}[{at}] = 0.5")
            case _:
                self.write(depth, f"{target}[{at}] = {source}[{read}] + 1.0")

    def fill(self, depth: int) -> None:
        """What is read first is written."""
        c, size = self.choices, self.size
        for name in self.names:
            if name == "p" and c.chance(self.careful) or c.chance(45):
                self.write(depth, f"{name}[{c.pick(('t', 't', f'{size} - 1 - t'))}] = {c.pick(('own', '1.0', 'd'))}")

    def loop(self, depth: int) -> tuple[str, str]:
        """The head of a loop: its index, and its length."""
        c = self.choices
        self.count += 1
        name = f"j{self.count}"
        length = c.often(((6, "k"), (2, "3"), (2, "b"), (1, "70"), (1, "N")))
        if c.chance(25):
            self.write(depth, f"{name} = i64(0)", f"while {name} < {length}:")
            return name, length
        self.write(depth, f"for {name} in range({length}):")
        return name, length

    def of_block(self, depth: int, tiles: list[str]) -> None:
        """The block exchanges them, between its loops over threads."""
        c, size = self.choices, self.size
        head = (f"for t in lend.threads({size}):", f"    own = x[b * {size} + t]", "    v = 0.0")
        self.named(depth, tiles)
        self.write(depth, *head)
        self.fill(depth + 1)
        index, length = self.loop(depth)
        for _ in range(c.pick((1, 1, 2))):
            self.write(depth + 1, *head)
            self.move(depth + 2, index, length)
            self.write(depth + 2, f"y[b * {size} + t] = v")
        self.exchange(depth + 1, index, False)
        if any(f"while {index}" in line for line in self.lines):
            self.write(depth + 1, f"{index} += 1")
        self.write(depth, *head)
        self.write(depth + 1, f"o[b * {size} + t] = {c.pick(('p', 'p', self.names[1]))}[{c.pick(('t', f'{size} - 1 - t'))}]")

    def of_threads(self, depth: int, tiles: list[str]) -> None:
        """Its threads do."""
        c, size = self.choices, self.size
        self.write(depth, f"for t in lend.threads({size}):", f"    own = x[b * {size} + t]", "    v = 0.0")
        depth += 1
        self.named(depth, tiles)
        self.fill(depth)
        self.sync(depth)
        for _ in range(c.pick((1, 1, 2))):
            index, length = self.loop(depth)
            waiting = any(f"while {index}" in line for line in self.lines)
            inner = depth + 1
            if c.chance(15):
                other, _ = self.loop(inner)
                if any(f"while {other}" in line for line in self.lines):
                    self.write(inner + 1, f"{other} += 1")
                self.move(inner + 1, index, length)
                self.sync(inner + 1)
                self.exchange(inner + 1, index, True)
                if c.chance(30):
                    self.sync(inner + 1)
            else:
                self.move(inner, index, length)
                if c.chance(85):
                    self.sync(inner)
                    self.exchange(inner, index, True)
                else:
                    self.exchange(inner, index, True)
                    self.sync(inner)
                if c.chance(10):
                    self.write(inner, f"if {c.pick(('f', 'd > 0.0', 'own > 0.0', f'{index} > 1'))}:", "    break")
            if waiting:
                self.write(inner, f"{index} += 1")
            if c.chance(30):
                self.sync(depth)
        if c.chance(60):
            self.write(depth, f"v += {c.pick(('p', 'p', self.names[1]))}[{c.pick(('t', f'{size} - 1 - t'))}]")
        self.write(depth, f"{c.pick(('y', 'o'))}[b * {size} + t] = v")
