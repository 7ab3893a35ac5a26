"""Get a message group in several units of work, with a STATUS queue, and resume it after a crash (IBM MQ, "Putting and getting
a group that spans units of work").

    restart  MQGET   (from STATUS queue) GMO.Options = MQGMO_SYNCPOINT
             if Reason != MQRC_NO_MSG_AVAILABLE:
                     MQGET   GMO.Options = MQGMO_COMPLETE_MSG | MQGMO_SYNCPOINT | MQGMO_WAIT,
                             GMO.MatchOptions = MQMO_MATCH_GROUP_ID | MQMO_MATCH_MSG_SEQ_NUMBER,
                             MQMD.GroupId from StatusInfo, MQMD.MsgSeqNumber from StatusInfo plus 1
    do
        do          MQGET   GMO.Options = MQGMO_SYNCPOINT | MQGMO_WAIT | MQGMO_LOGICAL_ORDER | MQGMO_COMPLETE_MSG
        while GroupStatus == MQGS_MSG_IN_GROUP and msgs < 4
        not at first MQGET  from STATUS queue, GMO.Options = MQGMO_SYNCPOINT
        not at last  MQPUT  StatusInfo (GroupId, MsgSeqNumber from MQMD) to STATUS queue, PMO.Options = MQPMO_SYNCPOINT
        MQCMIT, msgs = 0
    while GroupStatus == MQGS_MSG_IN_GROUP

Every message is got in syncpoint: outside syncpoint a message is lost with the reply. After MQCMIT the first messages of the
group are gone for good, so the group of a dead getter must be resumed, not repeated.

Two corrections of IBM's text: it tests GroupStatus before any message was got, but the first MQGET must come before the test,
and counts. And it gets the old status message in the first unit of work, when there is none.

The first MQGET after a restart is without MQGMO_LOGICAL_ORDER. A new queue handle has no current group, and with the option only
the first message of a group can be got; that of this group is gone. For the same reason other getters do not see the rest of
the group in logical order: if StatusInfo is lost, the rest stays on the queue. MQMO_MATCH_MSG_SEQ_NUMBER selects the next
message; MQMO_MATCH_GROUP_ID alone would select the first one of the group on the queue.

MQGMO_COMPLETE_MSG reassembles a message that was segmented. Without it StatusInfo needs Offset too (segments_in_a_group.py).
MQGMO_ALL_MSGS_AVAILABLE would wait for the end of the group. At the restart it would wait for ever, because the group will
never be complete again.

The program opens the STATUS queue exclusively, and waits for that, as put_group.py does. The getter may have processed messages
of the unit of work that was backed out, with effects outside the queue manager. These effects are not backed out; processing
must allow for repetition.

With mqgroups: ``group_consumer(queue, name=..., commit_every=4)``, ``for group in consumer: for message in group: ...``. The
interrupted group comes first, and ``group.resume_from`` is the number of its messages that are processed and committed.

With DIE_AFTER=6 this program ends with SIGKILL after the sixth message; run it again and it resumes.
"""

import json
import os
import signal
import sys
import time

import pymqi
from pymqi import CMQC

QUEUE, STATUS = sys.argv[1:] or ["RECIPES.ORDERS", "RECIPES.STATUS"]
MESSAGES_IN_UNIT_OF_WORK = 4
STATUS_WAIT_MS = 500
DIE_AFTER = int(os.environ.get("DIE_AFTER", "0"))

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

options = (
    CMQC.MQGMO_COMPLETE_MSG
    | CMQC.MQGMO_SYNCPOINT
    | CMQC.MQGMO_WAIT
    | CMQC.MQGMO_FAIL_IF_QUIESCING
    | CMQC.MQGMO_NO_PROPERTIES
)
# For the first MQGET of normal processing.
md = pymqi.MD(Version=CMQC.MQMD_VERSION_2)
logical_order = CMQC.MQGMO_LOGICAL_ORDER
match_options = CMQC.MQMO_NONE

status_gmo = pymqi.GMO(
    Options=CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_WAIT | CMQC.MQGMO_FAIL_IF_QUIESCING | CMQC.MQGMO_NO_PROPERTIES,
    WaitInterval=STATUS_WAIT_MS,
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
    # A length: without one pymqi tries with 4096 bytes, and makes a second MQGET for a longer message.
    order = queue.get(1_000_000, md, gmo)
    msgs += 1
    group_status = gmo.GroupStatus
    print("MQGET", md.MsgSeqNumber, order.decode())
    if md.MsgSeqNumber == DIE_AFTER:
        print("SIGKILL", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    # Now normal processing is resumed.
    logical_order = CMQC.MQGMO_LOGICAL_ORDER
    match_options = CMQC.MQMO_NONE
    if group_status == CMQC.MQGS_MSG_IN_GROUP and msgs < MESSAGES_IN_UNIT_OF_WORK:
        continue

    if status_message:
        status_gmo = pymqi.GMO(
            Options=CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_NO_WAIT | CMQC.MQGMO_FAIL_IF_QUIESCING | CMQC.MQGMO_NO_PROPERTIES
        )
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
