"""Troubles made on purpose, and an operator who carries out what ``mqgroups doctor`` prints, as it is written.

Everybody has a user of his own, with the authorities that ``mqgroups mqsc roles`` prints for his role, and no others. A command
of ``mqgroups salvage`` is the repairer's, ``adopt`` and ``check`` are the recoverer's, MQSC is the administrator's, and whatever
else is printed is the operator's. The programs are processes (``programs.py``).
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import signal
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from embedded_tests.fix_mqi import OK
from mqembedded import constants as mqi
from mqgroups.cli import doctor as cli_doctor
from mqgroups.operate.command_server import PCFClient
from mqgroups.operate.rules.mqsc_text import commands
from tests.fix_cli import environment, invoke
from tests.fix_groups import Owner
from tests.operate.programs import ROWS

THIS = ROWS
_ROUNDS = 8
_ROLES = {"put": ("put",), "get": ("get",), "pipe": ("put", "get")}
_PROGRAMS = {"put": "loader", "get": "sink", "pipe": "pipe"}
# Those of operators who may ask the command server, and of those who may not.
USERS = [*_PROGRAMS.values(), "recoverer", "operator", "repairer", "blindop", "blindrep"]
PASSWORD = "secret"
_numbers = itertools.count(1)


class Stuck(AssertionError):
    """The operator does not know what to do next."""


@dataclass(slots=True)
class House:
    """A queue manager with its users.

    Attributes:
        connect: a raw connection of the administrator.
        run: see ``programs``.
        granted: the commands that were carried out.
    """

    server: Any
    connect: Callable[..., Any]
    run: Callable[..., Any]
    client: PCFClient
    granted: set[str] = field(default_factory=set)

    def where(self, user: str) -> dict[str, str]:
        """Return how a program of this user connects."""
        named = {each: getattr(self.server, each) for each in ("q_mgr_name", "channel", "conn_name")}
        return {**named, "user": user, "password": PASSWORD}

    def mqsc(self, line: str) -> list[str]:
        """Carry out a command as the administrator."""
        done, texts = self.client.run(line)
        assert done, (line, texts)
        return list(texts)

    def printed(self, *words: str) -> None:
        """Carry out what ``mqgroups mqsc`` prints."""
        for command in commands(invoke("mqsc", *words).stdout):
            if command.text not in self.granted:
                self.mqsc(command.text)
                self.granted.add(command.text)

    def queue(self, name: str) -> str:
        """Make a queue, and its backout queue."""
        self.printed("status", "--queue", name)
        return name

    def grant(self, role: str, name: str, queue: str, target: str, *, asks: bool) -> None:
        """Give the users what a program needs that is called so, and whoever looks at it and repairs it."""
        users = {role: role, "recoverer": "recoverer"}
        named = ["roles", "--name", name, "--queue", queue, "--target", target]
        given = {**users, "operator": "operator", "repairer": "repairer"}
        if not asks:
            given |= {"operator": "blindop", "repairer": "blindrep"}
        self.printed(
            *named,
            *(["--ask"] if asks else []),
            *(word for each in given.items() for word in ("--role-user", "=".join(each))),
        )


class Scene:
    """A program of one role, its queues, and what it has committed.

    Attributes:
        source, target: the queue that it gets from, and the one that it puts to; a producer and a consumer have one only.
        away: an empty queue, for ``QUEUE`` in a remedy.
        got: the rows that a consumer has committed.
        said: all lines that were printed.
        fellows: the other programs of the queue.
        elsewhere: the queues of other programs, by name.
        settings: of the program, at each start.
    """

    def __init__(self, house: House, role: str, *, asks: bool, queue: str = "", name: str = "") -> None:
        number = f"{os.getpid()}.{next(_numbers)}"
        self.house = house
        self.role = role
        self.source = queue or house.queue(f"ORDERS.{number}")
        self.target = house.queue(f"INVOICES.{number}") if role == "pipe" else self.source
        self.away = f"{self.source}.BACKOUT"
        at = SimpleNamespace(**house.where(""), environment=house.server.environment)
        at.user = None
        self.owner = Owner(at, self.source, name or f"{role.upper()}.{number}", house.connect())
        self.asks = asks
        for each in self.queues:
            self.grant(each)
        self.got: list[bytes] = []
        self.said: list[str] = []
        self.fellows: list[Scene] = []
        self.elsewhere: dict[str, str] = {}
        self.settings: dict[str, Any] = {}
        self.reads_text = False
        self._hanging: list[int] = []
        self.refuses = 0

    @property
    def queues(self) -> Sequence[str]:
        """The queues, each once."""
        return list(dict.fromkeys((self.source, self.target)))

    @property
    def user(self) -> str:
        """The user of the program."""
        return _PROGRAMS[self.role]

    def fellow(self, role: str, name: str = "") -> Scene:
        """Return another program of the queue."""
        made = Scene(self.house, role, asks=self.asks, queue=self.source, name=name)
        made.fellows, made.said = [self], self.said
        self.fellows.append(made)
        return made

    def another_queue(self) -> str:
        """Make an empty queue of which everybody has what he has of the first one."""
        queue = self.house.queue(f"OTHER.{os.getpid()}.{next(_numbers)}")
        self.grant(queue)
        return queue

    def grant(self, queue: str) -> None:
        """Give everybody for this queue what he needs for the program."""
        self.house.grant(self.user, self.owner.name, queue, self.target, asks=self.asks)

    # --- the program

    def interrupt(self, committed: int = 4) -> Scene:
        """Let it die when it has committed so many messages of a group."""
        if self.role != "put" and not self.owner.on_queue(self.source):
            self.owner.put_raw_group(THIS)
        self._run(dies_at=committed + 1)
        return self

    def hang(self) -> None:
        """Let it commit four messages of a group, and do nothing more."""
        if self.role != "put":
            self.owner.put_raw_group(THIS)
        self._hanging.append(self._run(hangs_at=5)["pid"])

    def start(self, **settings: Any) -> str:
        """Start the program; it ends when there is nothing more to do. Returns the class of its error."""
        return str(self._run(settings={**self.settings, **settings})["error"])

    def end(self) -> None:
        """Kill the programs that hang."""
        for pid in self._hanging:
            os.kill(pid, signal.SIGKILL)
        if self._hanging:
            self.until_noticed()
        self._hanging.clear()

    def _run(self, **asked: Any) -> Any:
        hangs = "hangs_at" in asked
        answer = self.house.run(
            where=self.house.where(self.user),
            role=self.role,
            name=self.owner.name,
            **{"from": self.owner.queue, "to": self.owner.queue if self.role == "put" else self.target},
            **{"refuses": str(self.refuses), "reads_text": self.reads_text, **asked},
        )
        if not hangs:
            self.until_noticed()
        ended = not answer["error"] and not hangs and "dies_at" not in asked
        self.got += self._committed(answer["rows"], all_of_them=ended or answer["error"] == "GroupQuarantined")
        self.error = answer["error"], answer["text"]
        return answer

    def until_noticed(self) -> None:
        """Wait until the queue manager knows that the program is gone."""
        for side in _ROLES[self.role]:
            code = mqi.MQRC_OBJECT_IN_USE
            while code == mqi.MQRC_OBJECT_IN_USE:
                handle = self.owner.eye.open(self.owner.status_queue(side), mqi.MQOO_INPUT_EXCLUSIVE)
                code = handle.code.reason
                if handle.code == OK:
                    handle.close()

    def _committed(self, rows: Sequence[tuple[str, int, str]], *, all_of_them: bool) -> list[bytes]:
        """Return the rows that a consumer has committed, by its record."""
        last = len(rows) if all_of_them else 0
        if not all_of_them and rows:
            for each in map(json.loads, self.owner.records("get")):
                place = (each.get("group_id"), each.get("msg_seq_number"))
                last = max([last, *(at for at, row in enumerate(rows, 1) if (row[0], row[1]) == place)])
        return [data.encode() for _, _, data in rows[:last]]

    # --- damage

    def lose(self, *sides: str) -> None:
        """Take all messages from the status queues, by default of all sides of the program."""
        for side in sides or _ROLES[self.role]:
            self.owner.empty(self.owner.status_queue(side))

    def take(self, queue: str, *numbers: int) -> None:
        """Take messages of the group, by their numbers, as a program does that knows no groups."""
        handle = self.owner.eye.open(queue, mqi.MQOO_INPUT_SHARED)
        for number in numbers:
            assert handle.get(match=mqi.MQMO_MATCH_MSG_SEQ_NUMBER, MsgSeqNumber=number).code == OK
        handle.close()

    def again(self, queue: str, *numbers: int) -> None:
        """Put messages of the group that is on the queue, or that the consumer's record names."""
        there = self.owner.on_queue(queue)
        group_id = there[0].group_id if there else bytes.fromhex(self.owner.record("get")["group_id"])
        for number in numbers:
            fields = {"GroupId": group_id, "MsgSeqNumber": number, "MsgFlags": mqi.MQMF_MSG_IN_GROUP, "Persistence": 1}
            self.owner.put_raw(b"%d" % number, queue, **fields)

    # --- the operator

    def looks(self, queue: str) -> list[dict[str, Any]]:
        """Return what ``mqgroups doctor`` finds wrong; ``mqgroups groups`` has to say the same of groups."""
        role = "get" if self.role == "get" or queue == self.source != self.target else "put"
        named = () if self.asks else ("--name", self.owner.name, "--role", role)
        done = self.command("doctor", "-o", "json", "--queue", queue, *named)
        found = [each for each in json.loads(done.stdout)["findings"] if each["severity"] in ("warning", "error")]
        # What was set aside is for the day shift.
        wrong = [each for each in found if not each["subject"].endswith(".BACKOUT: messages")]
        shown = json.loads(self.command("groups", "-o", "json", "--queue", queue).stdout) if self.asks else {}
        # A queue that nobody may get from cannot be browsed.
        if "groups" in shown:
            of_groups = [each for each in wrong if each["subject"].startswith("groups on ")]
            for row in shown["groups"]:
                said = [each for each in of_groups if each["found"].endswith(row["cause"])]
                assert said or row["state"] in ("complete", "abandoned", "being put", "being got"), (row, wrong)
            causes, notes = {row["cause"] for row in shown["groups"]}, " ".join(shown.get("notes", ()))
            for each in of_groups:
                cause = each["found"].partition(": ")[2]
                # Groups without a message are in the notes.
                assert cause in causes or f": {cause}. " in notes, (each, notes)
        return wrong

    def command(self, *words: str) -> Any:
        """Run a command as the user whose role it is for."""
        if words[0] == "check" and "--queue" in words:
            # It browses. Of the printed roles nobody may do that who may open the status queue.
            return self._check(*words)
        role = {"salvage": "repairer", "adopt": "recoverer", "check": "recoverer"}.get(words[0], "operator")
        user = role if self.asks else {"operator": "blindop", "repairer": "blindrep"}.get(role, role)
        return invoke(*words, **environment(SimpleNamespace(**self.house.where(user))))

    def _check(self, *words: str) -> Any:
        """Run the command as the administrator; or as the program's user, to whom one gives what the command says it lacks."""
        if self.asks:
            return invoke(
                *words, **environment(SimpleNamespace(**{**self.house.where(""), "user": None, "password": None}))
            )
        for profile in (self.owner.queue, "MQGROUPS.**"):
            self.house.mqsc(
                f"SET AUTHREC PROFILE('{profile}') OBJTYPE(QUEUE) PRINCIPAL('{self.user}') AUTHADD(BROWSE,INQ)"
            )
        return invoke(*words, **environment(SimpleNamespace(**self.house.where(self.user))))

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
        lines = [*finding["mqsc"], *finding["remedy"].splitlines()]
        if "lost" in finding["found"] and not any(way in finding["remedy"] for way in ways):
            # Of a group that is not complete: that is another finding.
            return False
        for line in chosen(lines, ways):
            self.said.append(line)
            acted = self._do(line, ways, looked) or acted
        return acted

    def _do(self, line: str, ways: Collection[str], looked: set[str]) -> bool:
        if line.startswith(("CLEAR ", "ALTER ", "DEFINE ", "SET ")):
            self.house.mqsc(re.sub(r"'QUEUE'", f"'{self.away}'", line))
            return True
        if line.startswith("mqgroups "):
            return self._command(line, ways, looked)
        if started := re.fullmatch(r"(start|end) (put|get|pipe) (\S+)", line):
            program = self._program(started[2], started[3])
            if started[1] == "end":
                program.end()
            else:
                program.started()
            return True
        return False

    def _program(self, role: str, name: str) -> Scene:
        """Return the program that a line names."""
        for each in (self, *self.fellows):
            if role in (each.role, *_ROLES[each.role]) and name in ("NAME", each.owner.name):
                return each
        assert (self.role, role) == ("put", "get"), role
        assert name in ("NAME", self.owner.name), name
        return self.fellow("get", "" if name == "NAME" else name)

    def started(self) -> None:
        """Start it as its supervisor does: again after a failure."""
        users: list[str] = []
        for _ in range(_ROUNDS):
            error = self.start(record_users=users)
            if error == "StatusQueueUnusable" and (found := re.search(r"record_users=\('(.+?)',\)", self.error[1])):
                # Its text says what an operator does who knows that user.
                users = [found[1]]
            elif error == "PoisonMessage":
                # The line before says so.
                assert any("The second one tries the message" in line for line in self.said)
            elif error != "ZeroDivisionError":
                break
        assert error in ("", "PoisonMessage"), self.error

    def _command(self, line: str, ways: Collection[str], looked: set[str]) -> bool:
        given = shlex.split(line)[1:]
        named = [each for each in (self, *self.fellows) if each.owner.name in given]
        user = next((each.user for each in named if not each.elsewhere or each.owner.name in given), self.user)
        words = {
            "NAME": self.owner.name,
            "QUEUE": self.away,
            "INCOMING": self.source,
            "OUTGOING": self.target,
            "USER": user,
        }
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
        looks = given[0] in ("groups", "check", "owners")
        result = self.command(*given)
        assert looks or result.exit_code == 0, (line, result.output)
        return not looks

    # --- what came of it

    def is_whole(self) -> None:
        """Each row was put or got once, in order; nothing is left, and nothing was set aside."""
        if self.role != "put":
            assert (self.got, self.owner.data(self.source)) == (THIS, [])
        if self.role != "get":
            self.is_put()
        assert not {*THIS} & {*self.owner.data(self.away)}

    def is_put(self) -> None:
        """The queue has the one group, each row once."""
        found = self.owner.on_queue(self.target)
        assert [(each.msg_seq_number, each.data, each.is_last) for each in found] == [
            (number, data, number == len(THIS)) for number, data in enumerate(THIS, 1)
        ]
        assert len({each.group_id for each in found}) == 1

    def is_apart(self, *gone: bytes) -> None:
        """Nothing is lost but what was gone; nothing is in the way of the next group."""
        there = {*self.got}
        for queue in (*self.queues, *(f"{each}.BACKOUT" for each in self.queues)):
            there |= {*self.owner.data(queue)}
        assert there - {b""} == {*THIS} - {*gone}, self.said
        if self.role != "put":
            self.goes_on()

    def goes_on(self) -> None:
        """The next group is got."""
        self.got.clear()
        self.owner.empty(self.source)
        self.owner.put_raw_group([b"next"])
        assert (self.start(), self.got) == ("", [b"next"])


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
