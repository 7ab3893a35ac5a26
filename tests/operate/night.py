"""Troubles made on purpose, and an operator who carries out what ``mqgroups doctor`` prints, as it is written."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta
from typing import Any

import pytest

import mqgroups.operate.command_server
from embedded_tests.fix_mqi import OK
from mqgroups import errors
from mqgroups.cli import doctor as cli_doctor
from mqgroups.connection.holder import connection_of
from mqgroups.mqi import constants as mq
from mqgroups.operate.command_server import MQSCClient
from tests.fix_cli import environment, invoke
from tests.fix_groups import Owner

THIS = [b"%d" % number for number in range(1, 8)]
_ROUNDS = 8
_ROLES = {"put": ("put",), "get": ("get",), "pipe": ("put", "get")}


class Stuck(AssertionError):
    """The operator does not know what to do next."""


class Scene:
    """A program of one role, its queues, and what it has committed.

    Attributes:
        source, target: the queue that it gets from, and the one that it puts to; a producer and a consumer have one only.
        away: an empty queue, for ``QUEUE`` in a remedy.
        got: the data that a consumer has processed and committed.
        said: all lines that were printed.
        elsewhere: the queues of other programs, by name.
    """

    def __init__(self, owner: Owner, role: str, make_queue: Any, *, asks: bool) -> None:
        self.owner = owner
        self.role = role
        self.source = owner.queue
        self.target = make_queue() if role == "pipe" else owner.queue
        self.away = make_queue()
        self._user = self._who()
        self.got: list[bytes] = []
        self.said: list[str] = []
        self.asks = asks
        self.elsewhere: dict[str, str] = {}
        self._running: list[Any] = []
        self.refuses = 0

    @property
    def queues(self) -> Sequence[str]:
        """The queues, each once."""
        return list(dict.fromkeys((self.source, self.target)))

    # --- the program

    def interrupt(self, committed: int = 4) -> Scene:
        """Commit so many messages of a group, and lose the connection."""
        q_mgr = self.owner.connect()
        self._work(q_mgr, committed)
        q_mgr.close()
        return self

    def hang(self) -> None:
        """Commit four messages of a group, and do nothing more."""
        q_mgr = self.owner.connect()
        self._running.append((q_mgr, self._work(q_mgr, 4)))

    def _work(self, q_mgr: Any, committed: int) -> Any:
        owner: Any = self.owner
        if self.role == "put":
            return owner.open_group(THIS[: committed + 1], q_mgr)
        if not owner.on_queue(self.source):
            owner.put_raw_group(THIS)
        self.got += THIS[:committed]
        if self.role == "get":
            consumer = owner.consumer(q_mgr)
            messages: Any = iter(next(iter(consumer)))
            for message in messages:
                if message.msg_seq_number == committed + 1:
                    break
            return consumer, messages
        pipe = self._pipe(q_mgr)
        pairs = iter(pipe)
        for incoming, outgoing in pairs:
            messages = iter(incoming)
            for message in messages:
                if message.msg_seq_number == committed + 1:
                    return pipe, pairs, messages
                outgoing.put(message.data)
        return None

    def _pipe(self, q_mgr: Any, **more: Any) -> Any:
        return self.owner.pipe(self.target, q_mgr, **more)

    def start(self, **settings: Any) -> None:
        """Start the program; it ends when there is nothing more to do."""
        owner = self.owner
        if self.role == "put":
            owner.resume_put(THIS, **settings)
        elif self.role == "get":
            with owner.consumer(**settings) as consumer:
                for incoming in consumer:
                    for message in incoming:
                        self._refuse(message.data)
                        self.got.append(message.data)
        else:
            q_mgr = owner.connect()
            with self._pipe(q_mgr, **settings) as pipe:
                for incoming, outgoing in pipe:
                    for message in incoming:
                        self._refuse(message.data)
                        outgoing.put(message.data)
                        self.got.append(message.data)
            q_mgr.close()

    def _refuse(self, data: bytes) -> None:
        if data == b"%d" % self.refuses:
            raise ZeroDivisionError

    def end(self) -> None:
        """End the program that hangs."""
        for q_mgr, _ in self._running:
            q_mgr.close()
        self._running.clear()

    # --- damage

    def lose(self, *sides: str) -> None:
        """Take all messages from the status queues, by default of all sides of the program."""
        for side in sides or _ROLES[self.role]:
            self.owner.empty(self.owner.status_queue(side))

    def take(self, queue: str, *numbers: int) -> None:
        """Take messages of the group, by their numbers, as a program does that knows no groups."""
        handle = self.owner.eye.open(queue, mq.MQOO_INPUT_SHARED)
        for number in numbers:
            assert handle.get(match=mq.MQMO_MATCH_MSG_SEQ_NUMBER, MsgSeqNumber=number).code == OK
        handle.close()

    def again(self, queue: str, *numbers: int) -> None:
        """Put messages of the group that is on the queue, or that the consumer's record names."""
        there = self.owner.on_queue(queue)
        group_id = there[0].group_id if there else bytes.fromhex(self.owner.record("get")["group_id"])
        for number in numbers:
            fields = {"GroupId": group_id, "MsgSeqNumber": number, "MsgFlags": mq.MQMF_MSG_IN_GROUP, "Persistence": 1}
            self.owner.put_raw(b"%d" % number, queue, **fields)

    # --- the operator

    def looks(self, queue: str) -> list[dict[str, Any]]:
        """Return what ``mqgroups doctor`` finds wrong with groups and status queues; ``mqgroups groups`` has to say the same."""
        role = "get" if self.role == "get" or queue == self.source != self.target else "put"
        named = () if self.asks else ("--name", self.owner.name, "--role", role)
        done = invoke("doctor", "-o", "json", "--queue", queue, "--wait", "0", *named, **self._environment)
        found = [each for each in json.loads(done.stdout)["findings"] if each["severity"] in ("warning", "error")]
        wrong = [
            each for each in found if each["subject"].startswith(("groups on ", "status queue ")) and each["remedy"]
        ]
        command = ["groups", "-o", "json", "--queue", queue, "--wait", "0"]
        listed = invoke(*command, **self._environment)
        if self.asks:
            shown = json.loads(listed.stdout)
            for row in shown["groups"]:
                said = [each for each in wrong if each["found"].endswith(row["cause"])]
                assert said or row["state"] in ("complete", "abandoned", "being put", "being got"), (row, wrong)
            causes, notes = {row["cause"] for row in shown["groups"]}, " ".join(shown.get("notes", ()))
            for each in wrong:
                cause = each["found"].partition(": ")[2]
                # Groups without a message are in the notes.
                same = not each["subject"].startswith("groups on ") or cause in causes or f": {cause}. " in notes
                assert same, (each, notes)
        return wrong

    @property
    def _environment(self) -> dict[str, str]:
        return environment(self.owner.target)

    def mend(self, *ways: str) -> None:
        """Carry out remedies until nothing is wrong; where a remedy has conditions, one with a word of ``ways`` is true."""
        for _ in range(_ROUNDS):
            wrong = [(queue, each) for queue in self.queues for each in self.looks(queue)]
            if not wrong:
                return
            if not any(self.carry_out(each, ways, {queue}) for queue, each in wrong):
                break
        raise Stuck(json.dumps([each for _, each in wrong], indent=1))

    def carry_out(self, finding: dict[str, Any], ways: Collection[str], looked: set[str]) -> bool:
        """Carry out the remedy of a finding; returns whether that was more than looking."""
        acted = False
        lines = finding["remedy"].splitlines()
        if "lost" in finding["found"] and not any(way in finding["remedy"] for way in ways):
            # Of a group that is not complete: that is another finding.
            return False
        for line in chosen(lines, ways):
            self.said.append(line)
            acted = self._do(line, ways, looked) or acted
        return acted

    def _do(self, line: str, ways: Collection[str], looked: set[str]) -> bool:
        if line.startswith(("CLEAR ", "ALTER ", "DEFINE ")):
            self.mqsc(re.sub(r"'QUEUE'", f"'{self.away}'", line))
            return True
        if line.startswith("mqgroups "):
            return self._command(line, ways, looked)
        if started := re.fullmatch(r"start (?:put|get|pipe) (\S+)(?: with (\w+)=(.+))?", line):
            assert started[1] in ("NAME", self.owner.name), line
            if self.role == "put" and line.startswith("start get"):
                self.got += itertools.chain(*self.owner.get_groups())
                return True
            value = {"True": True}.get(started[3] or "", (started[3] or "").strip("'"))
            self._started({started[2]: value} if started[2] else {})
            return True
        if line.startswith("end "):
            self.end()
        return line.startswith("end ")

    def _started(self, settings: dict[str, Any]) -> None:
        try:
            self.start(**settings)
        except errors.PoisonMessage:
            # The line before says so.
            assert any("The second one tries the message" in line for line in self.said)
            self.start(**settings)
        except ZeroDivisionError:
            # A supervisor starts it again.
            self._started(settings)
        except errors.GroupQuarantined:
            assert "quarantine" in settings.values()
        except errors.StatusQueueUnusable as error:
            # Its text says what an operator does who knows that user.
            users = re.search(r"record_users=\('(.+?)',\)", str(error))
            self.start(record_users=[users[1]] if users else [], **settings)

    def _command(self, line: str, ways: Collection[str], looked: set[str]) -> bool:
        words = {
            "NAME": self.owner.name,
            "QUEUE": self.away,
            "INCOMING": self.source,
            "OUTGOING": self.target,
            "USER": self._user,
        }
        given = shlex.split(line)[1:]
        for name, queue in self.elsewhere.items():
            words |= {"INCOMING": queue, "OUTGOING": queue} if name in given else {}
        given = [words.get(word, word) for word in given]
        if given[0] == "doctor":
            queue = given[given.index("--queue") + 1]
            if queue in looked:
                return False
            return sum(self.carry_out(each, ways, {*looked, queue}) for each in self.looks(queue)) > 0
        # A program refuses a record that the operator has put as another user.
        assert given[:2] != ["salvage", "rebuild"] or "--record-user" in given, line
        looks = given[0] in ("groups", "check")
        result = invoke(*given, *(() if looks else ("--wait", "0")), **self._environment)
        assert looks or result.exit_code == 0, (line, result.output)
        return not looks

    def _who(self) -> str:
        """Return the user that programs run under here."""
        self.owner.put_raw(b"", self.away)
        (found,) = {each.md.UserIdentifier.decode().strip() for each in self.owner.on_queue(self.away)}
        self.owner.empty(self.away)
        return found

    def mqsc(self, line: str) -> None:
        """Carry out a command as an administrator."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(mqgroups.operate.command_server, "_COMMAND_QUEUE", "SYSTEM.ADMIN.COMMAND.QUEUE")
            done, texts = MQSCClient(connection_of(self.owner.connect())).run(line)
        assert done, (line, texts)

    # --- what came of it

    def is_whole(self) -> None:
        """Each message was put or got once, in order; nothing is left, and nothing was set aside."""
        if self.role != "put":
            assert (self.got, self.owner.data(self.source)) == (THIS, [])
        if self.role != "get":
            found = self.owner.on_queue(self.target)
            assert [(each.msg_seq_number, each.data, each.is_last) for each in found] == [
                (number, data, number == len(THIS)) for number, data in enumerate(THIS, 1)
            ]
            assert len({each.group_id for each in found}) == 1

    def is_apart(self, *gone: bytes) -> None:
        """Nothing is lost but what was gone; nothing is in the way of the next group."""
        there = {*self.got}
        for queue in (*self.queues, self.away):
            there |= {*self.owner.data(queue, mq.MQGMO_NO_PROPERTIES)}
        assert there - {b""} == {*THIS} - {*gone}, self.said
        if self.role != "put":
            self.got.clear()
            self.owner.empty(self.source)
            self.owner.put_raw_group([b"next"])
            self.start()
            assert self.got == [b"next"]


def chosen(lines: Sequence[str], ways: Collection[str]) -> Iterator[str]:
    """Yield the lines without a condition, and those behind the first condition that has a word of ``ways``.

    Raises:
        Stuck: there are conditions, and none of them has.
    """
    conditions = [line for line in lines if line.endswith(":")]
    true = next((line for line in conditions if any(way in line for way in ways)), None)
    if conditions and true is None:
        raise Stuck("\n".join(lines))
    condition = None
    for line in lines:
        if line.endswith(":"):
            condition = line
        elif condition in (None, true):
            yield line


def as_if_minutes_had_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ``doctor`` call stalled at once what it calls stalled after minutes."""
    monkeypatch.setattr(cli_doctor, "STALLED_AFTER", timedelta(0))
    monkeypatch.setattr("mqgroups.cli.groups.STALLED_AFTER", timedelta(0))
