"""The status message is lost, and the putter's group is on the queue: find out by browsing where the putter stood.

    MQGET   GMO.Options = MQGMO_BROWSE_NEXT                          first handle: all messages, in physical order
    MQGET   GMO.Options = MQGMO_BROWSE_FIRST | MQGMO_LOGICAL_ORDER | MQGMO_ALL_MSGS_AVAILABLE,
            MQMO_MATCH_GROUP_ID                                      second handle: is this group whole?
    MQINQ   MQIA_CURRENT_Q_DEPTH, MQIA_OPEN_OUTPUT_COUNT             is anything hidden, may anything come?
    MQPUT   (StatusInfo to STATUS queue)
    MQCMIT

A putter puts in order, so the last message of its group on the queue is the one that StatusInfo spoke of. That is only true
where all of this is: the group is not whole, begins at 1 and has no gap; it is the only one of the kind; no message is in a
unit of work (CURDEPTH counts those, browsing does not show them); and nobody has the queue open to put to it. Else the program
writes nothing: a StatusInfo that says too little has a message put twice, one that says too much leaves one out.

Physical order (topic q023060) also shows what logical order never does: messages of a group whose first one is gone. Such a
group has lost its getter's StatusInfo instead: the number before the first that is left is the one it had.

The STATUS queue is open exclusively all the while. So the putter that died is gone, and its unit of work backed out.

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
from pymqi import CMQC

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
status_queue = pymqi.Queue(q_mgr, STATUS, CMQC.MQOO_INPUT_EXCLUSIVE | CMQC.MQOO_INQUIRE | CMQC.MQOO_OUTPUT)
if status_queue.inquire(CMQC.MQIA_CURRENT_Q_DEPTH):
    sys.exit(f"{STATUS} is not empty: nothing is lost; d_restart_put.py resumes")
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


groups: dict[bytes, Group] = {}
seen = 0
while md := browse(physical, CMQC.MQGMO_BROWSE_NEXT):
    seen += 1
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

# After browsing: what came or went meanwhile makes a difference too.
if physical.inquire(CMQC.MQIA_CURRENT_Q_DEPTH) != seen or physical.inquire(CMQC.MQIA_OPEN_OUTPUT_COUNT):
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
