"""`lend devices`."""

from lend.cli import main


def test_the_processor_is_listed_and_reasons_are_given(capsys):
    assert main(["devices"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("cpu ") and "threads" in lines[0]
    for kind in ("opencl", "cuda", "hip"):
        assert any(line.startswith((f"{kind}:", f"no {kind}")) for line in lines[1:])
