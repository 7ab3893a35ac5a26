"""Rebuild a lost status message of a putter, by browsing its group on the queue.

    MQGET   GMO.Options = MQGMO_BROWSE_NEXT                          first handle: all messages, in physical order
    MQGET   GMO.Options = MQGMO_BROWSE_FIRST | MQGMO_LOGICAL_ORDER | MQGMO_ALL_MSGS_AVAILABLE,
            MQMO_MATCH_GROUP_ID                                      second handle: is this group whole?
    PCF     Inquire Queue Status: UncommittedMsgs of both queues     is a message hidden?
    MQINQ   MQIA_OPEN_OUTPUT_COUNT                                   may a message still arrive?
    MQPUT   (StatusInfo to STATUS queue)
    MQCMIT

A putter puts in order, so StatusInfo had the number of the last message of its group on the queue. That is only true
under these conditions. The group is not whole, begins at 1, and has no gap and no number twice. It is the only such
group, and no other putter's StatusInfo is for it (check all STATUS queues; this program knows one). No message is in
a unit of work. No program has the queue open for output. Otherwise this program writes nothing: with a number that is
too low a message would be put twice, with one that is too high a message would be left out.

The MQI does not show messages that units of work hide. A message that was got and not committed is not browsed, and
CurrentQDepth does not count it (topics q103130, q106410). UncommittedMsgs of Inquire Queue Status counts it (topic
q087890), for a user who may ask the command server; without such a user this program cannot work. It inquires
UncommittedMsgs of the STATUS queue too, because 2033 proves nothing there: StatusInfo may be hidden, not lost.

Physical order (topic q023060), unlike logical order, also shows messages of a group whose first message is gone. For
such a group the getter's StatusInfo is lost: it had the number before the first remaining message.

The STATUS queue is open exclusively during all this, so no putter can start. That alone does not prove that the unit
of work of the dead putter is backed out.

With mqgroups: ``mqgroups groups``, ``salvage rebuild`` for putters and getters, and ``salvage move``, which
moves the rest of a group to another queue.

To try it, let b_put_across_units_of_work.py die (DIE_AFTER=5), and clear the STATUS queue. After this program
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


# Before browsing, because hidden messages may reappear later. This program has nothing in a unit of work yet.
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
# Each handle browses in one order: MQGMO_BROWSE_NEXT must use the same order as the browse before it (topic q042910).
WHOLE = CMQC.MQGMO_BROWSE_FIRST | CMQC.MQGMO_LOGICAL_ORDER | CMQC.MQGMO_ALL_MSGS_AVAILABLE
incomplete = {}
for group_id, group in groups.items():
    whole = browse(logical, WHOLE, CMQC.MQMO_MATCH_GROUP_ID, GroupId=group_id) is not None
    print("group", group.first, "to", group.last, "whole" if whole else "not whole")
    if not whole:
        incomplete[group_id] = group

# And after browsing, because another program may have begun to put or get meanwhile.
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
