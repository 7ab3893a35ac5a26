"""Put a message group in several units of work, with a STATUS queue (IBM MQ, topic q026290).

    three times  MQPUT   PMO.Options = MQPMO_LOGICAL_ORDER | MQPMO_SYNCPOINT
    not at first MQGET   from STATUS queue, GMO.Options = MQGMO_SYNCPOINT
    not at last  MQPUT   StatusInfo (GroupId, MsgSeqNumber from MQMD) to STATUS queue, PMO.Options = MQPMO_SYNCPOINT
    MQCMIT

Getters can start on the group, and a channel can transfer it, before its end is put, and no unit of work is as large
as the group. The disadvantage: a putter that dies leaves an incomplete group. StatusInfo says how much of it is
committed. It is committed together with the messages that it counts, so it is always right. A putter has one status
message: the new one replaces the old one in the same unit of work. When the group is complete, there is no status
message.

The queue manager keeps the queue handle's GroupId and MsgSeqNumber after MQCMIT, so the next unit of work continues
the group (MQCMIT, topic q101750). They are lost with MQCLOSE, or when the program ends; see d_restart_put.py.

The STATUS queue is opened exclusively. IBM's text does not require that. But a second putter on the same STATUS queue
would get the first putter's StatusInfo, and restore it by a backout at a wrong time.

An empty STATUS queue proves nothing. StatusInfo that was got in a unit of work is hidden until that is backed out,
and the MQI does not show it: MQGET returns 2033, and CurrentQDepth does not count it (topics q103130, q106410). While
the dead putter's handle is open, the exclusive open returns 2042. But IBM does not document that a lost connection's
unit of work is backed out before its handles are closed. So after the open this program waits a little for StatusInfo
to reappear. That makes an error unlikely, not impossible. There are two proofs. One is UncommittedMsgs of the queue,
which k_status_lost.py inquires. The other is a second message beside StatusInfo, put together with the first
StatusInfo, and got only in a unit of work that begins when the group is already known to be complete. A program that
sees the second message alone must wait.

With mqgroups: ``group_producer(queue, name=..., commit_every=3)``, ``with producer.group() as group:
group.put(...)``. It creates the status queue, and keeps a record there from its first call on, with such a second
message (an anchor). So it can find out the outcome of every commit.

To try d_restart_put.py, set DIE_AFTER=5: this program then ends with SIGKILL after the fifth MQPUT.
"""

import json
import os
import signal
import sys

import pymqi
from pymqi import CMQC

QUEUE, STATUS = sys.argv[1:] or ["RECIPES.ORDERS", "RECIPES.STATUS"]
ORDERS = [b"order %d" % number for number in range(1, 10)]
MESSAGES_IN_UNIT_OF_WORK = 3
DIE_AFTER = int(os.environ.get("DIE_AFTER", "0"))
STATUS_WAIT_MS = 500

q_mgr = pymqi.QueueManager(None, disconnect_on_exit=False)
q_mgr.connect_with_options(
    os.environ.get("MQGROUPS_Q_MGR_NAME", "QM1"), user=os.environ.get("MQ_USER"), password=os.environ.get("MQ_PASSWORD")
)
queue = pymqi.Queue(q_mgr, QUEUE, CMQC.MQOO_OUTPUT)
status_queue = pymqi.Queue(q_mgr, STATUS, CMQC.MQOO_INPUT_EXCLUSIVE | CMQC.MQOO_OUTPUT | CMQC.MQOO_BROWSE)

# There should be no status message at this point. That of a putter that has just died may be hidden: give it time to reappear.
status_gmo = pymqi.GMO(
    Options=CMQC.MQGMO_BROWSE_FIRST | CMQC.MQGMO_WAIT | CMQC.MQGMO_FAIL_IF_QUIESCING, WaitInterval=STATUS_WAIT_MS
)
try:
    status_queue.get(1_000, pymqi.MD(), status_gmo)
except pymqi.MQMIError as error:
    if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
        raise
else:
    sys.exit(f"{STATUS} is not empty: an interrupted group is to be resumed, by d_restart_put.py")

for number, order in enumerate(ORDERS, 1):
    last = number == len(ORDERS)
    md = pymqi.MD(
        Version=CMQC.MQMD_VERSION_2,
        MsgFlags=CMQC.MQMF_LAST_MSG_IN_GROUP if last else CMQC.MQMF_MSG_IN_GROUP,
        # A group and its StatusInfo have to survive together.
        Persistence=CMQC.MQPER_PERSISTENT,
    )
    pmo = pymqi.PMO(Options=CMQC.MQPMO_LOGICAL_ORDER | CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_FAIL_IF_QUIESCING)
    queue.put(order, md, pmo)
    print("MQPUT", md.MsgSeqNumber, order.decode())
    if number == DIE_AFTER:
        print("SIGKILL", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if number % MESSAGES_IN_UNIT_OF_WORK and not last:
        continue

    # The end of a unit of work.
    if number > MESSAGES_IN_UNIT_OF_WORK:
        gmo = pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_NO_WAIT | CMQC.MQGMO_FAIL_IF_QUIESCING)
        status_queue.get(1_000, pymqi.MD(), gmo)
    if not last:
        status_info = {"GroupId": md.GroupId.hex(), "MsgSeqNumber": md.MsgSeqNumber}
        status_md = pymqi.MD(Format=CMQC.MQFMT_STRING, Persistence=CMQC.MQPER_PERSISTENT)
        status_pmo = pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_FAIL_IF_QUIESCING)
        status_queue.put(json.dumps(status_info).encode(), status_md, status_pmo)
        print("StatusInfo", status_info["MsgSeqNumber"])
    q_mgr.commit()
    print("MQCMIT")

queue.close()
status_queue.close()
q_mgr.disconnect()
