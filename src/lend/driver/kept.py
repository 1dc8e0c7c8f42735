"""What is kept on disk of kernels: verdicts, tables and machine code, so that a process need not prove or compile again.

Does: find and save it under keys of everything that decides it.  Does not: know files (`runtime/store.py`) or load code.
Invariants: what is found is what this process would make itself: keys hold source, types, settings, versions and processor
(`digests.py`, `environment.py`), and captured values are compared (`reads.py`); a kernel of which something cannot be said that
way is made anew in each process.

Under a kernel's key stand the ways to the captured values that were read, of the last few variants; under the key with what
stands at the ends of a way, the entry itself.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from lend.diagnostics.errors import LendError
from lend.diagnostics.proofs import Proofs
from lend.diagnostics.records import dataclass
from lend.diagnostics.spans import Span
from lend.driver.digests import Digester, Unkeepable
from lend.driver.entries import Coder
from lend.driver.environment import environment
from lend.driver.reads import Reads, follow, note
from lend.frontend.capture import Captured, Dependency
from lend.language.moves import Move
from lend.language.signature import ArgumentType, Contract, ResultShape, Signature
from lend.language.types import ScalarType, Type
from lend.runtime.moves import kept as kept_moves
from lend.runtime.settings import Settings, snapshot
from lend.runtime.store import Store, digest

if TYPE_CHECKING:
    from lend.driver.definition import Definition

VARIANTS = 8
"""So many sets of captured values are remembered for a kernel."""

MEGABYTE = 1 << 20

Loops = tuple[tuple[tuple[int | None, int], ...], ...] | None


@cache
def _store(folder: str, limit: int) -> Store:
    return Store(folder, limit)


def store(settings: Settings) -> Store | None:
    """Where compiled kernels are kept; None where they are not, or where each step of the compiler is to be seen."""
    if not settings.cache or settings.dump or settings.verify:
        return None
    return _store(os.path.abspath(settings.cache_dir), settings.cache_limit * MEGABYTE)


class Verdicts:
    """Proofs as they were kept, read when they are wanted. `dependencies`: captured values for which they hold."""

    def __init__(self, coder: Coder, text: bytes, dependencies: Sequence[Dependency]) -> None:
        self.dependencies = tuple(dependencies)
        self._coder = coder
        self._text = text

    def read(self) -> Proofs:
        """The proofs."""
        return self._coder.to_proofs(json.loads(self._text))


@dataclass(frozen=True, eq=False)
class KeptDefinition:
    """A kernel that was accepted when it was defined before. `verdicts`: for the signature's types, if they are known."""

    contracts: tuple[Contract, ...]
    span: Span
    verdicts: Verdicts | None


@dataclass(frozen=True, eq=False)
class Place:
    """Where a specialisation is kept: its key, captured values included, and the ways to these."""

    key: bytes
    reads: Reads


@dataclass(frozen=True, eq=False)
class KeptCode:
    """A specialisation that was compiled before."""

    object_code: bytes
    dependencies: tuple[Dependency, ...]
    leaves: tuple[Type, ...]
    dims: int
    result: ResultShape | None
    sites: tuple[Any, ...]
    loops: Loops
    verdicts: Verdicts | None
    open_values: tuple[tuple[bool, int], ...] | None = None  # which values of a call its proofs wait for
    place: Place | None = None
    moves: tuple[Move | None, ...] = ()  # what a device needs of the arrays
    tested: tuple[str, ...] = ()  # index arrays that the code tests itself


# -------------------------------------------------------------------------------------------------------------- definitions


def definition_key(captured: Captured, signature: Signature, math: str, require: str | None) -> bytes | None:
    """The key of a kernel as defined; None if it cannot be kept."""
    try:
        settings = snapshot()
        if not settings.cache:
            return None
        return _key(environment(settings), Digester().kernel(captured, signature, math, require))
    except (LendError, Unkeepable, OSError):  # a wrong setting is reported at the first call
        return None


def find_definition(key: bytes, captured: Captured, signature: Signature) -> KeptDefinition | None:
    """The kernel, if it has been accepted before."""
    kept = store(snapshot())
    found = kept and _find(kept, key + b"d", captured, signature, ())
    if not found:
        return None
    reads, (head, proofs) = found
    coder, fields = Coder(reads, ()), json.loads(head)
    contracts = tuple(coder.to_contract(contract, signature) for contract in fields["contracts"])
    return KeptDefinition(
        contracts, coder.to_span(fields["span"]), Verdicts(coder, proofs, reads.dependencies) if proofs else None
    )


def save_definition(definition: Definition, reads: Sequence[Dependency], proofs: Proofs | None) -> None:
    """Keep that a kernel was accepted. `proofs`: if they do not depend on the values of a call."""
    kept = store(snapshot())
    if kept is None or definition.key is None:
        return
    try:
        noted = note(definition.captured, (), [*reads, *_in_contracts(definition)])
        coder = Coder(noted, ())
        fields = {"contracts": [coder.contract(c) for c in definition.contracts], "span": coder.span(definition.span)}
        parts = (_json(fields), b"" if proofs is None else _json(coder.proofs(proofs)))
        _save(kept, definition.key + b"d", definition.signature, noted, parts)
    except Unkeepable:
        return


