"""FileSink: each group becomes a file, exactly once, whatever call or file operation is the last one that a program makes."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import struct
from pathlib import Path
from typing import Any

import pytest

import mqgroups
from embedded_tests.fix_mqi import OK
from mqgroups import aio, errors, operate
from mqgroups.core.group_properties import NAME
from mqgroups.mqi import constants as mq
from tests.get.test_group_key import BATCH, OTHERS, OURS, put_group

THIS = [b"%d" % number for number in range(7)]
WHOLE = b"".join(data + b"\n" for data in THIS)


class Died(BaseException):
    """The end of the program."""


def put(owner, name="", payloads=THIS):
    # Not by its name: another group of this name is put, too.
    with owner.producer() as producer, producer.group(properties={NAME: name} if name else {}) as group:
        for payload in payloads:
            group.put(payload)


def test_what_is_no_consumer_is_refused(owner, tmp_path):
    async def make():
        async with (
            aio.AsyncQueueManager(owner.connect()) as q_mgr,
            q_mgr.group_consumer(owner.queue, name=owner.name) as sink,
        ):
            mqgroups.FileSink(tmp_path, sink)  # type: ignore[arg-type]  # no GroupConsumer

    with pytest.raises(errors.ConfigurationError, match=r"consumer must be an mqgroups\.GroupConsumer, got"):
        asyncio.run(make())


def get(owner, folder, qmgr=None, *, stop_at=0, **more):
    """One start of a program that writes each group to a file."""
    with owner.consumer(qmgr, **more) as consumer:
        sink = mqgroups.FileSink(folder, consumer)
        for group in consumer:
            with sink.file(group) as file:
                for message in group:
                    file.write(message.data + b"\n")
                    if message.msg_seq_number == stop_at:
                        raise Died


def part_of_an_interrupted_group(owner, folder):
    """Put a group, end a program in the middle of it, and return the hidden file that it leaves."""
    put(owner, "a.csv")
    qmgr = owner.connect()
    with pytest.raises(Died):
        get(owner, folder, qmgr, stop_at=5)
    qmgr.close()
    (part,) = hidden(folder)
    return part


def test_a_folder_that_does_not_exist_is_refused_before_a_group_is_got(owner, tmp_path):
    (tmp_path / "file").touch()
    with owner.consumer() as consumer:
        for name, error in (("nowhere", FileNotFoundError), ("file", NotADirectoryError)):
            with pytest.raises(error) as caught:
                mqgroups.FileSink(tmp_path / name, consumer)
            assert caught.value.filename == str(tmp_path / name)


def in_place(folder):
    """Return the files that a reader sees, with their data."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


def hidden(folder):
    return [path for path in folder.iterdir() if path.name.startswith(".")]


def test_each_group_is_a_file_with_the_groups_name(owner, tmp_path):
    put(owner, "a.csv")
    put(owner, "b.csv", THIS[:1])
    get(owner, tmp_path)
    assert in_place(tmp_path) == {"a.csv": WHOLE, "b.csv": b"0\n"}
    assert hidden(tmp_path) == []


def test_a_file_is_in_place_only_when_its_group_is_committed(owner, tmp_path):
    put(owner, "a.csv")
    with owner.consumer() as consumer:
        sink = mqgroups.FileSink(tmp_path, consumer)
        for group in consumer:
            with sink.file(group) as file:
                for message in group:
                    assert in_place(tmp_path) == {}
                    file.write(message.data + b"\n")
            assert in_place(tmp_path) == {"a.csv": WHOLE}
            assert owner.data() == []


@pytest.mark.parametrize(("every", "stop_at"), [(1, 4), (2, 1), (2, 4), (2, 5), (2, 7), (100, 7)])
def test_a_file_goes_on_after_what_is_committed(owner, tmp_path, every, stop_at):
    put(owner, "a.csv")
    put(owner, "b.csv")
    qmgr = owner.connect()
    with pytest.raises(Died):
        get(owner, tmp_path, qmgr, stop_at=stop_at, commit_every=every)
    qmgr.close()
    assert in_place(tmp_path) == {}
    get(owner, tmp_path, commit_every=every)
    assert in_place(tmp_path) == {"a.csv": WHOLE, "b.csv": WHOLE}
    assert hidden(tmp_path) == []


