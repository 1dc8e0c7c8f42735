"""Radix sort: the engine of every function that sorts.

Does: sort temporaries by the keys of `keys.py`, stably, and move others along.  Does not: copy arguments or make results
(`sorting.py`).
Invariants: nothing depends on the number of threads; elements are moved, never computed.

Least significant digit first: a pass counts the digits of each chunk, turns the counts into the places where each chunk's digits
begin, and moves each element to its place. Digits cover only bits that differ somewhere. Of long keys a few digits below the top
tell nearly all elements apart: how many is estimated from a sample; these are sorted by passes, and what is left, short runs of
keys that agree in them, by insertion. Where that turns out to be work, the passes start again with all digits.

The places that a pass moves elements to are distinct by construction: each is the value of a counter, one for each digit and
chunk, that starts where the elements of smaller digits and those of its digit in earlier chunks end, and is counted up once for
each of its own. No rule about integers sees this, so these writes stand in `lend.unchecked`; so do those of the insertion, whose
runs of keys end in a chunk only where the first run of the next begins.
"""

from __future__ import annotations

from typing import Any

import lend
from lend import i32, i64, u64
from lend.algorithms.keys import key_of, key_type

CHUNK = 1 << 16
"""Elements that one iteration counts and moves."""

BITS = 10
BINS = 1 << BITS
"""Digits of a pass: as many counters as the near caches hold, with the lines that they point at; half as many if values are moved
too."""

SAMPLE = 1024
SHORT = 48
"""Rows of so many elements are sorted by insertion alone."""

PATIENCE = 8
"""Moves by insertion, for each element of a chunk, before the passes start again."""


@lend.function
def sort_rows(keys: Any, values: Any, spare: Any, spares: Any) -> Any:
    """Sort rows: the arrays that hold the sorted keys and, moved along, the values, of those given and the spare ones.

    All arrays are temporaries of one length and differ from each other; `values` and `spares` are tuples of none or one.
    """
    n = len(keys)
    widest = BITS - len(values)
    low, high, start = 0, 0, 0
    if n > SHORT:
        low, high = varying_bits(keys)
        start = low
        if high - low > 2 * widest:
            start = max(low, high - (telling_bits(keys, high) if n >= CHUNK else 3 * widest))
    low, high, start = forgetting(low), forgetting(high), forgetting(start)
    counts = lend.zeros(i64, lend.cdiv(n, CHUNK), BINS)
    starts = lend.zeros(i64, BINS)
    for attempt in range(2):
        first = low if attempt > 0 else start
        passes = forgetting(max(lend.cdiv(high - first, widest), 1) if n > SHORT else 0)
        even = lend.cdiv(high - first, max(passes, 1))
        for p in range(passes):
            shift = first + p * even
            width = max(min(even, high - shift), 0)
            count_digits(keys, counts, shift, width)
            if begin_digits(counts, starts) < n:
                move(keys, values, spare, spares, counts, starts, shift, width)
                keys, spare = spare, keys
                values, spares = spares, values
        if passes > 0 and first == low:
            break
        if insert(keys, values, first if passes > 0 else 63):
            break
    return keys, values


@lend.function
def forgetting(value: Any) -> Any:
    """The value, without where it comes from: what is read from an array has no history that proofs would carry along."""
    box = lend.zeros(i64, 1)
    box[0] = value
    return box[0]


@lend.function
def varying_bits(keys: Any) -> Any:
    """The first bit in which keys differ, counted from the least, and the one after the last."""
    element = keys.dtype
    first = key_of(keys[0], element)
    differ = key_type(element)(0)
    for i in lend.grid(len(keys)):
        differ |= key_of(keys[i], element) ^ first
    bits = u64(differ)
    low, high = 0, 0
    if bits != 0:
        while (bits >> u64(low)) & 1 == 0:
            low += 1
        while high < 64 and (bits >> u64(high)) != 0:
            high += 1
    return low, high


@lend.function
def telling_bits(keys: Any, high: Any) -> Any:
    """How many bits from the one before `high` down tell nearly all keys apart, by a sample."""
    n = len(keys)
    element = keys.dtype
    sample = lend.empty(u64, SAMPLE)
    for k in lend.grid(SAMPLE):
        sample[k] = u64(key_of(keys[(u64(k) * 0x9E3779B97F4A7C15) % u64(n)], element))
    nearest = lend.empty(u64, SAMPLE)
    for k in lend.grid(SAMPLE):
        least = ~u64(0)
        for j in range(SAMPLE):
            differ = sample[k] ^ sample[j]
            least = min(least, differ if differ != 0 else ~u64(0))
        nearest[k] = least
    bits = 0
    alike = SAMPLE
    while alike > 2 and bits < high:
        bits += 1
        alike = 0
        for k in range(SAMPLE):
            if nearest[k] >> u64(high - bits) == 0:
                alike += 1
    pairs = SAMPLE * SAMPLE
    while pairs < n:  # one pair of a sample is alike: as many of the keys are alike to another as there are keys per pair
        pairs = pairs * 2
        bits += 1
    return bits + 1


