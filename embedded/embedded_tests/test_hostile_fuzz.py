"""A bounded run of the fuzzer; ``make fuzz`` is a long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from embedded_tests.fuzz.__main__ import Findings, built, run
from mqembedded.wire.verbs import VERBS

pytestmark = [pytest.mark.embedded, pytest.mark.slow]

# What the C library never sends, and what is not answered.
_NOT_ANSWERED = {"CONTROL", "CHANNEL", "WAKE", "HEARTBEAT"}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("fuzz"))


def test_replies_of_every_verb_can_be_anything_and_nothing_breaks(program: Path) -> None:
    findings = Findings()
    run(program, 1, 2_500, findings)
    assert set(findings.replies) == {verb.name for verb in VERBS if verb.name not in _NOT_ANSWERED}
    assert findings.spoiled.total() > 100


def test_a_server_that_means_no_harm_loses_no_connection(program: Path) -> None:
    # The checks let pass what is plausible: each connection that was made ends by an MQDISC. One in ten calls fails.
    findings = Findings()
    run(program, 3, 500, findings, 0.0)
    assert findings.spoiled.total() == 0
    assert 0 <= findings.replies["MQCONNX"] - findings.replies["MQDISC"] <= 3
