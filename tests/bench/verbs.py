"""How many MQI calls a second, and whose time a call takes: the C library's or the server's.

Measured by a C program, so that no binding's time is in it. Client and server share one core and never work at the same
time: their processor times together are the wall-clock, but for what other processes took.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from mqgroups.embedded import EmbeddedQueueManager
from mqgroups.embedded.libmqm.build import build


def measure(qmgr: EmbeddedQueueManager, calls: int, rounds: Iterable[int]) -> dict[str, dict[str, float]]:
    """Return for each kind of call the medians of all rounds: microseconds a call, in all, of client and server."""
    client = build()
    lib = client / "lib64"
    found: dict[str, list[tuple[float, ...]]] = {}
    with tempfile.TemporaryDirectory() as directory:
        program = str(Path(directory, "verbs"))
        source = str(Path(__file__).with_name("verbs.c"))
        compiler = [os.environ.get("CC", "cc"), "-std=gnu11", "-O2", f"-I{client / 'inc'}", source, "-o", program]
        subprocess.run([*compiler, f"-L{lib}", "-lmqic_r", f"-Wl,-rpath,{lib}"], check=True)
        environment = {**os.environ, "MQSERVER": f"{qmgr.channel}/TCP/{qmgr.conn_name}"}
        command = [program, str(qmgr.pid), str(calls)]
        for number in rounds:
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
            if number:  # the first round warms up
                for line in done.stdout.splitlines():
                    what, *nanoseconds = line.split("\t")
                    found.setdefault(what, []).append(tuple(int(value) / 1000 for value in nanoseconds))
    names = ("us_per_call", "us_of_c_library", "us_of_server")
    return {
        what: {
            name: round(statistics.median(values), 2)
            for name, values in zip(names, zip(*rows, strict=True), strict=True)
        }
        for what, rows in found.items()
    }


def report(console: Console, verbs: dict[str, dict[str, float]]) -> None:
    """Print the figures as a table."""
    table = Table(title="Single MQI calls from C, embedded queue manager (not IBM MQ)")
    table.add_column("call")
    for column in ("calls/s", "µs", "C library, µs", "server, µs", "server's share"):
        table.add_column(column, justify="right")
    for what, row in verbs.items():
        both = row["us_of_c_library"] + row["us_of_server"]
        table.add_row(
            what,
            f"{1e6 / row['us_per_call']:,.0f}",
            f"{row['us_per_call']:.1f}",
            f"{row['us_of_c_library']:.1f}",
            f"{row['us_of_server']:.1f}",
            f"{row['us_of_server'] / both:.0%}",
        )
    console.print(table)
    console.print("Processor time, the kernel's part of it included: what a process sends and receives is its own.")
