"""For operators: what is on queues and status queues, and what can be done when something has gone wrong.

Each function takes a connected queue manager first (``mqgroups.connect``). ``mqgroups recover`` and ``mqgroups salvage`` are the
same as commands.

    import mqgroups
    from mqgroups import operate

    with mqgroups.connect("QM1", "DEV.ADMIN.SVRCONN", "localhost(1414)", user="operator", password=pw) as q_mgr:
        print(operate.inspect_owner(q_mgr, "ORDERS.LOADER", "put").state)

| question, or task | function | result |
|---|---|---|
| What would the next start of this producer or consumer find? | `inspect_owner` | `OwnerStatus` |
| Which groups are on this queue, and are they whole? | `inspect_queue` | `QueueInspection` |
| Is a group split over the instances of this cluster queue? | `inspect_cluster` | `ClusterInspection` |
| Have another name go on with the interrupted group of a program that will not come back | `take_over` | `Takeover` |
| Write a lost status record again, from the messages of its group | `salvage_owner` | `Salvage` |
| Move what is left of a group to another queue | `move_group` | `GroupMove` |

The first three only look (``inspect_owner`` removes a record that is no longer needed, if it is told to). The others take
``check=True``: then they say what they would do, and change nothing. They refuse what cannot be known to be right
(``errors.StatusError``).

The rest of the room: ``other_owners.py`` and ``refusal.py`` say what stands in the way of a repair; ``command_server.py`` asks
for what the MQI cannot tell, and ``mqsc.py`` sends MQSC by it.
"""

from __future__ import annotations

from mqgroups.core.cluster import ClusterInspection, GroupSplit, Instance
from mqgroups.core.inspection import GroupInspection, QueueInspection
from mqgroups.core.status import StatusRecord
from mqgroups.operate.browse import inspect_queue
from mqgroups.operate.cluster import inspect_cluster
from mqgroups.operate.move import GroupMove, move_group
from mqgroups.operate.owner import OwnerState, OwnerStatus, inspect_owner
from mqgroups.operate.rebuild import Salvage, salvage_owner
from mqgroups.operate.takeover import Takeover, take_over

__all__ = [
    "ClusterInspection",
    "GroupInspection",
    "GroupMove",
    "GroupSplit",
    "Instance",
    "OwnerState",
    "OwnerStatus",
    "QueueInspection",
    "Salvage",
    "StatusRecord",
    "Takeover",
    "inspect_cluster",
    "inspect_owner",
    "inspect_queue",
    "move_group",
    "salvage_owner",
    "take_over",
]
