"""Files sent and received: each arrives once and as it was sent, whatever ends either side when; or is in quarantine."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import stat
import subprocess
import sys
import tracemalloc
from errno import ENOSPC
from functools import partial
from math import inf
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from embedded_tests.fix_mqi import PATIENCE_S
from mqembedded import Fault
from mqgroups import errors
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.files.description import Description
from mqgroups.files.receiving import FileReceiver
from mqgroups.files.sending import FileSender, Look, Records
from tests.files.test_sink import Died, ended_at, hidden, in_place
from tests.fix_cli import MQGROUPS, environment, invoke, run
from tests.workers.conftest import wait_until

FILES = {"a.csv": b"0\n1\n22\n\n4", "empty": b"", "b.bin": bytes(range(20))}
RECORDS = ["file", "lines", "bytes:3"]
# 14:25:36.789 on the day of IBM's example for MQ dates.
MODIFIED_NS = 1_700_000_736_789_000_000


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    folder.mkdir()
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
        os.utime(folder / name, ns=(MODIFIED_NS, MODIFIED_NS))
    return folder


@pytest.fixture
def target(tmp_path):
    folder = tmp_path / "target"
    folder.mkdir()
    return folder


@pytest.fixture
def archive(tmp_path):
    folder = tmp_path / "archive"
    folder.mkdir()
    return folder


def send(owner, paths, qmgr=None, *, records="file", abandon=False, archive=None, **more):
    """One start of a program that sends files; returns which of them it sent."""
    with owner.producer(qmgr, **{"segment_bytes": 4, **more}) as producer:
        sender = FileSender(producer, records=Records.of(records), archive=archive)
        if abandon:
            sender.abandon()
        sent = [
            path.name for path in sender.in_order(dict.fromkeys(paths)) if (done := sender.send(path)) and done.is_new
        ]
        sender.finish()
        return sent


def receive(owner, folder, qmgr=None, **more):
    """One start of a program that receives files; returns what it said of each."""
    opens = partial(owner.consumer, qmgr, stream=True, **more)
    receiver = FileReceiver(opens, folder, keep_waiting=False)
    with receiver.consumer as consumer:
        found = {str(each.path.relative_to(folder)): each.reason for each in receiver}
        consumer.forget()
        return found


def sorted_files(folder):
    return sorted(folder.iterdir())


@pytest.mark.parametrize("records", RECORDS)
def test_files_arrive_as_they_were_sent(owner, source, target, records):
    assert send(owner, sorted_files(source), records=records) == sorted(FILES)
    assert receive(owner, target) == dict.fromkeys(FILES, "")
    assert in_place(target) == FILES
    assert {path.stat().st_mtime_ns for path in target.iterdir()} == {MODIFIED_NS}
    assert owner.data() == owner.records("get") == []


def test_a_file_is_sent_again_only_if_it_has_changed(owner, source):
    assert send(owner, sorted_files(source)) == sorted(FILES)
    assert send(owner, sorted_files(source)) == []
    (source / "empty").touch()
    assert send(owner, sorted_files(source)) == ["empty"]
    assert send(owner, [source / "a.csv"]) == []
    with owner.producer() as producer:
        assert len(producer.checkpoint["sent"]) == 3


def test_a_file_is_known_by_its_contents_not_by_its_name_length_and_time(owner, source, archive):
    path, sent = source / "daily", []
    for day in (b"day1", b"day2", b"day3", b"day3", b"day1"):
        path.write_bytes(day)
        os.utime(path, ns=(0, 0))
        sent += send(owner, [path])
    assert [found.data for found in owner.on_queue() if found.data] == [b"day1", b"day2", b"day3", b"day1"]
    assert sent == ["daily"] * 4
    # With an archive a file that was sent is gone, so the same contents are another file.
    for number, day in enumerate((b"day1", b"day2", b"day2"), 1):
        path.write_bytes(day)
        os.utime(path, ns=(0, 0))
        assert send(owner, [path], archive=archive) == (["daily"] if number > 1 else [])
        assert sorted(each.read_bytes() for each in archive.iterdir()) == [b"day1", b"day2", b"day2"][:number]


def test_a_file_that_is_in_the_archive_need_not_be_there(owner, source, archive):
    paths = sorted_files(source)
    send(owner, paths[:1], archive=archive)
    with pytest.raises(FileNotFoundError, match="no such file"):
        send(owner, [*paths, source / "other"], archive=archive)
    assert send(owner, paths, archive=archive) == ["b.bin", "empty"]
    assert owner.records("put") == []
    with pytest.raises(FileNotFoundError, match="no such file"):
        send(owner, paths)


@pytest.mark.parametrize(
    ("records", "data"),
    [
        ("lines", [b"0\n", b"1\n", b"22\n", b"\n", b"4"]),
        ("bytes:3", [b"0\n1", b"\n22", b"\n\n4"]),
        ("file", [b"0\n1\n22\n\n4", b""]),
    ],
)
def test_records_say_what_a_message_is(owner, source, records, data):
    send(owner, [source / "a.csv"], records=records)
    assert owner.get_groups() == [data]


def test_the_group_says_what_is_known_of_its_file(owner, source):
    send(owner, [source / "a.csv"], records="lines")
    with owner.consumer() as consumer:
        for group in consumer:
            # An API exit may have added others.
            found = {name: value for name, value in group.properties.items() if name.startswith("mqgroups.")}
            assert len(list(group)) == 5
    assert found == {
        "mqgroups.Name": "a.csv",
        "mqgroups.FileBytes": 9,
        "mqgroups.FileModifiedMs": 1_700_000_736_789,
        # printf '0\n1\n22\n\n4' | sha256sum
        "mqgroups.FileSha256": "f279e88d5dc1ecf7897cfbd9beced213edb7581c9288976295cf6c68c95712da",
        "mqgroups.FileRecords": "lines",
    }


def test_a_file_that_was_sent_but_not_moved_is_only_moved(owner, source, archive, monkeypatch):
    # Given a sender that dies between a file's last commit and its move
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", Mock(side_effect=OSError("power failure")))
        with pytest.raises(OSError, match="power failure"):
            send(owner, [source / "b.bin"], archive=archive)
    # When it is started and stopped before it has looked for files, and then finds one that is before it in the alphabet
    with owner.producer() as producer:
        FileSender(producer, records=Records.of("file"), archive=archive).finish()
    assert send(owner, [source / "a.csv", source / "b.bin"], archive=archive) == ["a.csv"]
    # Then both are moved, and nothing is left on the status queue
    assert sorted(path.name for path in archive.iterdir()) == ["a.csv", "b.bin"]
    assert owner.records("put") == []


def test_sent_files_are_moved_to_the_archive_and_none_is_overwritten_there(owner, source, target, archive):
    (archive / "a.csv").write_bytes(b"older")
    send(owner, sorted_files(source), archive=archive)
    assert list(source.iterdir()) == []
    assert (archive / "a.csv").read_bytes() == b"older"
    assert len(list(archive.iterdir())) == 4
    assert receive(owner, target) == dict.fromkeys(FILES, "")
    # The same file once more: also the name with the digest is taken.
    before = in_place(archive)
    (source / "a.csv").write_bytes(FILES["a.csv"])
    os.utime(source / "a.csv", ns=(MODIFIED_NS, MODIFIED_NS))
    (source / "long".ljust(255, "g")).write_bytes(b"")
    (archive / "long".ljust(255, "g")).write_bytes(b"older")
    send(owner, sorted_files(source), archive=archive)
    assert before.items() < in_place(archive).items()
    assert len(list(archive.iterdir())) == 7


# --- interrupted


def interrupt(owner, path, **more):
    """Send the beginning of a file."""
    qmgr = owner.connect()
    with pytest.raises(ZeroDivisionError):
        send(owner, [path], qmgr, on_progress=lambda _: 1 // 0, **more)
    qmgr.close()


def test_the_interrupted_file_goes_first(owner, source, target):
    interrupt(owner, source / "b.bin")
    assert send(owner, sorted_files(source)) == ["b.bin", "a.csv", "empty"]
    assert receive(owner, target) == dict.fromkeys(FILES, "")
    assert in_place(target) == FILES


@pytest.mark.parametrize("change", ["gone", "data", "time"])
def test_an_interrupted_file_that_is_not_the_same_any_more_is_refused(owner, source, target, change):
    interrupt(owner, source / "b.bin")
    if change == "gone":
        (source / "b.bin").unlink()
    elif change == "data":
        (source / "b.bin").write_bytes(bytes(20))
    else:
        (source / "b.bin").touch()
    with pytest.raises(errors.GroupUsage, match=r"sending b\.bin was interrupted"):
        send(owner, sorted_files(source))
    left = send(owner, sorted_files(source), abandon=True)
    assert left == [path.name for path in sorted_files(source)]
    said = receive(owner, target)
    (quarantined,) = (name for name, reason in said.items() if reason)
    assert quarantined.startswith("quarantine/b.bin.")
    assert said.pop(quarantined) == "the sender has given up"
    assert set(said) == set(left)
    assert (target / f"{quarantined}.reason").read_text() == "the sender has given up\n"


def test_an_interrupted_file_is_divided_as_before(owner, source):
    interrupt(owner, source / "b.bin", records="bytes:3")
    with pytest.raises(errors.GroupUsage, match=r"'mqgroups\.FileRecords' has 'bytes:3'"):
        send(owner, sorted_files(source), records="bytes:4")


@pytest.mark.parametrize("records", ["bytes:500000", "file"])
def test_a_file_that_changes_while_it_is_sent_is_not_completed(owner, source, records):
    path = source / "large"
    path.write_bytes(bytes(9_000_000))
    os.utime(path, ns=(MODIFIED_NS, MODIFIED_NS))

    def changes(_):
        with path.open("r+b") as file:
            file.seek(5_000_000)
            file.write(b"x")

    with pytest.raises(errors.GroupUsage, match="changed while it was sent"):
        send(owner, [path], records=records, on_progress=changes, segment_bytes=500_000)
    before = owner.on_queue()
    assert before
    assert not any(found.is_last or b"x" in found.data for found in before)
    # Put back as it was, it is sent to its end: nothing of the change was put.
    with path.open("r+b") as file:
        file.seek(5_000_000)
        file.write(b"\0")
    os.utime(path, ns=(MODIFIED_NS, MODIFIED_NS))
    assert send(owner, [path], records=records, segment_bytes=500_000) == ["large"]
    assert b"".join(found.data for found in owner.on_queue()) == bytes(9_000_000)


def at(doing, done, action):
    """Return what is told how far a file is, and acts once: when so many bytes are done."""
    left = [action]

    def on_bytes(found, _path, bytes_done, _total):
        if left and (found, bytes_done) == (doing, done):
            left.pop()()

    return on_bytes


def grows(path):
    with path.open("ab") as file:
        file.write(b"more")


def is_replaced(path):
    (path.parent / ".new").write_bytes(b"the next")
    (path.parent / ".new").rename(path)


@pytest.mark.parametrize("archived", [True, False])
@pytest.mark.parametrize(
    ("change", "doing", "said", "sent"),
    [
        (grows, "checking", "changed while it was read", b""),
        (grows, "sending", "changed while it was sent", b""),
        (is_replaced, "checking", "was replaced after it was sent, or was written to", bytes(range(20))),
        (is_replaced, "sending", "was replaced after it was sent, or was written to", bytes(range(20))),
    ],
)
def test_a_file_that_grows_or_is_replaced_is_told_and_neither_mixed_nor_moved(
    owner, source, target, archive, archived, change, doing, said, sent
):
    path, more = source / "b.bin", {"archive": archive} if archived else {}
    with owner.producer() as producer:
        sender = FileSender(
            producer, records=Records.of("bytes:20"), on_bytes=at(doing, 20, lambda: change(path)), **more
        )
        with pytest.raises(errors.GroupUsage, match=said):
            sender.send(path)
    assert b"".join(found.data for found in owner.on_queue()) == sent
    assert list(archive.iterdir()) == []
    now = path.read_bytes()
    assert send(owner, [path], **more) == ["b.bin"]
    assert set(receive(owner, target).values()) == {""}
    assert sorted(in_place(target).values()) == sorted(filter(None, (sent, now)))


def test_a_file_that_comes_while_another_is_moved_is_told(owner, source, archive, monkeypatch):
    path, rename = source / "b.bin", Path.rename

    def late(file, target):
        monkeypatch.setattr(Path, "rename", rename)
        is_replaced(path)
        return rename(file, target)

    monkeypatch.setattr(Path, "rename", late)
    with pytest.raises(errors.GroupUsage, match=rf"{archive}/b\.bin was replaced .*is not sent"):
        send(owner, [path], archive=archive)
    assert in_place(archive) == {"b.bin": b"the next"}


def test_a_file_that_was_replaced_after_the_look_is_passed_over(owner, source, archive, tmp_path):
    path, secret = source / "a.csv", tmp_path / "secret"
    secret.write_bytes(path.read_bytes())
    os.utime(secret, ns=(MODIFIED_NS, MODIFIED_NS))
    replacements = [
        lambda: path.symlink_to(secret),
        lambda: path.symlink_to(path),
        lambda: os.mkfifo(path),
        lambda: secret.rename(path),
        lambda: None,
    ]
    with owner.producer() as producer:
        sender = FileSender(producer, records=Records.of("file"), archive=archive)
        for replace in replacements:
            assert sender.in_order({path: Look.of(path.lstat())}) == [path]
            path.rename(tmp_path / "before")
            replace()
            assert sender.send(path) is None
            (tmp_path / "before").rename(path)
    assert owner.on_queue() == []
    assert path.exists()


def test_a_checkpoint_of_another_kind_is_refused(owner, source):
    with owner.producer() as producer, producer.group() as group:
        group.set_checkpoint({"sent": "mine"})
        group.put(b"1")
    with pytest.raises(errors.GroupUsage, match="a checkpoint of another kind"):
        send(owner, sorted_files(source))


def test_records_that_are_none_are_refused():
    for text in ("", "lines:1", "bytes", "bytes:0", "bytes:x", "segments"):
        with pytest.raises(errors.ConfigurationError, match=f"records must be .*got '{text}'"):
            Records.of(text)


# --- quarantine


def put(owner, properties, messages=(b"1", b"2"), last=None):
    with owner.producer() as producer, producer.group(properties=properties) as group:
        for number, data in enumerate(messages, 1):
            group.put(data, last=number == len(messages), properties=last if number == len(messages) else None)


WRONG: list[tuple[dict[str, Any], dict[str, Any] | None, str]] = [
    ({"mqgroups.FileBytes": 3}, None, "the file has 2 bytes, and 3 were sent"),
    ({"mqgroups.FileBytes": 1}, None, "the file has more than the 1 bytes that were sent"),
    ({"mqgroups.FileBytes": -1}, None, "the file has more than the -1 bytes that were sent"),
    ({"mqgroups.FileBytes": "9" * 4000}, None, "the file has 2 bytes, and 9999"),
    ({"mqgroups.FileSha256": "0" * 64}, None, "the file has another SHA-256 than"),
    # IBM MQ, "Failure of a file-to-message transfer"
    (
        {"WMQFTEFileName": "/tmp/x"},
        {"WMQFTEResultCode": 40, "WMQFTESupplement": "BFGTR0036I: The transfer failed"},
        "BFGTR0036I: The transfer failed",
    ),
    ({}, {"UserReturnCode": "7"}, "the sender gave up with result 7"),
]


def test_what_is_not_as_it_was_sent_goes_to_quarantine_with_the_reason(owner, target):
    for properties, last, _ in WRONG:
        put(owner, properties, (b"1", b"2" if last is None else b""), last)
    found = receive(owner, target)
    for (name, said), (_, _, reason) in zip(found.items(), WRONG, strict=True):
        assert name.startswith("quarantine/")
        assert said.startswith(reason)
        assert (target / name).read_bytes() in (b"12", b"1", b"")
        assert (target / f"{name}.reason").read_text() == f"{said}\n"
    assert stat.S_IMODE((target / "quarantine").stat().st_mode) == 0o700
    names = {Path(name).name for name in found}
    assert in_place(target / "quarantine").keys() == names | {f"{name}.reason" for name in names}


def test_numbers_that_are_infinite_are_not_known(target):
    # A property can be infinite in an MQRFH2: <FileBytes dt='r8'>1e999</FileBytes>.
    about = Description.of_group({"mqgroups.FileBytes": inf, "mqgroups.FileModifiedMs": -inf})
    assert (about.data_bytes, about.modified_ms) == (None, None)


def test_a_time_that_the_file_system_does_not_have_is_left_out(owner, target):
    put(owner, {"mqgroups.FileModifiedMs": "9" * 30})
    assert list(receive(owner, target).values()) == [""]


@pytest.mark.parametrize("interrupted", [False, True])
def test_of_a_group_that_is_longer_than_was_sent_only_one_byte_more_is_written(owner, target, interrupted):
    put(owner, {"mqgroups.FileBytes": 3}, [b"0", b"12", b"3", b"45", b"6" * 100, b"7", b""])
    if interrupted:
        qmgr = owner.connect()
        with pytest.raises(ZeroDivisionError):
            receive(owner, target, qmgr, on_progress=lambda progress: 1 // (progress.total_messages < 6))
        qmgr.close()
    ((name, reason),) = receive(owner, target).items()
    assert reason == "the file has more than the 3 bytes that were sent"
    assert (target / name).read_bytes() == b"0123"


def test_a_file_that_is_longer_than_a_receiver_takes_is_cut_and_goes_to_quarantine(owner, commands, target):
    for properties in (
        {},
        {"mqgroups.FileBytes": 1 << 62},
        {"mqgroups.FileBytes": "9" * 4000},
        {"mqgroups.FileBytes": 6},
    ):
        put(owner, properties, [b"12", b"3456", b"78"])
    put(owner, {"mqgroups.FileBytes": 5}, [b"12", b"345"])
    done = commands("receive", "--into", target, "--idle", "0", "--max-bytes", "5")
    assert done.output.count("more than the 5 bytes that this receiver takes") == 4
    quarantined = in_place(target / "quarantine")
    (target / "quarantine").rename(target.parent / "quarantine")
    assert list(in_place(target).values()) == [b"12345"]
    assert [data for name, data in quarantined.items() if not name.endswith(".reason")] == [b"123456"] * 4


def test_a_group_that_never_completes_does_not_keep_back_the_others_if_whole_groups_are_asked_for(
    owner, make_owner, commands, target
):
    qmgr = owner.connect()
    with pytest.raises(Died), owner.producer(qmgr) as producer, producer.group() as group:  # noqa: PT012 - raised in the block
        owner.put_all(group, (b"1", b"2", b"3"))
        raise Died
    qmgr.close()
    put(make_owner(queue=owner.queue), {"mqgroups.Name": "a"})
    done = commands("receive", "--into", target, "--idle", "0", "--complete-groups-only")
    assert (done.exit_code, in_place(target)) == (ExitCode.DONE, {"a": b"12"})


def test_a_file_of_managed_file_transfer_keeps_its_name_and_nothing_of_its_path(owner, target):
    sent = {"/home/me/a.csv": "a.csv", "C:\\files\\b.csv": "b.csv", "c.csv": "c.csv", "/": "", "..": ""}
    for name in sent:
        put(owner, {"WMQFTEFileName": name, "WMQFTEFileSize": "2", "WMQFTEFileLastModified": "1700000736789"})
    group_ids = list(dict.fromkeys(found.group_id.hex() for found in owner.on_queue()))
    expected = [name or group_id for name, group_id in zip(sent.values(), group_ids, strict=True)]
    assert receive(owner, target) == dict.fromkeys(expected, "")
    assert {path.stat().st_mtime_ns for path in target.iterdir()} == {MODIFIED_NS}


def test_a_file_that_does_not_come_again_is_abandoned_without_another(owner, commands, source):
    interrupt(owner, source / "b.bin")
    done = commands("send", "--abandon")
    assert (done.exit_code, done.stdout) == (0, "b.bin: abandoned\n")


def test_a_file_whose_sender_gives_up_goes_to_quarantine(owner, source, target):
    interrupt(owner, source / "b.bin", records="bytes:3")
    (source / "b.bin").unlink()
    send(owner, [], records="bytes:3", abandon=True)
    ((name, reason),) = receive(owner, target).items()
    assert name.startswith("quarantine/b.bin.")
    assert reason == "the sender has given up"


# --- the last call, and the last file operation


def receive_all(owner, target, **more):
    """Receive the files, and one that goes to quarantine."""
    receive(owner, target, **more)
    quarantined = in_place(target / "quarantine")
    (target / "quarantine").rename(target.parent / "quarantine")
    assert in_place(target) == FILES
    assert b"12" in quarantined.values()
    assert len(quarantined) == 2
    assert hidden(target) == owner.data() == owner.records("get") == []


@pytest.mark.embedded
@pytest.mark.parametrize(("when", "nth"), [("before", 2), ("after", 2), ("after", 5)])
@pytest.mark.parametrize("archived", [True, False])
def test_each_file_is_sent_once_whatever_commit_is_the_last(
    owner, faults, source, archive, target, archived, when, nth
):
    more = {"archive": archive} if archived else {}
    qmgr = owner.connect()
    faults.arm(Fault("drop", when, verb="MQCMIT", nth=nth))
    with pytest.raises(errors.MQGroupsError):
        send(owner, sorted_files(source), qmgr, **more)
    qmgr.close()
    paths = [source / name for name in sorted(FILES)]
    send(owner, paths, owner_wait_s=30, **more)
    assert in_place(archive if archived else source) == FILES
    assert receive(owner, target) == dict.fromkeys(FILES, "")
    assert in_place(target) == FILES
    assert len(owner.records("put")) == (not archived)


@pytest.mark.embedded
@pytest.mark.parametrize(("when", "nth"), [("before", 2), ("after", 2), ("after", 4)])
def test_each_file_is_received_once_whatever_commit_is_the_last(owner, faults, source, target, when, nth):
    send(owner, sorted_files(source))
    put(owner, {"mqgroups.FileBytes": 3})
    qmgr = owner.connect()
    faults.arm(Fault("drop", when, verb="MQCMIT", nth=nth))
    with pytest.raises(errors.MQGroupsError):
        receive(owner, target, qmgr)
    qmgr.close()
    receive_all(owner, target, owner_wait_s=30)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("name", "nth"), [("fsync", 1), ("rename", 1), ("fsync", 4), ("rename", 4)])
def test_each_file_is_received_once_whatever_file_operation_is_the_last(owner, source, target, name, nth, when):
    send(owner, sorted_files(source))
    put(owner, {"mqgroups.FileBytes": 3})
    qmgr = owner.connect()
    with ended_at(name, nth, when):
        receive(owner, target, qmgr)
    qmgr.close()
    receive_all(owner, target)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("name", "nth"), [("rename", 1), ("fsync", 1), ("rename", 3)])
def test_each_file_is_sent_once_whatever_file_operation_is_the_last(owner, source, archive, target, name, nth, when):
    paths = sorted_files(source)
    qmgr = owner.connect()
    with ended_at(name, nth, when):
        send(owner, paths, qmgr, archive=archive)
    qmgr.close()
    send(owner, paths, archive=archive)
    assert in_place(archive) == FILES
    assert receive(owner, target) == dict.fromkeys(FILES, "")
    assert owner.records("put") == []


# --- the commands


@pytest.fixture
def commands(owner):
    variables = environment(owner.target)

    def run(command, *words):
        return invoke(command, "--queue", owner.queue, "--name", owner.name, *words, **variables)

    return run


def test_a_file_whose_name_is_not_utf_8_arrives_under_a_name_that_is(owner, commands, source, target):
    path = Path(os.fsdecode(bytes(source) + b"/caf\xe9.txt"))
    path.write_bytes(b"0123456789")

    def died(_doing, _path, done, _total):
        if done == 8:
            raise Died

    with contextlib.suppress(Died), owner.producer() as producer:
        FileSender(producer, records=Records.of("bytes:1"), on_bytes=died).send(path)
    for result in ("sent", "was sent before"):
        done = commands("send", path, "--records", "bytes:1")
        assert (done.exit_code, done.stdout) == (0, f"{source}/caf?.txt: {result}\n")
    commands("receive", "--into", target, "--idle", "0")
    assert in_place(target) == {"caf\N{REPLACEMENT CHARACTER}.txt": b"0123456789"}


def test_the_commands_send_and_receive(owner, commands, source, target):
    done = commands("send", *sorted_files(source), "--records", "lines")
    assert (done.exit_code, done.stdout) == (0, "".join(f"{path}: sent\n" for path in sorted_files(source)))
    done = commands("receive", "--into", target, "--idle", "0")
    assert (done.exit_code, done.stdout) == (0, "".join(f"{target / name}\n" for name in sorted(FILES)))
    assert in_place(target) == FILES


def test_each_file_is_a_line_of_json(owner, commands, source, target):
    paths = sorted_files(source)
    done = commands("send", *paths, "-o", "json")
    assert done.exit_code == 0
    assert list(map(json.loads, done.stdout.splitlines())) == [
        {"file": str(path), "result": "sent", "data_bytes": len(FILES[path.name])} for path in paths
    ]
    (group_id,) = {found.group_id.hex() for found in owner.on_queue() if found.data == FILES["b.bin"]}
    done = commands("receive", "--into", target, "--idle", "0", "-o", "json")
    assert done.exit_code == 0
    found = {Path(each["file"]).name: each for each in map(json.loads, done.stdout.splitlines())}
    assert {name: each["data_bytes"] for name, each in found.items()} == {name: len(FILES[name]) for name in FILES}
    assert found["b.bin"] == {"file": str(target / "b.bin"), "result": "", "data_bytes": 20, "group_id": group_id}
    assert commands("send", paths[0]).stdout == f"{paths[0]}: was sent before\n"


def test_how_far_a_file_is_is_told_while_it_is_checked_sent_and_received(owner, source, target):
    told = []

    def on_bytes(doing, path, done, total):
        told.append((doing, path.name, done, total))

    with owner.producer() as producer:
        FileSender(producer, records=Records.of("bytes:8"), on_bytes=on_bytes).send(source / "b.bin")
    sent = [("sending", "b.bin", done, 20) for done in (8, 16, 20)]
    assert told == [("checking", "b.bin", 20, 20), *sent]
    told.clear()
    receiver = FileReceiver(partial(owner.consumer, stream=True), target, keep_waiting=False, on_bytes=on_bytes)
    with receiver.consumer:
        assert [each.reason for each in receiver] == [""]
    received = [("receiving", "b.bin", done, 20) for done in (8, 16, 20)]
    assert told == [*received, ("checking", "b.bin", 20, 20)]


def test_receive_says_by_its_exit_code_that_a_file_is_in_quarantine(owner, commands, target):
    put(owner, {"mqgroups.FileBytes": 3})
    done = commands("receive", "--into", target, "--idle", "0")
    assert done.exit_code == ExitCode.FAILED
    assert "the file has 2 bytes, and 3 were sent" in done.output


def test_a_full_disk_is_one_sentence_that_names_the_folder_and_the_same_command_goes_on(
    owner, commands, source, target, monkeypatch
):
    send(owner, sorted_files(source))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(ENOSPC, "No space left on device")))
        full = commands("receive", "--into", target, "--idle", "0")
    where, said = full.stderr.splitlines()
    assert where.startswith(f"queue manager {owner.target.q_mgr_name} at {owner.target.conn_name}")
    assert (full.exit_code, said) == (ExitCode.FAILED, f"mqgroups: {target}: No space left on device")
    assert commands("receive", "--into", target, "--idle", "0").exit_code == ExitCode.DONE
    assert in_place(target) == FILES


def test_a_file_that_is_missing_is_named(commands, source):
    done = commands("send", source / "gone")
    said = f"mqgroups: {source / 'gone'}: there is no such file"
    assert (done.exit_code, done.stderr.splitlines()[1:]) == (ExitCode.FAILED, [said])


def test_a_pipe_is_refused_before_it_is_read(commands, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = commands("send", pipe)
    said = f"mqgroups: {pipe}: it is not a regular file; write its data to a file, and send that file"
    assert (done.exit_code, done.stderr.splitlines()[1:]) == (ExitCode.FAILED, [said])


def test_a_sender_that_is_asked_to_stop_does_not_read_a_large_file_to_its_end(owner, tmp_path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(10 << 20)
    done: list[int] = []
    with owner.producer() as producer:

        def stop(_doing: str, _path: Path, bytes_done: int, _total: int | None) -> None:
            done.append(bytes_done)
            producer.stop()

        sender = FileSender(producer, records=Records.of("file"), on_bytes=stop)
        with pytest.raises(errors.Stopped):
            sender.send(path)
    assert done == [1 << 20]


def test_a_reason_cannot_control_the_terminal(owner, commands, target):
    put(owner, {}, (b"1", b""), {"UserReturnCode": 7, "UserSupplement": "no\x1b room"})
    assert "no? room\n" in commands("receive", "--into", target, "--idle", "0").output


def test_names_and_reasons_that_the_locale_does_not_have_are_no_error(owner, target):
    for last in ({}, {"UserReturnCode": 7, "UserSupplement": "\N{EURO SIGN}\n"}):
        put(owner, {"mqgroups.Name": "\N{EURO SIGN}.csv"}, (b"1", b""), last)
    words = ["receive", "--queue", owner.queue, "--name", owner.name, "--into", str(target), "--idle", "0"]
    ascii_only = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = run(*words, **{**owner.target.environment(), **environment(owner.target), **ascii_only})
    assert done.returncode == ExitCode.FAILED, done.stderr
    assert {path.name for path in target.iterdir()} == {"quarantine", "\\u20ac.csv"}
    (reason,) = (target / "quarantine").glob("*.reason")
    assert reason.read_bytes() == "\N{EURO SIGN}?\n".encode()
    assert "\\u20ac?\n" in done.stdout


def test_at_a_terminal_what_was_sent_is_above_the_bar(owner, source):
    words = ["send", *sorted_files(source), "--queue", owner.queue, "--name", owner.name]
    variables = {**os.environ, **owner.target.environment(), **environment(owner.target), "TERM": "xterm"}
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*MQGROUPS, *words], env={**variables, "COLUMNS": "300"}, stdout=theirs, stderr=theirs
    ) as program:
        os.close(theirs)
        shown = b""
        # At the end of its terminal, Linux answers EIO.
        with contextlib.suppress(OSError):
            while more := os.read(ours, 65_536):
                shown += more
    os.close(ours)
    assert program.returncode == 0, shown
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())
    for path in sorted_files(source):
        assert re.search(rf"[\r\n]{re.escape(str(path))}: sent\r?\n", plain), plain


def test_a_command_line_that_cannot_be_is_refused(commands, source):
    for words, said in (
        ((), "give files, or --watch"),
        (("{file}", "--watch", "."), "give files, or --watch"),
        (("--watch", "."), "--watch needs --archive"),
        (("--watch", ".", "--archive", "."), "different directories"),
        (("{file}", "--records", "x"), "records must be file, lines or bytes:N"),
    ):
        done = commands("send", *(word.format(file=source / "a.csv") for word in words))
        assert (done.exit_code, said in done.output) == (ExitCode.USAGE, True), words


@pytest.mark.embedded
def test_a_killed_command_goes_on_and_sigterm_ends_a_watch(make_owner, faults, source, target, archive):
    owner = make_owner()
    variables = {**os.environ, **faults.environment(), **environment(owner.target)}
    names = ["--queue", owner.queue, "--name", owner.name]
    # 2500 messages, in three units of work.
    large = os.urandom(2_500_000)
    (source / "large").write_bytes(large)

    def run(*words, kill=None):
        if kill is not None:
            faults.arm(Fault("kill_client", "after", verb="MQCMIT", nth=kill))
        command = [*MQGROUPS, words[0], *names, *map(str, words[1:])]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == (0 if kill is None else -signal.SIGKILL), done.stderr

    for kill in (3, None):
        run("send", *sorted_files(source), "--records", "bytes:1000", kill=kill)
    for kill in (3, None):
        run("receive", "--into", target, "--idle", "0", kill=kill)
    assert in_place(target) == {**FILES, "large": large}
    watching = subprocess.Popen(
        [*MQGROUPS, "send", *names, "--watch", source, "--archive", archive],
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: len(list(archive.iterdir())) == 4)
    (source / "late").write_bytes(b"late")
    wait_until(lambda: (archive / "late").exists())
    watching.send_signal(signal.SIGTERM)
    _, said = watching.communicate(timeout=PATIENCE_S)
    assert watching.returncode == 0
    assert said.splitlines()[1:] == ["mqgroups: stopped by SIGTERM; the same command continues"]
    assert receive(owner, target) == {"late": ""}
    assert in_place(target) == {**FILES, "large": large, "late": b"late"}


# Run as ``python -c``: the command ``send``, which gets a signal when it moves the first file.
STOPPED_AT_A_MOVE = """
import os
from pathlib import Path
from mqgroups.cli.main import main
rename = Path.rename
def stopped(*places):
    os.kill(os.getpid(), {number})
    rename(*places)
