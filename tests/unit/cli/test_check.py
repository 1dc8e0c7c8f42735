"""`lend check`: what it reports of a file, in which status it ends, and what it does with files that go wrong."""

from __future__ import annotations

import json
import re
import shutil
import textwrap
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from lend import cli

HEAD = """\
import numpy as np

import lend
from lend import Index, Mut, Out, Ref, T, comptime, f32, i64
from lend.dims import M, N

"""
SAXPY = """
@lend.kernel
def saxpy(a: f32, x: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid(N):
        y[i] += a * x[i]
"""
GATHER = """
@lend.kernel
def gather(x: Ref[f32, N], at: Ref[i64, M], y: Mut[f32, M]):
    for i in lend.grid(M):
        y[i] = x[at[i]]
"""
HEADS = """
@lend.kernel
def heads(x: Ref[f32, N], y: Mut[f32, M]):
    for i in lend.grid(M):
        y[i] = x[i]
"""
RACY = """
@lend.kernel
def racy(x: Mut[f32, N]):
    for i in lend.grid(N):
        x[0] = x[i]
"""
TRUSTED = """
@lend.kernel
def trusted(x: Ref[f32, N], at: Ref[i64, N], y: Mut[f32, M]):
    for i in lend.grid(N):
        with lend.unchecked("at comes from argsort"):
            y[at[i]] = x[i]
        with lend.unchecked("and so it does <here>"):
            y[at[i]] = x[i]
"""
OPEN = """
@lend.kernel
def power(x: Mut[f32, N], R: comptime[int]):
    for i in lend.grid(N):
        for _ in range(R):
            x[i] = x[i] * x[i]
"""


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(*parts: str, name: str = "program.py") -> str:
    Path(name).write_text(HEAD + "".join(map(textwrap.dedent, parts)), encoding="utf-8")
    return name


