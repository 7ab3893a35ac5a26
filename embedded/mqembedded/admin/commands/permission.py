"""The authorities that commands need.

The user of a command is the UserIdentifier of the command message (IBM MQ, "Authority checking for PCF commands"). Every command
needs DSP for the queue manager. An inquiry leaves out the objects that the user is not allowed to see. Creating an object needs
CRT for the queue manager. Replacing an object needs CHG for the object. Copying an object, or naming it in LIKE, needs DSP for
the object. (This last rule is from memory of the notes in the topics below.) Unverified: the user who creates an object gets all
authorities for it; commands for subscriptions and channel authentication records need CHG for the queue manager; an inquiry ends
with 2035 if the user is not allowed to see any of the objects.

Source: IBM MQ, "Authorizations for PCF commands", "Authorizations for MQSC commands in escape PCFs".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mqembedded import constants as mq
from mqembedded.admin import mqsc_commands
from mqembedded.admin.commands.request import Request, Row
from mqembedded.admin.mqsc import Command
from mqembedded.answer import Failed
from mqembedded.objects.kinds import Kind
from mqembedded.queue_manager import QueueManager
from mqembedded.wire import pcf_constants as cf

# The type and the name of an object that a command creates.
Created = tuple[str, str]

_DSP, _CHG, _DLT, _CLR, _CRT, _CTRL = (frozenset({word}) for word in ("DSP", "CHG", "DLT", "CLR", "CRT", "CTRL"))
_QUEUES = frozenset({"QLOCAL", "QMODEL", "QALIAS", "QREMOTE", "QUEUE", "QSTATUS"})
_OF_Q_MGR = frozenset({"CLUSTER", "SUB", "CHLAUTH", "AUTHREC", "SECURITY", "CONN"})


@dataclass(frozen=True, slots=True)
class _Kind:
    """An object type, the PCF parameters that name an object and the object to copy, and a function that tests for existence."""

    object_type: str
    name: int
    from_name: int = 0
    exists: Callable[[QueueManager, str], bool] = lambda _q_mgr, _name: True


_QUEUE = _Kind(
    "QUEUE", mq.MQCA_Q_NAME, cf.MQCACF_FROM_Q_NAME, lambda q_mgr, name: q_mgr.catalogue.get(name) is not None
)
_NAMELIST = _Kind(
    "NAMELIST",
    cf.MQCA_NAMELIST_NAME,
    cf.MQCACF_FROM_NAMELIST_NAME,
    lambda q_mgr, name: name in q_mgr.catalogue.objects.of(Kind.NAMELIST),
)
_CHANNEL = _Kind(
    "CHANNEL",
    cf.MQCACH_CHANNEL_NAME,
    cf.MQCACF_FROM_CHANNEL_NAME,
    lambda q_mgr, name: name in q_mgr.catalogue.objects.of(Kind.CHANNEL),
)
_TOPIC = _Kind(
    "TOPIC",
    mq.MQCA_TOPIC_NAME,
    cf.MQCACF_FROM_TOPIC_NAME,
    lambda q_mgr, name: name in q_mgr.catalogue.objects.of(Kind.TOPIC),
)
_TO_NAMES = {
    _QUEUE: cf.MQCACF_TO_Q_NAME,
    _NAMELIST: cf.MQCACF_TO_NAMELIST_NAME,
    _CHANNEL: cf.MQCACF_TO_CHANNEL_NAME,
    _TOPIC: cf.MQCACF_TO_TOPIC_NAME,
}
_CREATE = {
    cf.MQCMD_CREATE_Q: _QUEUE,
    cf.MQCMD_CREATE_NAMELIST: _NAMELIST,
    cf.MQCMD_CREATE_CHANNEL: _CHANNEL,
    cf.MQCMD_CREATE_TOPIC: _TOPIC,
}
_COPY = {
    cf.MQCMD_COPY_Q: _QUEUE,
    cf.MQCMD_COPY_NAMELIST: _NAMELIST,
    cf.MQCMD_COPY_CHANNEL: _CHANNEL,
    cf.MQCMD_COPY_TOPIC: _TOPIC,
}
_ON_OBJECT = {
    cf.MQCMD_CHANGE_Q: (_QUEUE, _CHG),
    cf.MQCMD_DELETE_Q: (_QUEUE, _DLT),
    cf.MQCMD_CLEAR_Q: (_QUEUE, _CLR),
    cf.MQCMD_RESET_Q_STATS: (_QUEUE, _DSP | _CHG),
    cf.MQCMD_CHANGE_NAMELIST: (_NAMELIST, _CHG),
    cf.MQCMD_DELETE_NAMELIST: (_NAMELIST, _DLT),
    cf.MQCMD_CHANGE_CHANNEL: (_CHANNEL, _CHG),
    cf.MQCMD_DELETE_CHANNEL: (_CHANNEL, _DLT),
    cf.MQCMD_START_CHANNEL: (_CHANNEL, _CTRL),
    cf.MQCMD_STOP_CHANNEL: (_CHANNEL, _CTRL),
    cf.MQCMD_CHANGE_TOPIC: (_TOPIC, _CHG),
    cf.MQCMD_DELETE_TOPIC: (_TOPIC, _DLT),
}
_CHANGES_Q_MGR = frozenset(
    {
        cf.MQCMD_CHANGE_Q_MGR,
        cf.MQCMD_STOP_CONNECTION,
        cf.MQCMD_SET_AUTH_REC,
        cf.MQCMD_DELETE_AUTH_REC,
        cf.MQCMD_SET_CHLAUTH_REC,
        cf.MQCMD_CREATE_SUBSCRIPTION,
        cf.MQCMD_CHANGE_SUBSCRIPTION,
        cf.MQCMD_DELETE_SUBSCRIPTION,
        cf.MQCMD_CLEAR_TOPIC_STRING,
    }
)
# The object type in an inquiry's responses.
_INQUIRES = {
    cf.MQCMD_INQUIRE_Q: _QUEUE,
    cf.MQCMD_INQUIRE_Q_STATUS: _QUEUE,
    cf.MQCMD_INQUIRE_NAMELIST: _NAMELIST,
    cf.MQCMD_INQUIRE_CHANNEL: _CHANNEL,
    cf.MQCMD_INQUIRE_CHANNEL_STATUS: _CHANNEL,
    cf.MQCMD_INQUIRE_TOPIC: _TOPIC,
    cf.MQCMD_INQUIRE_PROCESS: _Kind("PROCESS", mq.MQCA_PROCESS_NAME),
    cf.MQCMD_INQUIRE_AUTH_INFO: _Kind("AUTHINFO", cf.MQCA_AUTH_INFO_NAME),
}
_DISPLAYS: Mapping[str, tuple[str, int]] = {
    **dict.fromkeys(_QUEUES, ("QUEUE", mq.MQCA_Q_NAME)),
    "NAMELIST": ("NAMELIST", cf.MQCA_NAMELIST_NAME),
    "CHANNEL": ("CHANNEL", cf.MQCACH_CHANNEL_NAME),
    "CHSTATUS": ("CHANNEL", cf.MQCACH_CHANNEL_NAME),
    "PROCESS": ("PROCESS", mq.MQCA_PROCESS_NAME),
    "TOPIC": ("TOPIC", mq.MQCA_TOPIC_NAME),
    "AUTHINFO": ("AUTHINFO", cf.MQCA_AUTH_INFO_NAME),
}


def check(q_mgr: QueueManager, command: int, request: Request) -> Created | None:
    """Return the object that a PCF command will create, or None; raise Failed (MQRC_NOT_AUTHORIZED) if authority is missing."""
    user = request.user
    q_mgr.require(user, "QMGR", "", _DSP)
    if command in _CHANGES_Q_MGR:
        q_mgr.require(user, "QMGR", "", _CHG)
    elif command in _ON_OBJECT:
        kind, needed = _ON_OBJECT[command]
        name = _text(request, kind.name)
        if kind.exists(q_mgr, name):
            q_mgr.require(user, kind.object_type, name, needed)
    elif command in _CREATE:
        kind = _CREATE[command]
        return _check_creation(q_mgr, user, kind, _text(request, kind.name), "")
    elif command in _COPY:
        kind = _COPY[command]
        return _check_creation(q_mgr, user, kind, _text(request, _TO_NAMES[kind]), _text(request, kind.from_name))
    return None


def _check_creation(q_mgr: QueueManager, user: str, kind: _Kind, name: str, like: str) -> Created | None:
    if like and kind.exists(q_mgr, like):
        q_mgr.require(user, kind.object_type, like, _DSP)
    if kind.exists(q_mgr, name):
        q_mgr.require(user, kind.object_type, name, _CHG)
        return None
    q_mgr.require(user, "QMGR", "", _CRT)
    return kind.object_type, name


def visible(q_mgr: QueueManager, command: int, request: Request, rows: list[Row]) -> list[Row]:
    """Return the responses that the user is allowed to see; raise Failed with MQRC_NOT_AUTHORIZED if all of them are hidden."""
    kind = _INQUIRES.get(command)
    return rows if kind is None else _visible(q_mgr, request.user, kind.object_type, kind.name, rows)


def _visible(q_mgr: QueueManager, user: str, object_type: str, name: int, rows: list[Row]) -> list[Row]:
    authorities = q_mgr.catalogue.authorities
    seen = [row for row in rows if "DSP" in authorities.of(user, object_type, _name_in(row, name))]
    if rows and not seen:
        raise Failed(mq.MQRC_NOT_AUTHORIZED)
    return seen


def _name_in(row: Row, name: int) -> str:
    return next(str(parameter.value).rstrip() for parameter in row if parameter.identifier == name)


def _text(request: Request, identifier: int) -> str:
    return str(request.parameters[identifier].value).rstrip()


# --- MQSC


def check_mqsc(q_mgr: QueueManager, user: str, command: Command) -> Created | None:
    """Return the object that an MQSC command will create, or None; raise Failed (MQRC_NOT_AUTHORIZED) if authority is missing."""
    if command.verb in ("DISPLAY", "PING"):
        return None
    if command.kind == "QMGR" or command.kind in _OF_Q_MGR:
        q_mgr.require(user, "QMGR", "", _CHG)
        return None
    object_type = "QUEUE" if command.kind in _QUEUES else command.kind
    if like := command.parameters.get("LIKE"):
        q_mgr.require(user, object_type, like, _DSP)
    if mqsc_commands.exists(q_mgr, command):
        needed = {"DELETE": _DLT, "CLEAR": _CLR, "START": _CTRL, "STOP": _CTRL}.get(command.verb, _CHG)
        q_mgr.require(user, object_type, command.name, needed)
    elif command.verb == "DEFINE":
        q_mgr.require(user, "QMGR", "", _CRT)
        return None if command.set_aside else (object_type, command.name)
    return None


def displayed(q_mgr: QueueManager, user: str, kind: str, rows: list[Row]) -> list[Row]:
    """Return the rows that a DISPLAY shows to this user; raise Failed as ``visible`` does."""
    if kind not in _DISPLAYS:
        return rows
    return _visible(q_mgr, user, *_DISPLAYS[kind], rows)
