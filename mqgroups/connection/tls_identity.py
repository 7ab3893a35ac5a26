"""Refuses a connection if its TLS identity differs from those of other connections, and logs warnings of MQCONNX.

A process has one TLS environment at a time. While a connection with TLS exists, MQCONNX ignores the key repository, certificate
and FIPS setting of a later connection, and returns only a warning: MQRC_SSL_ALREADY_INITIALIZED (IBM MQ, "MQSCO"). So the later
connection could use an unwanted certificate. According to IBM's text, MQCONNX returns the warning even for equal identities.
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
# The identities of this process's connections: connections that are made, and connections that threads are making in MQCONNX. Two
# threads may connect at once with equal identities; only the first gets no warning. Each step is one operation of a dictionary,
# without a lock, because an interruption could leave a lock locked for ever.
_made: _Identities = {}
_being_made: _Identities = {}


def connect(handle: Handle, arguments: ConnectArguments) -> tuple[int, int]:
    """Connect with MQCONNX; returns completion and reason code. Logs a warning if MQCONNX returns one.

    If the process uses another TLS identity already, ends the connection without a commit and raises ConfigurationError.
    """
    asked = _identity(arguments)
    known = weakref.ref(handle, _forget)
    _made.pop(known, None)  # if the handle is connected again, its old connection is gone
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
        # If the identities are equal, the TLS environment is as the application wants it.
        level = logging.INFO if is_ignored and asked else logging.WARNING
        _log.log(level, "MQCONNX ended with a warning: %s (%d)", mq.reason_name(reason), reason)
    return comp, reason


def _alive(but: weakref.ref[Handle]) -> set[str]:
    """Return the TLS identities of all connections except ``but``."""
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
    """Return the arguments for TLS as a text; empty if there are none. Connections with equal texts can share TLS."""
    given = (arguments.cipher_spec, arguments.key_repository, arguments.certificate_label, arguments.fips)
    if all(argument is None for argument in given):
        return ""
    repository = arguments.key_repository or os.environ.get("MQSSLKEYR", "")
    fips = "" if arguments.fips is None else f", fips={arguments.fips}"
    return f"key_repository={repository!r}, certificate_label={arguments.certificate_label!r}{fips}"
