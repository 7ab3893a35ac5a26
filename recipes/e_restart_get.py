"""Resume a group whose getter died: restart processing of the getter (IBM MQ, topic q026290).

    MQGET   (from STATUS queue) GMO.Options = MQGMO_SYNCPOINT
    if Reason == MQRC_NO_MSG_AVAILABLE: normal processing
    else    MQGET   GMO.Options = MQGMO_COMPLETE_MSG | MQGMO_SYNCPOINT | MQGMO_WAIT,
                    GMO.MatchOptions = MQMO_MATCH_GROUP_ID | MQMO_MATCH_MSG_SEQ_NUMBER,
                    MQMD.GroupId = value from Status message, MQMD.MsgSeqNumber = value from Status message plus 1
            then GMO.Options = MQGMO_COMPLETE_MSG | MQGMO_SYNCPOINT | MQGMO_WAIT | MQGMO_LOGICAL_ORDER as usual

The first MQGET is without MQGMO_LOGICAL_ORDER. A new queue handle has no current group, and with the option only the
first message of a group can be got; that of this group is gone. For the same reason other getters do not see the rest
of the group in logical order: if StatusInfo is lost, the rest stays on the queue.

The first MQGET is also without MQGMO_ALL_MSGS_AVAILABLE, even if normal processing uses it. On a call without
MQGMO_LOGICAL_ORDER it always applies, the group will never be complete again, and the MQGET would wait for ever.

MQMO_MATCH_MSG_SEQ_NUMBER selects the next message. MQMO_MATCH_GROUP_ID alone would select the first message of the
group on the queue, which need not be the next one.

The program opens the STATUS queue exclusively, and waits for that, as in d_restart_put.py. The getter may have
processed messages of the unit of work that was backed out, with effects outside the queue manager. These effects are
not backed out; processing must allow for repetition.

With mqgroups: use the same ``for group in consumer``. The interrupted group comes first, and ``group.resume_from`` is
the number of its messages that are processed and committed. ``group.set_checkpoint(...)`` commits a value of the
application.
"""

import json
import os
import sys
import time

import pymqi
from pymqi import CMQC

QUEUE, STATUS = sys.argv[1:] or ["RECIPES.ORDERS", "RECIPES.STATUS"]
MESSAGES_IN_UNIT_OF_WORK = 4
STATUS_WAIT_MS = 500

q_mgr = pymqi.QueueManager(None, disconnect_on_exit=False)
q_mgr.connect_with_options(
    os.environ.get("MQGROUPS_Q_MGR_NAME", "QM1"), user=os.environ.get("MQ_USER"), password=os.environ.get("MQ_PASSWORD")
)
queue = pymqi.Queue(q_mgr, QUEUE, CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_NO_READ_AHEAD)
while True:
    try:
        status_queue = pymqi.Queue(q_mgr, STATUS, CMQC.MQOO_INPUT_EXCLUSIVE | CMQC.MQOO_OUTPUT)
        break
    except pymqi.MQMIError as error:
        if error.reason != CMQC.MQRC_OBJECT_IN_USE:
            raise
        time.sleep(1)

options = CMQC.MQGMO_COMPLETE_MSG | CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_WAIT | CMQC.MQGMO_FAIL_IF_QUIESCING
# For the first MQGET of normal processing.
md = pymqi.MD(Version=CMQC.MQMD_VERSION_2)
logical_order = CMQC.MQGMO_LOGICAL_ORDER
match_options = CMQC.MQMO_NONE

status_gmo = pymqi.GMO(
    Options=CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_WAIT | CMQC.MQGMO_FAIL_IF_QUIESCING, WaitInterval=STATUS_WAIT_MS
)
try:
    status_info = json.loads(status_queue.get(1_000, pymqi.MD(), status_gmo))
    print("resuming after", status_info["MsgSeqNumber"])
    md.GroupId = bytes.fromhex(status_info["GroupId"])
    md.MsgSeqNumber = status_info["MsgSeqNumber"] + 1
    logical_order = 0
    match_options = CMQC.MQMO_MATCH_GROUP_ID | CMQC.MQMO_MATCH_MSG_SEQ_NUMBER
except pymqi.MQMIError as error:
    if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
        raise
    print("nothing to resume")
# Get the old status message before putting the next one; in the first unit of work it was got already, or there was none.
status_message = False

msgs = 0
group_status = CMQC.MQGS_MSG_IN_GROUP
while group_status == CMQC.MQGS_MSG_IN_GROUP:
    gmo = pymqi.GMO(
        Version=CMQC.MQGMO_VERSION_2, Options=options | logical_order, MatchOptions=match_options, WaitInterval=30_000
    )
    order = queue.get(1_000_000, md, gmo)
    msgs += 1
    group_status = gmo.GroupStatus
    print("MQGET", md.MsgSeqNumber, order.decode())
    # Now normal processing is resumed.
    logical_order = CMQC.MQGMO_LOGICAL_ORDER
    match_options = CMQC.MQMO_NONE
    if group_status == CMQC.MQGS_MSG_IN_GROUP and msgs < MESSAGES_IN_UNIT_OF_WORK:
        continue

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
