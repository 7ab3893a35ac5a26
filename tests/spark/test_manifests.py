"""The manifests of a source: what they list, how long they stay, and what is refused; on the queue manager under test too."""

from __future__ import annotations

import json

import pytest

from embedded_tests.fix_mqi import OK
from embedded_tests.tables import table
from mqembedded import Fault
from mqgroups.connection.holder import connection_of
from mqgroups.errors import ConfigurationError, StatusQueueUnusable
from mqgroups.mqi import constants as mqi
from mqgroups.spark.errors import CheckpointUnusable
from mqgroups.spark.manifest_queue import ManifestQueue
from mqgroups.spark.manifests import Manifests
from mqgroups.spark.offsets import Key, Offset, Planned
from mqgroups.spark.removal import Removers
from mqgroups.spark.reservation import ReservedQueue
from mqgroups.spark.signs import note_of, sign_of
from mqgroups.status.writer import writer

SOURCE = "ab" * 24
MODEL = "MQGROUPS.SHARED.STATUS.MODEL"


class Messages:
    """The messages on a status queue, by MsgId."""

    name = "STATUS"

    def __init__(self):
        self.data = {}
        self.units_of_work = 0
        self.source = bytes.fromhex(SOURCE)

    def browse(self, source):
        assert source == self.source
        return list(self.data.items())

    def change(self, source, put, delete):
        assert source == self.source
        self.units_of_work += 1
        for msg_id in delete:
            self.data.pop(msg_id, None)
        msg_ids = [b"%d-%d" % (self.units_of_work, number) for number in range(len(put))]
        self.data.update(zip(msg_ids, put, strict=True))
        return msg_ids

    def has(self, source, msg_id):
        assert source == self.source
        return msg_id in self.data

    def values(self):
        return [json.loads(data) for data in self.data.values()]

    def kinds(self):
        """Manifest and kind of each message but signs and times: the number of a part, or 0 for a mark."""
        return [
            (value["manifest"][0], value.get("part", 0))
            for value in self.values()
            if not value.keys() & {"read", "missed"}
        ]

    def signs(self):
        """The manifests that have a sign."""
        return [value["manifest"][0] for value in self.values() if "read" in value]


def key(number, first=b"M"):
    return Key(number.to_bytes(24, "big"), "2026112113482001", first * 24)


def planned(*numbers):
    return tuple(Planned(key(number), 10) for number in numbers)


def named(digit):
    return digit * 32


def followed(manifests, offset, digit, *numbers):
    return manifests.follow(offset, SOURCE, named(digit), planned(*numbers), 2)


def begun(*numbers):
    """Put the manifest of a first micro-batch; returns the messages, the manifests and the offset."""
    messages = Messages()
    manifests = Manifests(messages)
    return messages, manifests, followed(manifests, Offset(), "1", *numbers)


def learned(messages, offset):
    """The manifests of another process, which begins with this offset."""
    other = Manifests(messages)
    other.learn(offset)
    return other


def signs_of(manifest):
    """The signs of all bundles of a micro-batch."""
    return [sign_of(manifest, bundle) for bundle in range(2)]


def remove(manifests, offset, missed=(), now_s=1000):
    """Remove the groups of micro-batches that tasks have read, if anything is left of them."""
    on_queue = {value["manifest"]: value["bundles"] for value in manifests._messages.values() if "part" in value}
    for each in offset.manifests:
        manifests._messages.data.update(sign_of(each, bundle) for bundle in range(on_queue.get(each, 0)))
    by_manifest = manifests.to_remove(offset, now_s)
    manifests.removed(tuple(by_manifest), frozenset(map(key, missed)), now_s)
    return {each for shares in by_manifest.values() for keys in shares for each in keys}


def test_a_manifest_is_put_and_another_process_reads_it():
    messages = Messages()
    one = followed(Manifests(messages), Offset(), "1", 1, 2)
    assert messages.values() == [
        {
            "v": 2,
            "by": writer(),
            "manifest": named("1"),
            "seq": 1,
            "bundles": 2,
            "part": 1,
            "parts": 1,
            "groups": [[str(key(1)), 10], [str(key(2)), 10]],
        }
    ]
    other = learned(messages, one)
    assert other.bundles(one) == [list(planned(1)), list(planned(2))]
    assert [other.knows(key(number)) for number in (1, 2, 3)] == [True, True, False]