Path.rename = stopped
main()
"""


def test_a_command_that_is_stopped_says_that_files_are_left_and_goes_on(owner, source, archive, target):
    number = signal.SIGINT
    variables = {**os.environ, **owner.target.environment(), **environment(owner.target)}
    paths = sorted_files(source)
    words = ["send", *map(str, paths), "--queue", owner.queue, "--name", owner.name, "--archive", str(archive)]
    program = [sys.executable, "-c", STOPPED_AT_A_MOVE.format(number=int(number)), *words]
    stopped = subprocess.run(program, env=variables, capture_output=True, text=True, timeout=60, check=False)
    assert (stopped.returncode, stopped.stdout) == (128 + number, f"{paths[0]}: sent\n")
    said = f"mqgroups: stopped by {number.name} before all files were sent; the same command continues"
    assert stopped.stderr.splitlines()[1:] == [said]
    assert [path.name for path in archive.iterdir()] == [paths[0].name]
    went_on = subprocess.run(
        [*MQGROUPS, *words], env=variables, capture_output=True, text=True, timeout=60, check=False
    )
    assert (went_on.returncode, len(went_on.stderr.splitlines())) == (0, 1)
    assert receive(owner, target) == dict.fromkeys(FILES, "")


def test_a_description_needs_constant_memory(tmp_path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(40 << 20)
    tracemalloc.start()
    with path.open("rb") as file:
        about, prefixes = Description.of_file(file, path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # head -c 41943040 /dev/zero | sha256sum
    assert about.sha256 == "80a3721188e40218b08b26776bc53bdae81e4784fff71d71450a197319cba113"
    # 16 bytes for each MiB, and a block.
    assert (len(prefixes), most < 4 << 20) == (40 * 16, True)
