"""Tables of reason codes: sets of similar codes, and the remedies that error texts show.

Not here: IBM's names (``constants.py``), the classes of errors (``errors.py``), and when to retry (``connection/retry.py``).
"""

from __future__ import annotations

from mqgroups.mqi import constants as mq

# The handle does not belong to this process and thread. If a process was forked after an MQI call of its parent, it cannot get a
# handle of its own (IBM MQ, "The fork system call in UNIX and Linux systems").
NOT_OURS = frozenset({mq.MQRC_HCONN_ERROR, mq.MQRC_ENVIRONMENT_ERROR})
# The connection can no longer be used, or was not made.
CONNECTION_BROKEN = NOT_OURS | frozenset(
    {
        mq.MQRC_CONNECTION_BROKEN,
        mq.MQRC_Q_MGR_NOT_AVAILABLE,
        mq.MQRC_Q_MGR_QUIESCING,
        mq.MQRC_Q_MGR_STOPPING,
        mq.MQRC_CONNECTION_QUIESCING,
        mq.MQRC_CONNECTION_STOPPING,
        mq.MQRC_CHANNEL_NOT_AVAILABLE,
        mq.MQRC_HOST_NOT_AVAILABLE,
    }
)
# Close the handle, open the object again, and retry (IBM MQ, "MQRC_OBJECT_CHANGED").
HANDLE_LOST = frozenset({mq.MQRC_HOBJ_ERROR, mq.MQRC_OBJECT_CHANGED, mq.MQRC_Q_DELETED})
INHIBITED = frozenset({mq.MQRC_GET_INHIBITED, mq.MQRC_PUT_INHIBITED})
# Messages cannot be put to or got from the queue for now.
QUEUE_UNAVAILABLE = (
    HANDLE_LOST | INHIBITED | {mq.MQRC_Q_FULL, mq.MQRC_Q_SPACE_NOT_AVAILABLE, mq.MQRC_STORAGE_MEDIUM_FULL}
)
MESSAGE_TOO_LONG = frozenset(
    {
        mq.MQRC_DATA_LENGTH_ERROR,
        mq.MQRC_MSG_TOO_BIG_FOR_Q,
        mq.MQRC_MSG_TOO_BIG_FOR_Q_MGR,
        mq.MQRC_MSG_TOO_BIG_FOR_CHANNEL,
    }
)
# A later start may succeed although nobody corrects anything. A wrong address is included, because it looks like a queue manager
# that is not running. 2085, 2082 and 2087 are not, because they clear up only during REFRESH CLUSTER (``retry.NO_ROOM``).
CLEARS_UP = (CONNECTION_BROKEN - NOT_OURS) | QUEUE_UNAVAILABLE
CLEARS_UP |= {
    mq.MQRC_MAX_CONNS_LIMIT_REACHED,
    mq.MQRC_STANDBY_Q_MGR,
    mq.MQRC_OBJECT_IN_USE,
    mq.MQRC_CALL_INTERRUPTED,
    mq.MQRC_BACKED_OUT,
    mq.MQRC_RESOURCE_PROBLEM,
    mq.MQRC_STORAGE_NOT_AVAILABLE,
    mq.MQRC_CLUSTER_PUT_INHIBITED,
    mq.MQRC_CLUSTER_RESOLUTION_ERROR,
    mq.MQRC_NO_DESTINATIONS_AVAILABLE,
}
# The queue manager does not join segments of different character sets or encodings, and returns only a part of the message.
SEGMENTS_DIFFER = frozenset({mq.MQRC_INCONSISTENT_CCSIDS, mq.MQRC_INCONSISTENT_ENCODINGS})
# MQCMIT may have committed although it returned one of these codes (IBM MQ, "MQRC_CONNECTION_BROKEN", and so on).
COMMIT_OUTCOME_UNKNOWN = frozenset(
    {
        mq.MQRC_CONNECTION_BROKEN,
        mq.MQRC_Q_MGR_STOPPING,
        mq.MQRC_CONNECTION_STOPPING,
        mq.MQRC_CALL_INTERRUPTED,
    }
)

