"""The benchmark kernels compute what they should: every layout, extents around the ends of vectors and blocks, 1 to 4 threads.

A kernel that is added to `benchmarks/kernels` is tested here without another line. Three comparisons:

- rounded as written (`math="strict"`), compiled code has the bits of `kernel.py`, which is another translation of the kernel;
- with the default mathematics, it agrees with NumPy within the case's tolerance, has the same bits on 1, 2, 3 and 4 threads, and
  leaves alone all bytes that are not its own;
- the same at extents that make several chunks.
"""

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from harness import CONTIGUOUS, IN_PLACE, LAYOUTS, arrays_of, bits, check, copies, place_all, threads

import lend

ROOT = str(Path(__file__).resolve().parents[2])
if ROOT not in sys.path:
    sys.path.append(ROOT)

from benchmarks.cases import Case, cases  # noqa: E402

CASES = {case.name: case for case in cases()}
THREADS = (1, 2, 3, 4)
CASES_BY_NAME = pytest.mark.parametrize("name", CASES)


def kernel_of(case: Case):
    return getattr(case.module("lend"), case.name)


@cache
def strict_of(name: str):
    return lend.kernel(math="strict")(kernel_of(CASES[name]).__wrapped__)


def result_of(value):
    """What a kernel returned, as a tuple of numbers that can be compared."""
    return tuple(float(item) for item in value) if isinstance(value, tuple) else value


def compare_with_numpy(case: Case, extents: tuple[tuple[int, ...], ...], layouts: tuple[str, ...]) -> None:
    given = getattr(case.module("numpy"), case.name)

    def reference(*arguments):
        value = given(*arguments)
        return None if value is None else result_of(value)

    if case.share < 1:
        compare_most(case, extents, layouts)
        return
    check(
        kernel_of(case),
        reference,
        lambda rng, number: case.arguments(rng, *extents[number]),
        sizes=range(len(extents)),
        layouts=layouts,
        rtol=case.rtol,
        atol=case.atol,
        python_up_to=-1,
        result=result_of,
        thread_counts=THREADS,
    )


def compare_most(case: Case, extents: tuple[tuple[int, ...], ...], layouts: tuple[str, ...]) -> None:
    """As above, where one rounding may tip an element over: all but a small share of the elements agree."""
    for number, sizes in enumerate(extents):
        given = case.arguments(np.random.default_rng(number), *sizes)
        wanted = copies(given)
        getattr(case.module("numpy"), case.name)(*wanted)
        for layout in layouts:
            seen = []
            for count in THREADS:
                lent, placed = place_all(given, layout)
                with threads(count):
                    kernel_of(case)(*lent)
                for item, expected in zip(placed, arrays_of(wanted), strict=True):
                    item.assert_intact()
                    different = np.count_nonzero(item.view != expected)
                    assert different <= max(1, (1 - case.share) * expected.size), (
                        f"{case.name} {sizes} {layout}: {different} differ"
                    )
                seen.append([bits(np.ascontiguousarray(item.view)) for item in placed])
            assert seen == seen[:1] * len(THREADS), f"{case.name} {sizes} {layout}: other bits on other numbers of threads"


@CASES_BY_NAME
@pytest.mark.parametrize("layout", LAYOUTS)
def test_strict_code_has_the_bits_of_plain_python(name: str, layout: str) -> None:
    case = CASES[name]
    strict = strict_of(name)
    for number, extents in enumerate(case.test_extents):
        given = case.arguments(np.random.default_rng(number), *extents)
        if layout == "F" and all(array.ndim < 2 for array in arrays_of(given)):
            return
        lent, placed = place_all(given, "C")
        wanted = bits(strict.py(*lent)), [np.ascontiguousarray(item.view) for item in placed]
        lent, placed = place_all(given, layout)
        with threads(2):
            value = bits(strict(*lent))
        assert value == wanted[0], f"{name} {extents} {layout}: another result"
        if not IN_PLACE and name in ("bilateral", "planckian"):  # a device's own `exp`
            continue
        for position, (item, plain) in enumerate(zip(placed, wanted[1], strict=True)):
            item.assert_intact()
            np.testing.assert_array_equal(item.view, plain, err_msg=f"{name} {extents} {layout}, array {position}")


@CASES_BY_NAME
def test_default_code_agrees_with_numpy_on_every_layout(name: str) -> None:
    case = CASES[name]
    compare_with_numpy(case, case.test_extents, LAYOUTS)


@CASES_BY_NAME
def test_several_chunks_agree_with_numpy_and_with_each_other(name: str) -> None:
    case = CASES[name]
    compare_with_numpy(case, case.chunked_extents, ("C", "F", "reversed", "mixed"))


@CASES_BY_NAME
def test_strict_code_agrees_with_default_code_in_several_chunks(name: str) -> None:
    """The vector code of both, at extents that plain Python would take minutes for."""
    case = CASES[name]
    strict = strict_of(name)
    for extents in case.chunked_extents:
        given = case.arguments(np.random.default_rng(len(extents)), *extents)
        outcomes = []
        for kernel in (kernel_of(case), strict):
            for number in THREADS:
                lent, placed = place_all(given, *CONTIGUOUS)
                with threads(number):
                    outcomes.append((result_of(kernel(*lent)), [item.view for item in placed]))
        for value, arrays in outcomes[1:]:
            if value is not None:
                np.testing.assert_allclose(value, outcomes[0][0], rtol=case.rtol, atol=case.atol)
            for one, other in zip(arrays, outcomes[0][1], strict=True):
                close = np.isclose(one, other, rtol=case.rtol, atol=case.atol)
                assert close.mean() >= case.share if close.size else True, f"{name} {extents}"
        for first in (0, len(THREADS)):  # each of the two has one set of bits
            for value, arrays in outcomes[first + 1 : first + len(THREADS)]:
                assert bits(value) == bits(outcomes[first][0])
                assert [bits(array) for array in arrays] == [bits(array) for array in outcomes[first][1]]


@CASES_BY_NAME
def test_explain_says_what_becomes_of_every_loop(name: str) -> None:
    case = CASES[name]
    arguments = case.arguments(np.random.default_rng(0), *case.chunked_extents[0])
    report = kernel_of(case).explain(*arguments)
    assert report.loops and all(loop.sentences and (loop.vector is None) == (loop.obstacle is not None) for loop in report.loops)
    assert all(loop.iterations is not None for loop in report.loops if not report.host)