def _in_contracts(definition: Definition) -> list[Dependency]:
    """What contracts speak of beside the call's values: whether they may, was judged when the kernel was defined."""
    own = {spec.name for spec in definition.signature.parameters}
    names = {name for contract in definition.contracts for name in compile(contract.holds.text, "", "eval").co_names}  # type: ignore[attr-defined]  # pyright: ignore
    found = [(name, *definition.captured.resolve(name)) for name in sorted(names - own)]
    return [Dependency(definition.captured, name, value) for name, there, value in found if there]


# --------------------------------------------------------------------------------------------------------- specialisations


def code_key(
    definition: Definition,
    types: Sequence[ArgumentType],
    typevars: dict[TypeVar, ScalarType],
    settings: Settings,
    device: str | None = None,
) -> bytes | None:
    """The key of a specialisation, for the processor or a device of that key; None if it cannot be kept."""
    if definition.key is None:
        return None
    digester = _numbered(definition.signature)
    try:
        described = ([digester.argument(type) for type in types], digester.typevars(typevars))
    except Unkeepable:
        return None
    place = () if device is None else (device,)
    return _key(definition.key, environment(settings), described, *place) + b"c"


def find_code(kept: Store, key: bytes, definition: Definition, types: Sequence[ArgumentType]) -> KeptCode | None:
    """The specialisation, if it has been compiled before, for the captured values as they are now."""
    found = _find(kept, key, definition.captured, definition.signature, types)
    if not found:
        return None
    reads, (head, proofs, object_code) = found
    coder, fields = Coder(reads, types), json.loads(head)
    loops = fields["loops"]
    return KeptCode(
        object_code,
        tuple(reads.dependencies),
        tuple(map(coder.to_type, fields["leaves"])),
        fields["dims"],
        coder.to_result(fields["result"]),
        tuple(map(coder.to_site, fields["sites"])),
        None if loops is None else tuple(tuple((place, constant) for place, constant in loop) for loop in loops),
        Verdicts(coder, proofs, reads.dependencies),
        None if fields["open"] is None else tuple((is_dim, place) for is_dim, place in fields["open"]),
        Place(_variant_key(key, definition.signature, reads), reads),
        kept_moves(fields["moves"]),
        tuple(fields["tested"]),
    )


def save_code(
    kept: Store,
    key: bytes,
    definition: Definition,
    types: Sequence[ArgumentType],
    reads: Sequence[Dependency],
    code: KeptCode,
    proofs: Proofs,
) -> Place | None:
    """Keep a specialisation; gives where, if it can be kept."""
    try:
        noted = note(definition.captured, types, [*reads, *_in_contracts(definition)])
        coder = Coder(noted, types)
        fields = {
            "leaves": [coder.type(leaf) for leaf in code.leaves],
            "dims": code.dims,
            "result": coder.result(code.result),
            "sites": [coder.site(site) for site in code.sites],
            "loops": code.loops,
            "open": code.open_values,
            "moves": code.moves,
            "tested": code.tested,
        }
        parts = (_json(fields), _json(coder.proofs(proofs)), code.object_code)
        return Place(_save(kept, key, definition.signature, noted, parts), noted)
    except Unkeepable:
        return None


# ------------------------------------------------------------------------------------------------------------------ entries


def _numbered(signature: Signature) -> Digester:
    """A digester that numbers the signature's names first."""
    digester = Digester()
    for spec in signature.parameters:
        digester.kind(spec.kind)
    return digester


def _key(*parts: Any) -> bytes:
    return digest(repr(parts).encode("utf-8", "surrogatepass"))


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _find(
    kept: Store, key: bytes, captured: Captured, signature: Signature, types: Sequence[ArgumentType]
) -> tuple[Reads, tuple[bytes, ...]] | None:
    """The entry of the variant whose captured values are as they are now."""
    ways = kept.find(key)
    if ways is None:
        return None
    for variant in json.loads(ways):
        reads = follow(captured, types, *variant)
        if reads is None:
            continue
        try:
            content = kept.find(_variant_key(key, signature, reads))
        except Unkeepable:
            continue
        if content is not None:
            return reads, unpack(content)
    return None


def _save(kept: Store, key: bytes, signature: Signature, reads: Reads, parts: tuple[bytes, ...]) -> bytes:
    """Keep an entry; gives its own key."""
    variant_key = _variant_key(key, signature, reads)
    kept.save(variant_key, pack(parts))
    variant = [reads.functions, reads.ways]
    known = kept.find(key)
    others = [] if known is None else [other for other in json.loads(known) if other != variant]
    kept.save(key, _json([variant, *others[: VARIANTS - 1]]))
    return variant_key


def _variant_key(key: bytes, signature: Signature, reads: Reads) -> bytes:
    return _key(key, reads.functions, reads.ways, reads.description(_numbered(signature)))


def pack(parts: tuple[bytes, ...]) -> bytes:
    """Several texts in one."""
    return b"".join([len(parts).to_bytes(4, "little"), *(len(part).to_bytes(4, "little") for part in parts), *parts])


def unpack(content: bytes) -> tuple[bytes, ...]:
    """What was packed."""
    count = int.from_bytes(content[:4], "little")
    at = 4 + 4 * count
    parts: list[bytes] = []
    for k in range(count):
        end = at + int.from_bytes(content[4 + 4 * k : 8 + 4 * k], "little")
        parts.append(content[at:end])
        at = end
    return tuple(parts)
