"""Put a message group in one unit of work, and get it in one: the simple case.

    MQPUT   PMO.Options = MQPMO_LOGICAL_ORDER | MQPMO_SYNCPOINT     MD.MsgFlags = MQMF_MSG_IN_GROUP, ...
    MQCMIT
    MQGET   GMO.Options = MQGMO_SYNCPOINT | MQGMO_WAIT | MQGMO_ALL_MSGS_AVAILABLE | MQGMO_LOGICAL_ORDER
    do while GroupStatus == MQGS_MSG_IN_GROUP: MQGET
    MQCMIT

Messages that are put in a unit of work cannot be got before MQCMIT (IBM MQ, topic q026790). So the group appears all
at once, and the queue manager needs room for all of it until then. With MQPMO_LOGICAL_ORDER the queue manager makes
the GroupId and counts MsgSeqNumber (topic q023060). The application only says that a message is in a group, and which
one is the last.

MQGMO_ALL_MSGS_AVAILABLE makes the getter wait until the whole group is on the queue. That matters for groups that
arrive in parts, over a network or from several units of work. It applies to the first message of a group only: inside
a group, with MQGMO_LOGICAL_ORDER, it is ignored. GroupStatus is in version 2 of MQGMO, GroupId and MsgFlags are in
version 2 of MQMD. pymqi makes version 1 by default, in which the group fields are missing.

With mqgroups: ``group_producer(queue, name=..., commit_every=N)`` with an N larger than the group puts it in one unit
of work; ``group_consumer(queue, name=..., commit_every=N, complete_groups_only=True)`` gets it in one.
"""

import os
import sys

import pymqi
from pymqi import CMQC

QUEUE = sys.argv[1] if len(sys.argv) > 1 else "RECIPES.ORDERS"
ORDERS = [b"order %d" % number for number in range(1, 5)]

# disconnect_on_exit=False: MQDISC commits, and pymqi would call it when an exception ends the program.
q_mgr = pymqi.QueueManager(None, disconnect_on_exit=False)
q_mgr.connect_with_options(
    os.environ.get("MQGROUPS_Q_MGR_NAME", "QM1"), user=os.environ.get("MQ_USER"), password=os.environ.get("MQ_PASSWORD")
)

# --- the putter

queue = pymqi.Queue(q_mgr, QUEUE, CMQC.MQOO_OUTPUT)
for order in ORDERS:
    # A new MD for each message: the one of the last call has its MsgId, and would put a second message of that name.
    md = pymqi.MD(Version=CMQC.MQMD_VERSION_2, MsgFlags=CMQC.MQMF_MSG_IN_GROUP)
    if order is ORDERS[-1]:
        md.MsgFlags = CMQC.MQMF_LAST_MSG_IN_GROUP
    pmo = pymqi.PMO(Options=CMQC.MQPMO_LOGICAL_ORDER | CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_FAIL_IF_QUIESCING)
    queue.put(order, md, pmo)
    print("MQPUT", md.MsgSeqNumber, order.decode())
q_mgr.commit()
print("MQCMIT")
queue.close()

# --- the getter

queue = pymqi.Queue(q_mgr, QUEUE, CMQC.MQOO_INPUT_SHARED)
options = (
    CMQC.MQGMO_SYNCPOINT
    | CMQC.MQGMO_WAIT
    | CMQC.MQGMO_ALL_MSGS_AVAILABLE
    | CMQC.MQGMO_LOGICAL_ORDER
    | CMQC.MQGMO_FAIL_IF_QUIESCING
)
group_status = CMQC.MQGS_MSG_IN_GROUP
while group_status == CMQC.MQGS_MSG_IN_GROUP:
    md = pymqi.MD(Version=CMQC.MQMD_VERSION_2)
    # The default match options would ask for the MsgId and CorrelId in the MD.
    gmo = pymqi.GMO(Version=CMQC.MQGMO_VERSION_2, Options=options, MatchOptions=CMQC.MQMO_NONE, WaitInterval=30_000)
    # A length: without one pymqi tries with 4096 bytes, and makes a second MQGET for a longer message.
    order = queue.get(1_000_000, md, gmo)
    group_status = gmo.GroupStatus
    print("MQGET", md.MsgSeqNumber, order.decode(), "GroupStatus", chr(group_status))
q_mgr.commit()
print("MQCMIT")
queue.close()
q_mgr.disconnect()
