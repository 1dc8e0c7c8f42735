"""Random kernels whose iterations exchange the names of arrays: what one iteration calls p, another calls q.

Does: write source text: little else than such names is written to, so that nothing else refuses them.  Does not: keep to what is
safe.
Invariants: as in `kernels.py`.
"""

from __future__ import annotations

from dataclasses import replace

from .kernels import HEADER, Kernels, Place


class Renamings(Kernels):
    """One program."""

    def program(self) -> str:
        """The whole source text."""
        c = self.choices
        self.affine = False
        self.careful = c.pick((100, 100, 90))
        place = Place(("N", "M", "k", "c"), ("i",), {"x": 1, "y": 1, "d": 1}, ("y", "d"), grid=True)
        self.write("for i in lend.grid(N):")
        with self.indented():
            inner = self.renamed(place)
            names = inner.writable[2:]
            for _ in range(c.pick((1, 1, 2, 3))):
                self.one(replace(inner, arrays={"x": 1, **dict.fromkeys(names, 1)}, writable=names))
        signature = "x: Ref[f64, N], q: Ref[i64, N], y: Mut[f64, N], d: Mut[f64, M], k: i64, c: i32, b: bool_"
        text = "\n".join(self.lines)
        return f"{HEADER}@lend.kernel\ndef kernel({signature}):\n    assert N == M\n{text}\n"

    def one(self, place: Place) -> None:
        """A statement about the names."""
        c = self.choices
        p, q = c.pick(place.writable), c.pick(place.writable)
        match c.below(6):
            case 0:
                self.write(f"{p}[{self.own(place, 1)[0]}] = {q}[{self.own(place, 1)[0]}]")
            case 1:
                self.write(f"if {self.guard(place)}:")
                self.write(f"    {p}[i] += {q}[{c.pick(('i', 'i + 1', 'N - 1 - i'))}]")
            case 2:
                self.write(f"{p}[{c.pick(('N - 1 - i', 'i + 1', 'i'))}] = 2.0")
            case 3:
                self.write(f"if {self.guard(place)}:")
                self.write(f"    {p}, {q} = {q}, {p}")
            case _:
                self.store(place)
