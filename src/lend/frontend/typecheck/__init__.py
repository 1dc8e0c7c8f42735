"""Typing: from the untyped tree to the typed tree.

One class, in layers, one file each: `emitter` <- `conversions` <- `merging` <- `operators` <- `arrays` <- `expressions` <- `calls`
<- `reductions` <- `statements` <- `loops` <- `parallel` <- `kernels`. Each layer knows those before it.
"""

from lend.frontend.typecheck.kernels import Checked, typecheck

__all__ = ["Checked", "typecheck"]
