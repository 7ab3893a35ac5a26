"""Run the programs of the comparison, each in a separate process that ends like a real program.

After ``preload`` the processes are forked from one that has imported everything, so a start takes milliseconds.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import multiprocessing
import os
import sys
from pathlib import Path
from typing import Any

from mqembedded.libmqm.build import build, load
from recipes.compare.job import Job

load(build())  # before a binding is imported, which would look for another client library

# faststream-mq and its dependencies, which `make compare` installs beside the environment's own packages.
sys.path.append(str(Path(sys.prefix) / "share" / "compare"))

# The module of each program, and with what its ``put_group`` is called.
APPROACHES: dict[str, tuple[str, dict[str, Any]]] = {
    "pymqi, pseudo-code": ("pseudo_code", {"binding": "pymqi", "plus": 0}),
    "pymqi, pseudo-code, plus 1": ("pseudo_code", {"binding": "pymqi", "plus": 1}),
    "ibmmq, pseudo-code, plus 1": ("pseudo_code", {"binding": "ibmmq", "plus": 1}),
    "pymqi, retried calls": ("retried_calls", {}),
    "faststream-mq, publish": ("faststream_publish", {}),
    "faststream-mq, subscriber": ("faststream_subscriber", {}),
    "mqgroups": ("group_producer", {}),
}
# These programs put one message for each message that they get from the second queue.
SUBSCRIBERS = {"faststream-mq, subscriber"}
_FAILED = 3
_context = multiprocessing.get_context("forkserver")


def available() -> list[str]:
    """Return the approaches whose packages are installed."""
    there = importlib.util.find_spec("faststream_mq") is not None
    return [name for name in APPROACHES if there or not name.startswith("faststream")]


def preload() -> None:
    """Have everything imported once, before the first ``run``, and not by each program."""
    modules = sorted({module for module, _ in APPROACHES.values()})
    _context.set_forkserver_preload([__name__, "ibmmq", *(f"{__package__}.{module}" for module in modules)])


def lines(approach: str) -> int:
    """Return how many lines of code a program has, without its imports."""
    tree = ast.parse(Path(__file__).with_name(f"{APPROACHES[approach][0]}.py").read_text(encoding="utf-8"))
    code = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    # As ast writes it, there are no comments and no empty lines within a function; a docstring is one line.
    written = [line for node in code for line in ast.unparse(node).splitlines()]
    return sum(bool(line.strip()) and not line.lstrip().startswith('"""') for line in written)


def run(approach: str, job: Job) -> int:
    """Run a program; returns its exit code: 0 if it came to its end, negative if a signal ended it."""
    process = _context.Process(target=_main, args=(approach, job))
    process.start()
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def _main(approach: str, job: Job) -> None:
    # A supervisor looks first.
    if job.is_said_to_be_done:
        return
    code = 0
    # ibmmq prints what it cannot delete, and asyncio prints which tasks were not awaited.
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    try:
        module, settings = APPROACHES[approach]
        importlib.import_module(f"{__package__}.{module}").put_group(job, **settings)
    except Exception:
        # An uncaught exception: the program ends as Python ends, with the end of the objects that the exception kept.
        code = _FAILED
    sys.exit(code)
