"""Arrays that lie alike in every process.

Each array begins 64 bytes after the start of a page, as large arrays of C's allocators do, in a buffer that NumPy allocates, so
that those of 4 MiB and more are advised to use huge pages.
"""

from __future__ import annotations

from typing import Any

import numpy as np

PAGE, LINE = 4096, 64


def empty(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array of that shape, without values."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    raw = np.empty(size + 2 * PAGE, np.uint8)
    offset = -raw.ctypes.data % PAGE + LINE
    return raw[offset : offset + size].view(dtype).reshape(shape)