def test_thirty_thousand_groups_are_in_parts_that_fit_a_queue():
    messages = Messages()
    groups = [Planned(key(number), 10**9) for number in range(30_000)]
    offset = Manifests(messages).follow(Offset(), SOURCE, named("1"), groups, 1)
    assert len(messages.data) == 3
    assert max(map(len, messages.data.values())) < 1_000_000
    other = learned(messages, offset)
    assert other.bundles(offset) == [groups]


def test_a_group_is_held_by_another_one_with_its_group_id_until_that_is_removed():
    _, manifests, one = begun(1)
    other = key(1, b"N")
    assert (manifests.knows(other), manifests.holds(other), manifests.holds(key(2, b"N"))) == (False, True, False)
    # It is not found, and may come back.
    assert remove(manifests, one, missed=[1]) == {key(1)}
    assert remove(manifests, one, now_s=1599) == set()
    assert manifests.holds(other)
    assert remove(manifests, one, missed=[1], now_s=1600) == {key(1)}
    assert not manifests.holds(other)


def test_a_manifest_stays_until_no_offset_that_spark_begins_with_names_it():
    messages, manifests, one = begun(1)
    two = followed(manifests, one, "2", 2)
    assert two.pending == (named("1"),)
    assert remove(manifests, one) == {key(1)}
    # The log has ``two``, which names both: the mark says that the first is gone.
    assert messages.kinds() == [("1", 1), ("2", 1), ("1", 0)]
    three = followed(manifests, two, "3", 3)
    assert messages.kinds() == [("2", 1), ("1", 0), ("3", 1)]
    assert three.pending == (named("2"),)
    assert remove(manifests, three) == {key(2), key(3)}
    manifests.tidy(three)
    assert messages.kinds() == [("2", 0), ("3", 0)]
    other = learned(messages, three)
    assert not any(other.knows(key(number)) for number in (1, 2, 3))
    four = followed(other, three, "4", 4)
    other.tidy(four)
    assert messages.kinds() == [("4", 1)]
    assert four.pending == ()


def test_groups_that_are_not_read_to_their_end_are_not_removed_but_those_before_them():
    messages, manifests, one = begun(1, 2)
    two = followed(manifests, one, "2", 3, 4)
    messages.data.update([*signs_of(named("1")), sign_of(named("2"), 1)])
    by_manifest = manifests.to_remove(two, 1000)
    assert by_manifest == {named("1"): [[key(1)], [key(2)]]}
    assert manifests.unread(one, by_manifest) is None
    unread = manifests.unread(two, by_manifest)
    assert unread is not None
    assert (unread.because, unread.status_queue) == ("not-read", "STATUS")
    assert "only 1 of its 2 partitions" in str(unread)
    assert f"the micro-batch of manifest {named('2')}" in str(unread)
    assert "Its 2 groups stay" in str(unread)
    manifests.removed(tuple(by_manifest), frozenset([key(1)]), 1000)
    assert manifests.to_remove(two, 1000) == {}
    assert manifests.unread(one, ()) is None


@table("restarted", [True, False])
def test_a_sign_stays_until_the_mark_is_committed_and_goes_with_the_parts(restarted):
    messages, manifests, one = begun(1)
    remove(manifests, one)
    assert (messages.kinds(), messages.signs()) == ([("1", 1), ("1", 0)], ["1"])
    if restarted:
        manifests = learned(messages, one)
    two = followed(manifests, one, "2", 2)
    assert (messages.kinds(), messages.signs()) == ([("1", 0), ("2", 1)], [])
    # One of a task that was late is deleted by the next process.
    messages.data.update([sign_of(named("1"), 0)])
    other = learned(messages, two)
    other.tidy(two)
    assert (messages.kinds(), messages.signs()) == ([("2", 1)], [])


def test_nothing_is_changed_for_nothing():
    messages = Messages()
    manifests = Manifests(messages)
    manifests.tidy(Offset())
    one = followed(manifests, Offset(), "1", 1)
    manifests.learn(one)
    manifests.tidy(one)
    remove(manifests, one)
    remove(manifests, one)
    manifests.tidy(one)
    manifests.tidy(one)
    # The manifest, its mark, and the end of its part.
    assert messages.units_of_work == 3


def test_a_manifest_that_no_offset_names_is_deleted_when_another_one_has_its_number():
    messages = Messages()
    first = Manifests(messages)
    one = followed(first, Offset(), "1", 1)
    followed(first, one, "2", 2)
    # The driver died before the log had the second offset.
    other = learned(messages, one)
    assert not other.knows(key(2))
    again = followed(other, one, "3", 2, 3)
    assert messages.kinds() == [("1", 1), ("2", 1), ("3", 1)]
    other.tidy(again)
    assert messages.kinds() == [("1", 1), ("3", 1)]
    assert (again.seq, again.pending) == (2, (named("1"),))


