"""Browse a queue in physical and in logical order, and its groups with two handles (IBM MQ, topic q023060).

The queue holds IBM's example. Physical order is the order of arrival. In logical order the messages and segments of a
group are next to each other, at the place of the first of them:

    physical    A  Y1  Z2(last)  Y2  Y3(last) segment 1  Y3 segment 2  Z1  B
    logical     A  Y1  Y2  Y3 segment 1  Y3 segment 2  Z1  Z2  B

MQGMO_BROWSE_NEXT must use MQGMO_LOGICAL_ORDER if and only if the browse before it did (MQRC_INCONSISTENT_BROWSE,
topic q042910). On a handle, browsing has a group state separate from that of MQGETs that remove messages.

One handle is not enough to visit the groups in physical order. One could browse the messages of a group, then browse
for the next message with MsgSeqNumber 1. But Z2 comes before Z1: after Z2, the cursor might find Z1 again, and so on
for ever. So one handle browses for first messages only, and never enters a group. The other handle is set to the same
first message by its MsgId, browses the group in logical order, and stops when GroupStatus and SegmentStatus show the
end of the group.

A group without its first message is not visible in logical order, and is not found in this way: only a browse in
physical order shows its messages.

With mqgroups: ``mqgroups groups`` shows the groups on a queue, also those without their first message. If a
consumer finds a group incomplete, its error names the expected message.
"""

import os
import sys

import pymqi
from pymqi import CMQC

QUEUE = sys.argv[1] if len(sys.argv) > 1 else "RECIPES.ORDERS"
IN_GROUP, LAST_IN_GROUP = CMQC.MQMF_MSG_IN_GROUP, CMQC.MQMF_LAST_MSG_IN_GROUP
# (data, group, MsgSeqNumber, Offset, MsgFlags) in the order of arrival.
ARRIVALS = [
    (b"A", "", 1, 0, CMQC.MQMF_NONE),
    (b"Y1", "Y", 1, 0, IN_GROUP),
    (b"Z2", "Z", 2, 0, LAST_IN_GROUP),
    (b"Y2", "Y", 2, 0, IN_GROUP),
    (b"Y3 segment 1", "Y", 3, 0, LAST_IN_GROUP | CMQC.MQMF_SEGMENT),
    (b"Y3 segment 2", "Y", 3, 12, LAST_IN_GROUP | CMQC.MQMF_LAST_SEGMENT),
    (b"Z1", "Z", 1, 0, IN_GROUP),
    (b"B", "", 1, 0, CMQC.MQMF_NONE),
]

q_mgr = pymqi.QueueManager(None, disconnect_on_exit=False)
q_mgr.connect_with_options(
    os.environ.get("MQGROUPS_Q_MGR_NAME", "QM1"), user=os.environ.get("MQ_USER"), password=os.environ.get("MQ_PASSWORD")
)

queue = pymqi.Queue(q_mgr, QUEUE, CMQC.MQOO_OUTPUT)
group_ids = {"": CMQC.MQGI_NONE}
for data, group, msg_seq_number, offset, flags in ARRIVALS:
    md = pymqi.MD(
        Version=CMQC.MQMD_VERSION_2,
        # With MQGI_NONE the queue manager makes a GroupId for the first message of a group; applications should not invent any.
        GroupId=group_ids.get(group, CMQC.MQGI_NONE),
        MsgSeqNumber=msg_seq_number,
        Offset=offset,
        MsgFlags=flags,
    )
    queue.put(data, md, pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_FAIL_IF_QUIESCING))
    group_ids[group] = md.GroupId
q_mgr.commit()
queue.close()


def browse(
    queue: pymqi.Queue, options: int, match_options: int = CMQC.MQMO_NONE, **fields: object
) -> tuple[bytes, pymqi.MD, pymqi.GMO] | None:
    """Return data, MQMD and MQGMO, or None if there is no message."""
    md = pymqi.MD(Version=CMQC.MQMD_VERSION_2, **fields)
    options |= CMQC.MQGMO_NO_WAIT | CMQC.MQGMO_FAIL_IF_QUIESCING
    gmo = pymqi.GMO(Version=CMQC.MQGMO_VERSION_2, Options=options, MatchOptions=match_options)
    try:
        return queue.get(1_000_000, md, gmo), md, gmo
    except pymqi.MQMIError as error:
        if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
            raise
        return None


# --- physical order, and logical order

queue = pymqi.Queue(q_mgr, QUEUE, CMQC.MQOO_BROWSE)
for name, order in (("physical:", 0), ("logical: ", CMQC.MQGMO_LOGICAL_ORDER)):
    found = []
    message = browse(queue, CMQC.MQGMO_BROWSE_FIRST | order)
    while message:
        found.append(message[0].decode())
        message = browse(queue, CMQC.MQGMO_BROWSE_NEXT | order)
    print(name, ", ".join(found))
queue.close()

# --- group by group

firsts = pymqi.Queue(q_mgr, QUEUE, CMQC.MQOO_BROWSE)
members = pymqi.Queue(q_mgr, QUEUE, CMQC.MQOO_BROWSE)
FIRST_OF_A_GROUP = CMQC.MQMO_MATCH_MSG_SEQ_NUMBER | CMQC.MQMO_MATCH_OFFSET
first = browse(firsts, CMQC.MQGMO_BROWSE_FIRST, FIRST_OF_A_GROUP, MsgSeqNumber=1, Offset=0)
while first:
    found = []
    options = CMQC.MQGMO_BROWSE_FIRST | CMQC.MQGMO_LOGICAL_ORDER
    member = browse(members, options, CMQC.MQMO_MATCH_MSG_ID, MsgId=first[1].MsgId)
    while member:
        data, _, gmo = member
        found.append(data.decode())
        if gmo.GroupStatus != CMQC.MQGS_MSG_IN_GROUP and gmo.SegmentStatus != CMQC.MQSS_SEGMENT:
            break
        member = browse(members, CMQC.MQGMO_BROWSE_NEXT | CMQC.MQGMO_LOGICAL_ORDER)
    print("group:   ", ", ".join(found), "" if member else "(incomplete)")
    first = browse(firsts, CMQC.MQGMO_BROWSE_NEXT, FIRST_OF_A_GROUP, MsgSeqNumber=1, Offset=0)

firsts.close()
members.close()
q_mgr.disconnect()
