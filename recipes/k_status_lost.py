"""The status message is lost, and the putter's group is on the queue: find out by browsing where the putter stood.

    MQGET   GMO.Options = MQGMO_BROWSE_NEXT                          first handle: all messages, in physical order
    MQGET   GMO.Options = MQGMO_BROWSE_FIRST | MQGMO_LOGICAL_ORDER | MQGMO_ALL_MSGS_AVAILABLE,
            MQMO_MATCH_GROUP_ID                                      second handle: is this group whole?
    PCF     Inquire Queue Status: UncommittedMsgs of both queues     is anything hidden?
    MQINQ   MQIA_OPEN_OUTPUT_COUNT                                   may anything come?
    MQPUT   (StatusInfo to STATUS queue)
    MQCMIT

A putter puts in order, so the last message of its group on the queue is the one that StatusInfo spoke of. That is only true
where all of this is: the group is not whole, begins at 1, has no gap and no number twice; it is the only one of the kind, and no
other putter's StatusInfo speaks of it (look at all STATUS queues, this program knows one); no message is in a unit of work; and
nobody has the queue open to put to it. Else the program writes nothing: a StatusInfo that says too little has a message put
twice, one that says too much leaves one out.

What units of work hide, the MQI does not tell. A message that was got and not committed is not browsed, and CurrentQDepth
excludes it (topics q103130, q106410). UncommittedMsgs of Inquire Queue Status counts it (topic q087890), for a user who may ask
the command server; without such a user nothing can be known here. It is asked for the STATUS queue too: 2033 proves nothing
there, a StatusInfo that is hidden is not lost.

Physical order (topic q023060) also shows what logical order never does: messages of a group whose first one is gone. Such a
group has lost its getter's StatusInfo instead: the number before the first that is left is the one it had.

The STATUS queue is open exclusively all the while, so no putter begins meanwhile. That alone does not say that the unit of work
of the one that died is backed out.

With mqgroups: ``mqgroups salvage look``, ``salvage rebuild`` for putters and getters, and ``salvage move``, which moves what is
left of a group to another queue.

To have something to find: let b_put_across_units_of_work.py die (DIE_AFTER=5), and clear the STATUS queue. Afterwards
d_restart_put.py resumes.
"""

import json
import os
import sys
from dataclasses import dataclass

import pymqi
from pymqi import CMQC, CMQCFC

QUEUE, STATUS = sys.argv[1:] or ["RECIPES.ORDERS", "RECIPES.STATUS"]


@dataclass
class Group:
    """The numbers of a group's messages that are on the queue: all from first to last, if there are that many."""

    first: int
    last: int
    messages: int = 0


q_mgr = pymqi.QueueManager(None, disconnect_on_exit=False)
q_mgr.connect_with_options(
    os.environ.get("MQGROUPS_Q_MGR_NAME", "QM1"), user=os.environ.get("MQ_USER"), password=os.environ.get("MQ_PASSWORD")
)
status_queue = pymqi.Queue(q_mgr, STATUS, CMQC.MQOO_INPUT_EXCLUSIVE | CMQC.MQOO_BROWSE | CMQC.MQOO_OUTPUT)
physical = pymqi.Queue(q_mgr, QUEUE, CMQC.MQOO_BROWSE | CMQC.MQOO_INQUIRE)
logical = pymqi.Queue(q_mgr, QUEUE, CMQC.MQOO_BROWSE)


def browse(queue: pymqi.Queue, options: int, match_options: int = CMQC.MQMO_NONE, **fields: object) -> pymqi.MD | None:
    """Return the MQMD, or None if there is no message."""
    md = pymqi.MD(Version=CMQC.MQMD_VERSION_2, **fields)
    options |= CMQC.MQGMO_NO_WAIT | CMQC.MQGMO_FAIL_IF_QUIESCING
    gmo = pymqi.GMO(Version=CMQC.MQGMO_VERSION_2, Options=options, MatchOptions=match_options)
    try:
        queue.get(1_000_000, md, gmo)
    except pymqi.MQMIError as error:
        if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
            raise
        return None
    return md


def uncommitted(name: str) -> int:
    """Return how many messages units of work have put to the queue, or got from it."""
    asked = {CMQC.MQCA_Q_NAME: name.encode(), CMQCFC.MQIACF_Q_STATUS_ATTRS: [CMQCFC.MQIACF_UNCOMMITTED_MSGS]}
    (status,) = pymqi.PCFExecute(q_mgr).MQCMD_INQUIRE_Q_STATUS(asked)
    return int(status[CMQCFC.MQIACF_UNCOMMITTED_MSGS])


# Before browsing: what is hidden now may come back later. This program has nothing in a unit of work yet.
for name in STATUS, QUEUE:
    if uncommitted(name):
        sys.exit(f"{name} is in use: units of work have messages of it, which cannot be seen")
if browse(status_queue, CMQC.MQGMO_BROWSE_FIRST):
    sys.exit(f"{STATUS} is not empty: nothing is lost; d_restart_put.py resumes")

groups: dict[bytes, Group] = {}
while md := browse(physical, CMQC.MQGMO_BROWSE_NEXT):
    if md.MsgFlags & CMQC.MQMF_MSG_IN_GROUP:
        group = groups.setdefault(md.GroupId, Group(md.MsgSeqNumber, md.MsgSeqNumber))
        group.first = min(group.first, md.MsgSeqNumber)
        group.last = max(group.last, md.MsgSeqNumber)
        group.messages += 1
# One handle browses in one order: MQGMO_BROWSE_NEXT has to go on as the browse before it (topic q042910).
WHOLE = CMQC.MQGMO_BROWSE_FIRST | CMQC.MQGMO_LOGICAL_ORDER | CMQC.MQGMO_ALL_MSGS_AVAILABLE
incomplete = {}
for group_id, group in groups.items():
    whole = browse(logical, WHOLE, CMQC.MQMO_MATCH_GROUP_ID, GroupId=group_id) is not None
    print("group", group.first, "to", group.last, "whole" if whole else "not whole")
    if not whole:
        incomplete[group_id] = group

# And after: who has begun to put or get meanwhile.
if uncommitted(QUEUE) or physical.inquire(CMQC.MQIA_OPEN_OUTPUT_COUNT):
    sys.exit(f"{QUEUE} is in use: not all that is, or will be, on it can be seen")
if len(incomplete) != 1:
    sys.exit(f"{len(incomplete)} groups are not whole: it is not known which was the putter's")
((group_id, group),) = incomplete.items()
if group.first != 1 or group.messages != group.last:
    sys.exit("messages of the group are gone: it is not known which was the last")

status_info = {"GroupId": group_id.hex(), "MsgSeqNumber": group.last}
status_md = pymqi.MD(Format=CMQC.MQFMT_STRING, Persistence=CMQC.MQPER_PERSISTENT)
status_pmo = pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_FAIL_IF_QUIESCING)
status_queue.put(json.dumps(status_info).encode(), status_md, status_pmo)
q_mgr.commit()
print("StatusInfo", status_info["MsgSeqNumber"])

physical.close()
logical.close()
status_queue.close()
q_mgr.disconnect()