def test_a_block_that_was_interrupted_while_it_was_entered_does_not_disturb_the_next_one(owner, tmp_path):
    """Given Ctrl-C before a ``with`` statement has the file, when that file is closed late, then the group's is as ever."""
    part_of_an_interrupted_group(owner, tmp_path)
    with owner.consumer() as consumer:
        sink = mqgroups.FileSink(tmp_path, consumer)
        interrupted = sink.file(next(iter(consumer)))
        interrupted.__enter__()
        for group in consumer:
            assert group.resume_from
            with sink.file(group) as file:
                del interrupted
                for message in group:
                    file.write(message.data + b"\n")
    assert in_place(tmp_path) == {"a.csv": WHOLE}


def test_a_name_that_is_no_file_name_is_replaced_by_the_group_id(owner, tmp_path):
    for name in ("", "../a.csv", "/a.csv", ".hidden", "a/b", "a\nb", "-rf", "x" * 256):
        put(owner, name)
    group_ids = {found.group_id.hex() for found in owner.on_queue()}
    folder = tmp_path / "folder"
    folder.mkdir()
    get(owner, folder)
    assert in_place(folder) == dict.fromkeys(group_ids, WHOLE)
    assert list(tmp_path.iterdir()) == [folder]


def test_groups_of_the_same_name_are_two_files(owner, tmp_path):
    put(owner, "a.csv")
    put(owner, "a.csv", THIS[:1])
    group_id = owner.on_queue()[-1].group_id.hex()
    get(owner, tmp_path)
    assert in_place(tmp_path) == {"a.csv": WHOLE, f"a.csv.{group_id}": b"0\n"}


@pytest.mark.parametrize("first", [True, False])
def test_a_consumer_of_a_sink_may_have_a_before_commit_too(owner, tmp_path, first):
    put(owner, "a.csv")
    numbers: list[int] = []
    flushed = []
    with owner.consumer() as consumer:
        if first:
            consumer.before_commit(lambda _: flushed.append(len(numbers)))
        sink = mqgroups.FileSink(tmp_path, consumer)
        if not first:
            consumer.before_commit(lambda _: flushed.append(len(numbers)))
        for group in consumer:
            with sink.file(group) as file:
                for message in group:
                    numbers.append(message.msg_seq_number)
                    file.write(message.data + b"\n")
    assert in_place(tmp_path) == {"a.csv": WHOLE}
    assert flushed == [2, 4, 6, 7]


def test_forgetting_the_checkpoint_loses_no_file_whose_last_commit_ended_in_an_error(owner, tmp_path):
    put(owner, "a.csv")

    def fail_at_the_end(progress):
        if progress.group_ended:
            raise ZeroDivisionError

    with owner.consumer(on_progress=fail_at_the_end) as consumer:
        sink = mqgroups.FileSink(tmp_path, consumer)
        group = next(iter(consumer))
        with pytest.raises(ZeroDivisionError), sink.file(group) as file:
            file.writelines(message.data + b"\n" for message in group)
        assert list(consumer) == []
        consumer.forget()
    assert in_place(tmp_path) == {"a.csv": WHOLE}


def test_a_file_may_be_moved_away_as_soon_as_it_is_in_place(owner, tmp_path):
    """The name is free again, and another group of that name is interrupted before its first commit."""
    put(owner, "a.csv")
    get(owner, tmp_path)
    (tmp_path / "a.csv").unlink()
    put(owner, "a.csv", THIS[:3])
    qmgr = owner.connect()
    with pytest.raises(Died):
        get(owner, tmp_path, qmgr, stop_at=1)
    qmgr.close()
    with owner.consumer() as consumer:
        mqgroups.FileSink(tmp_path, consumer)
        assert in_place(tmp_path) == {}
    get(owner, tmp_path)
    assert in_place(tmp_path) == {"a.csv": b"0\n1\n2\n"}


