"""Many connections and many messages at once: ``python -m tests.bench.load [--messages N] [--connections N] [--json FILE]``.

All connections put together persistent messages on one queue, then all get until it is empty, and that twice: what the
second round needs more than the first is a leak. Every message is accounted for. ``make load`` runs it.
"""

from __future__ import annotations

import argparse
import array
import json
import multiprocessing
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from mqgroups.embedded import EmbeddedQueueManager
from mqgroups.embedded.libmqm.build import build, load

QUEUE = "LOAD"
IN_UNIT_OF_WORK = 100
PROCESSES = 5
_DIGITS = 12


def _load_client() -> None:
    """What a process does before it imports pymqi."""
    load(build())


def _connect(address: tuple[str, str, str]):
    import pymqi

    q_mgr = pymqi.QueueManager(None, disconnect_on_exit=False)
    q_mgr.connect_tcp_client(address[0], pymqi.CD(), address[1], address[2])
    return q_mgr


def _put(address: tuple[str, str, str], numbers: range, connected: threading.Barrier) -> int:
    """Put a message for each number; returns how many."""
    import pymqi
    from pymqi import CMQC

    q_mgr = _connect(address)
    queue = pymqi.Queue(q_mgr, QUEUE, CMQC.MQOO_OUTPUT)
    connected.wait()
    options = CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_SYNC_RESPONSE
    for count, number in enumerate(numbers, 1):
        md = pymqi.MD(Version=2, Persistence=CMQC.MQPER_PERSISTENT)
        queue.put(b"%0*d" % (_DIGITS, number) + b"." * 88, md, pymqi.PMO(Version=2, Options=options))
        if count % IN_UNIT_OF_WORK == 0:
            q_mgr.commit()
    q_mgr.commit()
    q_mgr.disconnect()
    return len(numbers)


def _get(address: tuple[str, str, str], connected: threading.Barrier) -> array.array[int]:
    """Get until the queue is empty; returns the numbers."""
    import pymqi
    from pymqi import CMQC

    q_mgr = _connect(address)
    queue = pymqi.Queue(q_mgr, QUEUE, CMQC.MQOO_INPUT_SHARED)
    connected.wait()
    numbers = array.array("l")
    gmo = {"Version": 2, "Options": CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_NO_WAIT, "MatchOptions": 0}
    while True:
        try:
            numbers.append(int(queue.get(100, pymqi.MD(Version=2), pymqi.GMO(**gmo))[:_DIGITS]))
        except pymqi.MQMIError as error:
            if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
                raise
            break
        if len(numbers) % IN_UNIT_OF_WORK == 0:
            q_mgr.commit()
    q_mgr.commit()
    q_mgr.disconnect()
    return numbers


def _put_all(address: tuple[str, str, str], ranges: list[range]) -> int:
    """One process's connections, each on a thread, starting together."""
    connected = threading.Barrier(len(ranges))
    with ThreadPoolExecutor(len(ranges)) as threads:
        return sum(threads.map(lambda numbers: _put(address, numbers, connected), ranges))


def _get_all(address: tuple[str, str, str], connections: int) -> array.array[int]:
    connected = threading.Barrier(connections)
    with ThreadPoolExecutor(connections) as threads:
        return sum(threads.map(lambda _: _get(address, connected), range(connections)), array.array("l"))


def _memory_mb(pid: int) -> float:
    """Return a process's resident memory."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {pid} has no VmRSS")


def run(messages: int, connections: int) -> dict[str, Any]:
    """Fill and drain twice; returns the figures. Raises RuntimeError unless every message came out exactly once."""
    shares = [range(number, messages, connections) for number in range(connections)]
    by_process = [shares[number::PROCESSES] for number in range(min(PROCESSES, connections))]
    rounds = []
    with tempfile.TemporaryDirectory() as directory:
        mqsc = Path(directory, "load.mqsc")
        mqsc.write_text(f"DEFINE QLOCAL({QUEUE}) MAXDEPTH(999999999) SHARE DEFPSIST(YES)\n")
        with EmbeddedQueueManager("LOAD", mqsc=[mqsc]) as qmgr:
            address = (qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name)
            empty_mb = _memory_mb(qmgr.pid)
            with ProcessPoolExecutor(len(by_process), multiprocessing.get_context("spawn"), _load_client) as pool:
                for _ in range(2):
                    began = time.perf_counter()
                    put = sum(pool.map(_put_all, [address] * len(by_process), by_process))
                    filled, full_mb = time.perf_counter(), _memory_mb(qmgr.pid)
                    got = bytearray(messages)
                    for numbers in pool.map(_get_all, [address] * len(by_process), map(len, by_process)):
                        for number in numbers:
                            got[number] += 1
                    if put != messages or got.count(1) != messages:
                        lost, once = got.count(0), got.count(1)
                        raise RuntimeError(f"{put} put; {lost} never came out, {messages - once - lost} more than once")
                    drained = time.perf_counter()
                    rounds.append(
                        {
                            "puts_per_s": round(messages / (filled - began)),
                            "gets_per_s": round(messages / (drained - filled)),
                            "full_mb": round(full_mb),
                            "drained_mb": round(_memory_mb(qmgr.pid)),
                        }
                    )
    return {"messages": messages, "connections": connections, "empty_mb": round(empty_mb), "rounds": rounds}


def main() -> None:
    """Run the load; see the module's docstring."""
    parser = argparse.ArgumentParser(description="Many connections, many persistent messages.")
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--connections", type=int, default=50)
    parser.add_argument("--json", type=Path, default=Path("build/load.json"), help="where the figures go")
    arguments = parser.parse_args()
    figures = run(arguments.messages, arguments.connections)
    console = Console(width=120)
    table = Table(
        title=f"{arguments.messages:,} persistent messages over {arguments.connections} connections, embedded queue "
        f"manager (not IBM MQ), {figures['empty_mb']} MB when empty; all came out exactly once"
    )
    for column in ("round", "puts/s", "gets/s", "full, MB", "drained, MB"):
        table.add_column(column, justify="right")
    for number, row in enumerate(figures["rounds"], 1):
        table.add_row(str(number), *(f"{value:,}" for value in row.values()))
    console.print(table)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
