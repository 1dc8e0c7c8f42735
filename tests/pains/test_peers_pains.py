"""What users of other kernel languages suffer from, and what happens here: tests named after what goes wrong.

The numbers are those of the list this project keeps; 8 (barriers) and 16 (devices) do not concern one CPU.
"""

import inspect
import linecache
import mmap
import sys
import textwrap
import tracemalloc
from itertools import count, permutations
from pathlib import Path

import numpy as np
import pytest
from harness import line_of, threads
from scripts import run_python, run_script

import lend
from lend import Mut, Out, Ref, bool_, f32, f64, i8, i32, i64, u8, u32, u64
from lend.dims import M, N

_numbers = count()
PRELUDE = """import math
import numpy as np
import lend
from lend import Mut, Out, Ref, bool_, comptime, f16, f32, f64, i8, i32, i64, u8, u32, u64
from lend.dims import K, M, N
"""


def define(body, **names):
    """The namespace of a program whose source can be had, as in a file."""
    source = PRELUDE + textwrap.dedent(body)
    filename = f"<program {next(_numbers)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace = {"__name__": "program", **names}
    exec(compile(source, filename, "exec"), namespace)
    return namespace


def refused(body, *arguments):
    """The text of the CompileError that a kernel gives when it is defined or first called."""
    with pytest.raises(lend.CompileError) as caught:
        define(body)["kernel"](*arguments)
    return str(caught.value)


# ------------------------------------------------------------------------------------------------------------- 1