@lend.function
def digit(key: Any, element: Any, shift: Any, width: Any) -> Any:
    """The `width` bits of a key from the bit `shift` on."""
    return (u64(key_of(key, element)) << (u64(64 - shift - width) & 63) >> (u64(64 - width) & 63)) & (BINS - 1)


@lend.function
def count_digits(keys: Any, counts: Any, shift: Any, width: Any) -> None:
    """How many keys of each chunk have each digit."""
    n = len(keys)
    element = keys.dtype
    for c in lend.grid(counts.shape[0]):
        own = lend.local(i32, BINS)
        for d in range(BINS):
            own[d] = 0
        for i in range(c * CHUNK, min((c + 1) * CHUNK, n)):
            own[digit(keys[i], element, shift, width)] += 1
        for d in range(BINS):
            counts[c, d] = own[d]


@lend.function
def begin_digits(counts: Any, starts: Any) -> Any:
    """From counts to where each digit begins, and, from there on, where it begins in each chunk; the largest count of a digit."""
    most = i64(0)
    for d in lend.grid(BINS):
        total = i64(0)
        for c in range(counts.shape[0]):
            count = counts[c, d]
            counts[c, d] = total
            total += count
        starts[d] = total
        most = max(most, total)
    start = i64(0)
    for d in range(BINS):
        count = starts[d]
        starts[d] = start
        start += count
    return most


@lend.function
def move(keys: Any, values: Any, spare: Any, spares: Any, counts: Any, starts: Any, shift: Any, width: Any) -> None:
    """Each element to where its digit's elements of this chunk begin, or after the one before it."""
    n = len(keys)
    element = keys.dtype
    for c in lend.grid(counts.shape[0]):
        places = lend.local(i64, BINS)
        for d in range(BINS):
            places[d] = starts[d] + counts[c, d]
        for i in range(c * CHUNK, min((c + 1) * CHUNK, n)):
            key = keys[i]
            d = digit(key, element, shift, width)
            at = places[d]
            places[d] = at + 1
            value = values[0][i] if len(values) > 0 else 0
            with lend.unchecked("each counter begins where the one before it ends, and counts the elements that it places"):
                spare[at] = key
                if len(values) > 0:
                    spares[0][at] = value


@lend.function
def insert(keys: Any, values: Any, start: Any) -> Any:
    """Sort by all bits what is sorted by those from `start` on; False if that is more work than it should be."""
    n = len(keys)
    element = keys.dtype
    chunks = lend.cdiv(n, CHUNK)
    begins = lend.zeros(i64, chunks + 1)
    for c in lend.grid(chunks):
        begin = 0
        if c > 0:
            begin = n
            for i in range(c * CHUNK, min((c + 1) * CHUNK, n)):
                if not agree(keys[i - 1], keys[i], element, start):
                    begin = i
                    break
        begins[c] = begin
    begins[chunks] = n
    for c in range(chunks):
        begins[chunks - 1 - c] = min(begins[chunks - 1 - c], begins[chunks - c])
    impatient = False
    for c in lend.grid(chunks):
        first = begins[c]
        end = begins[c + 1]
        left = PATIENCE * max(end - first, CHUNK)
        with lend.unchecked("the runs of keys that begin in one chunk end where those of the next begin"):
            i = first + 1
            while i < end and left >= 0:
                key = keys[i]
                order = key_of(key, element)
                if key_of(keys[i - 1], element) > order:
                    value = values[0][i] if len(values) > 0 else 0
                    j = i
                    while j > first and key_of(keys[j - 1], element) > order:
                        keys[j] = keys[j - 1]
                        if len(values) > 0:
                            values[0][j] = values[0][j - 1]
                        j -= 1
                    keys[j] = key
                    if len(values) > 0:
                        values[0][j] = value
                    left -= i - j
                i += 1
        impatient |= left < 0
    return not impatient


@lend.function
def agree(a: Any, b: Any, element: Any, start: Any) -> Any:
    """Whether two keys agree in the bits from `start` on."""
    return (u64(key_of(a, element)) ^ u64(key_of(b, element))) >> (u64(start) & 63) == 0
