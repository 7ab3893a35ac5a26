"""Keep the status information as segments of one message: the Note of IBM MQ, "Putting and getting a group that spans units of
work".

    each unit of work   MQPUT   StatusInfo, MD.MsgFlags = MQMF_SEGMENT          no MQGET from the STATUS queue
    the last one        MQPUT   StatusInfo, MD.MsgFlags = MQMF_LAST_SEGMENT
    MQCMIT
    then                MQGET   GMO.Options = MQGMO_COMPLETE_MSG | MQGMO_SYNCPOINT, MQCMIT

The last segment is the current status information; those before it are history. The Note does not mention that messages put in
a unit of work cannot be got before it is committed (IBM MQ, "Syncpoint considerations in IBM MQ applications"). So the MQGET
with MQGMO_COMPLETE_MSG cannot be in the unit of work that puts the last segment. It comes after that MQCMIT, followed by
another MQCMIT. A program that dies in between leaves the ended segments on the queue, which means "complete, but not cleared".
So for a short time this pattern can distinguish a completed group from one that was not begun; put_group.py cannot.

At restart the program browses the STATUS queue with MQGMO_LOGICAL_ORDER to the last segment. It puts the next segment
without MQPMO_LOGICAL_ORDER, with the GroupId (a segmented message has one, even outside a group) and with the Offset
behind the last segment. The following puts use logical order, on this queue as on the other.

The segments accumulate until the end of the group, and MQGMO_COMPLETE_MSG needs a buffer for all of them. z/OS does
not support segments.

With mqgroups: ``group_producer(queue, name=..., status_layout="segmented")``. It ends a chain after 32 segments and
begins another.

With DIE_AFTER=5 this program ends with SIGKILL after the fifth MQPUT; run it again and it resumes.
"""

import json
import os
import signal
import sys
import time

import pymqi
from pymqi import CMQC

QUEUE, STATUS = sys.argv[1:] or ["RECIPES.ORDERS", "RECIPES.STATUS"]
ORDERS = [b"order %d" % number for number in range(1, 10)]
MESSAGES_IN_UNIT_OF_WORK = 3
DIE_AFTER = int(os.environ.get("DIE_AFTER", "0"))

q_mgr = pymqi.QueueManager(None, disconnect_on_exit=False)
q_mgr.connect_with_options(
    os.environ.get("MQGROUPS_Q_MGR_NAME", "QM1"), user=os.environ.get("MQ_USER"), password=os.environ.get("MQ_PASSWORD")
)
queue = pymqi.Queue(q_mgr, QUEUE, CMQC.MQOO_OUTPUT)
while True:
    try:
        status_queue = pymqi.Queue(
            q_mgr, STATUS, CMQC.MQOO_INPUT_EXCLUSIVE | CMQC.MQOO_BROWSE | CMQC.MQOO_OUTPUT | CMQC.MQOO_NO_READ_AHEAD
        )
        break
    except pymqi.MQMIError as error:
        if error.reason != CMQC.MQRC_OBJECT_IN_USE:
            raise
        time.sleep(1)

# --- restart processing: browse until no further segments are returned

status_info = {"GroupId": CMQC.MQGI_NONE.hex(), "MsgSeqNumber": 0}
status_group_id, status_offset, complete = CMQC.MQGI_NONE, 0, False
browse = CMQC.MQGMO_BROWSE_FIRST
while True:
    md = pymqi.MD(Version=CMQC.MQMD_VERSION_2)
    options = (
        browse | CMQC.MQGMO_LOGICAL_ORDER | CMQC.MQGMO_NO_WAIT | CMQC.MQGMO_FAIL_IF_QUIESCING | CMQC.MQGMO_NO_PROPERTIES
    )
    gmo = pymqi.GMO(Version=CMQC.MQGMO_VERSION_2, Options=options, MatchOptions=CMQC.MQMO_NONE)
    try:
        segment = status_queue.get(1_000, md, gmo)
    except pymqi.MQMIError as error:
        if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
            raise
        break
    status_info = json.loads(segment)
    status_group_id, status_offset = md.GroupId, md.Offset + len(segment)
    complete = gmo.SegmentStatus == CMQC.MQSS_LAST_SEGMENT
    browse = CMQC.MQGMO_BROWSE_NEXT
committed = status_info["MsgSeqNumber"]
if committed and not complete:
    print("resuming after", committed)

# --- the group

logical_order = 0 if committed else CMQC.MQPMO_LOGICAL_ORDER
status_logical_order = logical_order
for number, order in enumerate([] if complete else ORDERS[committed:], committed + 1):
    last = number == len(ORDERS)
    md = pymqi.MD(
        Version=CMQC.MQMD_VERSION_2,
        MsgFlags=CMQC.MQMF_LAST_MSG_IN_GROUP if last else CMQC.MQMF_MSG_IN_GROUP,
        Persistence=CMQC.MQPER_PERSISTENT,
    )
    if not logical_order:
        md.GroupId = bytes.fromhex(status_info["GroupId"])
        md.MsgSeqNumber = committed + 1
    pmo = pymqi.PMO(Options=logical_order | CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_FAIL_IF_QUIESCING)
    queue.put(order, md, pmo)
    logical_order = CMQC.MQPMO_LOGICAL_ORDER
    print("MQPUT", md.MsgSeqNumber, order.decode())
    if number == DIE_AFTER:
        print("SIGKILL", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if number % MESSAGES_IN_UNIT_OF_WORK and not last:
        continue

    status_info = {"GroupId": md.GroupId.hex(), "MsgSeqNumber": md.MsgSeqNumber}
    status_md = pymqi.MD(
        Version=CMQC.MQMD_VERSION_2,
        MsgFlags=CMQC.MQMF_LAST_SEGMENT if last else CMQC.MQMF_SEGMENT,
        Format=CMQC.MQFMT_STRING,
        Persistence=CMQC.MQPER_PERSISTENT,
    )
    if not status_logical_order:
        status_md.GroupId = status_group_id
        status_md.Offset = status_offset
    status_pmo = pymqi.PMO(Options=status_logical_order | CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_FAIL_IF_QUIESCING)
    status_queue.put(json.dumps(status_info).encode(), status_md, status_pmo)
    status_logical_order = CMQC.MQPMO_LOGICAL_ORDER
    print("StatusInfo", status_info["MsgSeqNumber"], "at Offset", status_md.Offset)
    q_mgr.commit()
    print("MQCMIT")

# --- the group is complete: clear the status information

gmo = pymqi.GMO(
    Version=CMQC.MQGMO_VERSION_2,
    Options=CMQC.MQGMO_COMPLETE_MSG
    | CMQC.MQGMO_SYNCPOINT
    | CMQC.MQGMO_NO_WAIT
    | CMQC.MQGMO_FAIL_IF_QUIESCING
    | CMQC.MQGMO_NO_PROPERTIES,
    MatchOptions=CMQC.MQMO_NONE,
)
cleared = status_queue.get(100_000, pymqi.MD(Version=CMQC.MQMD_VERSION_2), gmo)
q_mgr.commit()
print("cleared", cleared.count(b"{"), "segments")

queue.close()
status_queue.close()
q_mgr.disconnect()
