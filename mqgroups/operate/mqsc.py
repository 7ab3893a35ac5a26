"""Sends MQSC commands to a queue manager's command server, as PCF Escape commands.

Not here: how they are sent (``command_server.py``).
"""

from __future__ import annotations

from mqgroups.connection.connection import Connection
from mqgroups.errors import CommandRefused
from mqgroups.mqi import constants as mq
from mqgroups.mqi import pcf
from mqgroups.operate.command_server import PATIENCE_MS, PCFClient


class MQSCClient(PCFClient):
    """Sends commands and collects the responses."""

    def __init__(self, connection: Connection, patience_ms: int = PATIENCE_MS) -> None:
        """Open the queues. ``patience_ms``: how long to wait for each response message.

        Raises:
            CommandRefused: the queue manager is on z/OS, which has no Escape (not in the table of q086870 for z/OS).
            MQIError: a queue cannot be opened.
        """
        if connection.platform == mq.MQPL_ZOS:
            raise CommandRefused(
                "a queue manager on z/OS takes no MQSC commands by PCF. Enter them at the console, or let a job run them with "
                "the COMMAND function of CSQUTIL"
            )
        super().__init__(connection, patience_ms)

    def run(self, command: str) -> tuple[bool, list[str]]:
        """Run one command; returns whether it succeeded, and its output: one text for each object displayed.

        Raises:
            EnvironmentFailure: the command server does not answer, or the command cannot be put.
        """
        asked: dict[int, pcf.Value] = {pcf.MQIACF_ESCAPE_TYPE: pcf.MQET_MQSC, pcf.MQCACF_ESCAPE_TEXT: command}
        responses = self.ask(pcf.MQCMD_ESCAPE, asked)
        texts = [each.values.get(pcf.MQCACF_ESCAPE_TEXT) for each in responses]
        return responses[-1].comp == mq.MQCC_OK, [text for text in texts if isinstance(text, str)]