def test_an_abandoned_group_leaves_no_file(owner, tmp_path):
    with owner.producer() as producer, producer.group(properties={NAME: "a.csv"}) as group:
        for data in THIS[:5]:
            group.put(data)
        group.abandon(1)
    put(owner, "b.csv")
    with pytest.raises(errors.GroupAbandoned):
        get(owner, tmp_path)
    get(owner, tmp_path)
    assert in_place(tmp_path) == {"b.csv": WHOLE}
    assert hidden(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "folder"), [("a.csv", ""), ("../a.csv", ""), ("x" * 255, ""), ("x" * 255, "quarantine")]
)
def test_groups_of_the_same_group_id_are_files_of_their_own(owner, tmp_path, name, folder):
    header = b"RFH " + struct.pack("<4i8s2i", 2, 36 + 4 + 340, 546, 1208, b"MQSTR   ", 0, 1208) + struct.pack("<i", 340)
    properties = f"<mqgroups content='properties'><Name>{name}</Name></mqgroups>".encode().ljust(340)
    handle = owner.eye.open(owner.queue, mq.MQOO_OUTPUT)
    for data in (b"1", b"2", b"3", b"4"):
        flags = {"MsgFlags": mq.MQMF_MSG_IN_GROUP | mq.MQMF_LAST_MSG_IN_GROUP, "GroupId": b"G" * 24, "MsgSeqNumber": 1}
        described = {"Format": mq.MQFMT_RF_HEADER_2, "Encoding": 546, "CodedCharSetId": 1208}
        assert handle.put(header + properties + data, **flags, **described).code == OK
    handle.close()
    with owner.consumer() as consumer:
        sink = mqgroups.FileSink(tmp_path, consumer, check=lambda *_: "wrong" if folder else "")
        for group in consumer:
            assert group.name == name
            with sink.file(group) as file:
                file.writelines(message.data for message in group)
    found = [path for path in (tmp_path / folder).iterdir() if path.is_file() and path.suffix != ".reason"]
    assert sorted(path.read_bytes() for path in found) == [b"1", b"2", b"3", b"4"]


def test_a_long_name_stays_as_it_is(owner, tmp_path):
    name = "\u00e4" * 100 + ".csv"
    put(owner, name)
    get(owner, tmp_path)
    assert in_place(tmp_path) == {name: WHOLE}


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
RECEIVER = r"""
with connect() as qmgr, qmgr.group_consumer(queue, name=name, commit_every=2, wait_s=0) as consumer:
    sink = mqgroups.FileSink(env["FOLDER"], consumer)
    for group in consumer:
        with sink.file(group) as file:
            for message in group:
                file.write(message.data + b"\n")
"""


def test_a_name_that_the_locale_lacks_is_escaped_also_if_an_earlier_start_had_another_locale(owner, tmp_path, program):
    for name in ("\u540d.csv", "next \u540d.csv"):
        put(owner, name)
    qmgr = owner.connect()
    with pytest.raises(Died):
        get(owner, tmp_path, qmgr, stop_at=5)
    qmgr.close()
    program.environment |= {**ASCII, "FOLDER": str(tmp_path)}
    done = program.run(RECEIVER)
    assert done.returncode == 0
    assert in_place(tmp_path) == {"\\u540d.csv": WHOLE, "next \\u540d.csv": WHOLE}


def test_messages_in_no_group_are_files_too(owner, tmp_path):
    handle = owner.eye.open(owner.queue, mq.MQOO_OUTPUT)
    for data in (b"1", b"2"):
        assert handle.put(data).code == OK
    handle.close()
    msg_ids = [bytes(found.md.MsgId).hex() for found in owner.on_queue()]
    get(owner, tmp_path)
    assert in_place(tmp_path) == dict(zip(msg_ids, (b"1\n", b"2\n"), strict=True))