def test_an_offset_that_spark_did_not_begin_with_is_offered_again():
    messages = Messages()
    manifests = Manifests(messages)
    assert manifests.offered(Offset()) is None
    one = followed(manifests, Offset(), "1", 1)
    assert manifests.offered(Offset()) == one
    manifests.tidy(Offset())
    assert messages.kinds() == [("1", 1)]
    assert manifests.offered(one) is None
    two = followed(manifests, one, "2", 2)
    assert (manifests.offered(Offset()), manifests.offered(one)) == (None, two)


def test_a_manifest_stays_that_a_zombie_may_write_to_the_log():
    """Spark has read its log up to ``one`` when the JVM of a dead driver writes ``two``."""
    messages = Messages()
    zombie = Manifests(messages)
    one = followed(zombie, Offset(), "1", 1)
    two = followed(zombie, one, "2", 2)
    successor = learned(messages, one)
    successor.tidy(one)
    three = followed(successor, one, "3", 2)
    # Spark does not write it, because there is one already.
    assert three.seq == two.seq
    following = learned(messages, two)
    assert len(following.bundles(two)) == 1
    following.tidy(two)
    assert messages.kinds() == [("1", 1), ("2", 1)]


def test_what_was_missed_stays_known_and_is_removed_for_the_last_time_after_ten_minutes():
    messages, manifests, one = begun(1, 2)
    assert remove(manifests, one, missed=[2]) == {key(1), key(2)}
    assert [manifests.knows(key(number)) for number in (1, 2)] == [False, True]
    assert [value["missed"] for value in messages.values() if "missed" in value] == [1000]
    two = followed(manifests, one, "2", 3)
    assert two.pending == (named("1"),)
    assert remove(manifests, two, now_s=1599) == {key(3)}

    other = learned(messages, two)
    # It does not know which ones were missed.
    assert [other.knows(key(number)) for number in (1, 2, 3)] == [True, True, False]
    assert remove(other, two, now_s=1599) == set()
    assert remove(other, two, missed=[1, 2], now_s=1600) == {key(1), key(2)}
    assert followed(other, two, "3", 4).pending == ()
    assert not any("missed" in value for value in messages.values())


def test_what_a_dead_process_was_removing_for_the_last_time_is_missed_for_another_ten_minutes():
    messages, manifests, one = begun(1)
    assert remove(manifests, one, missed=[1]) == {key(1)}
    assert manifests.to_remove(one, 1600) == {named("1"): [[key(1)]]}
    other = learned(messages, one)
    assert remove(other, one, now_s=2199) == set()
    assert remove(other, one, now_s=2200) == {key(1)}


def test_what_another_process_may_have_begun_to_remove():
    """Not what it has noted to be begun for certain, nor what Spark has not finished."""
    messages, manifests, one = begun(1, 2, 3)
    two = followed(manifests, one, "2", 4)
    messages.data.update([note_of(named("1"), 1, key(2))])
    assert manifests.hidden(two.manifests) == frozenset()
    other = learned(messages, two)
    assert other.hidden(two.manifests) == {key(1), key(3), key(4)}
    other.bundles(two)
    assert other.hidden(two.manifests) == {key(1), key(3)}
    remove(other, one)
    followed(other, two, "3", 5)
    assert not any("begun" in value for value in messages.values())


@table("groups", [1, 10_001])
def test_a_manifest_that_is_missing_in_part_or_whole_stops_the_query(groups):
    messages = Messages()
    numbers = [Planned(key(number), 1) for number in range(groups)]
    one = Manifests(messages).follow(Offset(), SOURCE, named("1"), numbers, 8)
    del messages.data[next(iter(messages.data))]
    with pytest.raises(CheckpointUnusable, match="is not on status queue STATUS") as refused:
        Manifests(messages).learn(one)
    assert "a new checkpoint and a new output" in str(refused.value)
    assert "trigger(availableNow=True) before: that removes what was processed" in str(refused.value)
    assert str(refused.value).startswith(f"manifest {named('1')}, ")
    assert (refused.value.found, refused.value.expected) == ((0, 0) if groups == 1 else (1, 2))


