"""Annotations as Python holds them: objects, or strings under `from __future__ import annotations`.

Does: read those of a function or a class, in any version of Python.  Does not: evaluate or judge them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

if sys.version_info >= (3, 14):
    from annotationlib import Format, get_annotations

    def raw_annotations(owner: type | Callable[..., Any]) -> dict[str, Any]:
        """The annotations of `owner` itself, by name, in order; a name that is not defined yet is a `ForwardRef`."""
        return get_annotations(owner, format=Format.FORWARDREF)

else:
    from inspect import get_annotations

    def raw_annotations(owner: type | Callable[..., Any]) -> dict[str, Any]:
        """The annotations of `owner` itself, by name, in order."""
        return dict(get_annotations(owner))
