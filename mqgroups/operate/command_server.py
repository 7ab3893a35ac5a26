"""Asks a queue manager's command server, in PCF over an ordinary connection, for facts that the MQI does not return.

The MQI does not list queues. It also does not show messages that were got and not committed, because they cannot be browsed and
CURDEPTH does not count them (IBM MQ, "CurrentQDepth"). The command server returns both facts to users who are allowed to put to
its queue. These are usually administrators, so callers must work without an answer. If the command server cannot be asked or
does not answer, functions raise CommandRefused. If the connection is lost, they raise ConnectionBroken.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from mqgroups.connection.connection import Connection
from mqgroups.errors import CommandRefused, ConnectionBroken, MQIError
from mqgroups.mqi import constants as mq
from mqgroups.mqi import pcf
from mqgroups.mqi import structures as st
from mqgroups.operate.rules.owner_state import Holder

_COMMAND_QUEUE = "SYSTEM.ADMIN.COMMAND.QUEUE"
_ZOS_COMMAND_QUEUE = "SYSTEM.COMMAND.INPUT"
_REPLY_MODEL = "SYSTEM.DEFAULT.MODEL.QUEUE"
# If no queue matches a pattern, the response is empty or has one of these reasons, depending on command and platform.
_NOTHING_FOUND = frozenset({mq.MQRC_UNKNOWN_OBJECT_NAME, pcf.MQRCCF_Q_STATUS_NOT_FOUND})
_OF_HOLDER = (pcf.MQCACF_APPL_TAG, pcf.MQCACH_CONNECTION_NAME, pcf.MQCACF_USER_IDENTIFIER, pcf.MQCACH_CHANNEL_NAME)
# How long to wait for each response. Callers can do without an answer.
_PATIENCE_MS = 5_000


class PCFClient:
    """A client of the command server. It receives responses on a temporary queue, which is deleted with the connection."""

    def __init__(self, connection: Connection) -> None:
        """Open the queue of the command server, and a queue for the responses. Raises MQIError."""
        self._is_zos = connection.platform == mq.MQPL_ZOS
        command_queue = _ZOS_COMMAND_QUEUE if self._is_zos else _COMMAND_QUEUE
        self._commands = connection.open_queue(command_queue, mq.MQOO_OUTPUT)
        try:
            mode = mq.MQOO_INPUT_EXCLUSIVE
            self._replies = connection.open_queue(_REPLY_MODEL, mode, dynamic_q_name="MQGROUPS.REPLY.*")
        except BaseException:
            self._commands.close()
            raise

    def ask(self, command: int, parameters: Mapping[int, pcf.Value]) -> list[pcf.Response]:
        """Run one command and return its responses. A summary response, which only repeats extended responses, is omitted.

        Raises MQIError. Raises CommandRefused if a response does not come in time or is not PCF.
        """
        md = st.md(format_name=mq.MQFMT_ADMIN, persistence=mq.MQPER_NOT_PERSISTENT)
        struct.pack_into("=i", md, st.MD_MSG_TYPE, mq.MQMT_REQUEST)
        # In tenths of a second. A command server that starts later must not run a command for which nobody waits any more.
        struct.pack_into("=i", md, st.MD_EXPIRY, max(1, _PATIENCE_MS // 100))
        md[st.MD_REPLY_TO_Q] = self._replies.object_name.encode().ljust(48)
        asked = pcf.command(command, parameters, extended=self._is_zos)
        md_out, _ = self._commands.put(md, st.pmo(mq.MQPMO_NO_SYNCPOINT), asked)
        wanted = st.md(correl_id=md_out[st.MD_MSG_ID])
        gmo = st.gmo(
            mq.MQGMO_WAIT | mq.MQGMO_NO_SYNCPOINT | mq.MQGMO_CONVERT | mq.MQGMO_FAIL_IF_QUIESCING,
            match_options=mq.MQMO_MATCH_CORREL_ID,
            wait_interval_ms=_PATIENCE_MS,
        )
        responses: list[pcf.Response] = []
        while True:
            answer = self._replies.get(wanted, gmo)
            if answer is None:
                raise CommandRefused(f"the command server did not answer command {command} within {_PATIENCE_MS} ms")
            try:
                responses.append(pcf.response(answer[0], st.long_at(answer[1], st.MD_ENCODING)))
            except ValueError as error:
                raise CommandRefused(f"the command server answered command {command} with {error}") from error
            if pcf.are_all(responses):
                return [each for each in responses if each.kind != pcf.MQCFT_XR_SUMMARY] or responses

    def run(self, command: str) -> tuple[bool, list[str]]:
        """Run an MQSC command as a PCF Escape. Return whether it succeeded, and a text for each displayed object.

        Raises the same errors as ``ask``, and CommandRefused on z/OS, which has no Escape (IBM MQ, "Escape").
        """
        if self._is_zos:
            raise CommandRefused(
                "a queue manager on z/OS takes no MQSC commands by PCF. Enter them at the console, or let a job run them with "
                "the COMMAND function of CSQUTIL"
            )
        asked: dict[int, pcf.Value] = {pcf.MQIACF_ESCAPE_TYPE: pcf.MQET_MQSC, pcf.MQCACF_ESCAPE_TEXT: command}
        responses = self.ask(pcf.MQCMD_ESCAPE, asked)
        texts = [each.values.get(pcf.MQCACF_ESCAPE_TEXT) for each in responses]
        return responses[-1].comp == mq.MQCC_OK, [text for text in texts if isinstance(text, str)]

    def close(self) -> None:
        """Close both queues, and delete the queue for the responses, even if the model queue makes permanent queues."""
        self._commands.close()
        self._replies.close(mq.MQCO_DELETE_PURGE)


def uncommitted(connection: Connection, queue: str) -> int:
    """Return how many messages of a local queue are put or got but not committed (UncommittedMsgs).

    A 0 proves that no unit of work hides a message. Units of work of dead programs also count, until they are backed out. On z/OS
    the result is 0 or 1. These statements are from IBM's documentation. They were not tried on IBM MQ.
    """
    asked: dict[int, pcf.Value] = {mq.MQCA_Q_NAME: queue, pcf.MQIACF_Q_STATUS_ATTRS: (pcf.MQIACF_UNCOMMITTED_MSGS,)}
    for response in _asked(connection, pcf.MQCMD_INQUIRE_Q_STATUS, asked):
        found = response.values.get(pcf.MQIACF_UNCOMMITTED_MSGS)
        if isinstance(found, int):
            return found
    raise CommandRefused(f"the command server did not return the number of uncommitted messages of {queue}")


def queue_names(connection: Connection, pattern: str) -> tuple[str, ...]:
    """Return the names of the local queues that match ``pattern``, which can end in an asterisk (Inquire Queue Names)."""
    asked: dict[int, pcf.Value] = {mq.MQCA_Q_NAME: pattern, mq.MQIA_Q_TYPE: mq.MQQT_LOCAL}
    lists = [each.values.get(pcf.MQCACF_Q_NAMES, ()) for each in _asked(connection, pcf.MQCMD_INQUIRE_Q_NAMES, asked)]
    return tuple(name for found in lists if isinstance(found, tuple) for name in found if isinstance(name, str))


def _asked(connection: Connection, command: int, parameters: Mapping[int, pcf.Value]) -> list[pcf.Response]:
    try:
        client = PCFClient(connection)
        try:
            responses = client.ask(command, parameters)
        finally:
            client.close()
    except ConnectionBroken:
        raise
    except MQIError as error:
        raise CommandRefused(f"{error.verb} for {error.object_name}: {error.reason} {error.reason_name}") from error
    for response in responses:
        if response.comp != mq.MQCC_OK and response.reason not in _NOTHING_FOUND:
            raise CommandRefused(f"the command server refused command {command} with reason {response.reason}")
    return responses


def holders(connection: Connection, pattern: str) -> dict[str, tuple[Holder, ...]]:
    """Return the programs that have a queue open for input, for each queue whose name matches ``pattern``."""
    asked: dict[int, pcf.Value] = {
        mq.MQCA_Q_NAME: pattern,
        pcf.MQIACF_Q_STATUS_TYPE: pcf.MQIACF_Q_HANDLE,
        pcf.MQIACF_OPEN_TYPE: pcf.MQQSOT_INPUT,
    }
    found: dict[str, tuple[Holder, ...]] = {}
    for response in _asked(connection, pcf.MQCMD_INQUIRE_Q_STATUS, asked):
        values = response.values
        name = values.get(mq.MQCA_Q_NAME)
        if isinstance(name, str) and name:
            process = values.get(pcf.MQIACF_PROCESS_ID)
            tag, conn_name, user, channel = (str(values.get(each, "")) for each in _OF_HOLDER)
            holder = Holder(tag, process if isinstance(process, int) else 0, conn_name, user, channel)
            found[name] = (*found.get(name, ()), holder)
    return found
