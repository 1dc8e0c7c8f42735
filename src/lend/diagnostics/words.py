"""Words that messages share.

Does: numbers with their nouns, articles, what a Python value is called, the name that was meant.  Does not: whole sentences.

Example: `counted(2, "dimension") == "2 dimensions"`; `class_of_value([]) == "a list"`.
"""

from __future__ import annotations

from collections.abc import Iterable


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """A number and its noun: `1 value`, `0 values`."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def with_article(name: str) -> str:
    """`name` with its indefinite article."""
    return f"{'an' if name[:1].lower() in 'aeiou' or name == 'ndarray' else 'a'} {name}"


def class_of_value(value: object) -> str:
    """What a Python value is: `a list`, `None`."""
    return "None" if value is None else with_article(type(value).__name__)


def similar(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` is a misspelling of, if there is one."""
    from difflib import get_close_matches  # for who misspells something, and nobody else

    found = get_close_matches(name, list(known), 1)
    return found[0] if found else None
