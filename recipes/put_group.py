"""Put a message group in several units of work, with a STATUS queue, and resume it after a crash (IBM MQ, "Putting and getting
a group that spans units of work").

    restart      MQGET   (StatusInfo from STATUS queue) GMO.Options = MQGMO_SYNCPOINT
                 if Reason != MQRC_NO_MSG_AVAILABLE:
                         MQPUT   PMO.Options = MQPMO_SYNCPOINT, MD.MsgFlags = MQMF_MSG_IN_GROUP,
                                 GroupId from StatusInfo, MsgSeqNumber from StatusInfo plus 1
    three times  MQPUT   PMO.Options = MQPMO_LOGICAL_ORDER | MQPMO_SYNCPOINT
    not at first MQGET   from STATUS queue, GMO.Options = MQGMO_SYNCPOINT
    not at last  MQPUT   StatusInfo (GroupId, MsgSeqNumber from MQMD) to STATUS queue, PMO.Options = MQPMO_SYNCPOINT
    MQCMIT

StatusInfo is committed together with the messages that it counts, so it is always right. There is one status message: the new
one replaces the old one in the same unit of work. When the group is complete, there is none.

The queue manager keeps the queue handle's GroupId and MsgSeqNumber after MQCMIT, so the next unit of work continues the group
(IBM MQ, "MQCMIT"). They are lost with MQCLOSE, or when the program ends. So the first put after a restart is without
MQPMO_LOGICAL_ORDER: with the option the queue manager would begin a new group. After this put the handle has the group, and the
next puts use logical order.

A correction of IBM's text: it puts the restart message with GroupId and MsgSeqNumber as they are in the status message. But
StatusInfo was copied from the MQMD after the last MQPUT, so a message with that number is on the queue. Without
MQPMO_LOGICAL_ORDER the queue manager uses MsgSeqNumber as given (IBM MQ, "Logical and physical ordering", the table) and does
not check for duplicates. The right number is the last one plus 1, as the same page says for the getter.

The STATUS queue is opened exclusively, which IBM's text does not require. A second putter on it would get the first one's
StatusInfo. The exclusive open also waits for a dead putter: while its handle is open, MQOPEN returns MQRC_OBJECT_IN_USE (reason
code 2042). After the open the program waits a little for StatusInfo, because IBM does not document that a lost connection's
unit of work is backed out before its handles are closed, and StatusInfo that a unit of work has got is hidden until then. That
makes an error unlikely, not impossible: an empty STATUS queue proves nothing. A proof is a second message beside StatusInfo,
which is got only when the group is already known to be complete. A program that sees it alone must wait.

The limit of this pattern: STATUS is empty before a group's first MQCMIT and after its last. A putter that died at one of them
cannot tell which it was, and normal processing would put the whole group again. In a cluster (MQOO_BIND_ON_GROUP) StatusInfo
also needs the queue manager that the group went to, ResolvedQMgrName in MQPMO, to open the same instance of the queue.

With mqgroups: ``group_producer(queue, name=..., commit_every=3)``, ``with producer.group() as group: group.put(...)``;
``group.resume_from`` is the number of committed messages. It has such a second message (an anchor). A checkpoint
(``group.set_checkpoint(...)``) distinguishes a group that was completed from one that was not begun.

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
STATUS_WAIT_MS = 500
DIE_AFTER = int(os.environ.get("DIE_AFTER", "0"))

# disconnect_on_exit=False: MQDISC commits, and pymqi would call it when an exception ends the program.
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
    Options=CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_WAIT | CMQC.MQGMO_FAIL_IF_QUIESCING | CMQC.MQGMO_NO_PROPERTIES,
    WaitInterval=STATUS_WAIT_MS,
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
    # A new MD for each message: the one of the last call has its MsgId.
    md = pymqi.MD(
        Version=CMQC.MQMD_VERSION_2,
        # The first message after the restart may also be the last of the group, and then needs the flag.
        MsgFlags=CMQC.MQMF_LAST_MSG_IN_GROUP if last else CMQC.MQMF_MSG_IN_GROUP,
        # A group and its StatusInfo have to survive together.
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

    if not status_message_is_got:
        status_gmo = pymqi.GMO(
            Options=CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_NO_WAIT | CMQC.MQGMO_FAIL_IF_QUIESCING | CMQC.MQGMO_NO_PROPERTIES
        )
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
