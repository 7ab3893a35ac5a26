"""Writes the SET AUTHREC commands that give a user the authorities for a call that was refused with 2035.

Source: IBM MQ, topics "Authorizations for MQI calls", "SET AUTHREC on Multiplatforms".
"""

from __future__ import annotations

from mqgroups.core.to_copy import to_copy
from mqgroups.mqi import constants as mq

_FOR_OPTIONS = {
    mq.MQOO_INPUT_AS_Q_DEF: ("MQOO_INPUT_AS_Q_DEF", "GET"),
    mq.MQOO_INPUT_SHARED: ("MQOO_INPUT_SHARED", "GET"),
    mq.MQOO_INPUT_EXCLUSIVE: ("MQOO_INPUT_EXCLUSIVE", "GET"),
    mq.MQOO_BROWSE: ("MQOO_BROWSE", "BROWSE"),
    mq.MQOO_OUTPUT: ("MQOO_OUTPUT", "PUT"),
    mq.MQOO_INQUIRE: ("MQOO_INQUIRE", "INQ"),
    mq.MQOO_PASS_IDENTITY_CONTEXT: ("MQOO_PASS_IDENTITY_CONTEXT", "PASSID"),
    mq.MQOO_PASS_ALL_CONTEXT: ("MQOO_PASS_ALL_CONTEXT", "PASSALL"),
    mq.MQOO_SET_IDENTITY_CONTEXT: ("MQOO_SET_IDENTITY_CONTEXT", "SETID"),
}


def to_open(queue: str, options: int, *, makes: str = "") -> str:
    """Return a text about the authorities that a user needs to open a queue with these MQOO_* options.

    ``makes``: the name of the dynamic queue that MQOPEN creates, if ``queue`` is a model queue.
    """
    named = [names for bit, names in _FOR_OPTIONS.items() if options & bit]
    own = sorted({authority for _, authority in named})
    needed = sorted([*own, "DSP"]) if makes else own
    asked = " + ".join(option for option, _ in named)
    said = f"It was opened for {asked}, which needs {', '.join(needed)}: {_line('QUEUE', queue, needed)}"
    if makes:
        # IBM's texts disagree on whether the name is checked (embedded reading "name of a dynamic queue"). On z/OS it is.
        said += f". If that is there, the new queue's own name is checked too: {_line('QUEUE', makes, own)}"
    if options & mq.MQOO_SET_IDENTITY_CONTEXT:
        said += f". SETID is needed for the queue manager too: {_line('QMGR', '', ['SETID'])}"
    return said


def to_delete(queue: str) -> str:
    """Return a text about the authority that a user needs to delete a queue with MQCLOSE."""
    return f"Deleting it needs DLT: {_line('QUEUE', queue, ['DLT'])}"


def to_connect(channel: str | None) -> str:
    """Return a text about possible causes of a refused MQCONNX (IBM MQ, "Resolving CHLAUTH access issues").

    ``channel``: the channel that the application named, if any.
    """
    record = to_copy("DISPLAY CHLAUTH({})", channel or "CHANNEL") + " MATCH(RUNCHECK) ADDRESS('IP') CLNTUSER('USER')"
    return (
        "AMQERR01.LOG of the queue manager has the cause. AMQ9776 or AMQ9777: a CHLAUTH record, as new queue managers have them "
        f"for administrators (BLOCKUSER *MQADMIN); {record} shows which. AMQ5534: user or password (CONNAUTH). "
        f"If it is neither, the user lacks CONNECT: {_line('QMGR', '', ['CONNECT', 'INQ'])}"
    )


def to_inquire_q_mgr() -> str:
    """Return a text about the authority that a user needs to inquire the queue manager's attributes."""
    return f"The user lacks INQ: {_line('QMGR', '', ['INQ'])}"


def _line(object_type: str, profile: str, needed: list[str]) -> str:
    where = to_copy("PROFILE({}) ", profile) if profile else ""
    return f"SET AUTHREC {where}OBJTYPE({object_type}) GROUP('...') AUTHADD({','.join(needed)})"
