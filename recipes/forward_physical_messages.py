"""Forward physical messages in order of arrival, with groups and segments unchanged (IBM MQ, "Logical and physical ordering",
MQPMO_LOGICAL_ORDER).

    MQGET   GMO.Options = MQGMO_SYNCPOINT, without MQGMO_LOGICAL_ORDER and MQGMO_COMPLETE_MSG
    MQPUT   PMO.Options = MQPMO_SYNCPOINT, without MQPMO_LOGICAL_ORDER, with the MQMD that MQGET returned
    MQCMIT

In logical order the forwarder would wait for the next message of each group, which may be late or arrive by another route. And
MQPMO_LOGICAL_ORDER would give the group a new GroupId, under which other programs cannot find it. Without the option the queue
manager uses GroupId, MsgSeqNumber, Offset and MsgFlags from the MQMD unchanged. MsgId and CorrelId are kept, because
MQPMO_NEW_MSG_ID is not given; so are Persistence, Priority and the rest of Expiry. UserIdentifier, PutDate and the rest of the
context become the forwarder's. To keep them, use MQPMO_PASS_ALL_CONTEXT, with MQOO_SAVE_ALL_CONTEXT and MQOO_PASS_ALL_CONTEXT
at MQOPEN, and the authority for it. Report is cleared: the queue manager would make reports with the authority of the forwarder
(IBM MQ, "Message context"), for a queue that the sender names.

Get and put are in one unit of work, so a message is always on exactly one of the two queues. The messages are on the
second queue in their order of arrival on the first, and a getter that uses logical order gets whole groups from it. A
restart of this program needs no status information, because it continues single messages, not a group.

With mqgroups: ``mqgroups salvage move`` moves one group to another queue in this way. Otherwise mqgroups puts and
gets in logical order.

To have messages to forward, run segments_in_a_group.py first.
"""

import os
import sys

import pymqi
from pymqi import CMQC

QUEUE, FORWARDED = sys.argv[1:] or ["RECIPES.ORDERS", "RECIPES.FORWARDED"]

q_mgr = pymqi.QueueManager(None, disconnect_on_exit=False)
q_mgr.connect_with_options(
    os.environ.get("MQGROUPS_Q_MGR_NAME", "QM1"), user=os.environ.get("MQ_USER"), password=os.environ.get("MQ_PASSWORD")
)
queue = pymqi.Queue(q_mgr, QUEUE, CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_NO_READ_AHEAD)
# In a cluster all segments and messages of a group must go to one instance. Here only MQOO_BIND_ON_OPEN ensures that:
# MQOO_BIND_ON_GROUP needs MQPMO_LOGICAL_ORDER (IBM MQ, "MQOPEN and clusters").
forwarded = pymqi.Queue(q_mgr, FORWARDED, CMQC.MQOO_OUTPUT | CMQC.MQOO_BIND_ON_OPEN)

while True:
    # Version 2: in version 1 the group fields would come as an MQMDE in front of the data.
    md = pymqi.MD(Version=CMQC.MQMD_VERSION_2)
    gmo = pymqi.GMO(
        Version=CMQC.MQGMO_VERSION_2,
        Options=CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_NO_WAIT | CMQC.MQGMO_FAIL_IF_QUIESCING,
        MatchOptions=CMQC.MQMO_NONE,
    )
    try:
        data = queue.get(1_000_000, md, gmo)
    except pymqi.MQMIError as error:
        if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
            raise
        break
    md.Report = CMQC.MQRO_NONE
    forwarded.put(data, md, pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_FAIL_IF_QUIESCING))
    q_mgr.commit()
    print("forwarded", md.MsgSeqNumber, "Offset", md.Offset, data.decode())

queue.close()
forwarded.close()
q_mgr.disconnect()
