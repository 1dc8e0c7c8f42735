"""How the runtime and compiled host functions meet: argument words, result words, the fault record.

A compiled kernel is `i32 kernel(ptr arguments, ptr results, ptr fault)`; every block is made of 8-byte little-endian words.

- Arguments: first each dim of `Kernel.dims` (one word, an i64), then each leaf of `Kernel.parameters`:
  a scalar is stored at the start of its words as it is in memory (bool_ a byte 0 or 1; complex64 one word, complex128 two);
  an array of d dimensions is a pointer, d sizes (in elements), d strides (in bytes): 1 + 2d words.
- Results: each leaf that the kernel yields: a scalar as above; an array is a pointer, the allocation to free with C's `free`
  (0 if the memory is an argument's), d sizes, d strides: 2 + 2d words.
- Fault record: `FAULT_WORDS` words; the caller sets FAULT_LOCK to 0 and FAULT_THREAD to `NO_FAULT`. The function returns 0 if all
  went well and 1 if there is a fault; then the record holds that of the smallest thread.

Does: fix the numbers, for both sides.  Does not: pack or unpack.
"""

from __future__ import annotations

from lend.language.types import ArrayType, ScalarType, Type

FAULT_LOCK = 0  # held while a thread writes the record
FAULT_THREAD = 1  # row-major position of the iteration; HOST_LEVEL outside parallel loops; NO_FAULT if there is none
FAULT_SITE = 2  # position in `Kernel.sites`
FAULT_DIMENSION = 3  # of the array
FAULT_INDEX = 4  # the value that failed
FAULT_SIZE = 5  # what it was compared with
FAULT_INDICES = 6  # the values of up to six indices of the parallel loop
FAULT_WORDS = 12

MAX_SIZE = 1 << 46
"""The largest dimension of an array: sums of a few subscripts of such arrays do not wrap, which proofs rely on."""

NO_FAULT = (1 << 63) - 1
HOST_LEVEL = -1
DEVICE_FAILED = -2  # a site: a device did not do what it was asked to
WRONG_INDEX = -3  # a site: an index array, tested by the loop that reads it, is not what its type says; nothing has been stored
NO_SITE = -1  # no memory for what the user did not ask for: partial results of a reduction, a local array


def argument_words(type: Type) -> int:
    """The number of words of an argument leaf."""
    if isinstance(type, ArrayType):
        return 1 + 2 * type.dimensions
    return scalar_words(type)


def result_words(type: Type) -> int:
    """The number of words of a result leaf."""
    if isinstance(type, ArrayType):
        return 2 + 2 * type.dimensions
    return scalar_words(type)


def scalar_words(type: ScalarType) -> int:
    """The number of words of a scalar."""
    return 2 if type.bits == 128 else 1
