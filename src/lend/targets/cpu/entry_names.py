"""What entry points and those who load them call things by.

Does: name symbols, and the functions that all entry points share.  Does not: write code.
"""

from __future__ import annotations

from typing import NamedTuple

ENTRY = "lend_entry"
"""`ptr lend_entry(ptr callable, ptr args, i64 nargsf, ptr kwnames)`: Python's `vectorcallfunc`."""

NEXT = "lend_entry_next"
"""The `vectorcallfunc` that gets the calls which this entry leaves."""

OBJECTS = "lend_entry_objects"
"""`[n x ptr]`: the objects and addresses that the code compares with, calls or gives back."""


class Address(NamedTuple):
    """An address of something that is no Python object, or 0, for the table of objects."""

    value: int


class Support(NamedTuple):
    """The addresses of what all entry points share (`entry_support.py`).

    miss: a `vectorcallfunc`. match(args, given, kwnames, slots, names, defaults, count, positional): arguments in the
    parameters' order. captured(dict, names, values, count): the names still have these values. attribute(object, name,
    value): the same of one attribute. dtype(descr, numbers): the type number is in the set (one bit each), the byte order
    native. owned(base): the memory belongs to no file mapping. tested(test, elements, count, limit): the test's verdict.
    unlocked(kernel, words, results, fault): the kernel's status. fault(callback, record): raises. written(memory): a device's
    memory was lent for writing once more. told(callback, words, bytes): what the callback gives for these bytes.
    """

    miss: int
    match: int
    captured: int
    attribute: int
    dtype: int
    owned: int
    tested: int
    unlocked: int
    fault: int
    written: int
    told: int


SUPPORT = {
    "miss": ("ptr", "ptr, ptr, i64, ptr"),
    "match": ("i1", "ptr, i64, ptr, ptr, ptr, ptr, i64, i64"),
    "captured": ("i1", "ptr, ptr, ptr, i64"),
    "attribute": ("i1", "ptr, ptr, ptr"),
    "dtype": ("i1", "ptr, i64"),
    "owned": ("i1", "ptr"),
    "tested": ("i32", "ptr, ptr, i64, i64"),
    "unlocked": ("i32", "ptr, ptr, ptr, ptr"),
    "fault": ("ptr", "ptr, ptr"),
    "written": ("i1", "ptr"),
    "told": ("ptr", "ptr, ptr, i64"),
}
"""Result and parameters of each function."""


def support_name(function: str) -> str:
    """The symbol of a function of the module."""
    return f"lend_entry_{function}"
