"""Get a message group in several units of work, with a STATUS queue (IBM MQ, topic q026290).

    do
        do          MQGET   GMO.Options = MQGMO_SYNCPOINT | MQGMO_WAIT | MQGMO_LOGICAL_ORDER | MQGMO_COMPLETE_MSG
        while GroupStatus == MQGS_MSG_IN_GROUP and msgs < 4
        not at first MQGET  from STATUS queue, GMO.Options = MQGMO_SYNCPOINT
        not at last  MQPUT  StatusInfo (GroupId, MsgSeqNumber from MQMD) to STATUS queue, PMO.Options = MQPMO_SYNCPOINT
        MQCMIT, msgs = 0
    while GroupStatus == MQGS_MSG_IN_GROUP

A getter does not wait for the end of the group, and messages that it has got and committed free their room. Every
message is got in syncpoint: outside syncpoint a message is lost with the reply. After MQCMIT the first messages of
the group are gone for good, so the group of a dead getter must be resumed, not repeated: see e_restart_get.py.

Two corrections of IBM's text: it tests GroupStatus before any message was got, but the first MQGET must come before
the test, and counts. And it gets the old status message in the first unit of work, when there is none.

MQGMO_COMPLETE_MSG reassembles a message that a putter or the queue manager has segmented. Without it MsgSeqNumber
alone does not give the position in the group; StatusInfo needs Offset too (g_segments_in_a_group.py).

MQGMO_ALL_MSGS_AVAILABLE is left out deliberately, because it would wait for the end of the group.

An empty STATUS queue does not prove that there is no StatusInfo: see b_put_across_units_of_work.py. For a getter this
is worse. If its StatusInfo is hidden and it begins another group, no getter ever sees the rest of the first group in
logical order.

With mqgroups: ``group_consumer(queue, name=..., commit_every=4)``, ``for group in consumer: for message in group:
...``. A message counts as processed when the application asks for the next one.

With DIE_AFTER=6 this program ends with SIGKILL after the sixth MQGET.
"""

import json
import os
import signal
import sys

import pymqi
from pymqi import CMQC

QUEUE, STATUS = sys.argv[1:] or ["RECIPES.ORDERS", "RECIPES.STATUS"]
MESSAGES_IN_UNIT_OF_WORK = 4
DIE_AFTER = int(os.environ.get("DIE_AFTER", "0"))
STATUS_WAIT_MS = 500

q_mgr = pymqi.QueueManager(None, disconnect_on_exit=False)
q_mgr.connect_with_options(
    os.environ.get("MQGROUPS_Q_MGR_NAME", "QM1"), user=os.environ.get("MQ_USER"), password=os.environ.get("MQ_PASSWORD")
)
queue = pymqi.Queue(q_mgr, QUEUE, CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_NO_READ_AHEAD)
status_queue = pymqi.Queue(q_mgr, STATUS, CMQC.MQOO_INPUT_EXCLUSIVE | CMQC.MQOO_OUTPUT | CMQC.MQOO_BROWSE)

# There should be no status message at this point. That of a getter that has just died may be hidden: give it time to reappear.
status_gmo = pymqi.GMO(
    Options=CMQC.MQGMO_BROWSE_FIRST | CMQC.MQGMO_WAIT | CMQC.MQGMO_FAIL_IF_QUIESCING, WaitInterval=STATUS_WAIT_MS
)
try:
    status_queue.get(1_000, pymqi.MD(), status_gmo)
except pymqi.MQMIError as error:
    if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
        raise
else:
    sys.exit(f"{STATUS} is not empty: an interrupted group is to be resumed, by e_restart_get.py")

options = (
    CMQC.MQGMO_SYNCPOINT
    | CMQC.MQGMO_WAIT
    | CMQC.MQGMO_LOGICAL_ORDER
    | CMQC.MQGMO_COMPLETE_MSG
    | CMQC.MQGMO_FAIL_IF_QUIESCING
)
msgs = 0  # counts messages retrieved within the unit of work
status_message = False
group_status = CMQC.MQGS_MSG_IN_GROUP
while group_status == CMQC.MQGS_MSG_IN_GROUP:
    md = pymqi.MD(Version=CMQC.MQMD_VERSION_2)
    gmo = pymqi.GMO(Version=CMQC.MQGMO_VERSION_2, Options=options, MatchOptions=CMQC.MQMO_NONE, WaitInterval=30_000)
    order = queue.get(1_000_000, md, gmo)
    msgs += 1
    group_status = gmo.GroupStatus
    # Process this message: in the same unit of work, or in a way that can be repeated after a restart.
    print("MQGET", md.MsgSeqNumber, order.decode())
    if md.MsgSeqNumber == DIE_AFTER:
        print("SIGKILL", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if group_status == CMQC.MQGS_MSG_IN_GROUP and msgs < MESSAGES_IN_UNIT_OF_WORK:
        continue

    # The last message of the group, or of the unit of work.
    if status_message:
        status_gmo = pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_NO_WAIT | CMQC.MQGMO_FAIL_IF_QUIESCING)
        status_queue.get(1_000, pymqi.MD(), status_gmo)
    if group_status == CMQC.MQGS_MSG_IN_GROUP:
        status_info = {"GroupId": md.GroupId.hex(), "MsgSeqNumber": md.MsgSeqNumber}
        status_md = pymqi.MD(Format=CMQC.MQFMT_STRING, Persistence=CMQC.MQPER_PERSISTENT)
        status_pmo = pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_FAIL_IF_QUIESCING)
        status_queue.put(json.dumps(status_info).encode(), status_md, status_pmo)
        print("StatusInfo", status_info["MsgSeqNumber"])
        status_message = True
    q_mgr.commit()
    print("MQCMIT")
    msgs = 0

queue.close()
status_queue.close()
q_mgr.disconnect()