@lend.kernel
def shifted(x: Ref[f64, N], k: i64, y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = x[i + k]  # shifted


def test_01_out_of_bounds_read_returns_garbage():
    for k in (1, -1, 10**9):
        with pytest.raises(lend.BoundsError):
            shifted(np.ones(100), k, np.ones(100))


def test_01_out_of_bounds_write_corrupts_a_neighbour():
    @lend.kernel
    def write(y: Mut[f64, N], k: i64):
        for i in lend.grid(N):
            y[i + k] = 7

    memory = np.zeros(300)
    for k in (3, -3, 100, -100):
        with pytest.raises(lend.BoundsError):
            write(memory[100:200], k)
    assert (memory[:100] == 0).all() and (memory[200:] == 0).all()


def test_01_a_negative_subscript_wraps_around_to_the_end():
    with pytest.raises(lend.BoundsError):
        shifted(np.ones(3), -1, np.ones(3))
    message = refused(
        """
        @lend.kernel
        def kernel(x: Mut[f64, N]):
            for i in lend.grid(N):
                x[i] = x[-1]
        """,
        np.zeros(3),
    )
    assert "N - 1" in message


# ------------------------------------------------------------------------------------------------------------- 2


@pytest.mark.parametrize(
    "body",
    [
        """
        @lend.kernel
        def kernel(x: Mut[f64, N]):
            for i in lend.grid(N):
                if x[i] > 0:
                    late = 1.0
                x[i] = late
        """,
        """
        @lend.kernel
        def kernel(x: Mut[f64, N]):
            for i in lend.grid(N):
                for k in range(i):
                    late = 1.0
                x[i] = late
        """,
        """
        @lend.kernel
        def kernel(x: Mut[f64, N]):
            for i in lend.grid(N):
                while x[i] > 0:
                    late = 1.0
                    x[i] -= 1
                x[i] = late
        """,
        """
        @lend.kernel
        def kernel(x: Mut[f64, N]) -> f64:
            if N > 3:
                late = 1.0
            return late
        """,
    ],
)
def test_02_a_variable_assigned_in_one_branch_only_is_read_anyway(body):
    assert "late" in refused(body, np.zeros(3))


# ------------------------------------------------------------------------------------------------------------- 3


@pytest.mark.parametrize("number", [1, 2, 4])
def test_03_lost_updates_of_a_sum(number):
    @lend.kernel
    def count_all(n: i64) -> i64:
        total = i64(0)
        for i, j in lend.grid(n, 100):
            total += 1
        return total

    with threads(number):
        for _ in range(20):
            assert count_all(3000) == 300_000


@pytest.mark.parametrize(
    "statement", ["last = x[i]", "last = last * 2 + x[i]", "last += last", "last -= x[i]\n        x[i] = last"]
)
def test_03_a_value_carried_from_one_parallel_iteration_to_the_next(statement):
    body = f"""
@lend.kernel
def kernel(x: Mut[f64, N]) -> f64:
    last = 0.0
    for i in lend.grid(N):
        {statement}
    return last
"""
    assert "last" in refused(body, np.zeros(3))


def test_03_wrong_values_carried_by_sequential_loops():
    @lend.kernel
    def carried(y: Out[i64, N, M]):
        for i in lend.grid(N):
            a, b = 0, 1
            for j in range(M):
                y[i, j] = a
                a, b = b, a + b
                if a > 1000:
                    a, b = 0, 1

    def expected(m):
        a, b, out = 0, 1, []
        for _ in range(m):
            out.append(a)
            a, b = b, a + b
            if a > 1000:
                a, b = 0, 1
        return out

    y = np.zeros((200, 60), np.int64)
    carried(y)
    assert (y == expected(60)).all()


# ------------------------------------------------------------------------------------------------------------- 4


def test_04_arguments_of_the_wrong_width_are_accepted():
    @lend.kernel
    def same(x: Mut[lend.f32, N]):
        for i in lend.grid(N):
            x[i] = 0

    for dtype in ("f8", "f2", "i4", "u4", "?", "c8", "i1", ">f4", "S4", "V4", "M8[s]", "O"):
        array = np.zeros(4, dtype)
        before = array.tobytes()
        with pytest.raises(lend.ArgumentError):
            same(array)
        assert array.tobytes() == before


def test_04_every_pair_of_element_types_is_told_apart():
    names = {"i8": "i1", "i32": "i4", "i64": "i8", "u8": "u1", "u32": "u4", "f16": "f2", "f32": "f4", "f64": "f8", "bool_": "?"}
    kernels = {
        name: define(f"""
        @lend.kernel
        def kernel(x: Ref[{name}, N]) -> i64:
            return N
        """)["kernel"]
        for name in names
    }
    for name, other in permutations(names, 2):
        with pytest.raises(lend.ArgumentError):
            kernels[name](np.zeros(3, names[other]))
    for name in names:
        assert kernels[name](np.zeros(3, names[name])) == 3


def test_04_a_list_or_a_number_is_taken_for_an_array():
    for wrong in ([1.0, 2.0], (1.0, 2.0), 3.0, None, "abc", memoryview(b"abc")):
        with pytest.raises(lend.ArgumentError):
            shifted(wrong, 0, np.ones(2))


# ------------------------------------------------------------------------------------------------------------- 5


def test_05_offsets_of_large_arrays_overflow_32_bits():
    @lend.kernel
    def mark_the_end(x: Mut[u8, N]) -> i64:
        for i in lend.grid((N - 5, N)):
            x[i] = u8(i % 251)
        return N

    size = 2**32 + 100
    try:
        memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0))
    except OSError:
        pytest.skip("no address space for 4 GiB")
    x = np.frombuffer(memory, np.uint8)
    assert mark_the_end(x) == size
    assert x[-5:].tolist() == [k % 251 for k in range(size - 5, size)]
    assert not x[:4096].any() and not x[95:101].any()


def test_05_strides_of_large_arrays_overflow_32_bits():
    @lend.kernel
    def add(x: Mut[f64, N, M], k: i64):
        for i, j in lend.grid(N, M):
            x[i, j] += f64(i * k + j)

    far = 2**31 + 4096
    try:
        memory = mmap.mmap(-1, 3 * far, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0))
    except OSError:
        pytest.skip("no address space for 6 GiB")
    for strides, offset in (((far, 8), 0), ((-far, 8), 2 * far)):
        x = np.ndarray((3, 4), np.float64, memory, offset, strides)
        x[...] = 0
        add(x, 10)
        assert x.tolist() == [[10 * i + j for j in range(4)] for i in range(3)]


# ------------------------------------------------------------------------------------------------------------- 6


def test_06_a_mask_longer_than_the_strided_view():
    @lend.kernel
    def clear(x: Mut[f32, N], mask: Ref[bool_, N]):
        for i in lend.grid(N):
            if mask[i]:
                x[i] = 0

    x = np.ones(101, np.float32)
    with pytest.raises(lend.ShapeError):
        clear(x[::2], np.ones(101, bool))
    assert (x == 1).all()
    clear(x[::2], np.ones(51, bool))
    assert (x[::2] == 0).all() and (x[1::2] == 1).all()


