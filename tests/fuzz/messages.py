"""Fuzzing of the programs that get messages: hostile ones are put, and everything that reads a queue reads them.

    python -m tests.fuzz.messages --seconds 600 --seed 7

Each example is a few messages (``hostile_messages.py``), put without logical order by the binding itself. Then operators'
functions and commands browse them, Spark's functions read them, and each kind of consumer gets them: of whole messages and of
segments, with codecs, into files, through a pipe. Replies of a command server and manifests of Spark are read by functions. What
has to hold:

* only errors of this package's tree reach an application, and their text is one printable line;
* a reader takes at most 64 MiB more than the messages;
* what a reader puts again has no report put to a queue that its sender may not put to;
* a consumer that is started again does not stop for ever: after the same stop, one of the ways that the documents name leads on.
"""

from __future__ import annotations

import argparse
import faulthandler
import itertools
import json
import os
import random
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from click.testing import CliRunner

import mqgroups
from mqembedded import EmbeddedQueueManager
from mqembedded import constants as mq
from mqembedded.libmqm.build import build, load
from mqgroups import codecs, errors, operate
from mqgroups.cli.main import main as command
from mqgroups.connection.holder import connection_of
from mqgroups.definitions import DEVELOPMENT_MQSC
from mqgroups.errors import MQGroupsError, StatusQueueUnusable
from mqgroups.files.receiving import FileReceiver
from mqgroups.mqi import pcf, property_folders, rfh2
from mqgroups.mqi import structures as st
from mqgroups.mqi.message import Message
from mqgroups.operate.group_names import named
from mqgroups.queue_manager import QueueManager
from mqgroups.spark.browse import BrowsedQueue
from mqgroups.spark.errors import CheckpointUnusable
from mqgroups.spark.manifests import Manifests
from mqgroups.spark.offsets import Key, Offset, Planned
from mqgroups.spark.rows import taken_off
from mqgroups.telemetry.context import in_folders
from tests.fuzz.hostile_messages import VICTIM, Hostile, manifest, messages, reply

_QUEUE, _BAD, _TO = "FUZZ", "FUZZ.BAD", "FUZZ.TO"
_MQSC = f"""
DEFINE QLOCAL({_QUEUE}) MAXDEPTH(5000) BOTHRESH(2) BOQNAME({_BAD})
DEFINE QLOCAL({_BAD}) MAXDEPTH(5000)
DEFINE QLOCAL({_TO}) MAXDEPTH(5000)
DEFINE QLOCAL({VICTIM}) MAXDEPTH(5000)
"""
_MOST_BYTES = 64 << 20
_LONGEST_ERROR = 10_000
# An example takes a second or less.
_PATIENCE_S = 120
# The same stop so often: then another way has to lead on.
_STOPS = 3


class Found(Exception):
    """What must not happen; the message says what it was."""


# --- readers that change nothing


def _functions(_: QueueManager, put: list[Hostile]) -> None:
    """Read the data of the messages as no queue manager would let it through."""
    for one in put:
        encoding, ccsid = one.fields.get("Encoding", 546), one.fields.get("CodedCharSetId", 1208)
        md = st.describing(bytes(st.md()), encoding, ccsid, one.fields.get("Format", b"").ljust(8)[:8])
        found = rfh2.without_properties(md, one.data)
        taken_off(one.data, encoding, ccsid)
        if found is not None:
            md, data, taken = found
            property_folders.values(taken.folders)
            in_folders(taken.folders)
            _look_at(Message(data, md, mq.MQGS_MSG_IN_GROUP, taken=taken))


class _Status:
    """A status queue of Spark, with the parts that were put."""

    name = "STATUS"

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def browse(self, _: bytes) -> list[tuple[bytes, bytes]]:
        return [(bytes([number]), part) for number, part in enumerate(self.parts)]

    def change(self, _: bytes, put: Sequence[bytes], delete: Iterable[bytes]) -> list[bytes]:
        self.parts += put
        return [bytes([number % 256]) for number, _ in enumerate((*put, *delete))][: len(put)]

    def has(self, _source: bytes, _msg_id: bytes) -> bool:
        return True


