"""The environment variables with which a child process sends telemetry as this process does.

Two variables must change for a child process:

* ``OTEL_RESOURCE_ATTRIBUTES`` has ``service.instance.id``, the sender's name. If several processes had the same name, a collector
  would treat their counters as one series, and each lower value as a restart. A process that is started again keeps its name.
* ``PYTHONPATH`` has a folder that ``opentelemetry-instrument`` needs. Versions before 0.63b0 remove the folder from the
  environment, so child processes are not instrumented.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

_RESOURCE = "OTEL_RESOURCE_ATTRIBUTES"
_INSTANCE = "service.instance.id"
_PATH = "PYTHONPATH"
_AUTO = Path("opentelemetry", "instrumentation", "auto_instrumentation").parts


def instrumented_by() -> str:
    """Return the folder that ``opentelemetry-instrument`` has used for this process; empty if the process is not instrumented."""
    site = getattr(sys.modules.get("sitecustomize"), "__file__", None) or ""
    folder = Path(site).parent
    return str(folder) if folder.parts[-len(_AUTO) :] == _AUTO else ""


def variables(instance: str, given: Mapping[str, str], folder: str) -> dict[str, str]:
    """Return the environment variables to set for a child process.

    ``instance``: its ``service.instance.id``. ``given``: this process's variables. ``folder``: the result of ``instrumented_by``.
    """
    others = [each for each in given.get(_RESOURCE, "").split(",") if each and each.split("=")[0].strip() != _INSTANCE]
    found = {_RESOURCE: ",".join([*others, f"{_INSTANCE}={quote(instance)}"])}
    path = given.get(_PATH, "").split(os.pathsep) if given.get(_PATH) else []
    if folder and folder not in path:
        found[_PATH] = os.pathsep.join([folder, *path])
    return found


@contextmanager
def traced_as(instance: str, environment: MutableMapping[str, str] = os.environ) -> Iterator[None]:
    """Change the environment for a ``with`` block, so that processes that start in the block have the name ``instance``."""
    new = variables(instance, environment, instrumented_by())
    before = {name: environment.get(name) for name in new}
    environment.update(new)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del environment[name]
            else:
                environment[name] = value
