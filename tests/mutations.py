"""Take each safety of the library away in turn: the tests have to notice. ``python -m tests.mutations [NAME ...]``.

Each mutation is one replacement in a copy of the package. The tests named for it run against the copy, on the embedded queue
manager, and have to fail; a line tells which one did. Exits with 1 if a mutation survives.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Mutation:
    """One safety: where it stands, what is put in its place, and the tests that have to notice."""

    name: str
    file: str
    old: str
    new: str
    tests: str


MUTATIONS = (
    Mutation(
        "the restart put uses the recorded number plus one",
        "core/group.py",
        "return PutPlan(False, flags, position.group_id, position.msg_seq_number + 1, position.offset)",
        "return PutPlan(False, flags, position.group_id, position.msg_seq_number, position.offset)",
        "tests/put/test_resumed_groups.py -k resume",
    ),
    Mutation(
        "the restart get uses the recorded number plus one",
        "core/group.py",
        "return GetPlan(False, False, match, position.group_id, position.msg_seq_number + 1, position.offset)",
        "return GetPlan(False, False, match, position.group_id, position.msg_seq_number, position.offset)",
        "tests/get/test_groups_that_never_come.py -k resume",
    ),
    Mutation(
        "the restart get does not ask for ALL_MSGS_AVAILABLE",
        "core/group.py",
        "return GetPlan(False, False, match,",
        "return GetPlan(False, complete_groups_only, match,",
        "tests/get/test_groups_that_never_come.py -k complete",
    ),
    Mutation(
        "the status queue is opened exclusively",
        "status/queue.py",
        "_OPEN_OPTIONS = mq.MQOO_INPUT_EXCLUSIVE |",
        "_OPEN_OPTIONS = mq.MQOO_INPUT_SHARED |",
        "tests/status/test_ownership.py",
    ),
    Mutation(
        "an owner's record is there before its first commit",
        "status/units_of_work.py",
        "            for owner in self.owners:\n                owner.claim()\n            self.commit()\n",
        "            self.commit()\n",
        "tests/status/test_ownership.py",
    ),
    Mutation(
        "another owner's record is distinguished from one's own",
        "core/restart.py",
        "    return CommitOutcome.OWNERSHIP_LOST\n",
        "    return CommitOutcome.BACKED_OUT\n",
        "tests/status/test_ownership.py",
    ),
    Mutation(
        "every owner has an epoch of its own",
        "status/owner.py",
        "self.epoch = record.epoch + 1 if record else 1",
        "self.epoch = 1",
        "tests/status/test_unit_of_work.py",
    ),
    Mutation(
        "a completed group leaves its record",
        "status/owner.py",
        "may commit at any moment.\n        self.keeper.stage(record)\n",
        "may commit at any moment.\n        self.keeper.stage(record) if goes_on else self.keeper.remove()\n",
        "tests/status/test_recovery.py -k one-unit",
    ),
    Mutation(
        "a commit without a reply gets a verdict",
        "core/restart.py",
        "    if found == after:\n        return CommitOutcome.COMMITTED\n",
        "",
        "tests/status/test_recovery.py -k every_commit",
    ),
    Mutation(
        "a verdict is remembered when the connection is lost once more",
        "get/getter.py",
        "is CommitOutcome.COMMITTED or is_committed",
        "is CommitOutcome.COMMITTED",
        "tests/status/test_recovery.py -k 'once_more or twice or again'",
    ),
    Mutation(
        "messages that were not committed are put again",
        "put/putter.py",
        "        for message in tuple(self._unsent):\n            self._put_and_commit(message)\n",
        "",
        "tests/status/test_recovery.py -k producer",
    ),
    Mutation(
        "messages that were not committed are got again",
        "get/getter.py",
        "for msg_id in processed:",
        "for msg_id in processed[:0]:",
        "tests/status/test_recovery.py -k consumer",
    ),
    Mutation(
        "the record of an unfinished group has its properties",
        "status/owner.py",
        "properties=NO_PROPERTIES if ended else properties,",
        "",
        "tests/test_group_properties.py -k resumes",
    ),
    Mutation(
        "the rest of a group is not put to another one",
        "put/properties.py",
        "if committed is None or other is None:",
        "if other is None or other:",
        "tests/test_group_properties.py -k 'properties_of_another'",
    ),
    Mutation(
        "the rest of a group goes where its beginning went",
        "put/putter.py",
        "self._pinned = bool(self._destination.resolved[1]) and not self.owner.committed.at_start",
        "self._pinned = False",
        "tests/put/test_cluster_producer.py -k beginning",
    ),
    Mutation(
        "the same for an instance at the producer's own queue manager",
        "put/putter.py",
        "self._pinned = bool(self._destination.resolved[1]) and",
        'self._pinned = self._destination.resolved[1] not in ("", self._connection.q_mgr_name) and',
        "tests/put/test_cluster_producer.py -k beginning",
    ),
    Mutation(
        "a message that goes elsewhere is not committed",
        "put/destination.py",
        "if found != expected:",
        "if False:",
        "tests/put/test_cluster_producer.py -k elsewhere",
    ),
    Mutation(
        "a binding that splits groups is refused",
        "put/destination.py",
        "if is_clustered and not_fixed:",
        "if False:",
        "tests/put/test_cluster_producer.py -k refused",
    ),
    Mutation(
        "a status queue is in no cluster",
        "status/opening.py",
        "if kind == mq.MQQDT_PREDEFINED and queue.is_in_cluster:",
        "if False:",
        "tests/put/test_cluster_producer.py -k status",
    ),
    Mutation(
        "a reconnectable connection is refused before anything is put",
        "status/queue.py",
        "_PUT = st.pmo(st.PUT_NEW_MESSAGE | mq.MQPMO_LOGICAL_ORDER)",
        "_PUT = st.pmo(st.PUT_NEW_MESSAGE)",
        "tests/put/test_cluster_producer.py -k reconnectable",
    ),
    Mutation(
        "a group is taken over in one unit of work",
        "operate/takeover.py",
        "        theirs.stage(nothing)\n        ours.stage(given)\n",
        "        theirs.stage(nothing)\n        connection.commit()\n        connection.begin(theirs)\n"
        "        ours.stage(given)\n",
        "tests/operate/test_takeover.py -k answer",
    ),
    Mutation(
        "a group that is stopped does not end as if it were whole",
        "get/getter.py",
        "            self._keep_processed()\n            raise self.owner.stopped()\n",
        "            self.end_group()\n",
        "tests/test_stopping.py -k consumer",
    ),
    Mutation(
        "a stop commits what was processed",
        "get/getter.py",
        "            self._keep_processed()\n            raise self.owner.stopped()\n",
        "            self.work.release()\n            raise self.owner.stopped()\n",
        "tests/test_stopping.py -k consumer",
    ),
    Mutation(
        "an iteration does not end while a group is interrupted",
        "get/consumer.py",
        "            raise owner.stopped()\n",
        "            return None\n",
        "tests/test_stopping.py -k interrupted",
    ),
    Mutation(
        "a worker finishes the groups of names that have no worker",
        "workers/worker.py",
        "            if state is OwnerState.INTERRUPTED:\n                yield name\n",
        "            del state\n",
        "tests/workers/test_workers.py -k fewer",
    ),
    Mutation(
        "a worker stops when its supervisor is killed",
        "workers/run.py",
        "        connection.wait([supervisor.sentinel])\n        os.kill(os.getpid(), signal.SIGTERM)\n",
        "        connection.wait([supervisor.sentinel])\n",
        "tests/workers/test_workers.py -k supervisor_is_killed",
    ),
    Mutation(
        "a handler has to handle its group to the end",
        "workers/worker.py",
        "        if not group.has_ended and not self._stopping:\n",
        "        if group is None:\n",
        "tests/workers/test_workers.py -k to_the_end",
    ),
    Mutation(
        "MQBACK comes before MQDISC",
        "connection/handle.py",
        '"MQBACK", self._binding.MQBACK(hconn)',
        '"MQBACK", (mq.MQCC_OK, mq.MQRC_NONE)',
        "tests/connection/test_connection.py tests/test_processes.py",
    ),
    Mutation(
        "another queue manager's status queue proves nothing",
        "connection/connection.py",
        "if found != identifier:",
        "if False:",
        "tests/status/test_recovery.py -k address",
    ),
    Mutation(
        "a handle inherited over fork is not made again",
        "connection/connection.py",
        "            self.reconnect = NEVER\n",
        "            pass\n",
        "tests/test_processes.py -k forked",
    ),
    Mutation(
        "an anchor is put with the first record",
        "status/queue.py",
        "anchor = self._queue.put(_RECORD_MD, _PUT, said)[0][st.MD_MSG_ID]",
        "anchor = mq.MQCI_NONE",
        "tests/status/test_status_queue.py",
    ),
    Mutation(
        "a record and its anchor are a pair",
        "status/queue.py",
        "correl_id=self._current.anchor or mq.MQCI_NONE,",
        "correl_id=mq.MQCI_NONE,",
        "tests/status/test_status_queue.py",
    ),
    Mutation(
        "a record that is hidden is waited for",
        "core/status_chain.py",
        "    if not anchors <= anchored:\n        raise RecordHidden\n",
        "",
        "tests/status/test_status_queue.py",
    ),
    Mutation(
        "a status queue is browsed twice where a record has no anchor",
        "core/status_chain.py",
        "    if not anchored <= anchors and not seen_twice:\n        raise LookAgain\n",
        "",
        "tests/core/test_status_chain.py",
    ),
    Mutation(
        "what a closing owner's unit of work gave back is taken away by the next claim",
        "status/queue.py",
        "            for leftover in self._current.leftovers:\n                self._take_leftover(leftover)\n",
        "            pass\n",
        "tests/status/test_status_queue.py -k comes_back",
    ),
    Mutation(
        "a status queue is not the data queue",
        "status/opening.py",
        "    if data_queue.leads_to(status_queue):\n",
        "    if False:\n",
        "tests/status/test_status_queue.py -k alias",
    ),
    Mutation(
        "a pipe claims both its names in one unit of work",
        "status/units_of_work.py",
        "                owner.claim()\n            self.commit()\n",
        "                owner.claim()\n                self.commit()\n                self._begin()\n",
        "tests/connection/test_turn.py -k pipe",
    ),
    Mutation(
        "what one side of a pipe has lost both have",
        "status/units_of_work.py",
        "        for owner in self.owners:\n            if self._connection.status_queues",
        "        for owner in self.owners[:1]:\n            if self._connection.status_queues",
        "tests/connection/test_turn.py -k pipe",
    ),
    Mutation(
        "after a call that was interrupted everything is found out again",
        "connection/turn.py",
        "            self._inside[_HERE] = _NOBODY\n",
        "            self._inside.clear()\n",
        "tests/connection/test_turn.py -k interrupted",
    ),
    Mutation(
        "a second thread is refused",
        "connection/turn.py",
        "            if _is_running(inside):\n",
        "            if False:\n",
        "tests/connection/test_turn.py -k thread",
    ),
    Mutation(
        "who was superseded on the same connection has lost the name",
        "status/units_of_work.py",
        "            if self._connection.status_queues.get(owner.keeper.name, owner.keeper) is not owner.keeper:\n",
        "            if False:\n",
        "tests/connection/test_turn.py -k supersedes",
    ),
    Mutation(
        "the data queue is opened before the name is claimed",
        "put/putter.py",
        "        self.queue = self._open()\n        try:\n",
        "        work.add(self.owner)\n        work.claim()\n        self.queue = self._open()\n        try:\n",
        "tests/connection/test_turn.py -k wrong_queue_name",
    ),
    Mutation(
        "where MQPUT says that a message is has to be where it was planned",
        "put/putter.py",
        "if not follows(anchor, group_id, found - self._ahead, offset):",
        "if False:",
        "tests/connection/test_turn.py -k somebody_else",
    ),
    Mutation(
        "a message like the one before has to be the next one",
        "put/putter.py",
        "group_place(md_out) == (anchor.group_id, anchor.msg_seq_number + ahead)",
        "group_place(md_out)[0] == anchor.group_id",
        "tests/connection/test_turn.py tests/connection/test_wrapping.py tests/put",
    ),
    Mutation(
        "a message like the one before has to be in the same group",
        "put/putter.py",
        "group_place(md_out) == (anchor.group_id, anchor.msg_seq_number + ahead)",
        "group_place(md_out)[1] == anchor.msg_seq_number + ahead",
        "tests/connection/test_turn.py tests/connection/test_wrapping.py tests/put",
    ),
    Mutation(
        "a message like the one before has to go to the same queue manager",
        "put/putter.py",
        "                and pmo_out[_RESOLVED_Q_MGR_NAME] == self._destination.field\n",
        "",
        "tests/put/test_cluster_producer.py -k elsewhere",
    ),
    Mutation(
        "the first message of a unit of work is not like the one before",
        "put/putter.py",
        "        self._in_run = False\n        self._anchor, self._ahead",
        "        self._anchor, self._ahead",
        "tests/put/test_producer.py",
    ),
    Mutation(
        "a message with a checkpoint is not like the one before",
        "put/putter.py",
        "if md is None or checkpoint is not None or last or",
        "if md is None or last or",
        "tests/put/test_checkpoints.py",
    ),
    Mutation(
        "the last message is not like the one before",
        "put/putter.py",
        "if md is None or checkpoint is not None or last or",
        "if md is None or checkpoint is not None or",
        "tests/put/test_producer.py",
    ),
    Mutation(
        "a segment is not like the whole message before it",
        "put/putter.py",
        " or last or part is not _WHOLE:\n                self._put_and_commit",
        " or last:\n                self._put_and_commit",
        "tests/put",
    ),
    Mutation(
        "a message that is refused is not lost",
        "put/putter.py",
        "                self._put_and_commit(message, error)\n                return\n",
        "                return\n",
        "tests/put/test_producer.py",
    ),
    Mutation(
        "messages are put asynchronously one and all",
        "put/putter.py",
        " and not self._each_message and not self._answers.are_asynchronous\n",
        " and not self._each_message\n",
        "tests/put/test_put_response.py",
    ),
    Mutation(
        "each message has a span if they are asked for",
        "put/putter.py",
        " and not self._each_message and not self._answers.are_asynchronous\n",
        " and not self._answers.are_asynchronous\n",
        "tests/telemetry",
    ),
    Mutation(
        "a unit of work ends with the message that makes it due",
        "put/putter.py",
        "if (unit.messages >= work.soonest or work.stopping) and work.due():",
        "if (unit.messages > work.soonest or work.stopping) and work.due():",
        "tests/put/test_producer.py",
    ),
    Mutation(
        "a stop that comes while a message is put ends its unit of work",
        "put/putter.py",
        "if (unit.messages >= work.soonest or work.stopping) and work.due():",
        "if unit.messages >= work.soonest and work.due():",
        "tests/test_stopping.py",
    ),
    Mutation(
        "a unit of work that is due by bytes or seconds is asked for at each message",
        "status/units_of_work.py",
        " and every.bytes is None and every.seconds is None:",
        ":",
        "tests/put/test_producer.py tests/get/test_consumer.py",
    ),
    Mutation(
        "a group in which a call was interrupted takes nothing more",
        "put/group.py",
        "                or self._turn.interrupted\n",
        "",
        "tests/connection/test_turn.py tests/connection/test_interruptions.py",
    ),
    Mutation(
        "a group that failed takes nothing more",
        "put/group.py",
        """        self._failure, self._held = f"{type(error).__name__}: {error}", None\n""",
        """        self._failure = f"{type(error).__name__}: {error}"\n""",
        "tests/put/test_producer.py",
    ),
    Mutation(
        "a checkpoint is put with its own message",
        "put/group.py",
        "                or self._checkpoint is not None\n",
        "",
        "tests/put/test_checkpoints.py",
    ),
    Mutation(
        "long payloads are cut into segments, each of them",
        "put/group.py",
        "                or len(held[0]) > putter.whole_bytes\n",
        "",
        "tests/put",
    ),
    Mutation(
        "a message that is got has to be the next one",
        "get/cursor.py",
        "            number == anchor.msg_seq_number + self._ahead + 1\n            and group_id",
        "            group_id",
        "tests/get tests/connection/test_turn.py",
    ),
    Mutation(
        "a message that is got has to be of the same group",
        "get/cursor.py",
        "            and group_id == anchor.group_id\n            and segment_status",
        "            and segment_status",
        "tests/get tests/connection/test_turn.py",
    ),
    Mutation(
        "a segment is not taken for a whole message",
        "get/cursor.py",
        "            and segment_status == _NOT_A_SEGMENT\n",
        "",
        "tests/get",
    ),
    Mutation(
        "a message that was backed out is checked",
        "get/cursor.py",
        "and not backout_count and taken is None",
        "and taken is None",
        "tests/get/test_poison.py",
    ),
    Mutation(
        "the last message of a group ends it",
        "get/cursor.py",
        "is_plain = group_status == _IN_GROUP and not",
        "is_plain = not",
        "tests/get/test_consumer.py",
    ),
    Mutation(
        "each message is decoded",
        "get/group.py",
        "if not message.is_plain or getter.decode is not None:",
        "if not message.is_plain:",
        "tests/test_codecs.py tests/get",
    ),
    Mutation(
        "a group that was left or interrupted gets no more messages",
        "get/group.py",
        "if getter.turn.interrupted or getter.group is not self:\n                    self._check_current()",
        "if False:\n                    self._check_current()",
        "tests/get tests/connection/test_interruptions.py",
    ),
    Mutation(
        "a unit of work ends with the processed message that makes it due",
        "get/getter.py",
        "elif (unit.messages >= work.soonest or work.stopping) and work.due():",
        "elif unit.messages > work.soonest and work.due():",
        "tests/get/test_consumer.py",
    ),
    Mutation(
        "a put after stop puts nothing",
        "put/group.py",
        "                or putter.work.stopping\n",
        "",
        "tests/test_stopping.py",
    ),
    Mutation(
        "messages that come back late are waited for",
        "get/cursor.py",
        " is None and time.monotonic() < deadline_s:",
        " is None and False:",
        "tests/connection/test_turn.py -k later",
    ),
    Mutation(
        "wrapped: a record that was got is not there again",
        "status/queue.py",
        "if self._held is not None and self._get(self._held):",
        "if False:",
        "tests/connection/test_wrapping.py",
    ),
    Mutation(
        "wrapped: the application does not commit half a unit of work",
        "connection/wrapping.py",
        "            if owner is not None:\n",
        "            if False:\n",
        "tests/connection/test_wrapping.py",
    ),
    Mutation(
        "a checkpoint that no message follows is refused",
        "put/group.py",
        "        if self._checkpoint is not None:\n",
        "        if False:\n",
        "tests/put/test_checkpoints.py -k after_the_last_put",
    ),
    Mutation(
        "a checkpoint outlives its group",
        "core/status.py",
        "self.suspect is not None or self.checkpoint is not None",
        "self.suspect is not None",
        "tests/operate/test_takeover.py tests/core/test_status.py",
    ),
    Mutation(
        "a takeover leaves a record where it takes one",
        "operate/takeover.py",
        "        theirs.stage(nothing)\n",
        "        theirs.remove()\n",
        "tests/operate/test_takeover.py -k dying",
    ),
    Mutation(
        "a group that another owner's record speaks of is not salvaged",
        "operate/rebuild.py",
        "            if where:\n                check_not_owned(",
        "            if False:\n                check_not_owned(",
        "tests/operate/test_other_owners.py -k another",
    ),
    Mutation(
        "a valid record beside an unreadable message stays",
        "operate/damaged_status.py",
        "    if kept is not None and unreadable",
        "    if False and unreadable",
        "tests/operate/test_rebuild.py -k stays",
    ),
    Mutation(
        "an older segment of a damaged record does not stay",
        "operate/damaged_status.py",
        " and not own & parts",
        "",
        "tests/operate/test_rebuild.py -k older_segment",
    ),
    Mutation(
        "an integer that is no property is refused",
        "mqi/properties.py",
        "if not -_INT64 <= value < _INT64:",
        "if False:",
        "tests/test_properties.py",
    ),
    Mutation(
        "a name of a property has at most 4095 characters",
        "mqi/property_folders.py",
        "if len(path) > _LONGEST_NAME:",
        "if len(path) > 2 * _LONGEST_NAME:",
        "tests/mqi/test_property_folders.py -k too_long",
    ),
    Mutation(
        "the names in one header take little memory",
        "mqi/rfh2.py",
        "    if weighs > MOST_WEIGHT:\n        return None",
        "    if weighs < 0:\n        return None",
        "tests/mqi/test_memory_of_properties.py",
    ),
    Mutation(
        "the names in all headers of a message take little memory",
        "mqi/rfh2.py",
        "        if weighs > MOST_WEIGHT:\n            break",
        "        if weighs < 0:\n            break",
        "tests/mqi/test_memory_of_properties.py",
    ),
    Mutation(
        "headers of properties are short",
        "mqi/rfh2.py",
        "min(len(data), _MOST_BYTES) - at",
        "len(data) - at",
        "tests/mqi/test_memory_of_properties.py",
    ),
    Mutation(
        "long headers are not remembered",
        "mqi/rfh2.py",
        "read = _read if length <= _LONGEST_REMEMBERED else _read.__wrapped__",
        "read = _read",
        "tests/mqi/test_memory_of_properties.py",
    ),
    Mutation(
        "long folders are not remembered for their trace context",
        "telemetry/context.py",
        "read = _read if sum(map(len, folders)) <= _LONGEST_REMEMBERED else _read.__wrapped__",
        "read = _read",
        "tests/mqi/test_memory_of_properties.py",
    ),
    Mutation(
        "a changed checkpoint leads to no file outside the folder of a sink",
        "files/sink.py",
        """                and re.fullmatch(rf"\\.[0-9]{{1,20}}\\.{group}\\.part", part)\n""",
        "",
        "tests/files/test_sink.py -k somebody_has_changed",
    ),
    Mutation(
        "a changed checkpoint names no file outside the folder of a sink",
        "files/sink.py",
        """                and _is_name(name, _LONGEST_BYTES)\n""",
        "",
        "tests/files/test_sink.py -k somebody_has_changed",
    ),
    Mutation(
        "a file that was received is not overwritten by a group of the same GroupId",
        "files/sink.py",
        'return next(free, f"{names[-1]}.{secrets.token_hex(8)}")',
        "return next(free, names[-1])",
        "tests/files/test_sink.py -k same_group_id",
    ),
    Mutation(
        "a number that is infinite is not known",
        "files/description.py",
        "except (TypeError, ValueError, OverflowError):",
        "except (TypeError, ValueError):",
        "tests/files/test_sending.py -k infinite",
    ),
    Mutation(
        "a time that the file system does not have is left out",
        "files/description.py",
        "contextlib.suppress(OverflowError, OSError)",
        "contextlib.suppress(OSError)",
        "tests/files/test_sending.py -k file_system",
    ),
    Mutation(
        "a file has one byte more than was sent at most",
        "files/receiving.py",
        "room = most + 1 - file.tell()",
        "room = sys.maxsize",
        "tests/files/test_sending.py -k one_byte_more",
    ),
    Mutation(
        "a link that replaced a file after the look is not followed",
        "files/sending.py",
        "yield file if look in (None, Look.of(about)) else None",
        "yield file",
        "tests/files/test_sending.py -k replaced_after",
    ),
    Mutation(
        "the text of an error is printable",
        "errors.py",
        "return brief(self._text(), _LONGEST_TEXT)",
        "return self._text()",
        "tests/test_errors.py -k somebody",
    ),
    Mutation(
        "no line of a log begins with somebody else's words",
        "printable.py",
        "return printable(super().formatMessage(record))",
        "return super().formatMessage(record)",
        "tests/test_printable.py",
    ),
    Mutation(
        "a record with a field that is not known is another version's",
        "core/status.py",
        "    if unknown:\n",
        "    if False:\n",
        "tests/core/test_status.py tests/status/test_status_records_damaged.py",
    ),
    Mutation(
        "poison is proved by processing it alone",
        "core/poison.py",
        "return Treatment.ISOLATE",
        "return Treatment.POISON",
        "tests/get/test_poison.py",
    ),
    Mutation(
        "a digest guards the status record",
        "core/status.py",
        'hashlib.sha256(body).hexdigest().encode("ascii"):\n        raise _corrupt',
        'b"":\n        pass\n    if False:\n        raise _corrupt',
        "tests/core/test_status.py tests/status/test_status_records_damaged.py",
    ),
    Mutation(
        "batch: an attempt that was replaced is fenced",
        "batch/claimed_records.py",
        "elif not self._shared.take(self._current):",
        "elif not (self._shared.take(self._current) or self._claimed):",
        "tests/batch/test_batch_producer.py -k fenced",
    ),
    Mutation(
        "batch: a status record that cannot be seen is waited for",
        "core/claim.py",
        "return ClaimAction.WAIT\n",
        "return ClaimAction.START_NEW_GROUP\n",
        "tests/batch/test_batch_producer.py -k waits",
    ),
    Mutation(
        "batch: a claim is locked",
        "batch/claimed_records.py",
        "self._lock = shared.lock(claim.intent_id)",
        "self._lock = None",
        "tests/batch/test_batch_producer.py -k locked",
    ),
    Mutation(
        "batch: a batch that was completed is not put again",
        "core/claim.py",
        "if high_water_mark is not None and high_water_mark >= claim.batch:",
        "if False:",
        "tests/batch/test_batch_producer.py -k completed",
    ),
    Mutation(
        "batch: the high-water mark is there before the records go",
        "batch/completion.py",
        "            if not any(_batch(mark) >= batch for mark in found.marks):\n",
        "            _take(connection, shared, _done_with(found, batch))\n"
        "            if not any(_batch(mark) >= batch for mark in found.marks):\n",
        "tests/batch/test_batch_interleaving.py -k late",
    ),
    Mutation(
        "batch: other messages for a group that was begun are refused",
        "batch/producer.py",
        'if digest.value() != claim_values(checkpoint)["digest"]:',
        "if False:",
        "tests/batch/test_batch_producer.py -k other_messages",
    ),
    Mutation(
        "MQSTAT is asked before the status record",
        "put/putter.py",
        "        self._answers.check()\n        self.owner.stage(",
        "        self.owner.stage(",
        "tests/put/test_put_response.py -k warning_alone",
    ),
    Mutation(
        "a warning of an asynchronous put is not passed over",
        "connection/unanswered.py",
        "if comp or st.long_at(sts, st.STS_PUT_WARNING_COUNT) or st.long_at(sts, st.STS_PUT_FAILURE_COUNT):",
        "if comp:",
        "tests/put/test_put_response.py -k warning_alone",
    ),
    Mutation(
        "the last message of a unit of work is answered",
        "put/answers.py",
        "return not self.are_asynchronous or ends_group or self._work.due(1, len(data))",
        "return not self.are_asynchronous",
        "tests/put/test_put_response.py -k failed_unseen",
    ),
    Mutation(
        "the answer's offset is compared too",
        "put/putter.py",
        "offset = 0 if whole else st.long_at(md, st.MD_OFFSET)",
        "offset = anchor.offset",
        "tests/put/test_put_response.py -k offset_of_the_last",
    ),
    Mutation(
        "the first message of a group is answered",
        "core/group.py",
        "return position.retained and not position.at_start",
        "return position.retained",
        "tests/put/test_put_response.py -k first_of_a_group",
    ),
    Mutation(
        "the first message on a fresh handle is answered",
        "core/group.py",
        "return position.retained and not position.at_start",
        "return not position.at_start",
        "tests/put/test_put_response.py -k after_a_restart",
    ),
    Mutation(
        "no unit of work ends with a message that was not answered",
        "put/putter.py",
        "elif self._answers.last_came and self.work.due():",
        "elif self.work.due():",
        "tests/put/test_put_response.py -k while_a_message_is_put",
    ),
    Mutation(
        "a unit of work that is redone is put synchronously",
        "put/answers.py",
        "return self.are_asynchronous and not self._work.redoing and",
        "return self.are_asynchronous and",
        "tests/put/test_put_response.py -k whichever_put_fails",
    ),
    Mutation(
        "what MQSTAT tells of a unit of work that was backed out is dropped",
        "status/units_of_work.py",
        "        self._connection.unanswered.forget()\n",
        "",
        "tests/put/test_put_response.py -k not_the_next_ones",
    ),
    Mutation(
        "on a wrapped connection nothing is put again silently",
        "connection/connection.py",
        "if self.unanswered.any and self.usable and not self.is_shared:",
        "if self.unanswered.any and self.usable:",
        "tests/put/test_put_response.py -k on_a_wrapped_connection",
    ),
    Mutation(
        "an error of the application's function is not redone",
        "status/units_of_work.py",
        "            function(*arguments)\n        except MQIError as error:\n            self._final = error\n",
        "            function(*arguments)\n        except MQIError:\n",
        "tests/status/test_application_errors.py -k on_progress",
    ),
    Mutation(
        "what redoing ended with is not redone once more",
        "status/units_of_work.py",
        "            self._final = CommitOutcomeUnknown(",
        "            raise CommitOutcomeUnknown(",
        "tests/status/test_application_errors.py -k vain",
    ),
    Mutation(
        "while a unit of work is redone no function of the application is called",
        "status/units_of_work.py",
        "        if not self.redoing:\n            for owner in self.owners:\n                self.ask(",
        "        if True:\n            for owner in self.owners:\n                self.ask(",
        "tests/status/test_application_errors.py -k producer_whose_on_progress",
    ),
    Mutation(
        "a group that is left takes the application's own messages back",
        "status/units_of_work.py",
        "if self.is_open or (is_shared and why is not None and not self._is_somebody_elses):",
        "if self.is_open:",
        "tests/connection/test_own_messages.py",
    ),
    Mutation(
        "on a wrapped connection nothing is committed before its time",
        "put/putter.py",
        "return self.owner.unit.messages > 0 and not self._connection.is_shared",
        "return self.owner.unit.messages > 0",
        "tests/connection/test_own_messages.py",
    ),
    Mutation(
        "the application's own messages are not backed out without those they belong to",
        "get/getter.py",
        "return not self.owner.unit.messages or not self._connection.is_shared",
        "return True",
        "tests/connection/test_own_messages.py -k decode",
    ),
    Mutation(
        "a queue's DEFPRESP makes no put asynchronous",
        "mqi/structures.py",
        "mq.MQPMO_SYNCPOINT | mq.MQPMO_SYNC_RESPONSE | mq.MQPMO_FAIL_IF_QUIESCING",
        "mq.MQPMO_SYNCPOINT | mq.MQPMO_FAIL_IF_QUIESCING",
        "tests/put/test_put_response.py -k whatever_the_queue_says",
    ),
    Mutation(
        "without a status queue a group does not go on after a lost connection",
        "status/keeper.py",
        "if self._connection.generation != self._generation:",
        "if False:",
        "tests/batch/test_batch_recovery.py -k without_a_status_queue",
    ),
    Mutation(
        "spark: groups of earlier micro-batches are not planned again",
        "spark/manifests.py",
        "return any(key in manifest.keys for manifest in self._manifests.values())",
        "return False",
        "tests/spark/test_stream_protocol.py -k however_often",
    ),
    Mutation(
        "spark: what a commit was skipped for is removed with the next one",
        "spark/manifests.py",
        "for each in offset.manifests\n            if (manifest",
        "for each in offset.manifests[-1:]\n            if (manifest",
        "tests/spark/test_stream_protocol.py -k forgets",
    ),
    Mutation(
        "spark: a group that is not found may come back",
        "spark/manifests.py",
        "if manifest.since or not keys & missed:",
        "if True:",
        "tests/spark/test_stream_protocol.py -k dead_driver",
    ),
    Mutation(
        "spark: a manifest stays as long as Spark may begin with an offset that names it",
        "spark/manifests.py",
        "needed = {*offset.manifests, *(",
        "needed = {offset.manifest, *(",
        "tests/spark/test_manifests.py tests/spark/test_stream_protocol.py",
    ),
    Mutation(
        "spark: a status queue that was emptied stops the query",
        "spark/manifests.py",
        "elif not found.expected or len(found.read) < found.expected:",
        "elif False:",
        "tests/spark/test_manifests.py -k missing",
    ),
    Mutation(
        "spark: a group that is completed late is found",
        "spark/arrivals.py",
        "self._due_s = ended_s + _REST * self._took_s",
        "self._due_s = float('inf')",
        "tests/spark/test_arrivals.py",
    ),
)


def killed_by(mutation: Mutation) -> str | None:
    """Return the first test that fails with the mutation in place; ``None`` if it survives."""
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory)
        for name in ("mqgroups", "tests", "docker", "examples", "pyproject.toml"):
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, copy / name)
        path = copy / "mqgroups" / mutation.file
        text = path.read_text()
        if text.count(mutation.old) != 1:
            raise SystemExit(
                f"{mutation.name}: {mutation.file} has it {text.count(mutation.old)} times: {mutation.old!r}"
            )
        path.write_text(text.replace(mutation.old, mutation.new))
        options = "-x -q -p no:randomly -p no:cacheprovider --mqi=pymqi"
        done = subprocess.run(
            f"{sys.executable} -m pytest {options} {mutation.tests}",
            shell=True,
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy)},
            capture_output=True,
            text=True,
            check=False,
        )
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
        if done.returncode not in (0, 1):
            raise SystemExit(
                f"{mutation.name}: pytest ended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr}"
            )
        return failed.group(1).removeprefix("tests/") if failed else None


def main() -> int:
    """Run them all, or those whose names contain a word given; a line for each as soon as it is known."""
    chosen = [one for one in MUTATIONS if not sys.argv[1:] or any(word in one.name for word in sys.argv[1:])]
    survivors = 0
    for number, mutation in enumerate(chosen, 1):
        killer = killed_by(mutation)
        survivors += killer is None
        print(f"{number:>3}/{len(chosen)}  {mutation.name}: {killer or 'NOBODY NOTICED'}", flush=True)
    print(f"{len(chosen)} safeties taken away, {survivors} unnoticed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