_CLUSTER = (
    "The queue manager knows no instance of this cluster queue at the moment. Is REFRESH CLUSTER under way? Otherwise DISPLAY "
    "QCLUSTER shows what it knows, and the channels to the full repositories must run"
)
_NO_WAY = (
    "There is no way to the queue manager that has this queue. Check RNAME, RQMNAME and XMITQ of the remote queue, or "
    "DEFXMITQ: messages need a local queue with USAGE(XMITQ) and a channel. Or connect to that queue manager"
)
_HANDLE_LOST = (
    "An administrator has changed or deleted the queue while it was open (ALTER ... FORCE, DELETE), or refreshes the cluster "
    "(REFRESH CLUSTER). Wait until that has ended; the group resumes at its last commit. If it does not end, find out which "
    "program or script does it again and again"
)
_SEGMENTS_DIFFER = (
    "A message has segments of different character sets or encodings, so the queue manager does not join them. Make the "
    "consumer with stream=True, which gets them one by one; or find its group with `mqgroups groups`, and move it with "
    "`mqgroups salvage move`"
)
_SHORTER = "or let a producer, not a pipe, put the message in segments (segment_bytes), and get it with stream=True"
# Remedies by reason code, if the error's class has no remedy or a remedy that is too general.
REMEDIES: dict[int, str] = {
    mq.MQRC_ALIAS_BASE_Q_TYPE_ERROR: "The alias names an object that is not allowed there, such as an alias or a model queue. "
    "ALTER QALIAS(...) TARGET(...) to a local, remote or cluster queue; or wait, if REFRESH CLUSTER is under way",
    mq.MQRC_BACKED_OUT: "The queue manager has backed out the unit of work by itself; start again, and the group resumes at its "
    "last commit",
    mq.MQRC_ENVIRONMENT_ERROR: "A process that was forked after its parent's first MQI call gets this code for each call, as "
    'with gunicorn --preload, Celery, or multiprocessing "fork". Connect only after the fork, or start processes with '
    '"spawn". If '
    "nothing was forked: this client library does not support the call here, or is the wrong one (libmqic_r, libmqm_r)",
    mq.MQRC_HCONN_ERROR: "The connection handle is not valid in this thread: a handle does not survive its own MQDISC, and "
    "serves other threads only if it was connected with MQCNO_HANDLE_SHARE_BLOCK. Connect again",
    mq.MQRC_HANDLE_NOT_AVAILABLE: "The connection has as many open handles as MAXHANDS allows: close producers and "
    "consumers that are no longer needed, give others a connection of their own, or ALTER QMGR MAXHANDS(...)",
    mq.MQRC_SECURITY_ERROR: "The queue manager could not check user and password; its error log says why",
    mq.MQRC_PMO_ERROR: "The queue manager does not take these put options. Report it, with its version and platform",
    mq.MQRC_CLUSTER_PUT_INHIBITED: "All instances of the cluster queue are inhibited for puts: ALTER one to PUT(ENABLED), unless "
    "somebody protects them",
    mq.MQRC_Q_INDEX_TYPE_ERROR: "On z/OS a queue for groups needs an index: ALTER QLOCAL(...) INDXTYPE(GROUPID), with the queue "
    "empty or no uncommitted messages on it. No message is lost; those that were put can be got after that",
    mq.MQRC_Q_SPACE_NOT_AVAILABLE: "The queue's file cannot grow: raise MAXFSIZE of the queue, free space on the queue manager's "
    "disk, or start the queue's readers",
    mq.MQRC_NOT_AUTHORIZED: "The user may not do this",
    mq.MQRC_UNKNOWN_OBJECT_NAME: "Define the queue (`mqgroups mqsc status --queue NAME` prints the definitions), or "
    "correct its name (queue names are case-sensitive). "
    "To get from a cluster queue, connect to a queue manager that has an instance of it",
    mq.MQRC_UNKNOWN_ALIAS_BASE_Q: "The queue that this alias names (TARGET) does not exist, or is not known in the cluster; "
    "define it, or ALTER QALIAS(...) TARGET(...)",
    **dict.fromkeys(
        (
            mq.MQRC_UNKNOWN_REMOTE_Q_MGR,
            mq.MQRC_XMIT_Q_TYPE_ERROR,
            mq.MQRC_XMIT_Q_USAGE_ERROR,
            mq.MQRC_REMOTE_Q_NAME_ERROR,
            mq.MQRC_UNKNOWN_XMIT_Q,
            mq.MQRC_UNKNOWN_DEF_XMIT_Q,
            mq.MQRC_DEF_XMIT_Q_TYPE_ERROR,
            mq.MQRC_DEF_XMIT_Q_USAGE_ERROR,
        ),
        _NO_WAY,
    ),
    mq.MQRC_CLUSTER_RESOLUTION_ERROR: _CLUSTER,
    mq.MQRC_NO_DESTINATIONS_AVAILABLE: _CLUSTER,
    mq.MQRC_OPTION_NOT_VALID_FOR_TYPE: "This kind of queue cannot be opened like this; name a local queue, or an alias of one",
    mq.MQRC_DYNAMIC_Q_NAME_ERROR: "This is a model queue, which holds no messages; name a local queue. If a queue was to be made "
    "from it, the name of that queue is not valid",
    mq.MQRC_Q_MGR_NAME_ERROR: "There is no queue manager of this name at that address; correct the name",
    mq.MQRC_Q_MGR_NOT_AVAILABLE: "Check that the queue manager and its listener are running, and that the channel is available",
    mq.MQRC_HOST_NOT_AVAILABLE: "Nothing answers at that address; check the connection name, 'host(port)', and the listener",
    mq.MQRC_CHANNEL_NOT_AVAILABLE: "The channel is stopped or has no free instance; ask the operator of the queue manager",
    mq.MQRC_UNKNOWN_CHANNEL_NAME: "Define the server-connection channel, or correct its name",
    mq.MQRC_CD_ERROR: "A value of the channel is not valid: compare channel, conn_name ('host(port)'), cipher_spec and peer_name "
    "with its definition. The client's error log says which one",
    mq.MQRC_CHANNEL_CONFIG_ERROR: "Client and queue manager do not agree on the channel: compare its definition with the "
    "client's, and check qm.ini and mqclient.ini. The error logs of both have the cause",
    mq.MQRC_KEY_REPOSITORY_ERROR: "Check key_repository (or MQSSLKEYR) and its password: the path, the file permissions, the "
    "stash file beside it",
    mq.MQRC_SSL_INITIALIZATION_ERROR: "TLS could not be set up; the client's error log says why",
    mq.MQRC_SSL_PEER_NAME_MISMATCH: "The name in the queue manager's certificate does not match peer_name",
    mq.MQRC_RESOURCE_PROBLEM: "The queue manager lacks a resource, often room in its log; its error log says which. Long "
    "units of work fill a log: commit more often, or after a time (Every(seconds=))",
    mq.MQRC_Q_FULL: "Raise its MAXDEPTH, or, unless it is a status queue, start its readers",
    mq.MQRC_STORAGE_MEDIUM_FULL: "The queue manager's storage is full; free space",
    mq.MQRC_GET_INHIBITED: "ALTER the queue to GET(ENABLED), unless somebody protects it",
    mq.MQRC_PUT_INHIBITED: "ALTER the queue to PUT(ENABLED), unless somebody protects it",
    **dict.fromkeys(HANDLE_LOST, _HANDLE_LOST),
    mq.MQRC_DATA_LENGTH_ERROR: "Raise MAXMSGL of the server-connection channel, and of the queue manager if it is "
    f"less, {_SHORTER}",
    mq.MQRC_MSG_TOO_BIG_FOR_Q: f"Raise MAXMSGL of the queue, {_SHORTER}",
    mq.MQRC_MSG_TOO_BIG_FOR_Q_MGR: f"Raise MAXMSGL of the queue manager, {_SHORTER}",
    mq.MQRC_MSG_TOO_BIG_FOR_CHANNEL: "Raise MAXMSGL of the channel to the queue manager that has the queue, at both ends, "
    f"{_SHORTER}",
    mq.MQRC_TRUNCATED_MSG_FAILED: "Raise max_message_length of the consumer; or make it with stream=True, if the message was put "
    "in segments",
    mq.MQRC_MSG_NOT_ALLOWED_IN_GROUP: "Groups and segments cannot be published, and a trace-route message cannot be in a group. "
    "If the name leads to a topic (an alias with TARGTYPE(TOPIC)), name a queue",
    mq.MQRC_SEGMENTATION_NOT_ALLOWED: "This queue manager takes no properties on segments. Put the message whole (not as a "
    "stream, and without segment_bytes), put it without properties, or put the properties with another message of the group; "
    "`mqgroups send` needs --records lines or bytes:N",
    mq.MQRC_SYNCPOINT_LIMIT_REACHED: "Make commit_every smaller, or raise the queue manager's MAXUMSGS",
    **dict.fromkeys(SEGMENTS_DIFFER, _SEGMENTS_DIFFER),
    mq.MQRC_RECONNECT_INCOMPATIBLE: "Message groups need a connection that is not reconnectable: connect with "
    "MQCNO_RECONNECT_DISABLED, or use mqgroups.connect",
    mq.MQRC_CCDT_URL_ERROR: "The channel definition table cannot be read; check ccdt_url or MQCCDTURL",
    mq.MQRC_FUNCTION_NOT_SUPPORTED: "This queue manager does not support the call",
}

# The remedy for MQRC_Q_MGR_NAME_ERROR if the application gave no address.
NO_ADDRESS = (
    "No address was given (conn_name), and then MQSERVER or a channel definition table must name one: check that it is set. If "
    "it is, there is no queue manager of this name there; correct the name"
)

# The remedies for MQCONNX with a channel definition table: for MQRC_Q_MGR_NAME_ERROR, and MQRC_FUNCTION_NOT_SUPPORTED.
NOT_IN_TABLE = (
    "The channel definition table has no definition for this name (queueManager), or it leads to another queue manager; names "
    "are case-sensitive"
)
TABLE_NOT_SUPPORTED = (
    "The client does not support this kind of channel definition table; try one in JSON, in a file (file: URL)"
)
