"""Open proofs that were closed before, by this process or another: for the same values they need no prover.

Does: remember, on disk too, with which values of sizes and scalars a specialisation was found right; ask the prover for others.
Does not: remember refusals: these are worded anew.
Invariants: a specialisation's place on disk stands for everything its proofs depend on, beside the values of a call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lend.runtime.settings import snapshot

if TYPE_CHECKING:
    from lend.driver.kept import Place as OnDisk
    from lend.driver.launch_proofs import LaunchProofs
    from lend.runtime.arguments import Binding

Place = tuple[bool, int]
"""Where a value stands in a binding: among the sizes (True) or the leaves, and its position there."""

MOST = 256
"""So many combinations of values are remembered; the latest."""


class RememberedProofs:
    """The open proofs of a specialisation. `proofs` makes them, with all that takes, when they are needed."""

    def __init__(self, places: Sequence[Place], proofs: Callable[[], LaunchProofs], on_disk: OnDisk | None = None) -> None:
        self.places = tuple(places)
        self.on_disk = on_disk
        self._make = proofs
        self._proofs: LaunchProofs | None = None
        self._right: dict[tuple[int, ...], None] = {}
        self._read = False

    def require(self, binding: Binding) -> None:
        """Raise ContractError if the kernel must not run with these arguments."""
        values = tuple(int(binding.dims[k] if is_dim else binding.leaves[k]) for is_dim, k in self.places)
        if values in self._right:
            return
        if not self._read:
            self._read = True
            self._right |= dict.fromkeys(self._from_disk())
            if values in self._right:
                return
        if self._proofs is None:
            self._proofs = self._make()
        self._proofs.require(binding)
        self._right[values] = None
        self._to_disk(values)

    def _from_disk(self) -> list[tuple[int, ...]]:
        from lend.driver.kept import store

        disk = store(snapshot())
        content = None if disk is None or self.on_disk is None else disk.find(self.on_disk.key + b"v")
        return [] if content is None else [tuple(values) for values in json.loads(content)]

    def _to_disk(self, values: tuple[int, ...]) -> None:
        """Add the values to those that are there by now."""
        from lend.driver.kept import store

        while len(self._right) > MOST:
            del self._right[next(iter(self._right))]
        disk = store(snapshot())
        if disk is None or self.on_disk is None:
            return
        known = [other for other in self._from_disk() if other != values]
        disk.save(self.on_disk.key + b"v", json.dumps([*known[-MOST + 1 :], values]).encode())
