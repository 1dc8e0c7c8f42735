"""Random team kernels in two dimensions: tiles with halos, transposes, block-level branches and loops, called functions, views.

Does and invariants: as `kernels.py`; arrays are z and w of N by N, y of N.
"""

from __future__ import annotations

from choices import Choices

HEADER = """\
from typing import Literal
import lend
from lend import Mut, Out, Ref, bool_, f64, i64
from lend.dims import N

@lend.function
def turn(tile, p, q, f):
    v = tile[p, q]
    if f:
        lend.sync()
    tile[q, p] = v

@lend.function
def settle(tile, p, q, v):
    lend.sync()
    tile[p, q] = v
    lend.sync()

"""


class TileKernels:
    """One program."""

    def __init__(self, choices: Choices) -> None:
        self.choices = c = choices
        self.lines: list[str] = []
        self.rows, self.columns = c.pick(((2, 2), (2, 2), (2, 3), (3, 2), (4, 2), (3, 3)))
        self.square = self.rows == self.columns
        self.margin = c.pick((0, 0, 1, 2))
        self.careful = c.pick((100, 97, 97, 90, 70))
        self.count = 0

    def program(self) -> str:
        """The whole source text."""
        c, p, q, m = self.choices, self.rows, self.columns, self.margin
        self.write(1, f"for b, d in lend.blocks(lend.cdiv(N, {p}), lend.cdiv(N, {q})):")
        self.write(2, f"s = lend.shared(f64, {p + m}, {q + m})", f"r = lend.shared(f64, {p}, {q})")
        depth = 2
        if c.chance(15):
            self.write(2, f"for e in range({c.pick(('2', 'k', 'b'))}):")
            depth = 3
            if c.chance(40):
                self.write(3, f"s = lend.shared(f64, {p + m}, {q + m})")
        for number in range(c.pick((1, 1, 2, 3))):
            inner = depth
            if c.chance(15):
                self.write(depth, f"if {c.pick(('k > 1', 'f', 'b > 0', 'b == d', 'x[b] > 0.0'))}:")
                inner += 1
            self.threads(inner, number == 0 or c.chance(60))
        signature = "x: Ref[f64, N], z: Ref[f64, N, N], w: Mut[f64, N, N], y: Mut[f64, N], k: i64, f: bool_"
        if c.chance(35):
            signature = signature.replace("w: Mut", "w: Out")
        return f"{HEADER}@lend.kernel\ndef kernel({signature}):\n" + "\n".join(self.lines) + "\n"

    def write(self, depth: int, *lines: str) -> None:
        """Lines at a depth."""
        self.lines += ["    " * depth + line for line in lines]

    def threads(self, depth: int, fill: bool) -> None:
        """A loop over threads."""
        c, p, q = self.choices, self.rows, self.columns
        self.write(depth, f"for p, q in lend.threads({p}, {q}):")
        depth += 1
        self.write(depth, f"i = b * {p} + p", f"j = d * {q} + q", "v = 0.0")
        if fill and c.chance(92):
            self.fill(depth)
        for _ in range(c.pick((1, 2, 3, 4))):
            self.statement(depth, 0)
        at = c.often(((14, "i, j"), (1, "j, i"), (1, f"b * {p} + {p - 1} - p, j"), (1, "i, q"), (1, "p, j")))
        self.write(depth, f"if {at.split(', ')[0]} < N and {at.split(', ')[1]} < N:", f"    w[{at}] = v")
        if c.chance(10):
            self.write(depth, "if d == 0 and q == 0 and i < N:", "    y[i] = v")

    def fill(self, depth: int) -> None:
        """Both tiles are written."""
        c, p, q, m = self.choices, self.rows, self.columns, self.margin
        value = c.pick(("1.0", "(z[i, j] if i < N and j < N else 0.0)", "f64(p)"))
        if m and c.chance(85):
            self.write(
                depth, f"for g in range(p, {p + m}, {p}):", f"    for h in range(q, {q + m}, {q}):", f"        s[g, h] = {value}"
            )
        else:
            self.write(depth, f"s[p, q] = {value}")
        self.write(depth, f"r[{c.pick(('p, q', 'p, q', f'{p - 1} - p, q'))}] = {value}")
        self.sync(depth)

    def sync(self, depth: int) -> None:
        if self.choices.chance(self.careful):
            self.write(depth, "lend.sync()")

    def statement(self, depth: int, loops: int) -> None:
        c = self.choices
        match c.often(((30, 0), (22, 1), (9, 2), (10, 3), (6, 4), (6, 5), (6, 6), (5, 7))):
            case 0:
                self.write(depth, f"v += {self.element()}")
            case 1:
                self.sync(depth)
                target = self.element(own=c.chance(self.careful))
                self.write(depth, f"{target} {c.pick(('=', '+='))} {c.pick(('v', '1.0', 'f64(i)'))}")
                self.sync(depth)
            case 2 if loops < 2:
                self.count += 1
                name = f"l{self.count}"
                self.write(depth, f"for {name} in range({c.pick(('2', '3', 'k', 'b', str(self.rows)))}):")
                for _ in range(c.pick((1, 2, 3))):
                    self.statement(depth + 1, loops + 1)
                if c.chance(10):
                    self.write(depth + 1, f"if {c.pick(('k > 2', 'f', 'v > 3.0'))}:", "    break")
                self.sync(depth + 1)
            case 3:
                condition = c.pick(("k > 1", "f", "b > d", "p == 0", "q < 1", "i < N", "x[0] > 0.0", "p == q"))
                self.write(depth, f"if {condition}:")
                self.statement(depth + 1, loops + 1)
                if c.chance(25):
                    self.write(depth, "else:")
                    self.statement(depth + 1, loops + 1)
            case 4 if self.square:
                self.write(depth, f"turn(r, p, q, {c.pick(('True', 'True', 'f', 'False', 'p == 0'))})")
                self.sync(depth)
            case 5:
                self.write(depth, f"settle({c.pick(('s', 'r'))}, p, q, v)")
            case 6:
                self.view(depth)
            case _:
                self.write(depth, f"if p == {c.below(self.rows)}:", f"    {self.element()} = v")
                self.sync(depth)

    def view(self, depth: int) -> None:
        """A row, a column or a part of a tile."""
        c = self.choices
        self.count += 1
        name = f"u{self.count}"
        kind = c.below(3)
        if kind == 0:
            self.write(depth, f"{name} = r[p]", f"v += {name}[{c.pick(('q', f'{self.columns - 1} - q'))}]")
        elif kind == 1:
            self.write(depth, f"{name} = r[:, q]", f"{name}[{c.pick(('p', 'p', f'{self.rows - 1} - p', '0'))}] = v")
        else:
            self.write(depth, f"{name} = s[p:p + 1, :]", f"v += {name}[0, {c.pick(('q', '0'))}]")
        self.sync(depth)

    def element(self, own: bool = False) -> str:
        """An element of a tile."""
        c, m = self.choices, self.margin
        name = c.pick(("s", "r"))
        margin = m if name == "s" else 0
        if own:
            return f"{name}[{c.pick(('p', 'p', f'{self.rows - 1} - p'))}, {c.pick(('q', 'q', f'(q + 1) % {self.columns}'))}]"
        row = ["p", f"{self.rows - 1} - p", f"(p + 1) % {self.rows}", "0", *[f"p + {k}" for k in range(margin + 1)]]
        column = ["q", f"{self.columns - 1} - q", "q // 2", *[f"q + {k}" for k in range(margin + 1)]]
        if self.square and c.chance(25):
            return f"{name}[q, p]"
        return f"{name}[{c.pick(row)}, {c.pick(column)}]"