def _replies(_: QueueManager, put: list[Hostile]) -> None:
    """Read what a command server, or who may put to a status queue of Spark, might have written."""
    draw = random.Random(repr(put))
    for _number in range(100):
        order, encoding = draw.choice((("<", 546), (">", 273)))
        with suppress(ValueError):
            pcf.response(reply(draw, order), encoding)
        status = _Status()
        key = Key(bytes(24), "2026010100000000", bytes(24))
        offset = Manifests(status).follow(Offset(), "a" * 48, "b" * 32, [Planned(key, 1)], 8)
        part = json.loads(status.parts[0])
        others = [manifest(draw, part | {"manifest": draw.choice("bc") * 32}) for _ in range(2)]
        status.parts = draw.choice(([*status.parts, *others], others))
        with suppress(StatusQueueUnusable, CheckpointUnusable):
            manifests = Manifests(status)
            manifests.learn(offset)
            manifests.bundles(offset)
            manifests.removed(tuple(manifests.to_remove(offset, 1)), frozenset(), 1)
            manifests.tidy(offset.followed_by("", "d" * 32, [], ()))


def _operators(q_mgr: QueueManager, _: list[Hostile]) -> None:
    with operate.browse_groups(q_mgr, _QUEUE) as seen:
        for group in seen.inspections():
            list(operate.messages_of_group(q_mgr, _QUEUE, group.group_id))
        seen.judge(operate.SeenOwners(()), "2026010100000000")
        list(named(q_mgr, _QUEUE, seen.groups()))
    list(operate.examine(q_mgr, queue=_QUEUE))
    operate.find_owners(q_mgr)


def _commands(_: QueueManager, _put: list[Hostile]) -> None:
    for words in (["groups", "--queue", _QUEUE], ["doctor", "--queue", _QUEUE], ["owners"]):
        for output in random.sample(("table", "json"), 1):
            done = CliRunner().invoke(command, [*words, "--output", output])
            if done.exception is not None and not isinstance(done.exception, SystemExit):
                raise done.exception
            if output == "json":
                json.loads(done.stdout)
            elif any(not line.isprintable() for line in done.output.split("\n")):
                raise Found(f"{words} printed {done.output!r}")


def _spark(q_mgr: QueueManager, _: list[Hostile]) -> None:
    for headers in (False, True):
        with BrowsedQueue(connection_of(q_mgr), _QUEUE, headers=headers, convert=headers) as queue:
            for head in list(queue.heads()):
                planned = queue.counted(head)
                for got in queue.messages(planned):
                    taken_off(got.data, st.long_at(got.md, st.MD_ENCODING), st.long_at(got.md, st.MD_CODED_CHAR_SET_ID))


# --- readers that get the messages


def _look_at(message: Message) -> None:
    """Look at everything that a message shows, as an application might."""
    for name in dir(Message):
        if not name.startswith("_") and name not in ("chunks", "value", "text"):
            getattr(message, name)
    assert message._as_got
    _ = message._abandoned_with, message._abandoned_because
    repr(message)
    with suppress(errors.CcsidUnknown, errors.NotDecoded):
        _ = message.text


def _consume(q_mgr: QueueManager, name: str, **settings: Any) -> None:
    with q_mgr.group_consumer(_QUEUE, name=name, wait_s=0, group_wait_s=0, **settings) as consumer:
        for group in consumer:
            _ = repr(group), group.name
            with suppress(errors.GroupPropertiesLost):
                dict(group.properties)
            for message in group:
                _look_at(message)
                if settings.get("codec"):
                    repr(message.value)
                for _ in message.chunks():
                    pass
        consumer.forget()


def _receive(q_mgr: QueueManager, name: str, *, into: Path, **settings: Any) -> None:
    settings.pop("poison", None)
    opens = partial(q_mgr.group_consumer, _QUEUE, name=name, wait_s=0, group_wait_s=0, stream=True, **settings)
    receiver = FileReceiver(opens, into, keep_waiting=False)
    with receiver.consumer as consumer:
        for received in receiver:
            if not received.path.resolve().is_relative_to(into) or not received.path.is_file():
                raise Found(f"received {received}")
            received.path.unlink()
        consumer.forget()


def _pipe(q_mgr: QueueManager, name: str, **settings: Any) -> None:
    with q_mgr.group_pipe(_QUEUE, _TO, name=name, wait_s=0, group_wait_s=0, **settings) as pipe:
        for incoming, outgoing in pipe:
            for message in incoming:
                outgoing.put(message.data)


_Reader = Callable[..., None]
_BROWSERS: dict[str, Callable[[QueueManager, list[Hostile]], None]] = {
    "functions": _functions,
    "replies": _replies,
    "operators": _operators,
    "commands": _commands,
    "spark": _spark,
}
_GETTERS: dict[str, _Reader] = {
    "CONSUMER": _consume,
    "STREAM": partial(_consume, stream=True),
    "JSON": partial(_consume, codec=codecs.json),
    "TEXT": partial(_consume, codec=codecs.text),
    "CONVERT": partial(_consume, convert=True),
    "FILES": _receive,
    "PIPE": _pipe,
}


