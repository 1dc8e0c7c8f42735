"""A long run goes on when the process that judges does not."""

from __future__ import annotations

import os
import signal
import time
from multiprocessing.connection import Connection

from .campaign import Tally, outcomes
from .check import Outcome


def dying(seeds: range, connection: Connection) -> None:
    for seed in seeds:
        if seed == 3:
            os.kill(os.getpid(), signal.SIGABRT)
        if seed == 5:
            os._exit(7)
        connection.send((seed, Outcome("accepted")))


def test_a_process_that_dies_is_a_finding_and_all_other_kernels_are_judged() -> None:
    tally = Tally(0)
    found = list(outcomes(range(8), time.monotonic() + 600, dying))
    for seed, outcome in found:
        tally.add(seed, outcome)
    assert [seed for seed, _ in found] == list(range(8))
    texts = {seed: str(outcome).splitlines()[-1] for seed, outcome in found if isinstance(outcome, str)}
    assert texts == {3: "died of SIGABRT", 5: "ended with 7"}
    assert tally.findings == {"crash": 2}
    assert tally.kinds == {"accepted": 6}
