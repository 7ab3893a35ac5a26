"""MQSC commands to a queue manager's command server, in PCF Escape commands.

For ``mqgroups embedded mqsc``. Not here: what commands mean (``embedded/mqsc_commands.py``, ``embedded/commands/``), how they
get there (``command_server.py``).
"""

from __future__ import annotations

from mqgroups.connection.connection import Connection
from mqgroups.mqi import constants as mq
from mqgroups.mqi import pcf
from mqgroups.operate.command_server import PCFClient


class MQSCClient:
    """Sends commands and gathers what is answered."""

    def __init__(self, connection: Connection) -> None:
        """Open the queues; raises MQIError."""
        self._client = PCFClient(connection)

    def run(self, command: str) -> tuple[bool, list[str]]:
        """Carry out one command; returns whether it was done, and the answers: one text for each thing displayed.

        Raises:
            EnvironmentFailure: nobody answers, or the commands cannot be put.
        """
        asked: dict[int, pcf.Value] = {pcf.MQIACF_ESCAPE_TYPE: pcf.MQET_MQSC, pcf.MQCACF_ESCAPE_TEXT: command}
        responses = self._client.ask(pcf.MQCMD_ESCAPE, asked)
        texts = [each.values.get(pcf.MQCACF_ESCAPE_TEXT) for each in responses]
        return responses[-1].comp == mq.MQCC_OK, [text for text in texts if isinstance(text, str)]
