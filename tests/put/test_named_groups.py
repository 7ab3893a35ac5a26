"""A group's name is its identity: what is put under a name is put once, and the program is told of what is left out."""

# ruff: noqa: PT012 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import logging
from typing import Any

import pytest

from embedded_tests.fix_mqi import OK
from embedded_tests.fix_properties import MessageHandle
from embedded_tests.fix_properties import put as raw_put
from mqgroups import errors
from mqgroups.errors import GroupUsage
from mqgroups.mqi import constants as mq
from tests.put.whole_groups import THIS, Crash

DAYS = ["day 1", "day 2", "day 3", "day 4"]


def load(producer, name, rows=THIS, **more):
    """The program of the first page: it puts what is not put yet."""
    with producer.group(name, **more) as group:
        for row in rows[group.resume_from :]:
            group.put(row)
    return group


def interrupt(owner, name, rows=THIS[:5], **more):
    qmgr = owner.connect()
    group = owner.producer(qmgr).group(name, **more)
    for row in rows:
        group.put(row)
    qmgr.close()


def put_groups(owner):
    return [[message.data for message in group] for group in messages_by_group(owner)]


def messages_by_group(owner):
    groups: dict[bytes, list[Any]] = {}
    for found in owner.on_queue():
        groups.setdefault(found.group_id, []).append(found)
    return list(groups.values())


def warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


@pytest.mark.parametrize("ends", ["in order", "by a crash"])
def test_what_is_complete_is_not_put_again(owner, caplog, ends):
    qmgr = owner.connect()
    load(owner.producer(qmgr), "orders.csv")
    qmgr.close()
    if ends == "in order":
        with owner.producer() as producer:
            load(producer, "orders.csv")
    caplog.clear()
    with owner.producer() as producer:
        group = load(producer, "orders.csv")
        assert (group.is_complete, group.resume_from, group.name) == (True, len(THIS), "orders.csv")
    assert put_groups(owner) == [THIS]
    (told,) = warnings(caplog)
    assert f"group 'orders.csv' is complete already: {len(THIS)} messages were put at 20" in told
    assert "give each input a name of its own" in told


def test_leaving_a_complete_group_makes_no_call(owner, count_calls):
    with owner.producer() as producer:
        load(producer, "orders.csv")
        count_calls()
        with producer.group("orders.csv") as group:
            assert group._has_ended
        assert count_calls() == {}


def test_more_rows_under_a_complete_name_are_refused(owner):
    with owner.producer() as producer:
        load(producer, "orders.csv")
        with pytest.raises(
            GroupUsage, match=rf"'orders.csv' is complete already: {len(THIS)} messages .* takes no more"
        ):
            load(producer, "orders.csv", [*THIS, b"one more"])
        # The producer goes on.
        load(producer, "more.csv", THIS[:2])
    assert put_groups(owner) == [THIS, THIS[:2]]


@pytest.mark.parametrize("call", ["put", "set_checkpoint", "abandon"])
def test_a_complete_group_takes_nothing(owner, call):
    with owner.producer() as producer:
        load(producer, "orders.csv")
        group = producer.group("orders.csv")
        with pytest.raises(GroupUsage, match="is complete already"):
            getattr(group, call)(*([] if call == "abandon" else [b"x"]))
    assert put_groups(owner) == [THIS]


def test_other_properties_under_a_complete_name_are_refused(owner):
    with owner.producer() as producer:
        load(producer, "orders.csv", properties={"size": 7, "date": "2026-11-28"})
        with pytest.raises(GroupUsage, match=r"is complete already.* its property 'size' has 7, and 8 is given now"):
            producer.group("orders.csv", properties={"size": 8})
        assert producer.group("orders.csv", properties={"size": 7}).is_complete
        assert producer.group("orders.csv").is_complete


