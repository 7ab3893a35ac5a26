"""The file that describes a cluster of embedded queue managers, in TOML::

    cluster = "GRPCLUS"
    mqsc = ["../20-mqgroups.mqsc", "cluster.mqsc"]      # read by every queue manager at every start

    [[queue_manager]]
    name = "QM1"
    listen = "127.0.0.1:1414"
    data = "./qm1"                  # optional; by default a folder in the cluster's directory
    mqsc = ["qm1.mqsc"]             # optional; read after the files for all queue managers

    [channels]                      # optional; attributes of all channels, defaults as in MQSC
    batchsz = 50

Paths are relative to the cluster file. ``cluster_launcher.py`` starts the cluster.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from mqembedded.channels.settings import ChannelSettings

_NAME = re.compile(r"[A-Za-z0-9._%]{1,48}")
_LONGEST_CHANNEL_NAME = 20
# How many characters of the queue manager's name an identifier of a message or group contains (IBM MQ, "GroupId").
_NAME_IN_IDENTIFIERS = 12


class ClusterFileError(Exception):
    """The file does not describe a cluster; the message explains what is wrong, and where in the file."""


@dataclass(frozen=True, slots=True)
class QueueManagerEntry:
    """A queue manager in a cluster file. ``data`` is None if the file names no data directory."""

    name: str
    listen: str
    data: Path | None
    mqsc: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class ClusterFile:
    """The content of a cluster file."""

    cluster: str
    queue_managers: tuple[QueueManagerEntry, ...]
    channels: ChannelSettings

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the queue managers, in the order of the file."""
        return tuple(each.name for each in self.queue_managers)


def read(path: Path) -> ClusterFile:
    """Return the content of a cluster file. Raises ClusterFileError, or OSError if the file cannot be read."""
    try:
        found = tomllib.loads(path.read_text())
    except (ValueError, RecursionError) as error:
        # An integer with thousands of digits and deeply nested brackets raise these errors, too.
        raise ClusterFileError(f"{path}: {error}") from error
    try:
        return _cluster(path.parent, found)
    except ClusterFileError as error:
        raise ClusterFileError(f"{path}: {error}") from error


def _cluster(folder: Path, found: dict[str, Any]) -> ClusterFile:
    _known(found, {"cluster", "mqsc", "queue_manager", "channels"}, "the file")
    cluster = _name(found.get("cluster"), "cluster")
    common = _paths(folder, found.get("mqsc", []), "mqsc")
    entries = found.get("queue_manager")
    if not isinstance(entries, list) or not entries:
        raise ClusterFileError("there is no [[queue_manager]]")
    made = tuple(_entry(folder, each, common) for each in entries)
    _check_names(cluster, [each.name for each in made])
    return ClusterFile(cluster, made, _channels(found.get("channels", {})))


def _entry(folder: Path, found: dict[str, Any], common: tuple[Path, ...]) -> QueueManagerEntry:
    _known(found, {"name", "listen", "data", "mqsc"}, "a [[queue_manager]]")
    name = _name(found.get("name"), "name of a [[queue_manager]]")
    listen = found.get("listen", "127.0.0.1:0")
    if not isinstance(listen, str) or not re.fullmatch(".+:[0-9]{1,5}", listen):
        raise ClusterFileError(f"listen of {name} is {listen!r}, not HOST:PORT such as 127.0.0.1:1414")
    data = found.get("data")
    if data is not None and not isinstance(data, str):
        raise ClusterFileError(f"data of {name} is {data!r}, not a path")
    mqsc = common + _paths(folder, found.get("mqsc", []), f"mqsc of {name}")
    return QueueManagerEntry(name, listen, None if data is None else folder / data, mqsc)


def _check_names(cluster: str, names: list[str]) -> None:
    for number, name in enumerate(names):
        same = [other for other in names[:number] if other[:_NAME_IN_IDENTIFIERS] == name[:_NAME_IN_IDENTIFIERS]]
        if same:
            raise ClusterFileError(
                f"{same[0]} and {name} have the same first {_NAME_IN_IDENTIFIERS} characters; group and message identifiers "
                "of a cluster need different first characters"
            )
        channel = f"{cluster}.{name}"
        if len(channel) > _LONGEST_CHANNEL_NAME:
            raise ClusterFileError(
                f"the channels to {name} would be called {channel}; a channel name has at most {_LONGEST_CHANNEL_NAME} "
                "characters, so the name of the cluster or of the queue manager must be shorter"
            )


def _channels(found: Any) -> ChannelSettings:
    if not isinstance(found, dict):
        raise ClusterFileError("channels is not a table")
    _known(found, {each.name for each in fields(ChannelSettings)}, "[channels]")
    settings = ChannelSettings(**found)
    for each in fields(ChannelSettings):
        value = getattr(settings, each.name)
        if each.name == "npmspeed":
            if value not in ("FAST", "NORMAL"):
                raise ClusterFileError(f"npmspeed is {value!r}, not FAST or NORMAL")
        elif (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or value < (each.name in ("batchsz", "batchlim"))
        ):
            raise ClusterFileError(f"{each.name} of [channels] is {value!r}, not a number in the allowed range")
    return settings


def _known(found: dict[str, Any], keys: set[str], where: str) -> None:
    unknown = sorted(found.keys() - keys)
    if unknown:
        raise ClusterFileError(f"{where} has {', '.join(sorted(keys))}; {unknown[0]} is unknown")


def _name(found: Any, what: str) -> str:
    if not isinstance(found, str) or not _NAME.fullmatch(found):
        raise ClusterFileError(f"the {what} is {found!r}, which is not a legal name")
    return found


def _paths(folder: Path, found: Any, what: str) -> tuple[Path, ...]:
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ClusterFileError(f"{what} is {found!r}, not a list of files")
    return tuple(folder / each for each in found)
