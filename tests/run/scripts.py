"""Runs Python programs in processes of their own, with a time limit."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).parent


def environment(**more):
    """The environment of a child: this process's modules, and three threads."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([*filter(None, sys.path), str(HERE)]),
        "LEND_THREADS": "3",
        "NO_COLOR": "1",
        **more,
    }


def run_python(arguments, stdin=None, timeout=120, check=True, **env):
    """The finished process of `python *arguments`."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment(**env),
    )
    assert not check or done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def run_script(folder, source, *arguments, name="program.py", **options):
    """What a program prints, written to `folder` first."""
    path = Path(folder) / name
    path.write_text(textwrap.dedent(source))
    return run_python([path, *arguments], **options).stdout
