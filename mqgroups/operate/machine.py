"""Checks this machine before a connection is made: versions, the binding, the client library, and the MQ client's settings.

It reads files and the environment; it calls no verb.
"""

from __future__ import annotations

import configparser
import os
import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mqgroups.errors import BindingMissing, ConfigurationError
from mqgroups.mqi.binding import load_binding
from mqgroups.operate.rules.findings import Finding, Severity, client_file_findings, ok

# The variables that tell an MQ client how to connect (IBM MQ, "IBM MQ environment variables").
_VARIABLES = ("MQSERVER", "MQCCDTURL", "MQCHLLIB", "MQCHLTAB", "MQCLNTCF", "MQSSLKEYR", "MQ_CONNECT_TYPE")
_LIBRARIES = ("libmqic", "libmqm")
# Part of the path of the embedded queue manager's library.
_EMBEDDED = "mqembedded"


def machine_findings(environment: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """Yield what there is on this machine to connect with."""
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
    path = client_file(environment)
    if path is None:
        yield ok("mqclient.ini", "there is none")
        return
    try:
        facts = _facts(path)
    except (OSError, ValueError) as error:
        yield Finding("mqclient.ini", Severity.UNSEEN, f"{path} cannot be read: {error}")
        return
    yield from client_file_findings(str(path), facts)


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
    paths = sorted(
        {"/" + path for line in lines if (path := line.partition("/")[2]).rpartition("/")[2].startswith(_LIBRARIES)}
    )
    if not paths:
        return Finding("client library", Severity.UNSEEN, "none is loaded under a usual name")
    found = ", ".join(paths)
    if any(_EMBEDDED in path for path in paths):
        found += ": of the embedded queue manager, reaches no IBM MQ (MQGROUPS_LIBMQM, LD_LIBRARY_PATH)"
    return ok("client library", found)


def client_file(environment: Mapping[str, str]) -> Path | None:
    """Return the mqclient.ini that the MQ client reads (IBM MQ, "Location of the client configuration file"); ``None``: none."""
    if named := environment.get("MQCLNTCF"):
        return Path(named)
    data = environment.get("MQ_OVERRIDE_DATA_PATH", "/var/mqm")
    places = (Path.cwd(), Path(data), Path(environment.get("HOME", "/")))
    # Not Path.is_file, which raises an error where this user may not look, such as another's home directory.
    return next(
        (path for place in places if os.path.isfile(path := place / "mqclient.ini")),  # noqa: PTH113 - as said above
        None,
    )


def _facts(path: Path) -> dict[str, int | str]:
    """Return the settings of an mqclient.ini: stanzas of lines NAME=VALUE, below a line ``Channels:``."""
    parser = configparser.ConfigParser(strict=False, interpolation=None, comment_prefixes=("#", ";"))
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    text = "\n".join(f"[{line.strip()[:-1]}]" if line.strip().endswith(":") else line.strip() for line in lines)
    try:
        parser.read_string("[top]\n" + text)
    except configparser.Error as error:
        raise ValueError(error) from error
    return {name.upper(): value for section in parser.sections() for name, value in parser.items(section)}
