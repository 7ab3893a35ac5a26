"""The MQSC files of the package: those of the sources' folder ``docker/``, of which an installed package has copies."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def default_mqsc() -> Path:
    """Return the standard MQSC file that an embedded queue manager starts with: the models and queues of examples and tests."""
    return _file("20-mqgroups.mqsc")


def roles_mqsc() -> Path:
    """Return the file with the least authorities of each role."""
    return _file("roles.mqsc")


def _file(name: str) -> Path:
    installed = _PACKAGE / "embedded" / name
    return installed if installed.exists() else _PACKAGE.parent / "docker" / name
