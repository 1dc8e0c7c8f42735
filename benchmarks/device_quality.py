"""What the paper's kernels take of a processor, beside CUDA C++ and HIP.

    python -m benchmarks.device_quality [--json FILE]

Compiles `paper_kernels.py` for sm_90 (assembled by `ptxas`) and gfx90a. The first table has registers and spills at one element
for each thread, beside those of the Base_CUDA and Base_HIP variants of the RAJA Performance Suite (release 2024.07) as nvcc 13
and clang 19 compile them, and those of the same loops in C++ of ours (`paper_kernels.cu`) as the compilers that are here do. Then
each kernel that takes more than the suite's, why, and how many warps (32 threads on sm_90, 64 on gfx90a) a processor holds with
these registers and with theirs. The second has two and four elements for each thread: registers, and accesses of 16 bytes in the
code. Nothing runs, and no GPU is needed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import paper_kernels
from benchmarks.device_cpp import Taken, compiled, wide_accesses
from lend.driver.inspected import DeviceLowered, named_target
from lend.driver.kernel import Kernel
from lend.driver.pipeline import Compilation

THEIRS: dict[str, tuple[int, int]] = {
    "del_dot_vec_2d": (46, 55), "energy_1": (19, 13), "energy_2": (28, 25), "energy_3": (22, 14), "energy_4": (14, 6),
    "energy_5": (32, 26), "energy_6": (27, 24), "fir": (28, 8), "ltimes": (30, 13), "matvec_3d_stencil": (30, 90),
    "pressure_1": (10, 5), "pressure_2": (14, 9), "vol3d": (48, 50),
}  # fmt: skip
"""Registers for each thread: nvcc's on sm_90, clang's on gfx90a."""

CAUSES: dict[tuple[str, str], str] = {
    (
        "fir",
        "cuda",
    ): "the suite's loop over the taps stays a loop; ptxas begins loads for all 32 registers that leave 64 warps, and"
    " with `.maxnreg 28` it takes 28 for as many instructions",
    (
        "matvec_3d_stencil",
        "cuda",
    ): "ptxas begins loads for all 32 registers that leave 64 warps, and with `.maxnreg 30` it takes 30 for as many instructions",
    ("fir", "hip"): "the suite's loop over the taps stays a loop; here 8 accesses of 16 bytes are begun before the first is used",
}
"""What is different in the suite, where a kernel takes more registers than the suite's."""

ELEMENTS = (2, 4)
SOURCE = Path(__file__).with_name("paper_kernels.cu")
VENDORS = (("cuda", "cuda:sm_90"), ("hip", "hip:gfx90a"))

WARPS = {"cuda": (64, 2048), "hip": (8, 512)}
"""How many warps a processor (NVIDIA) or a SIMD (AMD) holds at most, and how many registers of one lane, taken by eights."""