def test_a_partners_second_group_of_the_same_group_id_is_a_file_of_its_own_also_after_an_interrupted_one(
    owner, tmp_path
):
    put_group(owner, OURS, messages=5)
    put_group(owner, OTHERS, messages=4)
    for stop_at in (4, 3):
        qmgr = owner.connect()
        with pytest.raises(Died):
            get(owner, tmp_path, qmgr, stop_at=stop_at)
        qmgr.close()
    put_group(owner, OTHERS, messages=1)
    get(owner, tmp_path)
    first, second = b"1\n2\n3\n4\n5\n", b"1\n2\n3\n4\n"
    names = BATCH.hex(), f"{BATCH.hex()}.{OTHERS.hex()}"
    found = in_place(tmp_path)
    assert (found.pop(names[0]), found.pop(names[1])) == (first, second)
    # The third one has the key of the second, so nothing but a random number is left.
    ((name, data),) = found.items()
    assert (name.startswith(f"{names[1]}."), data) == (True, b"1\n")


def test_a_file_that_has_the_name_by_now_is_not_replaced(owner, tmp_path):
    put(owner, "a.csv")
    with owner.consumer() as consumer:
        sink = mqgroups.FileSink(tmp_path, consumer)
        for group in consumer:
            with sink.file(group) as file:
                (tmp_path / "a.csv").write_bytes(b"another program's")
                file.writelines(message.data + b"\n" for message in group)
    assert in_place(tmp_path).pop("a.csv") == b"another program's"
    assert sorted(in_place(tmp_path).values()) == [WHOLE, b"another program's"]


def test_a_group_goes_on_in_its_file_if_its_record_was_rebuilt_with_the_checkpoint(owner, tmp_path):
    part = part_of_an_interrupted_group(owner, tmp_path)
    checkpoint = owner.record("get")["checkpoint"]["json"]
    owner.empty(owner.status_queue("get"))
    done = operate.salvage_owner(owner.qmgr, owner.name, "get", queue=owner.queue, checkpoint=checkpoint)
    assert done.record is not None
    assert (done.record.first_msg_id, part.exists()) == (bytes(24), True)
    get(owner, tmp_path)
    assert in_place(tmp_path) == {"a.csv": WHOLE}


def test_what_a_sink_cannot_do_is_refused(owner, tmp_path):
    put(owner)
    with owner.consumer() as consumer:
        mqgroups.FileSink(tmp_path, consumer)
        with pytest.raises(errors.GroupUsage, match="outside of"):
            [list(group) for group in consumer]
    with owner.consumer() as consumer:
        for group in consumer:
            for _ in group:
                group.set_checkpoint("mine")
        with pytest.raises(errors.GroupUsage, match="not a FileSink's"):
            mqgroups.FileSink(tmp_path, consumer)


# What somebody who may put to the status queue can write into the record.
CHANGES: list[dict[str, Any]] = [
    {"file": "../moved"},
    {"file": "/etc/moved"},
    {"file": "quarantine"},
    {"file": 7},
    {"part": "{folder}/../secret"},
    {"part": "../secret"},
    {"part": f".1.{'0' * 96}.part"},
    {"key": "../secret"},
    {"bytes": -1},
    {"ended": "yes"},
    {"wrong": None},
    {"more": ""},
]


def test_a_checkpoint_that_somebody_has_changed_moves_and_copies_nothing(owner, tmp_path):
    folder, key = tmp_path / "folder", "47" * 48
    part = folder / f".1.{key}.part"
    folder.mkdir()
    part.write_bytes(b"data")
    (tmp_path / "secret").write_bytes(b"password")
    made = {"file": "a.csv", "key": key, "part": part.name, "bytes": 4, "ended": True, "wrong": ""}
    before = sorted(tmp_path.rglob("*"))
    with owner.consumer() as consumer:

        def set_checkpoint(checkpoint):
            put(owner, "a.csv", [b"data"])
            group = next(iter(consumer))
            group.set_checkpoint(checkpoint)
            list(group)

        for change in CHANGES:
            set_checkpoint(
                {
                    **made,
                    **{k: v.replace("{folder}", str(folder)) if isinstance(v, str) else v for k, v in change.items()},
                }
            )
            with pytest.raises(errors.GroupUsage, match="not a FileSink's"):
                mqgroups.FileSink(folder, consumer)
            assert sorted(tmp_path.rglob("*")) == before, change
        set_checkpoint(made)
        mqgroups.FileSink(folder, consumer)
        assert in_place(folder) == {"a.csv": b"data"}


