"""The messages of tasks and removers: the sign that a bundle was read, and the note that the beginning of a group is gone.

``manifests.py`` describes these messages. The code is here because tasks import this module, but not the driver's modules.
"""

from __future__ import annotations

import json
from typing import Any

from mqgroups.connection.connection import Connection
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.spark.offsets import Key
from mqgroups.status.writer import writer

VERSION = 2
# The MsgId of a sign consists of the manifest's identifier (16 bytes) and the number of the bundle.
_NUMBER_BYTES = 8
# This is added to the number of the bundle in the MsgId of a note.
NOTES = 1 << 32
_SIGN_OPEN_OPTIONS = mq.MQOO_BROWSE | mq.MQOO_OUTPUT | mq.MQOO_FAIL_IF_QUIESCING | mq.MQOO_NO_READ_AHEAD
_SIGN_PUT = st.pmo(mq.MQPMO_NO_SYNCPOINT | mq.MQPMO_SYNC_RESPONSE | mq.MQPMO_FAIL_IF_QUIESCING)
_NOTE_OPEN_OPTIONS = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT | mq.MQOO_FAIL_IF_QUIESCING | mq.MQOO_NO_READ_AHEAD
_NOTE_PUT = st.pmo(mq.MQPMO_SYNCPOINT | mq.MQPMO_SYNC_RESPONSE | mq.MQPMO_FAIL_IF_QUIESCING)
_DESCRIPTOR = mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING | mq.MQGMO_ACCEPT_TRUNCATED_MSG
_BY_IDS = mq.MQMO_MATCH_MSG_ID | mq.MQMO_MATCH_CORREL_ID
LOOK = st.gmo(_DESCRIPTOR | mq.MQGMO_BROWSE_FIRST, match_options=_BY_IDS)
DELETE = st.gmo(_DESCRIPTOR | mq.MQGMO_SYNCPOINT, match_options=_BY_IDS)


def note_of(manifest: str, bundle: int, key: Key) -> tuple[bytes, bytes]:
    """Return MsgId and data of the note that the beginning of a group of this bundle is gone."""
    return msg_id_of(manifest, NOTES + bundle), message(manifest, begun=str(key))


def sign_of(manifest: str, bundle: int) -> tuple[bytes, bytes]:
    """Return MsgId and data of the sign that a task has read this bundle to its end."""
    return msg_id_of(manifest, bundle), message(manifest, read=bundle)


def message(manifest: str, **what: Any) -> bytes:
    said = {"v": VERSION, "by": writer(), "manifest": manifest}
    return json.dumps(said | what, separators=(",", ":")).encode()


def msg_id_of(manifest: str, number: int) -> bytes:
    return bytes.fromhex(manifest) + number.to_bytes(_NUMBER_BYTES, "big")


def put_sign(connection: Connection, status_queue: str, source: str, manifest: str, bundle: int) -> None:
    """Put the sign that a bundle of a manifest was read, if it is not on the queue yet. This runs in a task. Raises MQIError."""
    msg_id, data = sign_of(manifest, bundle)
    correl_id = bytes.fromhex(source)

    def put() -> None:
        queue = connection.open_queue(status_queue, _SIGN_OPEN_OPTIONS)
        try:
            if queue.get_descriptor(st.md(msg_id=msg_id, correl_id=correl_id), LOOK) is None:
                md = st.md(format_name=mq.MQFMT_STRING, ccsid=1208, msg_id=msg_id, correl_id=correl_id)
                queue.put(md, _SIGN_PUT, data)
        finally:
            queue.close()

    connection.reopening(put)


def put_note(status_queue: str, source: str, manifest: str, bundle: int, connection: Connection, key: Key) -> None:
    """Put the note that a group's beginning is gone, in syncpoint, and delete the bundle's earlier note. Raises MQIError."""
    msg_id, data = note_of(manifest, bundle, key)
    correl_id = bytes.fromhex(source)
    queue = connection.open_queue(status_queue, _NOTE_OPEN_OPTIONS)
    try:
        queue.get_descriptor(st.md(msg_id=msg_id, correl_id=correl_id), DELETE)
        md = st.md(format_name=mq.MQFMT_STRING, ccsid=1208, msg_id=msg_id, correl_id=correl_id)
        queue.put(md, _NOTE_PUT, data)
    finally:
        queue.close()
