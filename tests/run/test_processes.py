"""fork, pickle, PyTorch beside us, and where kernels may be defined."""

import multiprocessing
import pickle
import sys
import textwrap

import numpy as np
import pickled
import pytest
from harness import IN_PLACE
from scripts import run_python, run_script

import lend

KERNELS = """
import os, sys, threading, time
import numpy as np
import lend
from lend import Mut, Ref, f64
from lend.dims import N

@lend.kernel
def double(x: Mut[f64, N]):
    for i in lend.grid(N):
        x[i] *= 2

@lend.kernel
def total(x: Ref[f64, N]) -> f64:
    s = 0.0
    for i in lend.grid(N):
        s += x[i]
    return s

def works():
    x = np.ones(200_000)
    double(x)
    assert (x == 2).all()
    assert total(x) == 400_000

def wait(child):
    status = os.waitpid(child, 0)[1]
    assert status == 0, f"the child ended with {status}"
"""


def script(body):
    return KERNELS + textwrap.dedent(body)


# ---------------------------------------------------------------------------------------------------------- fork


@pytest.mark.skipif(not IN_PLACE, reason="a child of fork has no device")
def test_fork_after_a_launch(tmp_path):
    body = """
    works()
    for _ in range(5):
        child = os.fork()
        if child == 0:
            works()
            os._exit(0)
        wait(child)
        works()
    print("ok")
    """
    assert run_script(tmp_path, script(body)).strip().endswith("ok")


@pytest.mark.skipif(not IN_PLACE, reason="a child of fork has no device")
def test_fork_before_the_first_launch_and_a_compilation_in_the_child(tmp_path):
    body = """
    child = os.fork()
    if child == 0:
        works()
        os._exit(0)
    works()
    wait(child)
    grandchild = os.fork()
    if grandchild == 0:
        @lend.kernel
        def halve(x: Mut[f64, N]):
            for i in lend.grid(N):
                x[i] /= 2
        x = np.ones(100_000)
        halve(x)
        child = os.fork()
        if child == 0:
            halve(x)
            os._exit(0 if (x == 0.25).all() else 1)
        wait(child)
        os._exit(0 if (x == 0.5).all() else 1)
    wait(grandchild)
    print("ok")
    """
    assert run_script(tmp_path, script(body)).strip().endswith("ok")


@pytest.mark.skipif(not IN_PLACE, reason="a child of fork has no device")
def test_fork_while_another_thread_launches(tmp_path):
    body = """
    works()
    stop = threading.Event()

    def keep_launching():
        x = np.zeros(300_000)
        while not stop.is_set():
            double(x)

    thread = threading.Thread(target=keep_launching)
    thread.start()
    for _ in range(30):
        child = os.fork()
        if child == 0:
            works()
            os._exit(0)
        wait(child)
    stop.set()
    thread.join()
    works()
    print("ok")
    """
    assert run_script(tmp_path, script(body)).strip().endswith("ok")


def test_fork_while_another_thread_compiles(tmp_path):
    body = """
    def compile_some():
        for n in range(12):
            power = n
            lend.kernel(make(power))(np.ones(10))

    def make(power):
        def kernel(x: Mut[f64, N]):
            for i in lend.grid(N):
                x[i] = x[i] ** power + power
        return kernel

    thread = threading.Thread(target=compile_some)
    thread.start()
    while thread.is_alive():
        child = os.fork()
        if child == 0:
            os._exit(0)
        wait(child)
        time.sleep(0.02)
    thread.join()
    works()
    print("ok")
    """
    assert run_script(tmp_path, script(body)).strip().endswith("ok")


# ------------------------------------------------------------------------------------------------- beside PyTorch


def test_pytorch_computes_in_the_same_process(tmp_path):
    pytest.importorskip("torch")
    body = """
    import torch
    torch.set_num_threads(2)
    a = torch.rand(300, 300)
    expected = (a @ a).sum()
    works()

    def work():
        for _ in range(30):
            assert torch.allclose((a @ a).sum(), expected, rtol=1e-4)

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(100):
        works()
    thread.join()
    t = torch.ones(100_000, dtype=torch.float64)
    double(t.numpy())
    assert (t == 2).all()
    child = os.fork()
    if child == 0:
        works()
        os._exit(0)
    wait(child)
    print("ok")
    """
    assert run_script(tmp_path, script(body)).strip().endswith("ok")


def test_numpys_own_threads_compute_in_the_same_process():
    a = np.random.default_rng(1).random((300, 300))
    expected = (a @ a).sum()
    for _ in range(20):
        x = np.ones(100_000)
        pickled.double(x)
        assert (x == 2).all()
        assert (a @ a).sum() == pytest.approx(expected)


# -------------------------------------------------------------------------------------------------------- pickle


def test_a_kernel_survives_pickling():
    again = pickle.loads(pickle.dumps(pickled.double))
    assert again is pickled.double
    x = np.ones(5)
    pickle.loads(pickle.dumps([pickled.double, pickled.total]))[0](x)
    assert (x == 2).all()


def test_records_and_results_survive_pickling():
    p = pickled.mirrored(pickled.Point(1.0, 2.0))
    again = pickle.loads(pickle.dumps(p))
    assert (again.x, again.y) == (2.0, 1.0)


