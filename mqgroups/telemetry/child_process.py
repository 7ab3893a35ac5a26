"""The environment variables with which a child process sends telemetry as this process does.

Two variables must change for a child process:

* ``service.instance.id`` names the sender. If several processes have the same name, a collector takes their counters for one
  series, and takes each lower value for a restart. The given name stays the same when the process is started again.
* ``opentelemetry-instrument`` needs a folder in ``PYTHONPATH``. Versions before 0.63b0 remove the folder from the environment, so
  that child processes are not instrumented.
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
    """Return the folder with which ``opentelemetry-instrument`` has instrumented this process; empty if it has not."""
    site = getattr(sys.modules.get("sitecustomize"), "__file__", None) or ""
    folder = Path(site).parent
    return str(folder) if folder.parts[-len(_AUTO) :] == _AUTO else ""


def variables(instance: str, given: Mapping[str, str], folder: str) -> dict[str, str]:
    """Return the variables to set for a process with this ``service.instance.id``.

    ``given``: the environment of this process. ``folder``: the result of ``instrumented_by``.
    """
    others = [each for each in given.get(_RESOURCE, "").split(",") if each and each.split("=")[0].strip() != _INSTANCE]
    found = {_RESOURCE: ",".join([*others, f"{_INSTANCE}={quote(instance)}"])}
    path = given.get(_PATH, "").split(os.pathsep) if given.get(_PATH) else []
    if folder and folder not in path:
        found[_PATH] = os.pathsep.join([folder, *path])
    return found


@contextmanager
def traced_as(instance: str, environment: MutableMapping[str, str] = os.environ) -> Iterator[None]:
    """Set the environment for processes that are started in this ``with`` block, with this ``service.instance.id``."""
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
