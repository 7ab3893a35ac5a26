"""``mqgroups describe``: a producer or consumer in one look, with its group and what to do."""

from __future__ import annotations

import json

import pytest

from tests.cli.test_groups import DONE, FAILED, THIS
from tests.fix_cli import environment, invoke


@pytest.fixture
def describe(owner):
    """A function that runs the command, and waits for nothing."""

    def run(*arguments):
        return invoke("describe", "--wait", "0", *arguments, **environment(owner.target))

    return run


def test_owner_group_picture_and_remedy_are_one_look(owner, make_owner, describe):
    owner.interrupt_put(THIS, group_name="orders-0815.csv")
    owner.interrupt_get(2)
    make_owner(queue=owner.queue).interrupt_put(THIS)
    result = describe(owner.name)
    assert result.exit_code == DONE
    lines = result.stdout.splitlines()
    assert f"get {owner.name}: interrupted" in lines
    assert f"put {owner.name}: interrupted" in lines
    assert [line for line in lines if " -> " in line] == [
        f"{owner.name} -> {owner.name} on {owner.queue}, orders-0815.csv: stalled: its producer or consumer is not at work"
    ]
    assert f"  [{'-' * 20}{'#' * 40}...]" in lines
    assert "  1 to 2 got; 3 to 6 on the queue; from 7 not there yet" in lines
    assert {f"  do: start put {owner.name}", f"  do: start get {owner.name}"} <= set(lines)
    said = json.loads(describe("-o", "json", owner.name).stdout)
    assert [each["role"] for each in said["owners"]] == ["get", "put"]
    ((found,)) = said["groups"]
    assert (found["group"]["state"], found["parts"][0]) == ("stalled", ["got", 1, 2])


def test_a_group_without_messages_is_described_too(owner, describe):
    owner.interrupt_put(THIS[:4])
    owner.empty()
    result = describe(owner.name)
    assert "its producer is interrupted, and no message of it is on the queue" in result.stdout
    assert "  1 to 2 missing; from 3 not there yet" in result.stdout.splitlines()
    assert f"  do: CLEAR QLOCAL('{owner.status_queue('put')}')" in result.stdout


def test_a_lost_record_shows_the_groups_that_may_be_its_own(owner, describe):
    owner.interrupt_put(THIS[:4])
    owner.take_record("put")
    result = describe(owner.name)
    assert f"put {owner.name}: record lost" in result.stdout
    assert "no record says who puts it" in result.stdout
    assert f"  do: mqgroups salvage rebuild --name {owner.name} --role put --queue {owner.queue}" in result.stdout


def test_an_owner_whose_record_cannot_be_read_is_said_to_hide_its_groups(owner, describe):
    owner.put_group(THIS)
    owner.put_raw(b"damaged", owner.status_queue("put"))
    result = describe(owner.name)
    assert f"put {owner.name}: unreadable" in result.stdout
    assert f"not seen: the groups of put {owner.name}: no record says its queue" in result.stderr
    assert "--unreadable-to QUEUE" in result.stdout


def test_a_name_without_a_status_queue_ends_1(describe):
    result = describe("NO.SUCH.NAME")
    assert (result.exit_code, "NO.SUCH.NAME: there is no status queue" in result.stderr) == (FAILED, True)
