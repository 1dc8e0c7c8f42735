"""The end of a run of streaming stores.

Does: define `@lend.streamed`, after which stores that went past the caches are seen in order with what follows.  Does not: know
where it is called.
Invariants: on x86 such stores are ordered by nothing else that a thread pool does; elsewhere they are as ordered as others.
"""

from __future__ import annotations

from lend.targets.cpu.machine import Machine

MARK = "declare void @lend.streamed()"


def attach(ir: str, machine: Machine) -> str:
    """`ir` with the function defined, if it is called."""
    if MARK not in ir:
        return ir
    x86 = machine.architecture in ("x86_64", "i686", "i386")
    body = "call void @llvm.x86.sse.sfence()" if x86 else "fence release"
    declared = "declare void @llvm.x86.sse.sfence()\n" if x86 else ""
    return ir.replace(MARK, f"{declared}define internal void @lend.streamed() alwaysinline nounwind {{\n  {body}\n  ret void\n}}")
