"""Name, identifier and address of a queue manager. The name is not enough, because two queue managers can have the same name.

The messaging conventions 1.45.0 require ``server.address`` if it is available, and recommend ``server.port``. If there are
several addresses, the client does not report which address has answered, so both attributes are left out.

Spans and log records have all these fields. Metrics have only the name, because each further attribute would be a label of all
series. The metric ``mqgroups.connections`` alone has all fields. Queries can join it with a process's other metrics by the name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mqgroups.telemetry import semantic_conventions as sc

_ADDRESS = re.compile(r"([^(),\s]+)(?:\((\d{1,5})\))?")
# IBM MQ's port for an address without a port.
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
        """Return the queue manager of a connection that was made with this ``conn_name``."""
        one = _ADDRESS.fullmatch((conn_name or "").strip())
        if one is None:
            return cls(q_mgr_name, q_mgr_identifier)
        return cls(q_mgr_name, q_mgr_identifier, one[1], int(one[2] or _DEFAULT_PORT))

    @property
    def fields(self) -> dict[str, str | int]:
        """All fields, by their names in log records."""
        return {
            sc.QUEUE_MANAGER: self.q_mgr_name,
            sc.QUEUE_MANAGER_ID: self.q_mgr_identifier,
            sc.SERVER_ADDRESS: self.server_address,
            sc.SERVER_PORT: self.server_port,
        }

    @property
    def attributes(self) -> dict[str, str | int]:
        """The fields that are known, by their names in spans."""
        return {key: value for key, value in self.fields.items() if value}
