"""Warnings of MQCONNX, and the TLS identity of a process: a process has one TLS environment at a time.

While one of its connections with TLS lives, key repository, certificate and FIPS of later connections are ignored, with a warning
only: MQRC_SSL_ALREADY_INITIALIZED (IBM MQ, "MQSCO"). Such a connection would be made under another certificate
than the application asked for. IBM's text has the warning for each later connection with an MQSCO, so for an equal one, too.
"""

from __future__ import annotations

import logging
import os
import weakref
from typing import TypeAlias

from mqgroups.connection.handle import Handle
from mqgroups.errors import ConfigurationError
from mqgroups.mqi import constants as mq
from mqgroups.mqi.abc import ConnectArguments

_log = logging.getLogger("mqgroups")
_Identities: TypeAlias = dict["weakref.ref[Handle]", str]
# The identities of this process's connections: those that are made, and those of threads that are in MQCONNX. Equal ones may
# start at once, and only the first of them is answered without the warning. Each step is one operation of a dictionary: a lock
# could be left locked by an interruption, for ever.
_made: _Identities = {}
_being_made: _Identities = {}


def connect(handle: Handle, arguments: ConnectArguments) -> tuple[int, int]:
    """MQCONNX; returns completion and reason code. Logs a warning.

    Raises ConfigurationError if the connection would have another identity; nothing is committed, and it is ended.
    """
    asked = _identity(arguments)
    known = weakref.ref(handle, _forget)
    _made.pop(known, None)  # if it is connected again, its old connection is gone
    _being_made[known] = asked
    try:
        comp, reason = handle.connect(arguments)
        is_ignored = comp == mq.MQCC_WARNING and reason == mq.MQRC_SSL_ALREADY_INITIALIZED
        alive = _alive(known)
        if is_ignored and asked and asked not in alive:
            handle.release()
            raise ConfigurationError(
                f"this connection asks for {asked}, but this process has a TLS environment already, "
                + (f"with {' or '.join(sorted(alive))}" if alive else "which this package did not make")
                + ", and the connection would get that one (MQRC_SSL_ALREADY_INITIALIZED, 2391). Use a process for each TLS "
                "identity, or close the other connections with TLS first, or make this one before them"
            )
        if comp != mq.MQCC_FAILED:
            _made[known] = asked
    finally:
        _being_made.pop(known, None)
    if comp == mq.MQCC_WARNING:
        # For an equal identity the environment is the one that the application wants.
        level = logging.INFO if is_ignored and asked else logging.WARNING
        _log.log(level, "MQCONNX ended with a warning: %s (%d)", mq.reason_name(reason), reason)
    return comp, reason


def _alive(but: weakref.ref[Handle]) -> set[str]:
    """Return the identities of all other connections that have one."""
    found = {asked for one, asked in _being_made.copy().items() if one is not but}
    for one, asked in _made.copy().items():
        handle = one()
        if handle is not None and handle.hconn != mq.MQHC_UNUSABLE_HCONN:
            found.add(asked)
    return found - {""}


def _forget(handle: weakref.ref[Handle]) -> None:
    _made.pop(handle, None)
    _being_made.pop(handle, None)


def _identity(arguments: ConnectArguments) -> str:
    """Return what a connection gives to the TLS environment; empty if it asks for none. Equal ones may use the same."""
    given = (arguments.cipher_spec, arguments.key_repository, arguments.certificate_label, arguments.fips)
    if all(argument is None for argument in given):
        return ""
    repository = arguments.key_repository or os.environ.get("MQSSLKEYR", "")
    fips = "" if arguments.fips is None else f", fips={arguments.fips}"
    return f"key_repository={repository!r}, certificate_label={arguments.certificate_label!r}{fips}"
