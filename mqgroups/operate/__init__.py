"""Functions for operators: inspect queues and status queues, and repair them after something has gone wrong.

    import mqgroups
    from mqgroups import operate

    with mqgroups.connect("QM1", "DEV.ADMIN.SVRCONN", "localhost(1414)", user="operator", password=pw) as q_mgr:
        print(operate.inspect_owner(q_mgr, "ORDERS.LOADER", "put").state)

| question, or task | function | result |
|---|---|---|
| What would the next start of this producer or consumer find? | `inspect_owner` | `SeenOwner` |
| Which groups are on this queue, in which state, and whose are they? | `browse_groups` | `GroupList` |
| Which messages of this group are on the queue? | `messages_of_group` | `Browsed` |
| Which producers and consumers have a status queue, and what do they do? | `find_owners` | `SeenOwners` |
| What is wrong with this installation, and how is it corrected? | `examine` | `Finding` |
| Use a status record that was moved here from another queue manager | `adopt` | `Adoption` |
| Write a lost status record again, from the messages of its group | `salvage_owner` | `Salvage` |
| Move the rest of a group to another queue | `move_group` | `GroupMove` |

These arguments have the same meaning in all functions. ``q_mgr``: a connected queue manager. ``name``: the name of a producer or
consumer. ``role``: ``"put"`` or ``"get"``. ``status_queue``: by default ``MQGROUPS.PUT.<name>`` or ``MQGROUPS.GET.<name>``.
``wait_s``: how long to wait until a program with this name has ended, in seconds. ``check``: only return what would be done.

The functions for questions change nothing, except that ``inspect_owner`` with ``tidy=True`` removes a record that is no longer
needed. The functions for tasks refuse a repair if they cannot prove that it is right (``errors.StatusError``).
"""

from __future__ import annotations

import sys

from mqgroups.core.status import StatusRecord
from mqgroups.operate.adopt import Adoption, adopt
from mqgroups.operate.browse import messages_of_group
from mqgroups.operate.doctor import examine
from mqgroups.operate.groups import GroupList, browse_groups
from mqgroups.operate.move import GroupMove, move_group
from mqgroups.operate.owner import inspect_owner
from mqgroups.operate.owners import SeenOwners, find_owners
from mqgroups.operate.rebuild import Salvage, salvage_owner
from mqgroups.operate.rules.findings import Finding, Severity
from mqgroups.operate.rules.inspection import Browsed, BrowsedInstance, GroupInspection
from mqgroups.operate.rules.judgement import Cause, GroupState, Judgement
from mqgroups.operate.rules.owner_state import Holder, OwnerState, SeenOwner
from mqgroups.public_names import name_by_room

__all__ = [
    "Adoption",
    "Browsed",
    "BrowsedInstance",
    "Cause",
    "Finding",
    "GroupInspection",
    "GroupList",
    "GroupMove",
    "GroupState",
    "Holder",
    "Judgement",
    "OwnerState",
    "Salvage",
    "SeenOwner",
    "SeenOwners",
    "Severity",
    "StatusRecord",
    "adopt",
    "browse_groups",
    "examine",
    "find_owners",
    "inspect_owner",
    "messages_of_group",
    "move_group",
    "salvage_owner",
]

name_by_room(sys.modules[__name__])
