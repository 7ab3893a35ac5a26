"""Take each safety of the library away in turn: the tests have to notice. ``python -m tests.mutations [NAME ...]``.

Each mutation is one replacement in a copy of the package. The tests named for it run against the copy, on the embedded queue
manager, and have to fail; the table tells which one did. Exits with 1 if a mutation survives.
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

from rich.console import Console
from rich.table import Table

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
        "tests/test_producer.py -k resume",
    ),
    Mutation(
        "the restart get uses the recorded number plus one",
        "core/group.py",
        "return GetPlan(False, False, match, position.group_id, position.msg_seq_number + 1, position.offset)",
        "return GetPlan(False, False, match, position.group_id, position.msg_seq_number, position.offset)",
        "tests/test_consumer.py -k resume",
    ),
    Mutation(
        "the restart get does not ask for ALL_MSGS_AVAILABLE",
        "core/group.py",
        "return GetPlan(False, False, match,",
        "return GetPlan(False, complete_groups_only, match,",
        "tests/test_consumer.py -k complete",
    ),
    Mutation(
        "the status queue is opened exclusively",
        "status_queue.py",
        "_OPEN_OPTIONS = mq.MQOO_INPUT_EXCLUSIVE |",
        "_OPEN_OPTIONS = mq.MQOO_INPUT_SHARED |",
        "tests/test_ownership.py",
    ),
    Mutation(
        "an owner's record is there before its first commit",
        "unit_of_work.py",
        "        self._start(record)\n        self._claim()\n",
        "        self._start(record)\n",
        "tests/test_ownership.py",
    ),
    Mutation(
        "another owner's record is told from one's own",
        "core/restart.py",
        "    return Verdict.OWNERSHIP_LOST\n",
        "    return Verdict.BACKED_OUT\n",
        "tests/test_ownership.py",
    ),
    Mutation(
        "every owner has an epoch of its own",
        "unit_of_work.py",
        "self.epoch = record.epoch + 1 if record else 1",
        "self.epoch = 1",
        "tests/test_unit_of_work.py",
    ),
    Mutation(
        "a completed group leaves its record",
        "unit_of_work.py",
        "        self._status.replace(record)\n        self._commit(record, AT_START)\n",
        "        self._status.clear()\n        self._commit(None, AT_START)\n",
        "tests/test_recovery.py -k one-unit",
    ),
    Mutation(
        "a commit without an answer gets a verdict",
        "core/restart.py",
        "    if found == after:\n        return Verdict.COMMITTED\n",
        "",
        "tests/test_recovery.py -k every_commit",
    ),
    Mutation(
        "a verdict is remembered when the connection is lost once more",
        "consumption.py",
        "is Verdict.COMMITTED or is_committed",
        "is Verdict.COMMITTED",
        "tests/test_recovery.py -k 'once_more or twice or again'",
    ),
    Mutation(
        "what was not committed is put again",
        "producer.py",
        "        for message in tuple(self._unit):\n            self._put_and_commit(message)\n",
        "",
        "tests/test_recovery.py -k producer",
    ),
    Mutation(
        "what was not committed is got again",
        "consumption.py",
        "for msg_id in processed:",
        "for msg_id in processed[:0]:",
        "tests/test_recovery.py -k consumer",
    ),
    Mutation(
        "the rest of a group goes where its beginning went",
        "producer.py",
        "self._pinned = elsewhere and not self._work.committed.at_start",
        "self._pinned = False",
        "tests/test_producer.py -k beginning",
    ),
    Mutation(
        "MQBACK comes before MQDISC",
        "connection.py",
        "if self._connect is not None or self._broken or self._unit_of_work_of is not None:",
        "if False:",
        "tests/test_connection.py tests/test_processes.py",
    ),
    Mutation(
        "another queue manager's status queue proves nothing",
        "connection.py",
        "if self.q_mgr_identifier != identifier:",
        "if False:",
        "tests/test_recovery.py -k address",
    ),
    Mutation(
        "a handle inherited over fork is not made again",
        "connection.py",
        "            self.reconnect = NEVER\n",
        "            pass\n",
        "tests/test_processes.py -k forked",
    ),
    Mutation(
        "poison is proved by processing it alone",
        "core/poison.py",
        "return Treatment.ISOLATE",
        "return Treatment.POISON",
        "tests/test_poison.py",
    ),
    Mutation(
        "a digest guards the status record",
        "core/status.py",
        'hashlib.sha256(body).hexdigest().encode("ascii"):\n        raise _corrupt',
        'b"":\n        pass\n    if False:\n        raise _corrupt',
        "tests/core/test_status.py tests/test_status_records_damaged.py",
    ),
    Mutation(
        "batch: an attempt that was replaced is fenced",
        "group_status.py",
        "elif not self._shared.take(self._current):",
        "elif not (self._shared.take(self._current) or self._claimed):",
        "tests/test_batch_producer.py -k fenced",
    ),
    Mutation(
        "batch: a status record that cannot be seen is waited for",
        "core/claim.py",
        "return ClaimAction.WAIT\n",
        "return ClaimAction.START_NEW_GROUP\n",
        "tests/test_batch_producer.py -k waits",
    ),
    Mutation(
        "batch: a claim is locked",
        "group_status.py",
        "self._lock = shared.lock(claim.intent_id)",
        "self._lock = None",
        "tests/test_batch_producer.py -k locked",
    ),
    Mutation(
        "batch: a batch that was completed is not put again",
        "core/claim.py",
        "if high_water_mark is not None and high_water_mark >= claim.batch:",
        "if False:",
        "tests/test_batch_producer.py -k completed",
    ),
    Mutation(
        "batch: the high-water mark is there before the records go",
        "batches.py",
        "            if not any(_batch(mark) >= batch for mark in found.marks):\n",
        "            _take(connection, shared, _done_with(found, batch))\n"
        "            if not any(_batch(mark) >= batch for mark in found.marks):\n",
        "tests/test_batch_interleaving.py -k late",
    ),
    Mutation(
        "batch: other messages for a group that was begun are refused",
        "batch_producer.py",
        'if digest.value() != checkpoint["digest"]:',
        "if False:",
        "tests/test_batch_producer.py -k other_messages",
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
    """Run them all, or those whose names contain a word given."""
    chosen = [one for one in MUTATIONS if not sys.argv[1:] or any(word in one.name for word in sys.argv[1:])]
    table = Table(title="Each safety taken away: which test notices?")
    table.add_column("safety")
    table.add_column("noticed by")
    survivors = 0
    console = Console(width=160)
    with console.status("mutating"):
        for mutation in chosen:
            killer = killed_by(mutation)
            survivors += killer is None
            table.add_row(mutation.name, killer or "[bold red]nobody")
    console.print(table)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