@pytest.mark.parametrize("damage", ["removed", "cut"])
def test_a_file_that_has_lost_its_beginning_is_refused(owner, tmp_path, damage):
    part = part_of_an_interrupted_group(owner, tmp_path)
    whole = part.read_bytes()
    if damage == "removed":
        part.unlink()
    else:
        part.write_bytes(whole[:3])
    with pytest.raises(errors.GroupUsage, match="8 are committed"):
        get(owner, tmp_path)
    part.write_bytes(whole)
    get(owner, tmp_path)
    assert in_place(tmp_path) == {"a.csv": WHOLE}


def test_a_link_in_the_place_of_the_hidden_file_is_not_followed(owner, tmp_path):
    part = part_of_an_interrupted_group(owner, tmp_path)
    part.rename(tmp_path / "elsewhere")
    part.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        get(owner, tmp_path)
    (tmp_path / "elsewhere").rename(part)
    get(owner, tmp_path)
    assert in_place(tmp_path) == {"a.csv": WHOLE}


def test_a_start_that_was_replaced_and_wakes_up_does_not_touch_the_files_of_its_successor(owner, tmp_path):
    put(owner, "a.csv")
    put(owner, "b.csv")
    qmgr = owner.connect()
    consumer = owner.consumer(qmgr, commit_every=2)
    asleep = mqgroups.FileSink(tmp_path, consumer)
    group = next(iter(consumer))
    its_file = asleep._begin(group)
    for message in itertools.islice(group, 5):
        its_file.write(message.data + b"\n")
    qmgr.close()
    with owner.consumer(commit_every=2) as successor:
        sink = mqgroups.FileSink(tmp_path, successor)
        for group in successor:
            with sink.file(group) as file:
                for message in group:
                    file.write(message.data + b"\n")
                    if message.msg_seq_number == 6:
                        its_file.write(b"late")
                        its_file.flush()
                        asleep.finish()
        successor.forget()
    its_file.close()
    assert in_place(tmp_path) == {"a.csv": WHOLE, "b.csv": WHOLE}
    assert hidden(tmp_path) == []


def test_a_group_that_was_begun_without_the_sink_is_refused(owner, tmp_path):
    put(owner, "a.csv")
    with pytest.raises(Died), owner.consumer(commit_every=2) as consumer:  # noqa: PT012 - raised by the loop
        for group in consumer:
            for message in group:
                if message.msg_seq_number == 4:
                    raise Died
    with pytest.raises(errors.GroupUsage, match="would have no beginning"):
        get(owner, tmp_path)
    assert in_place(tmp_path) == {}
    assert owner.get_groups() == [THIS[2:]]


# --- the last file operation


@contextlib.contextmanager
def ended_at(name, nth, when):
    """End the program in this block before or after the n-th call of a file operation."""
    place = Path if name == "rename" else os
    operation, numbers = getattr(place, name), itertools.count(1)
    reached = False

    def ends(*arguments, **keywords):
        nonlocal reached
        reached = reached or next(numbers) == nth
        if reached and when == "before":
            raise Died
        result = operation(*arguments, **keywords)
        if reached:
            if isinstance(result, int):
                os.close(result)
            raise Died
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, name, ends)
        with contextlib.suppress(Died):
            yield
    assert reached, (name, nth)


@pytest.mark.parametrize("when", ["before", "after"])
def test_nothing_is_lost_or_doubled_whatever_file_operation_is_the_last(owner, tmp_path, when):
    whole = {"a.csv": b"0\n1\n2\n3\n4\n", "b.csv": b"0\n1\n2\n"}
    for name, nth in (("open", 2), ("open", 3), ("fsync", 1), ("fsync", 4), ("rename", 1), ("fsync", 5), ("rename", 2)):
        folder = tmp_path / f"{name}-{nth}"
        folder.mkdir()
        put(owner, "a.csv", THIS[:5])
        put(owner, "b.csv", THIS[:3])
        qmgr = owner.connect()
        with ended_at(name, nth, when):
            get(owner, folder, qmgr)
        qmgr.close()
        seen = in_place(folder)
        get(owner, folder)
        assert in_place(folder) == whole, folder
        assert seen.items() <= whole.items(), folder
        assert hidden(folder) == owner.data() == [], folder