def test_errors_survive_pickling():
    for call in (lambda: pickled.double(np.ones(3, np.float32)), lambda: pickled.double(3), lambda: lend.kernel(lambda x: x)):
        with pytest.raises(lend.LendError) as caught:
            call()
        again = pickle.loads(pickle.dumps(caught.value))
        assert type(again) is type(caught.value)
        assert str(again) == str(caught.value)


def test_bounds_errors_survive_pickling():
    from test_bounds_faults import read

    with pytest.raises(lend.BoundsError) as caught:
        read(np.ones(3), 1, np.ones(3))
    again = pickle.loads(pickle.dumps(caught.value))
    for name in ("kernel", "file", "line", "thread", "array", "dimension", "index", "size"):
        assert getattr(again, name) == getattr(caught.value, name)


def test_a_local_kernel_is_refused_by_pickle_with_its_name(tmp_path):
    def make():
        from lend import Mut, f64
        from lend.dims import N

        @lend.kernel
        def local_kernel(x: Mut[f64, N]):
            for i in lend.grid(N):
                x[i] += 1

        return local_kernel

    with pytest.raises((pickle.PicklingError, AttributeError), match="local_kernel"):
        pickle.dumps(make())


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"] if IN_PLACE else ["spawn", "forkserver"])
def test_kernels_in_a_process_pool(method, tmp_path):
    body = f"""
    import multiprocessing
    import pickled

    if __name__ == "__main__":
        pickled.total_of_ones(100_000)
        with multiprocessing.get_context({method!r}).Pool(2) as pool:
            assert pool.map(pickled.total_of_ones, [10, 100_000, 1000]) == [10, 100_000, 1000]
            assert pool.starmap(pickled.call, [(pickled.double, 7), (pickled.double, 50_000)]) == [14, 100_000]
        print("ok")
    """
    assert method in multiprocessing.get_all_start_methods()
    assert run_script(tmp_path, body).strip().endswith("ok")


# ------------------------------------------------------------------------------------- where kernels are defined


def test_kernels_in_main(tmp_path):
    assert run_script(tmp_path, script("works()\nprint('ok')")).strip() == "ok"


def test_kernels_in_a_module_run_by_name(tmp_path):
    (tmp_path / "some_module.py").write_text(script("works()\nprint('ok')"))
    import os

    done = run_python(["-m", "some_module"], PYTHONPATH=os.pathsep.join([str(tmp_path), *filter(None, sys.path)]))
    assert done.stdout.strip() == "ok"


def test_kernels_under_exec_with_linecache():
    import linecache

    source = script("works()\nfinished = True")
    name = "<generated 1>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace = {"__name__": "generated"}
    exec(compile(source, name, "exec"), namespace)
    assert namespace["finished"]


def test_kernels_in_ipython(tmp_path):
    pytest.importorskip("IPython")
    body = f"""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    result = shell.run_cell({KERNELS!r})
    result.raise_error()
    shell.run_cell("works()").raise_error()
    # a cell that is run again with another body gives another kernel
    cell = '''
    @lend.kernel
    def change(x: Mut[f64, N]):
        for i in lend.grid(N):
            x[i] = VALUE
    x = np.zeros(3); change(x)
    '''
    import textwrap
    for value in ("1.0", "2.0"):
        shell.run_cell(textwrap.dedent(cell).replace("VALUE", value)).raise_error()
        assert (shell.user_ns["x"] == float(value)).all()
    print("ok")
    """
    assert run_script(tmp_path, body).strip().endswith("ok")


def no_source(done):
    assert "Traceback" not in done.stdout
    if sys.version_info < (3, 13):
        assert "L0101" in done.stdout and "source" in done.stdout and "file" in done.stdout, done.stdout + done.stderr
    else:
        assert "finished" in done.stdout or "L0101" in done.stdout, done.stdout + done.stderr


WITHOUT_SOURCE = """
import numpy as np, lend
from lend import Mut, f64
from lend.dims import N
def define():
    @lend.kernel
    def double(x: Mut[f64, N]):
        for i in lend.grid(N):
            x[i] *= 2
    x = np.ones(3)
    double(x)
    return x

try:
    assert (define() == 2).all()
    print("finished")
except lend.CompileError as error:
    print(error)

"""


def test_python_c_has_no_source():
    no_source(run_python(["-c", WITHOUT_SOURCE]))


def test_standard_input_has_no_source():
    no_source(run_python(["-"], stdin=WITHOUT_SOURCE))


def test_the_plain_prompt_has_no_source():
    no_source(run_python(["-i", "-q"], stdin=WITHOUT_SOURCE))


def test_exec_without_linecache_has_no_source():
    namespace = {"__name__": "generated"}
    with pytest.raises(lend.CompileError, match="source"):
        exec(compile(script("works()"), "<no such file>", "exec"), namespace)


def test_python_o_keeps_contracts(tmp_path):
    body = """
    @lend.kernel
    def contracted(x: Mut[f64, N]):
        assert N >= 3
        for i in lend.grid(N):
            x[i] = 1

    for run in (contracted, contracted.py):
        try:
            run(np.zeros(2))
        except lend.ContractError as error:
            print("refused")
    """
    path = tmp_path / "program.py"
    path.write_text(script(body))
    assert run_python(["-O", path]).stdout.split() == ["refused", "refused"]
