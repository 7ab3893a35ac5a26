"""Control commands for the channels of a cluster: status, stop, start, and deliberate faults."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from mqembedded.channels.sender import SenderChannel
from mqembedded.queue_manager import QueueManager


def perform(
    q_mgr: QueueManager, channels: Mapping[str, SenderChannel], action: str, to: str, **how: Any
) -> dict[str, Any]:
    """Carry out a command, and return its answer. The answer has an ``error`` if there is no such channel or command.

    ``to`` names the queue manager that a cluster channel leads to, or the transmission queue of a sender channel.
    """
    if action == "status":
        with q_mgr.lock:
            return {"channels": [_status(to, channel) for to, channel in sorted(channels.items())]}
    channel = channels.get(to)
    if channel is None:
        return {"error": f"{q_mgr.name} has channels to {', '.join(sorted(channels))}, and none to {to}"}
    if action == "stop":
        channel.stop()
    elif action == "start":
        channel.start()
    elif action == "slow":
        channel.slow(how["delay_s"])
    elif action == "interleave":
        channel.misconduct.shuffle = None if how["seed"] is None else random.Random(how["seed"])
    elif action == "cut":
        channel.misconduct.stops_when_cut = how["stop"]
        channel.misconduct.cut = how["when"]
    else:
        return {"error": f"no command {action!r} about channels"}
    return {}


def _status(to: str, channel: SenderChannel) -> dict[str, Any]:
    return {
        "channel": channel.name,
        "to": to,
        "status": channel.status.name,
        "in_doubt": channel.messages_in_doubt,
        "waiting": channel.queue.held - channel.messages_in_doubt,
        "batches": channel.batches_sent,
        "messages": channel.messages_sent,
        "problem": channel.problem,
    }