def test_a_micro_batch_that_was_removed_cannot_be_read_again():
    messages, manifests, one = begun(1)
    remove(manifests, one)
    for each in (manifests, Manifests(messages)):
        each.learn(one)
        with pytest.raises(CheckpointUnusable, match="is not on status queue"):
            each.bundles(one)


def test_a_part_that_is_there_twice_counts_once():
    messages = Messages()
    one = followed(Manifests(messages), Offset(), "1", 1, 2)
    messages.data[b"again"] = next(iter(messages.data.values()))
    other = learned(messages, one)
    assert other.bundles(one) == [list(planned(1)), list(planned(2))]
    two = followed(other, one, "2", 3)
    remove(other, two)
    other.tidy(two)
    assert messages.kinds() == [("1", 0), ("2", 0)]


def test_no_more_bundles_are_believed_than_a_manifest_has_groups():
    deleted = []

    class Told(Messages):
        def change(self, source, put, delete):
            deleted.extend(delete)
            return super().change(source, put, deleted)

    messages = Told()
    one = followed(Manifests(messages), Offset(), "1", 1)
    # Given parts that another program put: of the manifest that is needed, and of one that is not.
    (part,) = map(json.loads, messages.data.values())
    for number, manifest in enumerate((part["manifest"], "e" * 32, "f" * 32)):
        forged = part | {"manifest": manifest, "seq": 1, "bundles": 10**5, "groups": part["groups"][: 2 - number]}
        messages.data[bytes([number])] = json.dumps(forged).encode()
    deleted.clear()
    other = learned(messages, one)
    assert other.bundles(one) == [list(planned(1))]
    other.tidy(one)
    assert {bytes([1]), bytes([2])} <= set(deleted)
    assert len(deleted) == 4


@table(
    "data",
    [
        *(
            b"",
            b"{}",
            b"[]",
            b"\xff",
            b'{"v": 1, "manifest": "1"}',
            b'{"v": 2, "manifest": "1", "part": 1, "parts": 1}',
        ),
        b"[" * 100_000,
        b'{"v": 2, "manifest": "%s", "bundles": 1, "part": 1, "parts": 1e999, "groups": []}' % (b"1" * 32),
        b'{"v": 2, "manifest": "%s", "bundles": 1, "part": 1, "parts": 1, "groups": [["G%s", -1]]}'
        % (b"1" * 32, b"A" * 32),
        b'{"v": 2, "manifest": "%s", "bundles": 1, "part": 1, "parts": 1, "groups": [["M%s%s%s", 1]]}'
        % (b"1" * 32, b"A" * 32, b"2" * 16, b"9" * 10),
        b'{"v": 2, "manifest": "%s", "seq": 1, "bundles": 0, "part": 1, "parts": 1, "groups": []}' % (b"1" * 32),
        b'{"v": 2, "by": "mqgroups 9.0", "manifest": "%s", "read": 0, "colour": 1}' % (b"1" * 32),
        # The MsgId of its sign could not be made.
        b'{"v": 2, "manifest": "x", "bundles": 1, "part": 1, "parts": 1, "groups": []}',
    ],
)
def test_what_is_no_manifest_is_refused_by_its_msg_id(data):
    messages = Messages()
    messages.data[b"\x01\x02"] = data
    with pytest.raises(StatusQueueUnusable, match="MsgId 0102"):
        Manifests(messages).learn(Offset(SOURCE, 1, named("1")))


def test_what_another_version_has_put_names_it_and_what_need_not_be_known_is_passed_over():
    messages = Messages()
    said = b'{"v": 2, "by": "mqgroups 9.0", "manifest": "%s", "missed": 7, "%s": 1}' % (b"1" * 32, b"optional_colour")
    messages.data[b"\x01"] = said
    one = Manifests(messages)
    with pytest.raises(CheckpointUnusable):
        one.learn(Offset(SOURCE, 1, named("2")))
    messages.data[b"\x01"] = said.replace(b"optional_", b"")
    with pytest.raises(StatusQueueUnusable, match=r"'colour'.*, put by mqgroups 9\.0\. Run the query"):
        Manifests(messages).learn(Offset(SOURCE, 1, named("2")))


# --- the status queue itself, on the queue manager under test


@pytest.fixture
def opened(owner, make_queue):
    """A function that opens the owner's queue, and a status queue for it, as a source does."""

    def open_queue(name=None, model=MODEL, **connection):
        q_mgr = connection_of(owner.connect(**connection))
        reserved = ReservedQueue(q_mgr, owner.queue, 0, Removers(lambda: q_mgr, owner.queue, 1, 1))
        return ManifestQueue(q_mgr, reserved, name or make_queue(), model)

    return open_queue


