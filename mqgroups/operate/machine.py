"""Checks this machine before a connection is made: versions, the binding, the client library, and the MQ client's variables.

This module makes no MQI call.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mqgroups.errors import BindingMissing, ConfigurationError
from mqgroups.mqi.binding import load_binding
from mqgroups.operate.rules.findings import Finding, Severity, ok

# The variables that determine how an MQ client connects (IBM MQ, "IBM MQ environment variables").
_VARIABLES = ("MQSERVER", "MQCCDTURL", "MQCHLLIB", "MQCHLTAB", "MQCLNTCF", "MQSSLKEYR", "MQ_CONNECT_TYPE")
_LIBRARIES = ("libmqic", "libmqm")
# Part of the path of the embedded queue manager's library.
_EMBEDDED = "mqembedded"


def machine_findings(environment: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """Yield findings on the software and variables of this machine that a connection needs."""
    yield ok("versions", f"mqgroups {_version('mqgroups')}, Python {platform.python_version()}, {platform.platform()}")
    try:
        binding = load_binding()
    except (BindingMissing, ConfigurationError) as error:
        # The error says what to do.
        yield Finding("binding", Severity.ERROR, str(error), "nothing works without it")
        return
    yield ok("binding", f"{binding.name} {_version(binding.name)}")
    yield _library()
    said = [f"{name}={environment[name]}" for name in _VARIABLES if environment.get(name)]
    yield ok("MQ variables", ", ".join(said) or "none is set")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed as a package)"


def _library() -> Finding:
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        return Finding("client library", Severity.UNSEEN, f"/proc/self/maps cannot be read: {error}")
    mapped = {"/" + line.partition("/")[2] for line in lines}
    paths = sorted(path for path in mapped if path.rpartition("/")[2].startswith(_LIBRARIES))
    if not paths:
        return Finding("client library", Severity.UNSEEN, "none is loaded under a usual name")
    found = ", ".join(paths)
    if any(_EMBEDDED in path for path in paths):
        found += ": of the embedded queue manager, reaches no IBM MQ (MQGROUPS_LIBMQM, LD_LIBRARY_PATH)"
    return ok("client library", found)