class Fuzzer:
    """Puts examples to a queue manager, and has them read.

    Attributes:
        done: how many examples, messages and reads there were; stops by class of error, and ways that led on.
    """

    def __init__(self, q_mgr_name: str, folder: Path, without: Sequence[str] = ()) -> None:
        import pymqi  # its client library was loaded before

        self._pymqi = pymqi
        self._q_mgr_name = q_mgr_name
        self._folder = folder
        self._browsers = [reader for reader in _BROWSERS if reader not in without]
        self.done: Counter[str] = Counter()
        self._raw = pymqi.connect(q_mgr_name)

    def example(self, seed: int) -> None:
        """Put and read one example; raises Found."""
        draw = random.Random(seed)
        put = messages(draw)
        self.done["examples"] += 1
        readers = [*draw.sample(self._browsers, 3), *draw.sample(sorted(_GETTERS), 2)]
        for number, reader in enumerate(readers):
            if number == 0 or reader in _GETTERS:
                self._clear(_QUEUE, _BAD, _TO)
                self.done["messages"] += sum(self._put(one) for one in put)
            with self._limited(reader, put):
                if reader in _BROWSERS:
                    self._browse(reader, put)
                else:
                    self._get(reader)
            self._clear(_QUEUE, _BAD, _TO, "DEV.DEAD.LETTER.QUEUE")
            if reports := self._clear(VICTIM):
                raise Found(f"{reader} had {reports} reports put to {VICTIM}")
            self.done[f"reads by {reader}"] += 1

    @contextmanager
    def _limited(self, reader: str, put: list[Hostile]) -> Iterator[None]:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        try:
            yield
        except Found:
            raise
        except Exception as error:
            raise Found(f"{reader}: {type(error).__name__}: {error}") from error
        took = tracemalloc.get_traced_memory()[1] - before
        self.done["most MiB"] = max(self.done["most MiB"], took >> 20)
        if took > _MOST_BYTES + sum(len(one.data) for one in put):
            raise Found(f"{reader} took {took >> 20} MiB")

    def _browse(self, reader: str, put: list[Hostile]) -> None:
        with mqgroups.connect(self._q_mgr_name) as q_mgr:
            try:
                _BROWSERS[reader](q_mgr, put)
            except MQGroupsError as error:
                self._stopped(error)

    def _get(self, reader: str) -> None:
        """Start a reader again after each stop, until it has read the queue."""
        stops: Counter[tuple[object, ...]] = Counter()
        settings: dict[str, Any] = {}
        if reader == "FILES":
            settings["into"] = Path(tempfile.mkdtemp(dir=self._folder)).resolve()
        name = f"FUZZ.{reader}"
        for _ in range(500):
            try:
                with mqgroups.connect(self._q_mgr_name) as q_mgr:
                    _GETTERS[reader](q_mgr, name, **settings)
                break
            except MQGroupsError as error:
                self._stopped(error)
                if isinstance(error, (errors.GroupAbandoned, errors.GroupQuarantined)):
                    # It has gone on.
                    continue
                group_id = getattr(error, "group_id", b"")
                stop = type(error), group_id, getattr(error, "msg_seq_number", 0)
                stops[stop] += 1
                if stops[stop] >= _STOPS:
                    self._lead_on(error, group_id, name, settings)
        else:
            raise Found(f"{reader} does not come to an end: {stops.most_common(3)}")
        self._clear(f"MQGROUPS.GET.{name}", f"MQGROUPS.PUT.{name}")

    def _lead_on(self, error: MQGroupsError, group_id: bytes, name: str, settings: dict[str, Any]) -> None:
        """Do what the documents say after this stop; raises Found if they say nothing."""
        if isinstance(error, errors.PoisonMessage) and not settings.keys() & {"poison", "stream"}:
            self.done["ways: poison="] += 1
            settings["poison"] = "quarantine"
        elif (
            isinstance(error, errors.GroupStalled)
            and name not in ("FUZZ.STREAM", "FUZZ.FILES")
            and "stalled" not in settings
        ):
            self.done["ways: stalled="] += 1
            settings["stalled"] = "quarantine"
        elif isinstance(error, errors.CcsidUnknown):
            # docs/how-to/messages.md, "Text and code pages".
            self.done["ways: without a codec"] += 1
            settings["codec"] = None
        elif any(group_id) or isinstance(error, errors.MQIError):
            # docs/how-to/salvage.md, "Moving a group away".
            self.done["ways: the group moved"] += 1
            with mqgroups.connect(self._q_mgr_name) as q_mgr:
                with operate.browse_groups(q_mgr, _QUEUE) as seen:
                    there = [group.group_id for group in seen.inspections()]
                for moved in [group_id] if group_id in there else there[:1]:
                    operate.move_group(q_mgr, _QUEUE, moved, to=_BAD, accept=("in-use", "dead-letters"))
            self._clear(f"MQGROUPS.GET.{name}", f"MQGROUPS.PUT.{name}")
        else:
            raise Found(f"{name} stops for ever: {type(error).__name__}: {error}") from error

    def _stopped(self, error: MQGroupsError) -> None:
        self.done[f"stops: {type(error).__name__} {getattr(error, 'reason_name', '')}"] += 1
        if not str(error).isprintable() or len(str(error)) > _LONGEST_ERROR:
            raise Found(f"the text of {type(error).__name__} is {str(error)!r}") from error

    # --- by the binding itself

    def _put(self, one: Hostile) -> bool:
        pymqi, C = self._pymqi, self._pymqi.CMQC  # noqa: N806 - as in pymqi's own examples
        queue = pymqi.Queue(self._raw, _QUEUE, C.MQOO_OUTPUT | C.MQOO_SET_ALL_CONTEXT)
        md = pymqi.MD(Version=2)
        md.set(**one.fields)
        try:
            queue.put(one.data, md, pymqi.PMO(Options=C.MQPMO_SET_ALL_CONTEXT | C.MQPMO_NO_SYNCPOINT))
        except pymqi.MQMIError as refused:
            self.done[f"refused: {mq.reason_name(refused.reason)}"] += 1
            return False
        finally:
            queue.close()
        return True

    def _clear(self, *queues: str) -> int:
        """Get what is on the queues; returns how many messages these were."""
        found = 0
        pymqi, C = self._pymqi, self._pymqi.CMQC  # noqa: N806 - as in pymqi's own examples
        for name in queues:
            try:
                queue = pymqi.Queue(self._raw, name, C.MQOO_INPUT_SHARED)
            except pymqi.MQMIError:
                continue
            gmo = pymqi.GMO(Options=C.MQGMO_ACCEPT_TRUNCATED_MSG | C.MQGMO_NO_SYNCPOINT | C.MQGMO_NO_PROPERTIES)
            with suppress(pymqi.MQMIError):
                while True:
                    try:
                        queue.get(1, pymqi.MD(Version=2), gmo)
                    except pymqi.MQMIError as warning:
                        if warning.reason != C.MQRC_TRUNCATED_MSG_ACCEPTED:
                            raise
                    found += 1
            queue.close()
        return found


