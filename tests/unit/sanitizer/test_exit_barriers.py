"""The judge puts barriers behind the branches and loops that the proofs put them behind, though each finds them on its own."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lend
from lend.driver.pipeline import run
from lend.ir import typed
from lend.sanitizer.opaque import Opaque

NUMBER = itertools.count()

SOURCE = """\
import lend
from lend import Mut, Ref, bool_, f64, i64
from lend.dims import N

@lend.kernel
def kernel(q: Ref[i64, N], y: Mut[i64, N], k: i64, f: bool_):
    for b in lend.blocks(lend.cdiv(N, 4)):
        for t in lend.threads(4):
            g = b * 4 + t
            c = i64(0)
"""

NEVER = ["for j in range(k):\n    lend.sync()", "if b > k:\n    lend.sync()", "for j in range(1, 9, 2):\n    lend.sync()"]
"""What needs no barrier behind it."""

NEVER += [
    "c = 4\nwhile c > 0:\n    lend.sync()\n    c //= 2",
    "c = 4\nwhile c > 0:\n    c -= 1\nif c < 1:\n    lend.sync()",
    "for j in range(k):\n    c += 1\nif c > 1:\n    lend.sync()",
    (
        "for j in range(2):\n    v = 0.5\n    c += 2\n    for m in range(k, 0 - 4, 0 - 3):\n"
        "        lend.sync()\n        v += 1.0\n    if c > k:\n        lend.sync()"
    ),
    (
        "for j in range(3):\n    v = f64(c)\n    c = 0\n    while c < 2 and c < 3:\n        c += 1\n"
        "        v += 1.0\n    if c > 1:\n        lend.sync()"
    ),
    "m = c\nwhile m < k:\n    m += 1\nif c + k > 1:\n    lend.sync()",
]


FOLLOWED = [
    "if q[b] > 0:\n    lend.sync()",
    "for j in range(q[b]):\n    lend.sync()",
    "while c < k:\n    c += 1\n    lend.sync()",
]
"""What is followed by one."""

FOLLOWED += [
    "while c < k and c < 3:\n    c += 1\nif c > 1:\n    lend.sync()",
    "while c < k and c < 3:\n    c += 1\nfor j in range(c):\n    lend.sync()",
    "for j in range(4):\n    c += k\n    if c > 1:\n        lend.sync()",
    "for j in range(q[b], 5):\n    if j > 1:\n        lend.sync()",
    "for j in range(q[b]):\n    c += 1\nif c > 1:\n    lend.sync()",
    "for j in range(4):\n    lend.sync()\n    if j > k:\n        break",
    "for j in range(4):\n    c += 1\n    if j > k:\n        break\nif c > 1:\n    lend.sync()",
    "m = i64(0)\nwhile m < k:\n    m += 1\n    if m == 2:\n        lend.sync()",
]


def defined(body: str) -> Any:
    """A kernel whose threads do this."""
    text = SOURCE + "".join(f"            {line}\n" for line in body.splitlines())
    file = f"<exit barriers {next(NUMBER)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"__name__": "exit_barriers"}
    exec(compile(text, file, "exec"), names)
    return names["kernel"]


def controls(region: typed.Region) -> Iterator[tuple[Any, bool]]:
    """Branches and loops that hold a barrier, and whether one is put behind it."""
    for operation, after in itertools.zip_longest(region.operations, region.operations[1:]):
        if isinstance(operation, typed.If | typed.For | typed.While) and any(map(holds, operation.regions)):
            yield operation, isinstance(after, typed.Sync) and after.inserted
        for inner in operation.regions:
            yield from controls(inner)


def holds(region: typed.Region) -> bool:
    return any(isinstance(o, typed.Sync) and not o.inserted or any(map(holds, o.regions)) for o in region.operations)


@pytest.mark.parametrize("body", [*NEVER, *FOLLOWED])
def test_judge_and_proofs_agree(body: str) -> None:
    definition = defined(body)._definition
    compilation = definition.compilation(*definition.known_types())
    run(compilation, until="check")
    kernel = compilation.checked.kernel
    opaque = Opaque(kernel)
    judged = [opaque.followed(operation) for operation, _ in controls(kernel.body)]
    compiled = [inserted for _, inserted in controls(compilation.judgement.kernel.body)]
    assert judged == compiled
    assert any(judged) == (body in FOLLOWED)


EXCHANGE = """
if g < N and b * 4 + 3 < N:
    y[g] = k
{body}
if b * 4 + 3 < N:
    c += y[b * 4 + 3 - t]
lend.sync()
if g < N:
    y[g] = c
"""


def test_a_barrier_under_what_a_while_has_counted_orders_what_stands_around_it() -> None:
    followed = EXCHANGE.format(body="while c < k and c < 3:\n    c += 1\nif c > 1:\n    lend.sync()")
    for k in (0, 2, 5):
        y = np.arange(8)
        assert lend.sanitize(defined(followed))(np.zeros(8, np.int64), y, k, True).ok
    plain = EXCHANGE.format(body="if k > 1:\n    lend.sync()")
    with pytest.raises(lend.ContractError, match="threads of a block race on `y`"):
        defined(plain)(np.zeros(8, np.int64), np.arange(8), 1, True)
    assert not lend.sanitize(defined(plain))(np.zeros(8, np.int64), np.arange(8), 1, True).ok