# ------------------------------------------------------------------------------------------------------------- 7


def test_07_interpreter_and_compiled_code_disagree():
    @lend.kernel(math="strict")
    def everything(a: Ref[i32, N], b: Ref[i32, N], f: Ref[f32, N], out: Mut[i64, N, 8], real: Mut[f32, N, 4]):
        for i in lend.grid(N):
            out[i, 0] = a[i] + b[i]
            out[i, 1] = a[i] * b[i]
            out[i, 2] = a[i] // b[i]
            out[i, 3] = a[i] % b[i]
            out[i, 4] = a[i] << (b[i] & 63)
            out[i, 5] = i8(f[i])
            out[i, 6] = u32(a[i])
            out[i, 7] = round(f[i])
            real[i, 0] = f[i] / 3
            real[i, 1] = f[i] * 0.1 + f[i]
            real[i, 2] = f[i] % 0.7
            real[i, 3] = min(f[i], f32(a[i]), -f[i])

    rng = np.random.default_rng(1)
    a, b = (rng.integers(-(2**31), 2**31, 300).astype(np.int32) for _ in range(2))
    b[:50] = rng.integers(1, 9, 50)
    b[50:100] = -rng.integers(1, 9, 50)
    b[b == 0] = 1
    f = np.r_[rng.normal(scale=200, size=297), np.nan, np.inf, -np.inf].astype(np.float32)
    compiled, plain = [(np.zeros((300, 8), np.int64), np.zeros((300, 4), np.float32)) for _ in range(2)]
    everything(a, b, f, *compiled)
    everything.py(a, b, f, *plain)
    np.testing.assert_array_equal(compiled[0], plain[0])
    np.testing.assert_array_equal(compiled[1].view(np.uint32)[:297], plain[1].view(np.uint32)[:297])
    np.testing.assert_array_equal(compiled[1], plain[1])


def test_07_negative_modulo_differs():
    @lend.kernel
    def modulo(a: i64, b: i64) -> i64:
        return a % b

    for a in range(-7, 8):
        for b in (-3, -1, 1, 3):
            assert modulo(a, b) == modulo.py(a, b) == a % b


# ------------------------------------------------------------------------------------------------------------- 9

RATE = 1.0


def test_09_globals_are_frozen_at_the_first_compilation(monkeypatch):
    @lend.kernel
    def scale(x: Mut[f64, N]):
        for i in lend.grid(N):
            x[i] *= RATE

    for rate in (2.0, 3.0, 2.0):
        monkeypatch.setitem(globals(), "RATE", rate)
        x = np.ones(4)
        scale(x)
        assert (x == rate).all()


# ------------------------------------------------------------------------------------------------------------ 10


def test_10_one_bad_kernel_poisons_its_module():
    body = """
    @lend.kernel
    def before(x: Mut[f64, N]):
        for i in lend.grid(N):
            x[i] = 1

    refusals = []
    for number in range(3):
        try:
            @lend.kernel
            def kernel(x: Mut[f64, N]):
                for i in lend.grid(N):
                    x[i] = print(i)
            kernel(np.zeros(2))
        except lend.CompileError as error:
            refusals.append(str(error))

    @lend.kernel
    def after(x: Mut[f64, N]):
        for i in lend.grid(N):
            x[i] = 2
    """
    program = define(body)
    assert len(program["refusals"]) == 3
    x = np.zeros(4)
    program["before"](x)
    assert (x == 1).all()
    program["after"](x)
    assert (x == 2).all()


def test_10_one_refused_call_poisons_its_kernel():
    @lend.kernel
    def copy(x: Ref[lend.T, N], y: Out[lend.U, N]):
        for i in lend.grid(N):
            y[i] = x[i]

    y = np.zeros(3)
    for _ in range(2):
        with pytest.raises(lend.CompileError):
            copy(np.ones(3), np.zeros(3, np.float32))
        copy(np.ones(3, np.float32), y)
        assert (y == 1).all()
        with pytest.raises(lend.BoundsError):
            shifted(np.ones(3), 1, np.ones(3))