def test_messages_are_put_and_deleted_together_and_those_of_other_sources_are_not_seen(opened):
    queue = opened()
    source, other = b"S" * 24, b"O" * 24
    (unseen,) = queue.change(other, [b"other"], ())
    one, two = queue.change(source, [b"one", b"two"], ())
    assert queue.browse(source) == [(one, b"one"), (two, b"two")]
    (three,) = queue.change(source, [b"three" * 100_000], [one, b"not there" + bytes(15)])
    assert queue.browse(source) == [(two, b"two"), (three, b"three" * 100_000)]
    assert queue.change(source, (), [two, three, unseen]) == []
    assert queue.browse(source) == []
    assert queue.browse(other) == [(unseen, b"other")]


def test_a_report_with_the_data_of_a_manifest_or_the_msg_id_of_a_sign_is_refused(owner, opened, make_queue):
    name = make_queue()
    queue = opened(name)
    owner.put_raw(b"{}", name, CorrelId=b"S" * 24, MsgId=b"sign".ljust(24), MsgType=4, Feedback=258)
    with pytest.raises(StatusQueueUnusable, match="a message with MsgType 4, Feedback 258"):
        queue.browse(b"S" * 24)
    with pytest.raises(StatusQueueUnusable, match="a message with MsgType 4, Feedback 258"):
        queue.has(b"S" * 24, b"sign".ljust(24))
    assert not queue.has(b"S" * 24, b"none".ljust(24))


def test_messages_are_persistent_text_and_never_expire(owner, opened, make_queue):
    name = make_queue()
    opened(name).change(b"S" * 24, [b"{}"], ())
    handle = owner.eye.open(name, mqi.MQOO_BROWSE)
    got = handle.get(mqi.MQGMO_BROWSE_FIRST)
    handle.close()
    md = got.md
    assert (got.code, got.data, md.Format, md.CodedCharSetId) == (OK, b"{}", b"MQSTR   ", 1208)
    assert (md.Persistence, md.Expiry, md.CorrelId) == (mqi.MQPER_PERSISTENT, mqi.MQEI_UNLIMITED, b"S" * 24)


def test_the_status_queue_is_made_from_its_model(owner, opened):
    name = "MQGROUPS.SOURCE.MADE"
    opened(name).change(b"S" * 24, [b"{}"], ())
    handle = owner.eye.open(name, mqi.MQOO_INPUT_SHARED)
    assert handle.get().data == b"{}"
    assert handle.close(mqi.MQCO_DELETE) == OK


def test_the_data_queue_is_not_a_status_queue(owner, opened):
    with pytest.raises(ConfigurationError, match="is also the data queue"):
        opened(owner.queue)


def test_a_status_queue_that_ends_with_its_connection_is_refused(opened):
    with pytest.raises(StatusQueueUnusable, match="temporary dynamic"):
        opened("MQGROUPS.SOURCE.TEMPORARY", "MQGROUPS.CLAIM.MODEL")


@pytest.mark.embedded
@pytest.mark.parametrize(("verb", "calls"), [("MQGET", 3), ("MQPUT", 2), ("MQCMIT", 1)])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_change_is_made_when_the_connection_is_lost_at_any_call(opened, faults, verb, calls, when):
    queue = opened(reconnect_wait_s=30)
    source = b"S" * 24
    for number in range(1, calls + 1):
        old = queue.change(source, [b"old 1", b"old 2", b"old 3"], ())
        faults.arm(Fault("drop", when, number, verb))
        new = queue.change(source, [b"new 1", b"new 2"], old)
        assert faults.faults_fired() == 1
        faults.clear_faults()
        there = queue.browse(source)
        # A commit whose reply was lost is done again: then everything that was put is there twice.
        assert [data for _, data in there] == [b"new 1", b"new 2"] * (2 if (verb, when) == ("MQCMIT", "after") else 1)
        assert [msg_id for msg_id, _ in there][-2:] == new
        queue.change(source, (), [msg_id for msg_id, _ in there])


def test_a_status_queue_whose_messages_expire_is_refused_before_an_offset_names_a_manifest(opened, make_queue):
    with pytest.raises(StatusQueueUnusable, match="CAPEXPRY"):
        opened(make_queue("TEST.EXPIRING.SHARED")).change(b"S" * 24, [b"{}"], ())
