"""MQSC commands sent to a queue manager's command server, in PCF Escape commands, over an ordinary connection.

For ``mqgroups embedded mqsc``. Not here: what commands mean (``embedded/mqsc_commands.py``, ``embedded/commands/``).
"""

from __future__ import annotations

import struct

from mqgroups.connection import Connection
from mqgroups.embedded import pcf
from mqgroups.embedded import pcf_constants as cf
from mqgroups.errors import EnvironmentFailure
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st

_COMMAND_QUEUE = "SYSTEM.ADMIN.COMMAND.QUEUE"
_REPLY_MODEL = "SYSTEM.DEFAULT.MODEL.QUEUE"
_MD_MSG_TYPE = 12
_PATIENCE_MS = 30_000


class MQSCClient:
    """Sends commands and gathers what is answered; the queue for the answers goes with the connection."""

    def __init__(self, connection: Connection) -> None:
        """Open the queues; raises MQIError."""
        self._commands = connection.open_queue(_COMMAND_QUEUE, mq.MQOO_OUTPUT)
        self._replies = connection.open_queue(_REPLY_MODEL, mq.MQOO_INPUT_EXCLUSIVE, dynamic_q_name="MQGROUPS.MQSC.*")

    def run(self, command: str) -> tuple[bool, list[str]]:
        """Carry out one command; returns whether it was done, and the answers: one text for each thing displayed.

        Raises:
            EnvironmentFailure: nobody answers for 30 seconds, or the commands cannot be put.
        """
        md = st.md(format_name=mq.MQFMT_ADMIN, persistence=mq.MQPER_NOT_PERSISTENT)
        struct.pack_into("=i", md, _MD_MSG_TYPE, mq.MQMT_REQUEST)
        md[st.MD_REPLY_TO_Q] = self._replies.object_name.encode().ljust(48)
        asked = [pcf.integer(cf.MQIACF_ESCAPE_TYPE, cf.MQET_MQSC), pcf.string(cf.MQCACF_ESCAPE_TEXT, command)]
        data = pcf.build(pcf.Header(cf.MQCFT_COMMAND, cf.MQCMD_ESCAPE), asked)
        md_out, _ = self._commands.put(md, st.pmo(mq.MQPMO_NO_SYNCPOINT), data)
        wanted = st.md(correl_id=md_out[st.MD_MSG_ID])
        gmo = st.gmo(
            mq.MQGMO_WAIT | mq.MQGMO_NO_SYNCPOINT | mq.MQGMO_CONVERT,
            match_options=mq.MQMO_MATCH_CORREL_ID,
            wait_interval_ms=_PATIENCE_MS,
        )
        texts: list[str] = []
        while True:
            answer = self._replies.get(wanted, gmo)
            if answer is None:
                raise EnvironmentFailure(f"the command server did not answer {command!r} within {_PATIENCE_MS} ms")
            header, parameters = pcf.parse(answer[0], st.long_at(answer[1], st.MD_ENCODING))
            texts += [str(each.value) for each in parameters if each.identifier == cf.MQCACF_ESCAPE_TEXT]
            if header.control == cf.MQCFC_LAST:
                return header.comp_code == mq.MQCC_OK, texts