# ------------------------------------------------------------------------------------------------------------ 11


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("y[i] = x[i] + k", ("i32", "f32")),
        ("y[i] = x[i, 0]", ("x",)),
        ("y[i] = undefined_name", ("undefined_name",)),
        ("y[i] = math.sine(x[i])", ("sine",)),
        ("y[i] = x", ("x",)),
        ("x[i] = 1", ("x", "Mut")),
        ("y[i] = f64(1)", ("f64", "f32")),
        ("y[i] = 'text'", ()),
        ("y[i] = [1, 2][0]", ()),
    ],
)
def test_11_type_errors_mislead_or_have_no_line(line, words):
    body = f"""
@lend.kernel
def kernel(x: Ref[f32, N], k: i32, y: Mut[f32, N]):
    for i in lend.grid(N):
        {line}  # the line
"""
    message = refused(body, np.zeros(3, np.float32), 1, np.zeros(3, np.float32))
    number = PRELUDE.count("\n") + 5
    assert f":{number}:" in message, message
    assert line in message and "^" in message, message
    for word in words:
        assert word in message, message
    for leak in ("Traceback", "llvm", "LLVM", "ast.", "typecheck", "%", "InternalError"):
        assert leak not in message.replace(line, ""), message


def test_11_only_the_first_of_several_errors_is_told():
    body = """
    @lend.kernel
    def kernel(x: Mut[f32, N]):
        for i in lend.grid(N):
            x[i] = first_unknown
            x[i] = second_unknown
    """
    message = refused(body, np.zeros(3, np.float32))
    assert "first_unknown" in message and "second_unknown" in message


# ------------------------------------------------------------------------------------------------------------ 12


def test_12_empty_and_negative_sizes_give_an_internal_error():
    @lend.kernel
    def fill(x: Mut[i64, N], a: i64, b: i64) -> i64:
        total = i64(0)
        for i in lend.grid((a, b)):
            x[i] += 1
            total += 1
        for i, j in lend.grid(b - a, 3):
            total += 1
        return total

    for a, b in ((0, 0), (5, 2), (0, -1), (2**62, -(2**62)), (-(2**63), -(2**63)), (2**63 - 1, 0)):
        x = np.zeros(4, np.int64)
        if b - a >= -(2**63):
            assert fill(x, a, b) == 0
        assert (x == 0).all()
    assert fill(np.zeros(0, np.int64), 0, 0) == 0
    assert fill(np.zeros(4, np.int64), 1, 3) == 2 + 6


def test_12_a_temporary_too_large_or_negative():
    @lend.kernel
    def make(n: i64, m: i64):
        return lend.zeros(f64, n, m)

    assert make(2, 3).shape == (2, 3)
    for n, m in ((2**50, 2), (2**62, 2**62), (2**32, 2**32)):
        with pytest.raises(MemoryError) as caught:
            make(n, m)
        assert isinstance(caught.value, lend.LendError)
    with pytest.raises(lend.LendError):
        make(-1, 3)
    assert make(0, 3).shape == (0, 3)


# ------------------------------------------------------------------------------------------------------------ 13


def test_13_literals_are_truncated_or_widened():
    @lend.kernel(math="strict")
    def narrow(x: Ref[f32, N], y: Out[f32, N]):
        for i in lend.grid(N):
            y[i] = x[i] * 0.1 + 1

    @lend.kernel(math="strict")
    def wide(x: Ref[f64, N], y: Out[f64, N]):
        for i in lend.grid(N):
            y[i] = x[i] * 0.1 + 1

    for kernel, dtype in ((narrow, np.float32), (wide, np.float64)):
        x = np.random.default_rng(1).random(100).astype(dtype)
        y = np.zeros_like(x)
        kernel(x, y)
        np.testing.assert_array_equal(y, x * dtype(0.1) + dtype(1))


def test_13_a_literal_that_does_not_fit():
    message = refused(
        """
        @lend.kernel
        def kernel(x: Mut[u8, N]):
            for i in lend.grid(N):
                x[i] = x[i] + 256
        """,
        np.zeros(3, np.uint8),
    )
    assert "256" in message and "u8" in message


