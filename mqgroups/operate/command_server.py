"""Questions to a queue manager's command server, in PCF, over an ordinary connection: what the MQI cannot tell.

The MQI has no list of queues, and it shows nothing of what units of work hide: a message that was got and not committed is
neither browsed nor counted (CurrentQDepth excludes it; IBM MQ, topics q103130, q106410). The command server knows both, and
answers whoever may put to its queue. That is an administrator's authority, so callers have to do without an answer.

Not here: changing anything; what commands mean (``mqsc.py`` sends MQSC, for ``mqgroups embedded mqsc``).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from mqgroups.connection.connection import Connection
from mqgroups.errors import CommandRefused, ConnectionBroken, MQIError
from mqgroups.mqi import constants as mq
from mqgroups.mqi import pcf
from mqgroups.mqi import structures as st

_COMMAND_QUEUE = "SYSTEM.ADMIN.COMMAND.QUEUE"
_REPLY_MODEL = "SYSTEM.DEFAULT.MODEL.QUEUE"
_MD_MSG_TYPE = 12
_PATIENCE_MS = 30_000
# For a question that callers can do without.
_QUESTION_MS = 5_000


class PCFClient:
    """Sends commands and gathers what is answered; the queue for the answers goes with the connection."""

    def __init__(self, connection: Connection, patience_ms: int = _PATIENCE_MS) -> None:
        """Open the queues; raises MQIError. ``patience_ms``: how long to wait for each message of an answer."""
        self._patience_ms = patience_ms
        self._commands = connection.open_queue(_COMMAND_QUEUE, mq.MQOO_OUTPUT)
        try:
            self._replies = connection.open_queue(
                _REPLY_MODEL, mq.MQOO_INPUT_EXCLUSIVE, dynamic_q_name="MQGROUPS.REPLY.*"
            )
        except BaseException:
            self._commands.close()
            raise

    def ask(self, command: int, parameters: Mapping[int, pcf.Value]) -> list[pcf.Response]:
        """Carry out one command; returns all that is answered.

        Raises:
            CommandRefused: nobody answers in time, or not in PCF.
            MQIError: the command cannot be put, or the answer not be got.
        """
        md = st.md(format_name=mq.MQFMT_ADMIN, persistence=mq.MQPER_NOT_PERSISTENT)
        struct.pack_into("=i", md, _MD_MSG_TYPE, mq.MQMT_REQUEST)
        md[st.MD_REPLY_TO_Q] = self._replies.object_name.encode().ljust(48)
        md_out, _ = self._commands.put(md, st.pmo(mq.MQPMO_NO_SYNCPOINT), pcf.command(command, parameters))
        wanted = st.md(correl_id=md_out[st.MD_MSG_ID])
        gmo = st.gmo(
            mq.MQGMO_WAIT | mq.MQGMO_NO_SYNCPOINT | mq.MQGMO_CONVERT | mq.MQGMO_FAIL_IF_QUIESCING,
            match_options=mq.MQMO_MATCH_CORREL_ID,
            wait_interval_ms=self._patience_ms,
        )
        responses: list[pcf.Response] = []
        while True:
            answer = self._replies.get(wanted, gmo)
            if answer is None:
                raise CommandRefused(f"the command server did not answer command {command} in {self._patience_ms} ms")
            try:
                responses.append(pcf.response(answer[0], st.long_at(answer[1], st.MD_ENCODING)))
            except ValueError as error:
                raise CommandRefused(f"the command server answered command {command} with {error}") from error
            if responses[-1].is_last:
                return responses

    def close(self) -> None:
        """Close both queues; the one for the answers is gone then."""
        self._commands.close()
        self._replies.close()


def uncommitted(connection: Connection, queue: str) -> int:
    """Return how many messages of a local queue units of work have put or got and not committed (UncommittedMsgs, topic q087890).

    0 proves that nothing is hidden, also by a program that has died: what it did is counted until it is backed out. On z/OS it
    is 0 or 1. Read only, not tried on IBM MQ.

    Raises:
        CommandRefused: it cannot be asked. ConnectionBroken: the connection is lost.
    """
    asked: dict[int, pcf.Value] = {mq.MQCA_Q_NAME: queue, pcf.MQIACF_Q_STATUS_ATTRS: (pcf.MQIACF_UNCOMMITTED_MSGS,)}
    for response in _asked(connection, pcf.MQCMD_INQUIRE_Q_STATUS, asked):
        found = response.values.get(pcf.MQIACF_UNCOMMITTED_MSGS)
        if isinstance(found, int):
            return found
    raise CommandRefused(f"the command server does not say whether {queue} has uncommitted messages")


def queue_names(connection: Connection, pattern: str) -> tuple[str, ...]:
    """Return the names of the local queues that fit ``pattern``, which may end in an asterisk (Inquire Queue Names).

    Raises:
        CommandRefused: it cannot be asked. ConnectionBroken: the connection is lost.
    """
    asked: dict[int, pcf.Value] = {mq.MQCA_Q_NAME: pattern, mq.MQIA_Q_TYPE: mq.MQQT_LOCAL}
    names: list[str] = []
    for response in _asked(connection, pcf.MQCMD_INQUIRE_Q_NAMES, asked):
        found = response.values.get(pcf.MQCACF_Q_NAMES, ())
        if isinstance(found, tuple):
            names += [name for name in found if isinstance(name, str)]
    return tuple(names)


def _asked(connection: Connection, command: int, parameters: Mapping[int, pcf.Value]) -> list[pcf.Response]:
    try:
        client = PCFClient(connection, _QUESTION_MS)
        try:
            responses = client.ask(command, parameters)
        finally:
            client.close()
    except ConnectionBroken:
        raise
    except MQIError as error:
        raise CommandRefused(f"{error.verb} for {error.object_name}: {error.reason} {error.reason_name}") from error
    for response in responses:
        # The list of names may be empty, or there may be no queue of the pattern, as the platform has it.
        if response.comp != mq.MQCC_OK and response.reason != mq.MQRC_UNKNOWN_OBJECT_NAME:
            raise CommandRefused(f"the command server refused command {command}: reason {response.reason}")
    return responses