def test_the_interrupted_group_of_the_name_is_resumed(owner, caplog):
    interrupt(owner, "orders.csv")
    caplog.clear()
    with owner.producer() as producer:
        assert len([told for told in warnings(caplog) if "resumes an interrupted group" in told]) == 1
        group = load(producer, "orders.csv")
        assert (group.resume_from, group.is_complete) == (4, False)
        assert load(producer, "orders.csv").is_complete
    assert put_groups(owner) == [THIS]


def test_a_group_resumed_without_its_name_is_known_by_it_afterwards(owner):
    interrupt(owner, "orders.csv")
    with owner.producer() as producer, producer.group() as group:
        for row in THIS[group.resume_from :]:
            group.put(row)
    with owner.producer() as producer:
        assert load(producer, "orders.csv").is_complete


@pytest.mark.parametrize(
    ("name", "ways"), [("order 1", r"producer.group\(\), or producer.group\('order 1'\)"), ("", r"producer.group\(\);")]
)
def test_another_group_is_not_put_behind_an_interrupted_one(owner, name, ways):
    interrupt(owner, name)
    with owner.producer() as producer:
        with pytest.raises(
            GroupUsage, match=rf"was interrupted after 4 messages, so group 'order 2' cannot begin. .*{ways}.* abandon"
        ):
            producer.group("order 2")
        with producer.group() as group:
            group.put(THIS[4])
        load(producer, "order 2", THIS[:3])
    assert put_groups(owner) == [THIS[:5], THIS[:3]]


def test_a_complete_group_is_known_while_another_one_is_interrupted(owner):
    with owner.producer() as producer:
        load(producer, "day 1")
    interrupt(owner, "day 2")
    with owner.producer() as producer:
        assert load(producer, "day 1").is_complete
        assert load(producer, "day 2").resume_from == 4
    assert put_groups(owner) == [THIS, THIS]


@pytest.mark.parametrize("done", range(len(DAYS) + 1))
@pytest.mark.parametrize("is_begun", [False, True])
def test_a_list_of_names_goes_on_where_it_was(owner, done, is_begun):
    with owner.producer() as producer:
        for day in DAYS[:done]:
            load(producer, day)
    if is_begun and done < len(DAYS):
        interrupt(owner, DAYS[done])
    with owner.producer() as producer:
        assert list(producer.remaining(DAYS)) == DAYS[done:]
        for day in producer.remaining(DAYS):
            load(producer, day)
        assert list(producer.remaining([*DAYS, "day 5"])) == ["day 5"]
        assert list(producer.remaining(["another"])) == ["another"]
    assert put_groups(owner) == [THIS] * len(DAYS)


def test_names_in_another_order_are_refused(owner):
    with owner.producer() as producer:
        load(producer, "day 1")
    interrupt(owner, "day 2")
    with (
        owner.producer() as producer,
        pytest.raises(GroupUsage, match="'day 2' is interrupted, but it comes before 'day 1'"),
    ):
        producer.remaining(["day 2", "day 1"])


@pytest.mark.parametrize(("names", "wrong"), [(["a", "b", "a"], "'a' occurs twice"), (["a", ""], "'' is no name")])
def test_each_group_needs_a_name_of_its_own(owner, names, wrong):
    with owner.producer() as producer, pytest.raises(GroupUsage, match=wrong):
        producer.remaining(names)


def test_the_last_name_stays_while_groups_are_abandoned_or_have_none(owner):
    with owner.producer() as producer:
        load(producer, "day 1")
        with producer.group("day 2") as group:
            for row in THIS[:5]:
                group.put(row)
            group.abandon()
        load(producer, "")
    with owner.producer() as producer:
        assert load(producer, "day 1").is_complete
        # An abandoned group is not complete: its name begins a new one.
        assert load(producer, "day 2").resume_from == 0


def test_forget_forgets_the_name(owner):
    with owner.producer() as producer:
        load(producer, "orders")
        producer.forget()
        load(producer, "orders")
    assert put_groups(owner) == [THIS, THIS]