# ------------------------------------------------------------------------------------------------------------ 14


def test_14_u64_with_i64_becomes_a_float():
    body = """
    @lend.kernel
    def kernel(a: Ref[u64, N], b: Ref[i64, N], c: Mut[u64, N]):
        for i in lend.grid(N):
            c[i] = a[i] + b[i]
    """
    arrays = [np.zeros(3, np.uint64), np.zeros(3, np.int64), np.zeros(3, np.uint64)]
    message = refused(body, *arrays)
    assert "u64" in message and "i64" in message

    @lend.kernel
    def add(a: Ref[u64, N], b: Ref[i64, N], c: Mut[u64, N]):
        for i in lend.grid(N):
            c[i] = a[i] + u64(b[i]) + 1

    a, b, c = np.array([2**64 - 3, 2**63 + 1], np.uint64), np.array([1, -1]), np.zeros(2, np.uint64)
    add(a, b, c)
    assert c.tolist() == [2**64 - 1, 2**63 + 1]


# ------------------------------------------------------------------------------------------------------------ 15


def test_15_arrays_are_copied_behind_ones_back():
    @lend.kernel
    def add(x: Ref[f64, N, M], y: Mut[f64, N, M]):
        for i, j in lend.grid(N, M):
            y[i, j] += x[i, j]

    x, memory = np.ones((1000, 1000)), np.zeros((2000, 1000))
    views = (x.T, memory[::2]), (x[::-1], memory[1::2]), (np.asfortranarray(x), memory[:1000])
    for _ in range(3):  # compiled at the first call, its entry point at the second
        for left, right in views:
            add(left, right)
    tracemalloc.start()
    try:
        for left, right in views:
            add(left, right)
        assert tracemalloc.get_traced_memory()[1] < 200_000
    finally:
        tracemalloc.stop()
    assert (memory[:1000] == 8).all() and (memory[1000:] == 4).all()


def test_15_a_read_only_argument_is_written_back():
    @lend.kernel
    def read(x: Ref[f64, N], y: Out[f64, N]):
        for i in lend.grid(N):
            y[i] = x[i]

    x = np.frombuffer(np.arange(4.0).tobytes())  # memory that cannot be written
    y = np.zeros(4)
    read(x, y)
    assert (y == x).all()
    with pytest.raises(lend.BorrowError):
        read(y, x)
    read(np.broadcast_to(np.float64(3), 4), y)
    assert (y == 3).all()


def test_15_one_array_is_lent_twice_in_silence():
    @lend.kernel
    def next_one(a: Ref[f64, N], c: Mut[f64, N]):
        for i in lend.grid(N - 1):
            c[i + 1] = a[i] + 1

    a = np.zeros(10)
    for left, right in ((a, a), (a[::-1], a), (a[1:], a[:-1]), (a.view(), a)):
        with pytest.raises(lend.BorrowError):
            next_one(left, right)
    assert (a == 0).all()
    next_one(a[::2], a[1::2])  # these do not meet
    assert a.tolist() == [0, 0, 0, 1, 0, 1, 0, 1, 0, 1]
    with pytest.raises(lend.BorrowError):
        next_one(np.zeros(4), np.broadcast_to(np.zeros(1), 4))
    with pytest.raises(lend.BorrowError):
        next_one(np.zeros(4), np.lib.stride_tricks.as_strided(np.zeros(9), (4,), (4,)))


# ------------------------------------------------------------------------------------------------------------ 17


