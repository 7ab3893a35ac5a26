"""The MQSC files that come with this package: queues for development, and the least authorities of each role.

An installed package has copies of the files that are in ``docker/`` in the source tree.
"""

from __future__ import annotations

from pathlib import Path

_INSTALLED = Path(__file__).with_name("20-mqgroups.mqsc")
# The models of status queues, and the queues of the examples.
DEVELOPMENT_MQSC = _INSTALLED if _INSTALLED.exists() else Path(__file__).parents[1] / "docker" / "20-mqgroups.mqsc"
# The least authorities of each role, as SET AUTHREC commands.
ROLES_MQSC = DEVELOPMENT_MQSC.with_name("roles.mqsc")
