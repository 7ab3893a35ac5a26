"""Trying again: which errors, how often, and how long."""

from __future__ import annotations

import traceback

import pytest

from embedded_tests.tables import table
from mqgroups import errors
from mqgroups.connection import retry
from mqgroups.connection.retry import CONNECT_LATER, NO_ROOM, OWNER_ACTIVE, Patience, retrying
from mqgroups.mqi import constants as mq
from mqgroups.mqi import reasons


class Call:
    """Fails with these reasons, one after the other, and then answers."""

    def __init__(self, *reasons, forever=None):
        self.reasons = list(reasons)
        self.forever = forever
        self.made = 0

    def __call__(self):
        self.made += 1
        reason = self.reasons.pop(0) if self.reasons else self.forever
        if reason is not None:
            raise errors.mqi_error("MQPUT", "queue Q", mq.MQCC_FAILED, reason)
        return "answer"


@pytest.mark.parametrize("reasons", [CONNECT_LATER, OWNER_ACTIVE, NO_ROOM])
def test_each_reason_of_a_table_is_tried_again(clock, reasons):
    call = Call(*sorted(reasons))
    assert retrying(Patience(60), reasons, clock.sleep)(call) == "answer"
    assert call.made == len(reasons) + 1
    assert len(clock.naps) == len(reasons)


@table("reason", [mq.MQRC_NOT_AUTHORIZED, mq.MQRC_MSG_TOO_BIG_FOR_Q, mq.MQRC_Q_MGR_NAME_ERROR])
@table("reasons", [CONNECT_LATER, OWNER_ACTIVE, NO_ROOM])
def test_other_reasons_are_let_through_at_once(clock, reasons, reason):
    call = Call(reason)
    with pytest.raises(errors.MQIError) as caught:
        retrying(Patience(60), reasons, clock.sleep)(call)
    assert (caught.value.reason, call.made, clock.naps) == (reason, 1, [])


def test_errors_that_are_no_mqi_errors_are_let_through_at_once(clock):
    def call():
        raise KeyError("k")

    with pytest.raises(KeyError):
        retrying(Patience(60), NO_ROOM, clock.sleep)(call)
    assert clock.naps == []


def test_no_patience_is_one_try(clock):
    call = Call(forever=mq.MQRC_Q_FULL)
    with pytest.raises(errors.QueueUnavailable):
        retrying(Patience(0), NO_ROOM, clock.sleep)(call)
    assert (call.made, clock.naps) == (1, [])


@pytest.mark.parametrize("wait_s", [1, 30])
def test_it_gives_up_after_its_time_with_the_last_error_itself(clock, wait_s):
    call = Call(forever=mq.MQRC_Q_FULL)
    with pytest.raises(errors.QueueUnavailable):
        retrying(Patience(wait_s), NO_ROOM, clock.sleep)(call)
    assert wait_s <= sum(clock.naps) <= wait_s + 1.02


def test_pauses_grow_from_the_first_to_the_longest_with_jitter(clock):
    call = Call(forever=mq.MQRC_Q_FULL)
    with pytest.raises(errors.QueueUnavailable):
        retrying(Patience(60, first_s=0.02, longest_s=1.0), NO_ROOM, clock.sleep)(call)
    for number, nap in enumerate(clock.naps):
        longest = min(0.02 * 2**number, 1.0)
        assert longest <= nap <= longest + 0.02
    assert len(set(clock.naps)) == len(clock.naps)


def test_a_policy_can_be_used_again(clock):
    policy = retrying(Patience(1), NO_ROOM, clock.sleep)
    for _ in range(2):
        naps = len(clock.naps)
        assert policy(Call(mq.MQRC_Q_FULL, mq.MQRC_Q_FULL)) == "answer"
        assert len(clock.naps) == naps + 2


def test_each_pause_that_is_longer_than_before_is_told_each_time_the_policy_is_used(clock):
    told = []
    policy = retrying(
        Patience(20, 0.02, 1.0), NO_ROOM, clock.sleep, lambda error, pause_s: told.append((error.reason, pause_s))
    )
    for _ in range(2):
        told.clear()
        with pytest.raises(errors.QueueUnavailable):
            policy(Call(forever=mq.MQRC_Q_FULL))
        assert {reason for reason, _ in told} == {mq.MQRC_Q_FULL}
        pauses = [pause_s for _, pause_s in told]
        assert pauses == sorted(pauses)
        assert pauses[0] <= 0.04
        assert 5 <= len(told) <= 8


def test_the_traceback_tells_nothing_of_what_is_in_between(clock):
    with pytest.raises(errors.QueueUnavailable) as caught:
        retrying(Patience(1), NO_ROOM, clock.sleep)(Call(forever=mq.MQRC_Q_FULL))
    shown = "".join(traceback.format_exception(caught.value))
    assert "tenacity" not in shown
    assert shown.count("Traceback (most recent call last)") == 1
    assert "raise errors.mqi_error" in shown


def test_no_reason_after_which_a_commit_is_in_doubt_is_waited_for_in_a_unit_of_work():
    assert not retry.NO_ROOM & reasons.COMMIT_OUTCOME_UNKNOWN