def main() -> None:
    """Run until the time is over."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz.messages", description="Fuzz readers with hostile messages."
    )
    parser.add_argument("--seconds", type=float, default=60, help="how long (default: 60)")
    parser.add_argument("--examples", type=int, default=0, help="how many examples, instead")
    parser.add_argument(
        "--without", action="append", default=[], choices=[*_BROWSERS], help="a reader that is left out"
    )
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30), help="of the first example")
    asked = parser.parse_args()
    end_s = time.monotonic() + asked.seconds
    print(f"seed {asked.seed}", flush=True)
    load(build())
    with tempfile.TemporaryDirectory(prefix="mqgroups-fuzz-") as directory:
        mqsc = Path(directory) / "fuzz.mqsc"
        mqsc.write_text(_MQSC)
        with EmbeddedQueueManager("QM1", mqsc=[DEVELOPMENT_MQSC, mqsc], log_level="ERROR") as q_mgr:
            os.environ.update(q_mgr.environment())
            fuzzer = Fuzzer(q_mgr.q_mgr_name, Path(directory), asked.without)
            tracemalloc.start()
            for seed in itertools.count(asked.seed):
                if (seed - asked.seed >= asked.examples) if asked.examples else time.monotonic() >= end_s:
                    break
                faulthandler.dump_traceback_later(_PATIENCE_S, exit=True)
                try:
                    fuzzer.example(seed)
                except Found as found:
                    for one in messages(random.Random(seed)):
                        print(one, file=sys.stderr)
                    print(f"--seed {seed} --examples 1: {found}", file=sys.stderr)
                    raise
                finally:
                    faulthandler.cancel_dump_traceback_later()
    for what, many in sorted(fuzzer.done.items()):
        print(f"{what:40} {many:9,}")


if __name__ == "__main__":
    main()
