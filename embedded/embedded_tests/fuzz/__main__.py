"""Builds library and program, and lets them run against a hostile server; see the package."""

from __future__ import annotations

import argparse
import itertools
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from embedded_tests.fuzz.hostile_server import HostileServer
from mqembedded.libmqm.build import build

_FLAGS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"]
# A program that makes its calls one by one with a deadline each ends long before this.
_PATIENCE_S = 600


class FuzzError(Exception):
    """A crash, an over-read, a hang, or something that the program should not have been told; the message has its words."""


@dataclass
class Findings:
    """How many calls a run made, how many answers it got and how many of them were spoiled, by verb."""

    calls: int = 0
    replies: Counter[str] = field(default_factory=Counter)
    spoiled: Counter[str] = field(default_factory=Counter)


def built(directory: Path) -> Path:
    """Build the library, unless it is in the cache, and the program in a directory; returns the program."""
    library = build(extra_flags=_FLAGS)
    program, lib = directory / "calls", library / "lib64"
    command = ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread", *_FLAGS, f"-I{library / 'inc'}"]
    command += [
        str(Path(__file__).with_name("calls.c")),
        "-o",
        str(program),
        f"-L{lib}",
        "-lmqic_r",
        f"-Wl,-rpath,{lib}",
    ]
    subprocess.run(command, check=True)
    return program


def run(program: Path, seed: int, calls: int, findings: Findings, *shares_spoiled: float) -> None:
    """Make so many calls against a server with this seed; raises FuzzError."""
    server = HostileServer(seed, *([shares_spoiled] if shares_spoiled else []))
    environment = {
        **os.environ,
        "MQSERVER": f"DEV.APP.SVRCONN/TCP/127.0.0.1({server.port})",
        "ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=1:exitcode=99",
    }
    command = [str(program), str(seed), str(calls)]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, errors="replace", timeout=_PATIENCE_S, check=False
        )
    except subprocess.TimeoutExpired as expired:
        raise FuzzError(f"seed {seed}: the program did not end; {expired.stderr!r}") from expired
    finally:
        server.close()
    findings.calls += calls
    findings.replies.update(server.replies)
    findings.spoiled.update(server.spoiled)
    if done.returncode:
        raise FuzzError(f"seed {seed}: exit code {done.returncode}\n{done.stderr}")


def main() -> None:
    """Run until the time is over."""
    parser = argparse.ArgumentParser(
        prog="python -m embedded_tests.fuzz", description="Fuzz the C library with hostile replies."
    )
    parser.add_argument("--seconds", type=float, default=60, help="how long (default: 60)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30), help="of the first run")
    parser.add_argument("--calls", type=int, default=5_000, help="in each run (default: 5000)")
    asked = parser.parse_args()
    findings = Findings()
    end_s = time.monotonic() + asked.seconds
    with tempfile.TemporaryDirectory(prefix="mqembedded-fuzz-") as directory:
        program = built(Path(directory))
        for seed in itertools.count(asked.seed):
            try:
                run(program, seed, asked.calls, findings)
            except FuzzError as error:
                sys.exit(str(error))
            if time.monotonic() >= end_s:
                break
    for verb in sorted(findings.replies):
        print(f"{verb:12} {findings.replies[verb]:9,} replies, {findings.spoiled[verb]:8,} of them spoiled")
    print(f"seeds {asked.seed} to {seed}: {findings.calls:,} calls, no crash, no over-read, no hang")


if __name__ == "__main__":
    main()