def warps(vendor: str, registers: int) -> int:
    """How many warps fit with so many registers for each thread."""
    most, room = WARPS[vendor]
    fit = room // (-(-registers // 8) * 8)
    return min(most, fit // 4 * 4 if vendor == "cuda" else fit)  # a quarter of NVIDIA's processor has a quarter of each


def misses(rows: list[dict[str, Any]]) -> Iterator[str]:
    """A line for each kernel that takes more registers than theirs, or spills."""
    for row in rows:
        for vendor, name in (("cuda", "sm_90"), ("hip", "gfx90a")):
            own, theirs = row[vendor]["lend"], row[vendor]["theirs"]
            if own > theirs or row[vendor]["spilled"]:
                why = CAUSES.get((row["kernel"], vendor), "not known yet")
                fit = f"{warps(vendor, own)} warps for {warps(vendor, theirs)}"
                same = row[vendor]["cpp"]
                alike = "" if same is None else f"; of the loop as it is here C++ makes {same}"
                yield f"{row['kernel']} on {name}: {own} for {theirs}, {fit}: {why}{alike}"


def compilations() -> Iterator[tuple[str, Compilation]]:
    """Each kernel, for the types of its signature or, where that leaves a number of arrays open, of a call."""
    kernels: dict[str, Any] = {k.__name__: k for k in vars(paper_kernels).values() if isinstance(k, Kernel)}
    small = np.zeros((3, 3, 3))
    paper_kernels.matvec_3d_stencil(small.copy(), small, tuple(small.copy() for _ in range(27)))
    for name in THEIRS:
        yield name, next(iter(kernels[name].compilations()))


def lowered(compilation: Compilation, target: str, elements: int) -> DeviceLowered:
    """A kernel with so many elements for each thread."""
    found = named_target(target)
    assert found is not None
    fresh = compilation.fresh()
    fresh.elements = elements
    return DeviceLowered(fresh, found)


def one_element(name: str, compilation: Compilation, cpp: dict[str, Taken]) -> dict[str, Any]:
    """A row of the first table."""
    row: dict[str, Any] = {"kernel": name}
    for (vendor, target), theirs in zip(VENDORS, THEIRS[name], strict=True):
        own = lowered(compilation, target, 1).resources
        row[vendor] = {"lend": max(r.registers for r in own), "theirs": theirs, "spilled": sum(r.spilled for r in own)}
        row[vendor] |= {"regions": len(own), "cpp": cpp[vendor].get(name, (None, 0))[0]}
    return row


def several(name: str, compilation: Compilation, cpp: dict[tuple[str, int], Taken]) -> dict[str, Any]:
    """A row of the second: by vendor and number of elements, lend's registers and wide accesses, and those of C++."""
    row: dict[str, Any] = {"kernel": name}
    for vendor, target in VENDORS:
        for elements in ELEMENTS:
            made = lowered(compilation, target, elements)
            packs = [each for each in made.resources if each.kernel.endswith("_packs")]
            wide = sum(wide_accesses(made.asm, vendor).get(each.kernel, 0) for each in packs)
            own = (max(each.registers for each in packs), wide) if packs else None
            spilled = sum(each.spilled for each in packs)
            row[f"{vendor} {elements}"] = {"lend": own, "spilled": spilled, "cpp": cpp[vendor, elements].get(name)}
    return row


def main(arguments: list[str]) -> int:
    cpp = {(vendor, n): compiled(SOURCE, vendor, [f"ELEMENTS={n}"]) for vendor, _ in VENDORS for n in (1, *ELEMENTS)}
    kernels = dict(compilations())
    rows = [one_element(name, each, {vendor: cpp[vendor, 1] for vendor, _ in VENDORS}) for name, each in kernels.items()]
    print(f"{'one element':<20}  sm_90: lend  suite  C++  spilled   gfx90a: lend  suite  C++  spilled")
    for row in rows:
        line = f"{row['kernel']:<20}  "
        for vendor, width in (("cuda", 10), ("hip", 14)):
            v = row[vendor]
            mark = "*" if v["lend"] > v["theirs"] or v["spilled"] else " "
            line += f"{v['lend']:>{width}}{mark} {v['theirs']:>5} {v['cpp'] or '-':>4} {v['spilled']:>8}"
        print(line)
    print("", *misses(rows), "", sep="\n")
    wide = [several(name, each, cpp) for name, each in kernels.items()]
    heads = [f"{target.partition(':')[2]} x{n}: lend, C++" for _, target in VENDORS for n in ELEMENTS]
    print(f"{'several elements':<20}", *(f"{head:>20}" for head in heads))
    for row in wide:
        cells = [row[f"{vendor} {n}"] for vendor, _ in VENDORS for n in ELEMENTS]
        print(f"{row['kernel']:<20}", *(f"{_cell(cell['lend']):>11} {_cell(cell['cpp']):>8}" for cell in cells))
    print("registers/accesses of 16 bytes")
    if "--json" in arguments:
        Path(arguments[arguments.index("--json") + 1]).write_text(json.dumps({"one": rows, "several": wide}, indent=1))
    return 0


def _cell(taken: tuple[int, int] | None) -> str:
    return "-" if taken is None else f"{taken[0]}/{taken[1]}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
