"""Arrays that lie against pages no one may touch: an access beyond them ends the process instead of passing unseen."""

import ctypes
import mmap

import numpy as np

PAGE = mmap.PAGESIZE
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_kept = []  # the maps, for as long as the process lives: a guard that is unmapped guards nothing


def guarded(array, side="end"):
    """A copy of `array`, row-major, whose last byte (or first, `side="start"`) touches a page without access.

    The other side is guarded too, up to a page away.
    """
    body = max(1, -(-array.nbytes // PAGE)) * PAGE
    memory = mmap.mmap(-1, body + 2 * PAGE)
    _kept.append(memory)
    raw = np.frombuffer(memory, np.uint8)
    for page in (0, PAGE + body):
        if _libc.mprotect(raw.ctypes.data + page, PAGE, mmap.PROT_NONE if hasattr(mmap, "PROT_NONE") else 0) != 0:
            raise OSError(ctypes.get_errno(), "mprotect")
    offset = PAGE if side == "start" else PAGE + body - array.nbytes
    view = np.ndarray(array.shape, array.dtype, raw, offset)
    view[...] = array
    return view
