"""The fixed reduction tree, written a second time with NumPy: the bits that a reduction must have."""

import numpy as np

BLOCK, LANES = 2048, 64


def reduce_tree(values, init, operator, identity):
    """`init op tree(values)` in the element type of `values`, which are in row-major order of the iterations."""
    if len(values) == 0:
        return init
    partials = []
    for begin in range(0, len(values), BLOCK):
        lanes = np.full(LANES, identity, values.dtype)
        block = values[begin : begin + BLOCK]
        for row in range(0, len(block), LANES):
            piece = block[row : row + LANES]
            lanes[: len(piece)] = operator(lanes[: len(piece)], piece)
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = operator(lanes[:half], lanes[half:])
        partials.append(lanes[0])
    while len(partials) > 1:
        pairs = [operator(partials[k], partials[k + 1]) for k in range(0, len(partials) - 1, 2)]
        partials = pairs + partials[len(partials) - len(partials) % 2 :]
    return operator(values.dtype.type(init), partials[0])


def tree_sum(values, init=0.0):
    """The sum, with the bits of a kernel's `+=`."""
    return reduce_tree(values, init, np.add, -0.0 if values.dtype.kind in "fc" else 0)
