"""A person is told when a consumer's loop is left early, and when it waits for a group that is not whole."""

# ruff: noqa: PT012 - a loop is left where its block ends, so the block is inside the raises

from __future__ import annotations

import logging

import pytest

from mqgroups import errors
from mqgroups.errors import ConfigurationError, GroupUsage
from mqgroups.get import cursor, getter

THIS = [b"%d" % number for number in range(7)]


class Failed(Exception):
    """The application's own trouble."""


def warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def test_a_group_whose_loop_is_left_again_and_again_is_an_error(owner, caplog):
    owner.put_raw_group(THIS)
    seen = []
    left = pytest.raises(GroupUsage, match="from message 1 on, for the 5th time without a commit in between")
    with left, owner.consumer() as consumer:
        for group in consumer:
            for message in group:
                seen.append(message.data)
                assert len(seen) <= 5, "it comes for ever"
                break
    assert seen == [b"0"] * 5
    told = warnings(caplog)
    assert len(told) == 4
    assert all("was left early, so the group comes again, from message 1 on" in text for text in told)
    assert all("Iterate over a group to its end" in text for text in told)


def test_an_error_that_is_caught_leaves_the_loop_too(owner, caplog):
    owner.put_raw_group(THIS)
    with owner.consumer() as consumer:
        groups = iter(consumer)
        with pytest.raises(Failed):
            for message in next(groups):
                if message.msg_seq_number == 5:
                    raise Failed
        assert warnings(caplog) == []
        assert [message.data for message in next(groups)] == THIS[4:]
    (told,) = warnings(caplog)
    assert "from message 5 on" in told


def test_poison_may_be_a_loop_that_was_left(make_owner):
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    owner.put_raw_group(THIS[:1])
    with (
        owner.consumer() as consumer,
        pytest.raises(errors.PoisonMessage, match="or the loop over its group was left early"),
    ):
        for group in consumer:
            for _message in group:
                break


def test_after_a_commit_a_loop_may_be_left_again(owner, caplog):
    owner.put_raw_group(THIS)
    seen = []
    with owner.consumer(commit_every=1) as consumer:
        for group in consumer:
            for message in group:
                if message.data not in seen:
                    seen.append(message.data)
                    break
    assert seen == THIS
    assert len(warnings(caplog)) == len(THIS)


def test_the_error_does_not_end_the_consumer(owner):
    owner.put_raw_group(THIS)
    with owner.consumer() as consumer:
        for _ in range(5):
            for _message in next(iter(consumer)):
                break
        with pytest.raises(GroupUsage):
            next(iter(consumer))
        assert [message.data for message in next(iter(consumer))] == THIS


def test_a_resumed_group_is_told_once(owner, caplog):
    owner.put_raw_group(THIS)
    with pytest.raises(Failed), owner.consumer() as consumer:
        for message in next(iter(consumer)):
            if message.msg_seq_number == 5:
                raise Failed
    caplog.clear()
    assert owner.get_groups() == [THIS[4:]]
    (told,) = warnings(caplog)
    assert "resumes an interrupted group" in told


@pytest.mark.parametrize(("again_s", "told"), [(600.0, 1), (0.05, 3)])
def test_a_consumer_that_waits_for_a_message_says_so_and_repeats_it_rarely(owner, caplog, monkeypatch, again_s, told):
    monkeypatch.setattr(cursor, "_LONGEST_WAIT_MS", 10)
    monkeypatch.setattr(getter, "_TELL_AFTER_S", 0.02)
    monkeypatch.setattr(getter, "_TELL_AGAIN_S", again_s)
    owner.put_raw_group(THIS, whole=False)
    with owner.consumer(group_wait_s=0.3) as consumer, pytest.raises(errors.GroupStalled):
        list(next(iter(consumer)))
    said = [text for text in warnings(caplog) if "waits for message 8 of group" in text]
    assert len(said) == told or len(said) >= told > 1


def test_a_pipe_from_a_queue_to_itself_is_refused(owner):
    with pytest.raises(ConfigurationError, match=f"a pipe from '{owner.queue}' to itself would never end"):
        owner.qmgr.group_pipe(owner.queue, owner.queue, name=owner.name)