def test_the_record_of_a_named_group_stays_until_it_is_forgotten(owner):
    with owner.producer() as producer:
        load(producer, "orders")
    assert (len(owner.records("put")), owner.anchors("put")) == (1, 1)
    with owner.producer() as producer:
        with pytest.raises(GroupUsage, match="the name of a complete group"):
            producer.delete_status_queue()
        producer.forget()
    assert (len(owner.records("put")), owner.anchors("put")) == (0, 0)


# --- programs whose input is gone when they end


def test_an_exception_in_the_block_abandons_the_group(owner, caplog):
    with owner.producer(interrupted="abandon") as producer:
        with pytest.raises(Crash), producer.group("order 1") as group:
            for row in THIS[:5]:
                group.put(row)
            raise Crash
        assert "abandons its interrupted group: Crash in its block" in warnings(caplog)[-1]
        load(producer, "order 2")
    told: list[errors.GroupAbandoned] = []
    with owner.consumer(on_abandon=told.append) as consumer:
        groups = iter(consumer)
        with pytest.raises(errors.GroupAbandoned):
            list(next(groups))
        assert [message.data for message in next(iter(consumer))] == THIS
    assert len(told) == 1


def test_a_group_of_which_nothing_is_committed_leaves_nothing(owner):
    with owner.producer(interrupted="abandon") as producer, pytest.raises(Crash), producer.group("order 1") as group:
        group.put(THIS[0])
        raise Crash
    assert owner.on_queue() == []


@pytest.mark.parametrize("name", ["order 1", ""])
def test_a_start_abandons_the_group_of_the_program_before(owner, name):
    interrupt(owner, name)
    with owner.producer(interrupted="abandon") as producer:
        assert len(owner.on_queue()) == 5
        # Also the same name begins anew: nobody knows whether the input is the same.
        assert load(producer, "order 1").resume_from == 0
    first, second = messages_by_group(owner)
    assert [found.data for found in second] == THIS
    assert [found.data for found in first] == [*THIS[:4], b""]


def test_after_stop_the_group_is_abandoned_too(owner):
    with (
        owner.producer(interrupted="abandon") as producer,
        pytest.raises(errors.Stopped),
        producer.group("order 1") as group,
    ):
        for row in THIS:
            group.put(row)
            if row == THIS[4]:
                producer.stop()
    assert owner.on_queue()[-1].data == b""
    with owner.producer() as producer:
        assert producer.group().resume_from == 0


# --- pipes: a name is a label


def test_the_outgoing_group_of_a_pipe_has_the_name_of_the_incoming_one(make_owner):
    source = make_owner()
    target = make_owner()
    with source.producer() as producer:
        for name in ("a", "a", ""):
            load(producer, name)
            producer.forget()
    settings = {"name": source.name, "wait_s": 0, "commit_every": 2}
    with source.qmgr.group_pipe(source.queue, target.queue, **settings) as pipe:
        for number, (incoming, outgoing) in enumerate(pipe):
            if number == 1:
                outgoing.set_properties({"more": 1}, name="b")
            for message in incoming:
                outgoing.put(message.data)
    with target.consumer() as consumer:
        assert [(group.name, [message.data for message in group]) for group in consumer] == [
            ("a", THIS),
            ("b", THIS),
            ("", THIS),
        ]


def test_a_name_of_others_that_no_group_can_have_does_not_stop_a_pipe(make_owner):
    source, target = make_owner(), make_owner()
    handle, properties = source.eye.open(source.queue, mq.MQOO_OUTPUT), MessageHandle(source.eye)
    assert properties.set("mqgroups.Name", "x" * 40_000) == OK
    assert raw_put(handle, b"data", properties, MsgFlags=mq.MQMF_LAST_MSG_IN_GROUP).code == OK
    handle.close()
    with source.qmgr.group_pipe(source.queue, target.queue, name=source.name, wait_s=0) as pipe:
        for incoming, outgoing in pipe:
            for message in incoming:
                outgoing.put(message.data)
    with target.consumer() as consumer:
        assert [(group.name, [message.data for message in group]) for group in consumer] == [("", [b"data"])]
