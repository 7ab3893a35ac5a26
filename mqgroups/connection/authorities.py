"""The authorities that a user needs for a call that was refused with 2035, as SET AUTHREC commands.

Source: IBM MQ, topics "Authorizations for MQI calls", "SET AUTHREC on Multiplatforms".
"""

from __future__ import annotations

from mqgroups.mqi import constants as mq

_FOR_OPTIONS = {
    mq.MQOO_INPUT_AS_Q_DEF: ("MQOO_INPUT_AS_Q_DEF", "GET"),
    mq.MQOO_INPUT_SHARED: ("MQOO_INPUT_SHARED", "GET"),
    mq.MQOO_INPUT_EXCLUSIVE: ("MQOO_INPUT_EXCLUSIVE", "GET"),
    mq.MQOO_BROWSE: ("MQOO_BROWSE", "BROWSE"),
    mq.MQOO_OUTPUT: ("MQOO_OUTPUT", "PUT"),
    mq.MQOO_INQUIRE: ("MQOO_INQUIRE", "INQ"),
    mq.MQOO_PASS_ALL_CONTEXT: ("MQOO_PASS_ALL_CONTEXT", "PASSALL"),
}


def to_open(queue: str, options: int, *, is_model: bool) -> str:
    """Return the authorities for opening a queue with these MQOO_* options. ``is_model``: it is a model queue."""
    named = [names for bit, names in _FOR_OPTIONS.items() if options & bit]
    needed = sorted({authority for _, authority in named} | ({"DSP"} if is_model else set()))
    asked = " + ".join(option for option, _ in named)
    return f"It was opened for {asked}, which needs {', '.join(needed)}: {_line('QUEUE', queue, needed)}"


def to_delete(queue: str) -> str:
    """Return the authority for deleting a queue with MQCLOSE."""
    return f"Deleting it needs DLT: {_line('QUEUE', queue, ['DLT'])}"


def to_connect() -> str:
    """Return the authorities for connecting and inquiring the queue manager's name."""
    return f"If user and password are right, the user lacks CONNECT or INQ: {_line('QMGR', '', ['CONNECT', 'INQ'])}"


def _line(object_type: str, profile: str, needed: list[str]) -> str:
    where = f"PROFILE('{profile}') " if profile else ""
    return f"SET AUTHREC {where}OBJTYPE({object_type}) GROUP('...') AUTHADD({','.join(needed)})"
