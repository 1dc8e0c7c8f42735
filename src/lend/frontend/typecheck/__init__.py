"""Typing: from the untyped tree to the typed tree.

One class, in layers, one file each:

    emitter <- wording <- conversions <- merging <- branches <- operators <- arrays <- expressions <- known_functions <- inlining
    <- calls <- reductions <- statements <- loops <- parallel <- kernel_calls <- kernels

Each layer knows those before it; what a layer needs of a later one stands as a method to be defined there.
"""

from lend.frontend.typecheck.kernels import Checked, typecheck

__all__ = ["Checked", "typecheck"]