def check(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The status of `lend check`, and what it writes."""
    status = cli.main(["check", *arguments])
    said = capfd.readouterr()
    return status, said.out, said.err


def report(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any], str]:
    """The status of `lend check --json`, and its report."""
    status, out, err = check(capfd, *arguments, "--json")
    return status, json.loads(out), err


def statuses(found: dict[str, Any]) -> dict[str, str]:
    return {kernel["kernel"]: kernel["status"] for kernel in found["kernels"]}


# ------------------------------------------------------------------------------------------------ verdicts


def test_an_accepted_file_is_status_0_and_its_checks_are_shown_with_their_reason(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, err = check(capfd, write(SAXPY, GATHER))
    assert status == 0 and err == ""
    assert re.search(r"^program.py:9:5  saxpy  accepted: 5 proved$", out, re.MULTILINE)
    assert re.search(r"^program.py:14:5  gather  accepted: 3 proved, 1 checked$", out, re.MULTILINE)
    assert re.search(r"^  16:16    bounds  checked  x \(read\)\n +\S.*$", out, re.MULTILINE)
    assert out.endswith("\nprogram.py: 2 kernels: 2 accepted; 9 obligations: 8 proved, 1 checked\n")


def test_a_refused_kernel_is_reported_and_the_import_goes_on(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, err = check(capfd, write(RACY, SAXPY))
    assert status == 1 and err == ""
    assert "  racy  refused: " in out and "error[L0310]" in out and "--> program.py:11:9" in out
    assert "  saxpy  accepted: 5 proved" in out


def test_a_refused_kernel_has_verdicts_with_their_witness(capfd: pytest.CaptureFixture[str]) -> None:
    status, found, _ = report(capfd, write(RACY))
    assert status == 1
    (kernel,) = found["kernels"]
    assert kernel["status"] == "refused" and kernel["counts"]["refuted"] >= 1
    (diagnostic,) = {d["code"]: d for d in kernel["diagnostics"]}.values()
    assert diagnostic["code"] == "L0310" and diagnostic["line"] == 11 and diagnostic["rendered"].startswith("error[L0310]")
    refuted = next(proof for proof in kernel["proofs"] if proof["verdict"] == "refuted")
    assert refuted["obligation"] == "race" and refuted["kernel"] == "racy" and refuted["subject"].startswith("x (")
    assert refuted["witness"]["sizes"]["N"] >= 2
    assert {thread["i"] for thread in refuted["witness"]["threads"]} >= {0} and len(refuted["witness"]["threads"]) == 2


def test_a_kernel_with_a_type_error_is_refused_without_verdicts(capfd: pytest.CaptureFixture[str]) -> None:
    status, found, _ = report(capfd, write(SAXPY.replace("x[i]", "missing"), GATHER))
    assert status == 1
    assert statuses(found) == {"saxpy": "refused", "gather": "accepted"}
    assert found["kernels"][0]["proofs"] == [] and found["kernels"][0]["diagnostics"][0]["code"] == "L0201"


def test_launch_conditions_are_shown(capfd: pytest.CaptureFixture[str]) -> None:
    _, found, _ = report(capfd, write(HEADS))
    (launch,) = [proof for proof in found["kernels"][0]["proofs"] if proof["verdict"] == "launch"]
    assert launch["condition"] == "N >= M" and launch["keeps_check"] is True
    _, out, _ = check(capfd, "program.py")
    assert "if N >= M" in out


def test_unchecked_blocks_are_listed_each_with_its_reason(capfd: pytest.CaptureFixture[str]) -> None:
    name = write(TRUSTED)
    status, out, _ = check(capfd, name)
    assert status == 0
    assert "lend.unchecked, taken on trust:\n  program.py:11:9  trusted: at comes from argsort\n" in out
    assert "  program.py:13:9  trusted: and so it does <here>\n" in out
    _, found, _ = report(capfd, name)
    (kernel,) = found["kernels"]
    assert [(block["line"], block["reason"]) for block in kernel["unchecked"]] == [
        (11, "at comes from argsort"),
        (13, "and so it does <here>"),
    ]
    reasons = {(proof["line"], proof["reason"]) for proof in kernel["proofs"] if proof["obligation"] == "bounds"}
    assert reasons == {(12, "at comes from argsort"), (14, "and so it does <here>")}


def test_a_kernel_with_an_open_value_is_not_judged_until_the_file_calls_it(capfd: pytest.CaptureFixture[str]) -> None:
    status, found, _ = report(capfd, write(OPEN))
    assert status == 0 and statuses(found) == {"power": "open"} and found["kernels"][0]["note"]
    calls = "power(np.ones(3, np.float32), 1)\npower(np.ones(3, np.float32), 2)\npower(np.ones(4, np.float32), 2)\n"
    status, found, _ = report(capfd, write(OPEN, calls))
    assert [(kernel["status"], kernel["choices"]) for kernel in found["kernels"]] == [
        ("accepted", {"R": "1"}),
        ("accepted", {"R": "2"}),
    ]


def test_kernels_of_one_factory_are_reported_once_if_they_are_alike(capfd: pytest.CaptureFixture[str]) -> None:
    factory = """
    def make(step):
        @lend.kernel
        def strided(x: Mut[f32, N]):
            for i in lend.grid((0, N, step)):
                x[i] = 1.0
        return strided

    for step in (1, 1, 2):
        make(step)
    """
    _, found, _ = report(capfd, write(factory))
    assert {kernel["kernel"] for kernel in found["kernels"]} == {"make.strided"}
    assert len(found["kernels"]) == 1


def test_names_that_are_defined_after_a_kernel_are_known_to_its_judgement(capfd: pytest.CaptureFixture[str]) -> None:
    later = SAXPY.replace("a * x[i]", "later(x[i])") + "\n@lend.function\ndef later(v):\n    return v + wrong\n"
    _, found, _ = report(capfd, write(later))
    assert statuses(found) == {"saxpy": "refused"}
    status, found, _ = report(capfd, write(later.replace("wrong", "1.0")))
    assert status == 0 and found["kernels"][0]["counts"] == {"proved": 5}


# ------------------------------------------------------------------------------------------------ kernels that use refused ones


def test_a_kernel_that_calls_a_refused_one_is_not_judged(capfd: pytest.CaptureFixture[str]) -> None:
    caller = "\n@lend.kernel\ndef outer(x: Mut[f32, N]):\n    racy(x)\n"
    further = "\n@lend.kernel\ndef outermost(x: Mut[f32, N]):\n    outer(x)\n"
    status, found, _ = report(capfd, write(RACY, caller, further))
    assert status == 1
    assert statuses(found) == {"racy": "refused", "outer": "open", "outermost": "open"}
    assert [kernel["note"] for kernel in found["kernels"]][1:] == [
        "it calls the kernel `racy`, which is refused",
        "it calls the kernel `outer`, which is refused",
    ]


@pytest.mark.parametrize(
    "use", ["racy(np.ones(3, np.float32))", "racy.on('cpu')(1)", "racy.py(1)", "racy.lower()", "racy.proofs()"]
)
def test_using_a_refused_kernel_ends_the_import_and_the_report_says_where(use: str, capfd: pytest.CaptureFixture[str]) -> None:
    status, found, err = report(capfd, write(SAXPY, RACY, f"\n{use}\n", GATHER))
    assert status == 1 and err == ""
    assert statuses(found) == {"saxpy": "accepted", "racy": "refused"}
    assert found["ended"] == {"kind": "refused", "line": 18, "message": "it uses a refused kernel", "traceback": None}


def test_a_call_that_is_refused_is_reported_with_its_kernel(capfd: pytest.CaptureFixture[str]) -> None:
    blocks = """
    @lend.kernel
    def blocks(x: Mut[f32, N], size: comptime[int]):
        for i in lend.grid(N):
            x[i // size] = 1.0

    blocks(np.ones(3, np.float32), 1)
    blocks(np.ones(3, np.float32), 2)
    """
    status, found, _ = report(capfd, write(blocks))
    assert status == 1
    assert [kernel["status"] for kernel in found["kernels"]] == ["accepted", "refused"]
    assert found["kernels"][1]["diagnostics"][0]["notes"] == ["in this call `size` is `2`"]
    assert found["ended"]["line"] == 14 and found["diagnostics"] == []


def test_a_program_may_catch_the_refusal_of_a_call(capfd: pytest.CaptureFixture[str]) -> None:
    caught = "\ntry:\n    racy(np.ones(3, np.float32))\nexcept lend.CompileError as error:\n    assert error.diagnostics\n"
    _, found, _ = report(capfd, write(RACY, caught, SAXPY))
    assert statuses(found) == {"racy": "refused", "saxpy": "accepted"} and found["ended"] is None


# ------------------------------------------------------------------------------------------------ --require proved


@pytest.mark.parametrize(("program", "status"), [(SAXPY, 0), (GATHER, 1), (HEADS, 1), (TRUSTED, 0), (OPEN, 1)])
def test_requiring_proofs_fails_where_a_check_is_left(program: str, status: int, capfd: pytest.CaptureFixture[str]) -> None:
    name = write(program)
    assert check(capfd, name)[0] == 0
    found, out, _ = check(capfd, name, "--require", "proved")
    assert found == status
    assert ("not met: --require proved, by " in out) is bool(status)


# ------------------------------------------------------------------------------------------------ files that go wrong


def test_an_error_of_the_file_is_status_2_with_its_own_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, err = check(capfd, write(SAXPY, "\ndef half():\n    return 1 / 0\n\n\nhalf()\n", GATHER))
    assert status == 2
    frames = re.findall(r'File "([^"]+)", line (\d+)', err)
    assert [(Path(file).name, line) for file, line in frames] == [("program.py", "17"), ("program.py", "14")]
    assert err.endswith("ZeroDivisionError: division by zero\n")
    assert "saxpy  accepted" in out and "the import ended early, at line 17: ZeroDivisionError: division by zero" in out


def test_an_error_of_lend_needs_no_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, err = check(capfd, write(SAXPY, "\nsaxpy(1.0, np.ones(3), np.ones(3))\n"))
    assert status == 2 and err == ""
    assert "at line 13: ArgumentError: saxpy: x must be Ref[f32, N]" in out


def test_a_syntax_error_is_status_2(capfd: pytest.CaptureFixture[str]) -> None:
    status, _, err = check(capfd, write("\ndef f(:\n"))
    assert status == 2 and "SyntaxError" in err and "importlib" not in err


def test_a_missing_module_is_status_2(capfd: pytest.CaptureFixture[str]) -> None:
    status, _, err = check(capfd, write("\nimport no_such_module_at_all\n"))
    assert status == 2 and err.endswith("ModuleNotFoundError: No module named 'no_such_module_at_all'\n")


@pytest.mark.parametrize(("call", "status"), [("sys.exit()", 0), ("sys.exit(0)", 0), ("sys.exit('enough')", 2)])
def test_a_file_that_exits(call: str, status: int, capfd: pytest.CaptureFixture[str]) -> None:
    found, result, _ = report(capfd, write(SAXPY, f"\nimport sys\n{call}\n"))
    assert found == status and statuses(result) == {"saxpy": "accepted"}
    assert (result["ended"] is None) is (status == 0)


def test_a_process_that_dies_is_status_2(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, err = check(capfd, write("\nimport os\nos.kill(os.getpid(), 11)\n"))
    assert status == 2 and out == "" and err == "lend check: the process that imported program.py was ended by SIGSEGV\n"
    status, out, err = check(capfd, write("\nimport os\nos._exit(7)\n"))
    assert status == 2 and out == "" and err == "lend check: the process that imported program.py ended with status 7\n"


def test_a_file_that_does_not_exist_is_status_2(capfd: pytest.CaptureFixture[str]) -> None:
    assert check(capfd, "nowhere.py") == (2, "", "lend check: there is no file nowhere.py\n")


def test_a_file_without_kernels(capfd: pytest.CaptureFixture[str]) -> None:
    assert check(capfd, write("x = 1\n")) == (0, "program.py: no kernels\n", "")


def test_what_the_file_prints_stays_out_of_the_report(capfd: pytest.CaptureFixture[str]) -> None:
    prints = "\nimport os\nprint('from the file')\nos.write(1, b'from below\\n')\n"
    status, found, err = report(capfd, write(SAXPY, prints))
    assert status == 0 and statuses(found) == {"saxpy": "accepted"}
    assert "from the file\n" in err and "from below\n" in err


# ------------------------------------------------------------------------------------------------ how files are imported


def test_only_the_kernels_of_the_file_are_reported_but_refusals_of_others_too(capfd: pytest.CaptureFixture[str]) -> None:
    write(GATHER, RACY, name="helpers.py")
    status, found, _ = report(capfd, write("\nfrom helpers import gather, racy\n", SAXPY))
    assert status == 1 and statuses(found) == {"saxpy": "accepted"}
    assert [Path(d["file"]).name for d in found["diagnostics"]] == ["helpers.py"]


def test_a_module_of_a_package_is_imported_as_one(capfd: pytest.CaptureFixture[str]) -> None:
    Path("tool/inner").mkdir(parents=True)
    for folder in ("tool", "tool/inner"):
        Path(folder, "__init__.py").touch()
    write(GATHER, name="tool/helpers.py")
    file = write("\nfrom ..helpers import gather\nassert __name__ == 'tool.inner.kernels'\n", SAXPY, name="tool/inner/kernels.py")
    status, found, _ = report(capfd, file)
    assert status == 0 and statuses(found) == {"saxpy": "accepted"}


def test_kernels_that_come_with_lend_are_reported_only_if_they_are_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    from lend.cli.demo import kernels

    uses = GATHER.replace("gather", "pick").replace("Ref[i64, M]", "Ref[Index[N], M]")
    call = "\npick(np.ones(9, np.float32), np.zeros(300_000, np.int64), np.ones(300_000, np.float32))\n"
    _, found, _ = report(capfd, write(uses, call))
    assert statuses(found) == {"pick": "accepted"}
    status, found, _ = report(capfd, str(kernels.__file__))
    assert status == 0 and {"gaussian_blur", "sobel_edges", "settle_heat"} <= set(statuses(found))


def test_the_main_part_of_a_program_does_not_run(capfd: pytest.CaptureFixture[str]) -> None:
    assert report(capfd, write(SAXPY, "\nif __name__ == '__main__':\n    raise SystemExit(3)\n"))[0] == 0


# ------------------------------------------------------------------------------------------------ the page


class Page(HTMLParser):
    """What stands in a page: elements are closed in the order they were opened; nothing is loaded from elsewhere."""

    EMPTY = ("meta", "br", "link", "img")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[tuple[str, dict[str, str | None]]] = []
        self.marks: list[list[str]] = []  # class and text of each marked access
        self.inside: list[list[str]] = []
        self.titles: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert tag not in ("script", "link", "img", "iframe") and "src" not in given
        assert not str(given.get("href", "#")).partition("#")[0]
        if tag not in self.EMPTY:
            self.open.append((tag, given))
        if any("code" in str(element[1].get("class")) for element in self.open) and tag == "span":
            self.marks.append([str(given["class"]), ""])
            self.inside.append(self.marks[-1])
            self.titles.append(str(given["title"]))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag
        if tag == "span" and self.inside:
            self.inside.pop()

    def handle_data(self, data: str) -> None:
        if any(tag == "style" for tag, _ in self.open):
            assert "url(" not in data and "@import" not in data
            return
        self.words.append(data)
        if self.open and self.open[-1][0] == "span":
            for mark in self.inside:
                mark[1] += data


def test_page_shows_each_access_with_its_verdict(capfd: pytest.CaptureFixture[str]) -> None:
    status, _, _ = check(capfd, write(SAXPY, GATHER, HEADS, RACY, TRUSTED), "--html", "out.html")
    assert status == 1
    text = Path("out.html").read_text(encoding="utf-8")
    page = Page(text)
    marks = [(verdict, text) for verdict, text in page.marks]
    classes = {verdict for verdict, _ in marks}
    assert classes == {"proved", "checked", "launch", "refuted", "assumed"}
    assert ("proved", "y[i]") in marks and ("launch", "x[i]") in marks and ("checked", "x[at[i]]") in marks
    assert any("bounds checked, x (read): " in title for title in page.titles)
    words = "".join(page.words)
    assert "if N >= M" in words and "L0310" in words and "and so it does <here>" in words
    for letter in "PLCAR":
        assert f"<sup>{letter}</sup>" in text


def test_page_holds_the_whole_source_as_it_is(capfd: pytest.CaptureFixture[str]) -> None:
    program = '\nodd = "<b>&amp;</b>"  # \u00e4 </td>\n' + SAXPY
    assert check(capfd, write(program), "--html", "out.html")[0] == 0
    text = Path("out.html").read_text(encoding="utf-8")
    cells = re.findall(r"<td class=code>(.*?)</td>", text, re.DOTALL)
    plain = [re.sub(r"<sup>.*?</sup>|<[^>]+>", "", cell) for cell in cells]
    assert [unescape(cell) for cell in plain] == Path("program.py").read_text(encoding="utf-8").split("\n")[:-1]


def test_page_that_cannot_be_written_is_status_2(capfd: pytest.CaptureFixture[str]) -> None:
    status, _, err = check(capfd, write(SAXPY), "--html", "no/folder/out.html")
    assert status == 2 and err.startswith("lend check: no/folder/out.html cannot be written: ")


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no browser here")
def test_page_is_drawn_by_a_browser(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    import subprocess

    check(capfd, write(SAXPY, GATHER), "--html", "out.html")
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking".split()
    command = ["chromium", *flags, "--disable-sync", "--disable-component-update", f"--user-data-dir={tmp_path / 'profile'}"]
    command += [f"--screenshot={tmp_path / 'page.png'}", f"file://{tmp_path / 'out.html'}"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    assert (tmp_path / "page.png").stat().st_size > 10_000
