"""Resume a group whose putter died: restart processing of the putter (IBM MQ, topic q026290).

    MQGET   (StatusInfo from STATUS queue) GMO.Options = MQGMO_SYNCPOINT
    if Reason == MQRC_NO_MSG_AVAILABLE: normal processing
    else    MQPUT   PMO.Options = MQPMO_SYNCPOINT, MD.MsgFlags = MQMF_MSG_IN_GROUP,
                    GroupId from StatusInfo, MsgSeqNumber from StatusInfo plus 1
            then PMO.Options = MQPMO_LOGICAL_ORDER | MQPMO_SYNCPOINT as usual

A correction of IBM's text: it puts the restart message with GroupId and MsgSeqNumber as they are in the status
message. But StatusInfo was copied from the MQMD after the last MQPUT, so a message with that number is on the queue.
Without MQPMO_LOGICAL_ORDER the queue manager uses MsgSeqNumber as given (topic q023060, the table) and does not check
for duplicates. The group would have two messages with that number, and one less than it should at the end. The right
number is the last one plus 1, as the same page says for the getter.

The first put is without MQPMO_LOGICAL_ORDER, because a new queue handle has no current group, and with the option the
queue manager would begin a new group. After this put the handle has the group, and the next puts use logical order.

An open unit of work hides the status message. So an empty STATUS queue proves nothing while the dead putter may still
be connected; a queue manager takes twice a heartbeat interval to notice. Until then the exclusive open returns
MQRC_OBJECT_IN_USE (topic q041130). Wait for the open, then get with MQGMO_WAIT, because IBM does not document that
the unit of work is backed out before the handles are closed. That is not a proof; b_put_across_units_of_work.py
describes two proofs.

The limit of this pattern: STATUS is empty before a group's first MQCMIT and after its last. A putter that died at one
of them cannot tell which it was, and normal processing would put the whole group again. In a cluster
(MQOO_BIND_ON_GROUP) StatusInfo also needs the queue manager that the group went to, ResolvedQMgrName in MQPMO, to
open the same instance of the queue.

With mqgroups: use the same ``with producer.group() as group``; ``group.resume_from`` is the number of committed
messages. A checkpoint (``group.set_checkpoint(...)``) distinguishes a group that was completed from one that was not
begun.
"""

import json
import os
import sys
import time

import pymqi
from pymqi import CMQC

QUEUE, STATUS = sys.argv[1:] or ["RECIPES.ORDERS", "RECIPES.STATUS"]
ORDERS = [b"order %d" % number for number in range(1, 10)]
MESSAGES_IN_UNIT_OF_WORK = 3
STATUS_WAIT_MS = 500

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

# Got in the unit of work that will put its successor: if this program dies as well, it reappears.
status_gmo = pymqi.GMO(
    Options=CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_WAIT | CMQC.MQGMO_FAIL_IF_QUIESCING, WaitInterval=STATUS_WAIT_MS
)
try:
    status_info = json.loads(status_queue.get(1_000, pymqi.MD(), status_gmo))
    print("resuming after", status_info["MsgSeqNumber"])
except pymqi.MQMIError as error:
    if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
        raise
    status_info = {"GroupId": CMQC.MQGI_NONE.hex(), "MsgSeqNumber": 0}
    print("nothing to resume")
committed = status_info["MsgSeqNumber"]
status_message_is_got = True
# With no group to resume the first put is in logical order, and begins one.
logical_order = 0 if committed else CMQC.MQPMO_LOGICAL_ORDER

for number, order in enumerate(ORDERS[committed:], committed + 1):
    last = number == len(ORDERS)
    md = pymqi.MD(
        Version=CMQC.MQMD_VERSION_2,
        # The first message after the restart may also be the last of the group, and then needs the flag.
        MsgFlags=CMQC.MQMF_LAST_MSG_IN_GROUP if last else CMQC.MQMF_MSG_IN_GROUP,
        # The same as that of the messages before.
        Persistence=CMQC.MQPER_PERSISTENT,
    )
    if not logical_order:
        md.GroupId = bytes.fromhex(status_info["GroupId"])
        md.MsgSeqNumber = committed + 1
    pmo = pymqi.PMO(Options=logical_order | CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_FAIL_IF_QUIESCING)
    queue.put(order, md, pmo)
    logical_order = CMQC.MQPMO_LOGICAL_ORDER
    print("MQPUT", md.MsgSeqNumber, order.decode())
    if number % MESSAGES_IN_UNIT_OF_WORK and not last:
        continue

    if not status_message_is_got:
        status_gmo = pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_NO_WAIT | CMQC.MQGMO_FAIL_IF_QUIESCING)
        status_queue.get(1_000, pymqi.MD(), status_gmo)
    if not last:
        status_info = {"GroupId": md.GroupId.hex(), "MsgSeqNumber": md.MsgSeqNumber}
        status_md = pymqi.MD(Format=CMQC.MQFMT_STRING, Persistence=CMQC.MQPER_PERSISTENT)
        status_pmo = pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_FAIL_IF_QUIESCING)
        status_queue.put(json.dumps(status_info).encode(), status_md, status_pmo)
        print("StatusInfo", status_info["MsgSeqNumber"])
    q_mgr.commit()
    print("MQCMIT")
    status_message_is_got = False

queue.close()
status_queue.close()
q_mgr.disconnect()
