"""Checks which arguments of MQCONNX can be combined.

Arguments are refused before MQCONNX if they make no sense together, or if the connection would be less safe than it seems.
Not here: reading secrets (``mqi/secret.py``), and which arguments a binding supports (``mqi/``).

Source: IBM MQ, topics "MQCD", "MQSCO", "MQCSP", "MQCNO" and their fields; "Specifying that an MQI client uses TLS".
"""

from __future__ import annotations

import re

from mqgroups.errors import ConfigurationError
from mqgroups.mqi import constants as mq
from mqgroups.mqi.abc import ConnectArguments

# The bindings silently truncate a value that is longer than its field.
_LENGTHS = {
    "q_mgr_name": mq.MQ_Q_MGR_NAME_LENGTH,
    "channel": mq.MQ_CHANNEL_NAME_LENGTH,
    "conn_name": mq.MQ_CONN_NAME_LENGTH,
    "user": mq.MQ_CLIENT_USER_ID_LENGTH,
    "cipher_spec": mq.MQ_SSL_CIPHER_SPEC_LENGTH,
    "key_repository": mq.MQ_SSL_KEY_REPOSITORY_LENGTH,
    "certificate_label": mq.MQ_CERT_LABEL_LENGTH,
    "peer_name": mq.MQ_SSL_PEER_NAME_LENGTH,
    "ccdt_url": None,
}


def check(arguments: ConnectArguments) -> None:
    """Raise ConfigurationError for arguments that are not valid, alone or together."""
    _check_texts(arguments)
    _check_way(arguments)
    _check_identity(arguments)
    _check_tls(arguments)


def _check_texts(arguments: ConnectArguments) -> None:
    for name, longest in _LENGTHS.items():
        value: str | None = getattr(arguments, name)
        if value is None:
            continue
        if not value and name != "q_mgr_name":
            raise ConfigurationError(f"{name} is empty; leave it out, or give a value")
        # C ends a text at NUL. The bindings cannot encode a lone surrogate, or a queue manager's name that is not ASCII.
        if re.search(r"[\0-\x1f\x7f\ud800-\udfff]", value) or (name == "q_mgr_name" and not value.isascii()):
            raise ConfigurationError(f"{name} {value!r} has a character that it cannot have")
        length = len(value.encode())
        if longest is not None and length > longest:
            raise ConfigurationError(f"{name} has {length} bytes; the maximum is {longest}")


def _check_way(arguments: ConnectArguments) -> None:
    if (arguments.channel is None) != (arguments.conn_name is None):
        raise ConfigurationError("channel and conn_name belong together; give both or neither")
    if arguments.ccdt_url is not None and arguments.channel is not None:
        raise ConfigurationError(
            "ccdt_url and channel: the channel definition table defines the channels; give only one of them"
        )
    # A blank name is refused even with a single address, because the address may be a load balancer's. Those who have created the
    # queue manager know its name.
    if not arguments.q_mgr_name.strip() or arguments.q_mgr_name.startswith("*"):
        raise ConfigurationError(
            f"q_mgr_name {arguments.q_mgr_name!r} may connect to different queue managers, but status queues and interrupted "
            "groups are on one of them: the next start could find nothing to resume. Name the queue manager (DISPLAY QMGR QMNAME "
            "there says its name); conn_name and a channel definition table (CCDT) may have several addresses for it. In a "
            "uniform cluster, find the one that has the producer's record (docs/how-to/clusters.md)"
        )


def _check_identity(arguments: ConnectArguments) -> None:
    if arguments.token is not None and (arguments.user is not None or arguments.password is not None):
        raise ConfigurationError(
            "token and user: a token identifies its user; give either a token, or user and password"
        )
    if arguments.password is not None and arguments.user is None:
        raise ConfigurationError("password without user: give both")
    if arguments.user is not None and arguments.password is None:
        raise ConfigurationError("user without password: the queue manager has nothing to check; give both")


def _check_tls(arguments: ConnectArguments) -> None:
    if arguments.key_repository_password is not None and arguments.key_repository is None:
        raise ConfigurationError("key_repository_password without key_repository: give both")
    if arguments.channel is None:
        for name in ("cipher_spec", "peer_name"):
            if getattr(arguments, name) is not None:
                raise ConfigurationError(
                    f"{name} without channel: it is part of a channel's definition. Give the channel and its address, too; with "
                    "a channel definition table (CCDT), set it in the table"
                )
    elif arguments.cipher_spec is None:
        for name in ("key_repository", "certificate_label", "peer_name", "fips"):
            if getattr(arguments, name) is not None:
                raise ConfigurationError(
                    f"{name} without cipher_spec: the connection would not use TLS. Give the CipherSpec of the channel, for "
                    "example ANY_TLS12_OR_HIGHER"
                )
