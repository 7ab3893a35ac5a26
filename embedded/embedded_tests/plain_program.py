"""A pymqi program as anybody writes one: it imports nothing else, and would run on IBM MQ. Run by test_plain_program.py.

Administers a queue by PCF, browses under a lock, sets and inquires message properties, and lets the queue manager segment a
message. Prints what it saw.
"""

import os

import pymqi
from pymqi import CMQC

QUEUE = "PLAIN.PROGRAM"

qmgr = pymqi.connect(os.environ["MQGROUPS_Q_MGR_NAME"], "DEV.APP.SVRCONN", os.environ["MQGROUPS_CONN_NAME"])
pcf = pymqi.PCFExecute(qmgr)
print("pinged:", pcf.MQCMD_PING_Q_MGR())

# Create and inquire a queue whose longest message has 4,096 bytes.
pcf.MQCMD_CREATE_Q(
    {
        CMQC.MQCA_Q_NAME: QUEUE.encode(),
        CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL,
        CMQC.MQIA_MAX_MSG_LENGTH: 4096,
        CMQC.MQCA_Q_DESC: b"a plain program's",
    }
)
found = pcf.MQCMD_INQUIRE_Q({CMQC.MQCA_Q_NAME: b"PLAIN.*", CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL})
print("inquired:", [(q[CMQC.MQCA_Q_NAME].decode().strip(), q[CMQC.MQIA_MAX_MSG_LENGTH]) for q in found])

# Browse the first of two messages under a lock; a second handle cannot take it, and takes the other one.
queue = pymqi.Queue(qmgr, QUEUE, CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_INQUIRE)
queue.put(b"first")
queue.put(b"second")
browsing = pymqi.Queue(qmgr, QUEUE, CMQC.MQOO_BROWSE | CMQC.MQOO_INPUT_SHARED)
print("browsed:", browsing.get(100, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_BROWSE_FIRST | CMQC.MQGMO_LOCK)))
print("the other handle got:", queue.get(100))
try:
    queue.get(100)
except pymqi.MQMIError as error:
    print("the other handle then got:", error.errorAsString())
print("taken under the cursor:", browsing.get(100, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_MSG_UNDER_CURSOR)))
browsing.close()

# Two properties go with a message and come back.
sent = pymqi.MessageHandle(qmgr)
sent.properties.set(b"carrier", "UA")
sent.properties.set(b"delay", 17, property_type=CMQC.MQTYPE_INT32, value_length=4)
queue.put(
    b"with properties", pymqi.MD(Version=2), pymqi.PMO(Version=CMQC.MQPMO_VERSION_3, OriginalMsgHandle=sent.msg_handle)
)
received = pymqi.MessageHandle(qmgr)
gmo = pymqi.GMO(Version=CMQC.MQGMO_VERSION_4, Options=CMQC.MQGMO_PROPERTIES_IN_HANDLE, MsgHandle=received.msg_handle)
data = queue.get(100, pymqi.MD(Version=2), gmo)
print("with properties:", data, received.properties.get(b"carrier"), received.properties.get(b"delay"))

# 10,000 bytes on a queue of 4,096: the queue manager makes segments, one after the other as they are, or one message again.
long_one = bytes(number % 251 for number in range(10_000))
md = pymqi.MD(Version=2, MsgFlags=CMQC.MQMF_SEGMENTATION_ALLOWED)
syncpoint = pymqi.PMO(Version=2, Options=CMQC.MQPMO_SYNCPOINT)
for _ in range(2):
    queue.put(long_one, pymqi.MD(Version=2, MsgFlags=CMQC.MQMF_SEGMENTATION_ALLOWED), syncpoint)
qmgr.commit()
print("depth:", queue.inquire(CMQC.MQIA_CURRENT_Q_DEPTH))
pieces = []
for _ in range(3):
    md = pymqi.MD(Version=2)
    gmo = pymqi.GMO(Version=2, Options=CMQC.MQGMO_LOGICAL_ORDER, MatchOptions=CMQC.MQMO_NONE)
    pieces.append(queue.get(4096, md, gmo))
    print("segment:", md.Offset, len(pieces[-1]), chr(gmo.SegmentStatus))
print("the segments are the message:", b"".join(pieces) == long_one)
gmo = pymqi.GMO(Version=2, Options=CMQC.MQGMO_COMPLETE_MSG | CMQC.MQGMO_SYNCPOINT, MatchOptions=CMQC.MQMO_NONE)
print("reassembled:", queue.get(20_000, pymqi.MD(Version=2), gmo) == long_one)
qmgr.commit()
queue.close()

pcf.MQCMD_DELETE_Q({CMQC.MQCA_Q_NAME: QUEUE.encode(), CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL})
try:
    pcf.MQCMD_INQUIRE_Q({CMQC.MQCA_Q_NAME: QUEUE.encode()})
except pymqi.MQMIError as error:
    print("deleted:", error.errorAsString())
pcf.disconnect()
qmgr.disconnect()
