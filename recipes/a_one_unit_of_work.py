"""Put a message group in one unit of work, and get it in one: the simple case.

    MQPUT   PMO.Options = MQPMO_LOGICAL_ORDER | MQPMO_SYNCPOINT     MD.MsgFlags = MQMF_MSG_IN_GROUP, ...
    MQCMIT
    MQGET   GMO.Options = MQGMO_SYNCPOINT | MQGMO_WAIT | MQGMO_ALL_MSGS_AVAILABLE | MQGMO_LOGICAL_ORDER
    do while GroupStatus == MQGS_MSG_IN_GROUP: MQGET
    MQCMIT

What a unit of work puts, nobody can get before MQCMIT (IBM MQ, topic q026790). So the group appears all at once, and
needs room for all of it until then. MQPMO_LOGICAL_ORDER lets the queue manager make the GroupId and count MsgSeqNumber
(topic q023060); the application says only where a message belongs, and which one is the last.

MQGMO_ALL_MSGS_AVAILABLE makes the getter wait until the whole group is there; it matters for groups that arrive in
pieces, over a network or from several units of work. It counts at the first message of a group alone: inside one,
with MQGMO_LOGICAL_ORDER, it is ignored. GroupStatus is in version 2 of MQGMO, GroupId and MsgFlags in version 2 of MQMD;
pymqi makes version 1 unless told, and then a group does not seem to be one.

With mqgroups: ``group_producer(queue, name=..., commit_every=N)`` with an N that the group does not reach is one unit of work;
on the other side ``group_consumer(queue, name=..., commit_every=N, complete_groups_only=True)``.
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
