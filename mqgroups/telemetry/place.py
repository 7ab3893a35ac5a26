"""Which queue manager is meant: two may have one name, so its identifier and its address are told, too.

By the messaging conventions 1.45.0 ``server.address`` is required if it is available, and ``server.port`` recommended. Of several
addresses the client does not say which one answered; then there is none here.

Spans and log records have all of it. Metrics have the name only, because each further attribute would be another label of all
series: ``mqgroups.connections`` has all of it, one series for a process and queue manager, and others are joined with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mqgroups.telemetry import semantic_conventions as sc

_ADDRESS = re.compile(r"([^(),\s]+)(?:\((\d{1,5})\))?")
# Of IBM MQ, for an address without a port.
_DEFAULT_PORT = 1414


@dataclass(frozen=True, slots=True)
class Place:
    """A queue manager. Fields that are not known are empty or 0."""

    q_mgr_name: str = ""
    q_mgr_identifier: str = ""
    server_address: str = ""
    server_port: int = 0

    @classmethod
    def of(cls, q_mgr_name: str, q_mgr_identifier: str, conn_name: str | None) -> Place:
        """Return the place of a connection, which was made by this ``conn_name``."""
        one = _ADDRESS.fullmatch((conn_name or "").strip())
        if one is None:
            return cls(q_mgr_name, q_mgr_identifier)
        return cls(q_mgr_name, q_mgr_identifier, one[1], int(one[2] or _DEFAULT_PORT))

    @property
    def fields(self) -> dict[str, str | int]:
        """All fields, for log records."""
        return {
            sc.QUEUE_MANAGER: self.q_mgr_name,
            sc.QUEUE_MANAGER_ID: self.q_mgr_identifier,
            sc.SERVER_ADDRESS: self.server_address,
            sc.SERVER_PORT: self.server_port,
        }

    @property
    def attributes(self) -> dict[str, str | int]:
        """The fields that are known, for spans."""
        return {key: value for key, value in self.fields.items() if value}
