"""Put large logical messages of a group as segments, across units of work, with Offset in StatusInfo.

IBM MQ, "Putting and getting a group that spans units of work": "If segmentation is involved ... the StatusInfo must include the
Offset", because a unit of work may end in the middle of a logical message. Here the application makes the segments, as for
messages that are longer than the queue or its own memory allows:

    message 1           MD.MsgFlags = MQMF_MSG_IN_GROUP
    message 2           MD.MsgFlags = MQMF_MSG_IN_GROUP | MQMF_SEGMENT, ... and MQMF_LAST_SEGMENT with its last one
    message 3, last     MD.MsgFlags = MQMF_LAST_MSG_IN_GROUP | MQMF_SEGMENT, ... MQMF_LAST_SEGMENT

All segments of a logical message must have the same group flags: MQMF_LAST_MSG_IN_GROUP on one segment but not on another is
MQRC_INCOMPLETE_MSG (reason code 2242). In logical order the queue manager counts MsgSeqNumber and Offset (IBM MQ, "Logical and
physical ordering", the table: previous offset plus previous segment length). Only the last segment may be empty
(MQRC_SEGMENT_LENGTH_ZERO, reason code 2253).

At restart the first MQPUT is without MQPMO_LOGICAL_ORDER, with GroupId, MsgSeqNumber and Offset of the physical
message after the one in StatusInfo: the next segment, or the start of the next message.

A getter that wants whole messages uses MQGMO_COMPLETE_MSG, as get_group.py does: run that one
afterwards. A getter that gets single segments keeps Offset in its StatusInfo too, and adds MQMO_MATCH_OFFSET at
restart.

With mqgroups: ``group_producer(queue, name=..., segment_bytes=...)`` puts longer messages as segments;
``group_consumer(queue, name=..., stream=True)`` gets segments one by one.

With DIE_AFTER=3 this program ends with SIGKILL after the third MQPUT; run it again and it resumes.
"""

import json
import os
import signal
import sys
import time

import pymqi
from pymqi import CMQC

QUEUE, STATUS = sys.argv[1:] or ["RECIPES.ORDERS", "RECIPES.STATUS"]
MESSAGES = [b"small", b"a message of forty bytes or so, in three", b"the last one, in two"]
MAX_SEGMENT_BYTES = 16
PUTS_IN_UNIT_OF_WORK = 2
DIE_AFTER = int(os.environ.get("DIE_AFTER", "0"))

# (MsgSeqNumber, Offset, MsgFlags, data) of every physical message.
physical_messages = []
for msg_seq_number, data in enumerate(MESSAGES, 1):
    group_flag = CMQC.MQMF_LAST_MSG_IN_GROUP if msg_seq_number == len(MESSAGES) else CMQC.MQMF_MSG_IN_GROUP
    offsets = range(0, len(data), MAX_SEGMENT_BYTES)
    for offset in offsets:
        flags = group_flag
        if len(offsets) > 1:
            flags |= CMQC.MQMF_LAST_SEGMENT if offset == offsets[-1] else CMQC.MQMF_SEGMENT
        physical_messages.append((msg_seq_number, offset, flags, data[offset : offset + MAX_SEGMENT_BYTES]))

q_mgr = pymqi.QueueManager(None, disconnect_on_exit=False)
q_mgr.connect_with_options(
    os.environ.get("MQGROUPS_Q_MGR_NAME", "QM1"), user=os.environ.get("MQ_USER"), password=os.environ.get("MQ_PASSWORD")
)
queue = pymqi.Queue(q_mgr, QUEUE, CMQC.MQOO_OUTPUT)
while True:
    try:
        status_queue = pymqi.Queue(q_mgr, STATUS, CMQC.MQOO_INPUT_EXCLUSIVE | CMQC.MQOO_OUTPUT)
        break
    except pymqi.MQMIError as error:
        if error.reason != CMQC.MQRC_OBJECT_IN_USE:
            raise
        time.sleep(1)

status_info = None
status_gmo = pymqi.GMO(
    Options=CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_NO_WAIT | CMQC.MQGMO_FAIL_IF_QUIESCING | CMQC.MQGMO_NO_PROPERTIES
)
try:
    status_info = json.loads(status_queue.get(1_000, pymqi.MD(), status_gmo))
    print("resuming after", status_info["MsgSeqNumber"], "Offset", status_info["Offset"])
except pymqi.MQMIError as error:
    if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
        raise
logical_order = CMQC.MQPMO_LOGICAL_ORDER
if status_info:
    logical_order = 0
    committed = (status_info["MsgSeqNumber"], status_info["Offset"])
    physical_messages = [message for message in physical_messages if message[:2] > committed]
status_message_is_got = True

for number, (msg_seq_number, offset, flags, data) in enumerate(physical_messages, 1):
    last = number == len(physical_messages)
    md = pymqi.MD(Version=CMQC.MQMD_VERSION_2, MsgFlags=flags, Persistence=CMQC.MQPER_PERSISTENT)
    if status_info and not logical_order:
        md.GroupId = bytes.fromhex(status_info["GroupId"])
        md.MsgSeqNumber = msg_seq_number
        md.Offset = offset
    pmo = pymqi.PMO(Options=logical_order | CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_FAIL_IF_QUIESCING)
    queue.put(data, md, pmo)
    logical_order = CMQC.MQPMO_LOGICAL_ORDER
    print("MQPUT", md.MsgSeqNumber, "Offset", md.Offset, data.decode())
    if number == DIE_AFTER:
        print("SIGKILL", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if number % PUTS_IN_UNIT_OF_WORK and not last:
        continue

    if not status_message_is_got:
        status_gmo = pymqi.GMO(
            Options=CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_NO_WAIT | CMQC.MQGMO_FAIL_IF_QUIESCING | CMQC.MQGMO_NO_PROPERTIES
        )
        status_queue.get(1_000, pymqi.MD(), status_gmo)
    if not last:
        status_info = {"GroupId": md.GroupId.hex(), "MsgSeqNumber": md.MsgSeqNumber, "Offset": md.Offset}
        status_md = pymqi.MD(Format=CMQC.MQFMT_STRING, Persistence=CMQC.MQPER_PERSISTENT)
        status_pmo = pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_FAIL_IF_QUIESCING)
        status_queue.put(json.dumps(status_info).encode(), status_md, status_pmo)
        print("StatusInfo", status_info["MsgSeqNumber"], "Offset", status_info["Offset"])
    q_mgr.commit()
    print("MQCMIT")
    status_message_is_got = False

queue.close()
status_queue.close()
q_mgr.disconnect()
