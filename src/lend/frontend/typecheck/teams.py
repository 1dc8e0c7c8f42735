"""The loops of the team level: `for … in lend.blocks(…)` and `for … in lend.threads(…)` inside it.

Does: say where they can stand and how large they are; the rest is as in other parallel loops (`parallel.py`).
Does not: the words inside them (`team_words.py`), or decide which barriers all threads meet.
Invariants: what stands in `lend.blocks` outside `lend.threads` stores nothing; nothing but reductions leaves either loop.
"""

from __future__ import annotations

from math import prod

from lend.diagnostics.words import counted
from lend.frontend.typecheck.entities import Number, TupleOf
from lend.frontend.typecheck.parallel import ParallelLoop, ParallelLoops
from lend.ir import syntax, typed

MAX_THREADS = 1024
"""Threads of a block: what every GPU can take."""


class Teams(ParallelLoops):
    """Typing of blocks and their threads."""

    def blocks(self, statement: syntax.For, call: syntax.Call) -> None:
        """`for … in lend.blocks(…)`."""
        span = statement.span
        if self.level != "host":
            self.refuse(
                "L0409",
                f"`lend.blocks` inside `lend.{'grid' if self.level == 'grid' else 'blocks'}`",
                span,
                "inside another parallel loop here",
                fix="write `lend.threads(...)` for the threads of a block"
                if self.level == "block"
                else "give one `lend.blocks` all the extents, or write `for ... in range(...)` inside",
            )
        names = self.grid_names(statement, call, "lend.blocks", 3)
        box, site = self.grid_extents(call)
        self.parallel_loop(
            ParallelLoop(
                statement,
                names,
                "block",
                lambda results, reductions, body: typed.Blocks(span, results, tuple(box), reductions, body, site),
                "private to each block",
            )
        )

    def team_threads(self, statement: syntax.For, call: syntax.Call) -> None:
        """`for … in lend.threads(…)`."""
        span = statement.span
        if self.level == "thread":
            self.refuse(
                "L0409",
                "`lend.threads` inside `lend.threads`",
                span,
                "inside the threads of a block here",
                fix="give one `lend.threads` all the sizes, or write `for ... in range(...)` inside",
            )
        if self.level != "block":
            self.refuse(
                "L0409",
                "`lend.threads` outside `lend.blocks`",
                span,
                "the threads of a block, and there is no block here",
                fix="put it inside `for b in lend.blocks(n):`, or write `lend.grid(...)`",
            )
        names = self.grid_names(statement, call, "lend.threads", 3)
        sizes = self.team_sizes(call)
        self.parallel_loop(
            ParallelLoop(
                statement,
                names,
                "thread",
                lambda results, reductions, body: typed.Threads(span, results, sizes, reductions, body),
                "private to each thread of a `lend.threads` loop",
                sizes,
            )
        )

    def team_sizes(self, call: syntax.Call) -> tuple[int, ...]:
        """The numbers of threads in each dimension."""
        sizes: list[int] = []
        for argument in call.arguments:
            entity = self.check(argument)
            if isinstance(entity, TupleOf):
                self.refuse(
                    "L0411",
                    "threads are counted from 0, so each size of `lend.threads` is one number",
                    argument.span,
                    f"{counted(len(entity.items), 'value')}",
                    fix="write the number of threads, and add the lower bound inside",
                )
            if not (isinstance(entity, Number) and isinstance(entity.value, int) and not isinstance(entity.value, bool)):
                self.refuse(
                    "L0411",
                    "the sizes of `lend.threads` must be integers that are known when the kernel is compiled",
                    argument.span,
                    "known at run time only" if not isinstance(entity, Number) else f"this is {self.describe(entity)}",
                    fix="write a number, or make it a `comptime[int]` parameter; `lend.blocks` takes any size",
                )
            if entity.value < 1:
                self.refuse("L0411", f"`{entity.value}` threads", argument.span, "a block has one thread or more")
            sizes.append(int(entity.value))
        if prod(sizes) > MAX_THREADS:
            self.refuse(
                "L0411",
                f"{prod(sizes)} threads in a block",
                call.span,
                f"at most {MAX_THREADS}",
                fix="write fewer threads and more blocks, or a loop in each thread",
            )
        return tuple(sizes)
