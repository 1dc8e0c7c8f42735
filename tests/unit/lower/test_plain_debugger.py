"""What a debugger sees of a kernel in plain Python: lines, names, values, functions and files."""

from __future__ import annotations

import inspect
import io
import pdb
import sys

import numpy as np
import plain_kernels as k
import pytest

LIBRARY = inspect.getsourcefile(k)


def line_of(text):
    """The number of the one line of `plain_kernels.py` that contains `text`."""
    with open(LIBRARY) as file:
        found = [number for number, line in enumerate(file, 1) if text in line]
    assert len(found) == 1, (text, found)
    return found[0]


class Tracer:
    """Collects (function, line, local names) of every line event in `plain_kernels.py`."""

    def __init__(self):
        self.events = []

    def __call__(self, frame, event, _):
        if frame.f_code.co_filename != LIBRARY:
            return None
        if event == "line":
            self.events.append((frame.f_code.co_name, frame.f_lineno, dict(frame.f_locals)))
        return self

    def lines(self, function=None):
        return [line for name, line, _ in self.events if function in (None, name)]

    def at(self, text):
        """The local variables each time the line with `text` is reached."""
        number = line_of(text)
        return [names for _, line, names in self.events if line == number]


def trace(kernel, *arguments):
    tracer = Tracer()
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        result = kernel.py(*arguments)
    finally:
        sys.settrace(before)
    return tracer, result


def users(names):
    """Without temporaries."""
    return {name: value for name, value in names.items() if not name.startswith("_")}


def test_lines_are_reached_in_the_users_order():
    x, y = np.arange(2, dtype=np.float32), np.ones(2, np.float32)
    tracer, _ = trace(k.saxpy, 2.0, x, y)
    header, body = line_of("for i in lend.grid(N):  # saxpy"), line_of("y[i] += a * x[i]  # saxpy")
    assert tracer.lines("saxpy") == [header, body, header, body, header]


def test_variables_have_the_users_names_and_current_values():
    tracer, result = trace(k.fibonacci, 6)
    assert result == 8
    seen = tracer.at("a, b = b, a + b")
    assert [(names["a"], names["b"], names["k"]) for names in seen] == [
        (0, 1, 0), (1, 1, 1), (1, 2, 2), (2, 3, 3), (3, 5, 4), (5, 8, 5),
    ]  # fmt: skip
    assert set(users(seen[0])) == {"n", "a", "b", "k"}


def test_literals_are_shown_before_anything_is_computed_with_them():
    tracer, _ = trace(k.fibonacci, 1)
    assert users(tracer.at("b = 1  # fibonacci")[0]) == {"n": 1, "a": 0}


def test_every_executed_line_is_reached_and_no_other():
    tracer, _ = trace(k.every_line, np.array([-1.0, 0.5, 3.0]))
    reached = set(tracer.lines("every_line"))
    for text in ("continue  # negative", "best = v  # larger", "count += 1", "return best", "v = x[i]  # read", "n = 0  # start"):
        assert line_of(text) in reached, text
    assert line_of("best = -best") not in reached
    assert len(tracer.at("continue  # negative")) == 1
    assert len(tracer.at("best = v  # larger")) == 2
    assert len(tracer.at("if v < 0:  # sign")) == 3


def test_a_reduction_shows_what_this_iteration_contributes():
    tracer, total = trace(k.total, np.array([1.0, 2.0, 4.0]))
    assert total == 7.0
    assert [names["s"] for names in tracer.at("s += x[i]  # total")] == [0.0, 0.0, 0.0]


def test_device_functions_have_their_name_and_their_arguments():
    tracer, _ = trace(k.calls, np.array([-2.0, 9.0]))
    assert [users(names) for names in tracer.at("return low  # clamp")] == [{"x": -2.0, "low": 0.0, "high": 1.0}] or [
        names["x"] for names in tracer.at("return low  # clamp")
    ] == [-2.0]
    assert {name for name, line, _ in tracer.events if line == line_of("if x < low:  # clamp")} == {"clamp"}
    frames = {name for name, _, _ in tracer.events}
    assert frames == {"calls", "clamp"}


def test_nested_functions_see_what_they_capture():
    tracer, _ = trace(k.captures, np.zeros(3), 2.0)
    seen = tracer.at("return v * scale + shift  # inner")
    assert [(names["v"], names["scale"]) for names in seen] == [(0.0, 2.0), (1.0, 2.0), (2.0, 2.0)]


def test_called_kernels_have_their_own_frames():
    y = np.zeros(3, np.float32)
    tracer, _ = trace(k.outer, np.arange(3, dtype=np.float32), y)
    assert {name for name, _, _ in tracer.events} == {"outer", "saxpy"}
    assert y.tolist() == [0.0, 3.0, 6.0]


def test_a_breakpoint_is_hit():
    place = line_of("y[i] += a * x[i]  # saxpy")
    commands = [f"break {LIBRARY}:{place}", "continue", "p ('first', i, a, x[i].item())", "where"]
    commands += ["continue", "p ('second', i, y.tolist())", "clear 1", "continue", ""]
    said, typed = io.StringIO(), io.StringIO("\n".join(commands))
    session = pdb.Pdb(stdin=typed, stdout=said, readrc=False, nosigint=True)
    session.use_rawinput = False
    session.runcall(k.saxpy.py, 2.0, np.arange(2, dtype=np.float32), np.zeros(2, np.float32))
    assert "('first', 0, 2.0, 0.0)" in said.getvalue()
    assert "('second', 1, [0.0, 0.0])" in said.getvalue()
    assert f"plain_kernels.py({place})saxpy()" in said.getvalue()


def test_tracebacks_show_the_users_line():
    with pytest.raises(Exception) as caught:
        k.outer.py(np.arange(3, dtype=np.float32), np.zeros(3, np.float32)[:0])
    assert caught.type.__name__ == "ShapeError" or any(entry.path.name == "plain_kernels.py" for entry in caught.traceback)
    with pytest.raises(ZeroDivisionError) as caught:
        k.divides.py(np.array([1, 0], np.int32))
    entry = next(entry for entry in caught.traceback if str(entry.path) == LIBRARY)
    assert (entry.name, entry.lineno + 1) == ("divides", line_of("x[i] = 7 // x[i]"))


def test_threads_of_a_block_are_seen_in_turns():
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    tracer, total = trace(k.team, x)
    assert total == 34.0
    assert [(names["b"], names["t"]) for names in tracer.at("n = 3  # constant of the team")] == [
        (b, t) for b in range(2) for t in range(4)
    ]
    assert [(names["t"], names["n"]) for names in tracer.at("x[b, t] += n  # only thread 2")] == [(2, 3)] * 2
    assert [names["part"] for names in tracer.at("part += v  # part")] == [-0.0] * 8
    assert len(tracer.at("s[t] = v  # turned")) == 8
    assert {name for name, _, _ in tracer.events} == {"team", "turned"}
    first = [line for _, line, names in tracer.events if names.get("b", 0) == 0]
    store, read = line_of("s[t] = v  # turned"), line_of("return s[3 - t]  # turned")
    stores = [position for position, line in enumerate(first) if line == store][:4]
    assert max(stores) < min(position for position, line in enumerate(first) if line == read)  # all wait for all
