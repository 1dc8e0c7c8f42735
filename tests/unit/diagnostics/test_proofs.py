"""Verdicts as users read them: the table, one proof, notebooks, counts, and proofs that travel with an error."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import lend
from lend import Mut, Ref, comptime, f32, i64
from lend.diagnostics.proofs import Proof, Proofs, UncheckedBlock, Witness
from lend.diagnostics.spans import Source, Span
from lend.dims import M, N

SOURCE = Source("some/heat.py", "y[i] = x[at[i]]\n")
OTHER = Source("other/tools.py", "z[0]\n")
WRITE = Span(SOURCE, 1, 0, 1, 15)
READ = Span(SOURCE, 1, 7, 1, 15)

PROVED = Proof("bounds", "proved", WRITE, "y (write)")
CHECKED = Proof("bounds", "checked", READ, "x (read)", "it is read from an array")
LAUNCH = Proof("bounds", "launch", READ, "x (read)", "", "N >= M", Witness((("N", 0), ("M", 1)), ((("i", 0),),)))
REFUTED = Proof("race", "refuted", WRITE, "y (write/write)", witness=Witness((("N", 2),), ((("i", 0),), (("i", 1),)), (0,)))
ASSUMED = Proof("race", "assumed", WRITE, "y (write/write)", "at comes from argsort")


def test_table_says_where_what_and_why() -> None:
    assert str(Proofs([PROVED, LAUNCH, CHECKED])) == (
        "line  obligation  verdict  subject    because\n"
        "1:1   bounds      proved   y (write)\n"
        "1:8   bounds      launch   x (read)   if N >= M; else it fails for thread i=0, with N=0, M=1\n"
        "1:8   bounds      checked  x (read)   it is read from an array\n"
        "\n"
        "3 obligations: 1 proved, 1 launch, 1 checked"
    )


def test_table_names_files_where_there_are_several() -> None:
    elsewhere = Proof("bounds", "proved", Span(OTHER, 1, 0, 1, 4), "z (read)")
    assert [line.split()[0] for line in str(Proofs([PROVED, elsewhere])).splitlines()[1:3]] == ["heat.py:1:1", "tools.py:1:1"]


def test_table_without_proofs_says_so() -> None:
    assert str(Proofs()) == "no obligations"


def test_unchecked_blocks_stand_under_the_table_each_once() -> None:
    block = UncheckedBlock(WRITE, "at comes from argsort")
    proofs = Proofs([ASSUMED], [block, UncheckedBlock(WRITE, "at comes from argsort")])
    assert proofs.unchecked == (block,)
    assert str(proofs).endswith("1 obligation: 1 assumed\nunchecked at some/heat.py:1:1: at comes from argsort")
    assert str(Proofs([], [block])) == "no obligations\nunchecked at some/heat.py:1:1: at comes from argsort"


def test_one_proof_shows_its_place_in_a_prompt() -> None:
    assert repr(CHECKED) == "Proof(some/heat.py:1:8  bounds  checked  x (read)  it is read from an array)"
    assert str(REFUTED) == "1:1  race  refuted  y (write/write)  fails for threads i=0 and i=1, with N=2"
    assert str(CHECKED.place) == "some/heat.py:1:8" and CHECKED.place.text == "x[at[i]]"


def test_notebooks_get_a_table_with_everything_escaped() -> None:
    html = Proofs([LAUNCH], [UncheckedBlock(WRITE, "<b>")])._repr_html_()
    assert html.count("<tr>") == html.count("</tr>") == 2
    assert "if N &gt;= M" in html and "&lt;b&gt;" in html and "<b>" not in html
    assert repr(Proofs([LAUNCH])) == str(Proofs([LAUNCH]))


@pytest.mark.parametrize(
    ("proof", "keeps"), [(PROVED, False), (CHECKED, True), (LAUNCH, True), (ASSUMED, False), (REFUTED, False)]
)
def test_a_check_is_kept_where_a_test_can_run(proof: Proof, keeps: bool) -> None:
    assert proof.keeps_check is keeps


def test_counts_leave_out_what_does_not_occur() -> None:
    assert Proofs([CHECKED, PROVED, PROVED]).counts == {"proved": 2, "checked": 1}
    assert list(Proofs([CHECKED, PROVED]).counts) == ["proved", "checked"]


def test_a_refused_kernel_has_its_verdicts_in_the_error() -> None:
    with pytest.raises(lend.CompileError) as caught:

        @lend.kernel
        def racy(x: Mut[f32, N]):
            for i in lend.grid(N):
                x[0] = 1.0

    proofs = caught.value.proofs
    assert proofs.counts["refuted"] == 1 and proofs.counts["proved"] >= 1
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again.proofs) == str(proofs) and isinstance(again.proofs, Proofs)


def test_an_error_of_types_has_no_verdicts() -> None:
    with pytest.raises(lend.CompileError) as caught:

        @lend.kernel
        def wrong(x: Mut[f32, N]):
            x[0, 0] = 1.0

    assert caught.value.proofs == () and str(caught.value.proofs) == "no obligations"


def test_proofs_of_arguments_that_are_refused_say_why_and_raise_nothing() -> None:
    import numpy as np

    @lend.kernel
    def blocks(x: Mut[f32, N], size: comptime[int]):
        for i in lend.grid(N):
            x[i // size] = 1.0

    x = np.ones(8, np.float32)
    assert set(blocks.proofs(x, 1).counts) == {"proved"}
    assert blocks.proofs(x, 2).counts["refuted"] == 1
    with pytest.raises(TypeError, match="needs arguments"):
        blocks.proofs()


def test_each_unchecked_block_gives_its_own_reason() -> None:
    @lend.kernel
    def scatter(x: Ref[f32, N], at: Ref[i64, N], y: Mut[f32, M]):
        for i in lend.grid(N):
            with lend.unchecked("first"):
                with lend.unchecked("inner"):
                    y[at[i]] = x[i]
                y[at[i]] = x[i]
            with lend.unchecked("second"):
                y[at[i]] = x[i]

    proofs = scatter.proofs()
    lines = sorted({proof.place.line for proof in proofs})
    told = [{proof.reason for proof in proofs if proof.place.line == line} for line in lines]
    assert told == [{"inner"}, {"first"}, {"second"}]
    assert [block.reason for block in proofs.unchecked] == ["first", "inner", "second"]
    assert {Path(block.place.source.filename) for block in proofs.unchecked} == {Path(__file__)}


def test_requirement_must_be_one_that_exists() -> None:
    with pytest.raises(ValueError, match="require is \"proved\" or None, not 'fast'"):

        @lend.kernel(require="fast")  # type: ignore[call-overload]
        def copy(x: Ref[f32, N], y: Mut[f32, N]):
            for i in lend.grid(N):
                y[i] = x[i]


def test_assumed_accesses_and_conditions_on_races_are_no_checks() -> None:
    @lend.kernel(require="proved")
    def scatter(x: Ref[f32, N], at: Ref[i64, N], y: Mut[f32, M]):
        for i in lend.grid(N):
            with lend.unchecked("at comes from argsort"):
                y[at[i]] = x[i]

    @lend.kernel(require="proved")
    def shifted(x: Mut[f32, N], by: i64):
        assert N < 1 << 40 and 0 <= by and by < 1 << 40
        for i in lend.grid(N):
            if i + by < N:
                x[i + by] = x[i]

    assert scatter.proofs().counts == {"assumed": 4}
    assert {proof.obligation for proof in shifted.proofs() if proof.verdict == "launch"} == {"race"}