def calls_of_lend(call):
    """How often Python entered each file of lend while `call` ran."""
    seen = {}
    home = str(Path(lend.__file__).parent)

    def profile(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(home):
            file = frame.f_code.co_filename[len(home) + 1 :]
            seen[file] = seen.get(file, 0) + 1

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen


COMPILER = ("frontend/parse", "frontend/locate", "ir", "plan", "lower", "targets/cpu/emit", "driver/pipeline")


def test_17_every_launch_pays_for_the_compiler():
    @lend.kernel
    def scale(x: Mut[f64, N], k: f64):
        for i in lend.grid(N):
            x[i] *= k

    first = calls_of_lend(lambda: scale(np.ones(8), 2.0))
    assert all(any(file.startswith(part) for file in first) for part in ("plan", "lower"))
    scale(np.ones(8), 2.0)  # the second call makes the way in from Python
    for size in (8, 9, 0, 10_000):
        x = np.ones(size)
        again = calls_of_lend(lambda x=x: scale(x, 3.0))
        assert not any(file.startswith(COMPILER) for file in again), again
        assert sum(again.values()) < 100, again


# ------------------------------------------------------------------------------------------------------------ 18


def test_18_compile_time_grows_faster_than_the_kernel():
    def work(statements):
        lines = "\n".join(f"        x[i] = x[i] * {k}.5 + (x[i] if x[i] > {k} else 1.0)" for k in range(statements))
        kernel = define(f"@lend.kernel\ndef kernel(x: Mut[f64, N]):\n    for i in lend.grid(N):\n{lines}\n")["kernel"]
        return sum(calls_of_lend(lambda: kernel(np.zeros(3))).values())

    work(2)
    small, large = work(20), work(80)
    assert large < 6 * small


def test_18_importing_a_module_compiles_its_kernels_to_machine_code():
    program = """
    import sys, lend
    from lend import Mut, f64
    from lend.dims import N

    @lend.kernel
    def kernel(x: Mut[f64, N]):
        for i in lend.grid(N):
            x[i] += 1

    print("llvmlite" in sys.modules)
    """
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        assert run_script(folder, program).strip() == "False"


# ------------------------------------------------------------------------------------------------------------ 19


def test_19_processes_that_share_a_cache_spoil_it(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        import sys
        import numpy as np, lend
        from lend import Mut, f64
        from lend.dims import N

        @lend.kernel
        def kernel(x: Mut[f64, N], k: f64):
            for i in lend.grid(N):
                x[i] = x[i] * k + 1

        x = np.ones(1000)
        kernel(x, float(sys.argv[1]))
        assert (x == float(sys.argv[1]) + 1).all()
        print("ok")
        """)
    )
    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(run_python, [program, k], LEND_CACHE_DIR=str(tmp_path / "cache")) for k in range(8)]
        assert all(run.result().stdout == "ok\n" for run in runs)
    for path in (tmp_path / "cache").rglob("*"):
        if path.is_file():
            path.write_bytes(b"spoiled")
    assert run_python([program, 3], LEND_CACHE_DIR=str(tmp_path / "cache")).stdout == "ok\n"


def test_19_a_changed_source_runs_the_old_code(tmp_path):
    program = """
    import numpy as np, lend
    from lend import Mut, f64
    from lend.dims import N

    @lend.kernel
    def kernel(x: Mut[f64, N]):
        for i in lend.grid(N):
            x[i] += VALUE

    x = np.zeros(2)
    kernel(x)
    print(x[0])
    """
    for value in ("1.0", "2.0", "1.0"):
        out = run_script(tmp_path, program.replace("VALUE", value), LEND_CACHE_DIR=str(tmp_path / "cache"))
        assert out.strip() == value


# ------------------------------------------------------------------------------------------------------------ 20


def test_20_the_child_hangs_after_launch_and_fork(tmp_path):
    program = """
    import os, pickle
    import numpy as np
    import pickled

    x = np.ones(100_000)
    pickled.double(x)
    child = os.fork()
    if child == 0:
        pickled.double(x)
        os._exit(0 if (x == 4).all() else 1)
    assert os.waitpid(child, 0)[1] == 0
    pickle.loads(pickle.dumps(pickled.double))(x)
    assert (x == 4).all()
    print("ok")
    """
    assert run_script(tmp_path, program).strip().endswith("ok")


def test_20_a_kernel_is_opaque_to_tools():
    @lend.kernel
    def documented(x: Ref[f64, N], k: i32 = 3) -> f64:
        """What it does."""
        return x[0] * k

    assert documented.__doc__ == "What it does."
    assert documented.__name__ == "documented"
    assert documented.__module__ == __name__
    assert list(inspect.signature(documented).parameters) == ["x", "k"]
    assert "documented" in repr(documented)
    assert callable(documented.py)


def test_the_line_helper_finds_this_file():
    assert linecache.getline(__file__, line_of(__file__, "shifted")).strip().startswith("y[i] = x[i + k]")
