"""The interface of an MQ binding: the verbs of its C layer that this package calls.

Every verb returns its outputs, followed by completion code and reason code, and raises no error for them. After a warning the
message may be on the queue, so the caller needs both the codes and the data. Only ``connection.py`` turns codes into errors.

Structures are passed packed (``structures.py``), names as ``str``, MQBYTE fields as ``bytes``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from mqgroups.mqi.secret import Secret
from mqgroups.mqi.structures import LONGEST_MESSAGE_BYTES

# The value of a message property; ``properties.py`` maps these types to MQTYPE_*.
PropertyValue: TypeAlias = "str | int | float | bool | bytes | None"


@dataclass(frozen=True, slots=True)
class ConnectArguments:
    """The arguments of MQCONNX.

    Without ``channel`` the MQ client finds the queue manager by itself: local bindings, MQSERVER, or a client channel definition
    table (``ccdt_url``, MQCCDTURL, MQCHLLIB). ``max_msg_length`` is this client's limit in bytes; the server-connection channel
    may set a lower one. Secrets are read at each MQCONNX. ``connection/rules.py`` checks which arguments may be combined.
    """

    q_mgr_name: str
    channel: str | None = None
    conn_name: str | None = None
    user: str | None = None
    password: Secret | None = None
    token: Secret | None = None
    cipher_spec: str | None = None
    key_repository: str | None = None
    key_repository_password: Secret | None = None
    certificate_label: str | None = None
    peer_name: str | None = None
    ccdt_url: str | None = None
    fips: bool | None = None
    options: int = 0
    max_msg_length: int = LONGEST_MESSAGE_BYTES


class Binding(Protocol):
    """The MQI as the C layers of pymqi and ibmmq offer it; MQCONNX and MQINQ, in which they differ, are made equal.

    ``md``, ``pmo``, ``gmo``, ``od`` and ``sts`` must be new objects in each call, because the C libraries write into them.
    """

    @property
    def name(self) -> str:
        """``"pymqi"`` or ``"ibmmq"``."""

    @property
    def MQOPEN(self) -> Callable[[int, bytes, int], tuple[int, bytes, int, int]]:
        """(hconn, od, options) -> (hobj, od, comp, reason)."""

    @property
    def MQCLOSE(self) -> Callable[[int, int, int], tuple[int, int]]:
        """(hconn, hobj, options) -> (comp, reason)."""

    @property
    def MQPUT(self) -> Callable[[int, int, bytes, bytes, bytes], tuple[bytes, bytes, int, int]]:
        """(hconn, hobj, md, pmo, data) -> (md, pmo, comp, reason)."""

    @property
    def MQGET(self) -> Callable[[int, int, bytes, bytes, int], tuple[bytes, bytes, bytes, int, int, int]]:
        """(hconn, hobj, md, gmo, buffer length) -> (data, md, gmo, data length, comp, reason)."""

    @property
    def MQCMIT(self) -> Callable[[int], tuple[int, int]]:
        """(hconn) -> (comp, reason)."""

    @property
    def MQBACK(self) -> Callable[[int], tuple[int, int]]:
        """(hconn) -> (comp, reason)."""

    @property
    def MQDISC(self) -> Callable[[int], tuple[int, int]]:
        """(hconn) -> (comp, reason). It commits an open unit of work: call MQBACK first."""

    @property
    def MQSTAT(self) -> Callable[[int, int, bytes], tuple[bytes, int, int]]:
        """(hconn, type, sts) -> (sts, comp, reason). ConfigurationError if the client library does not have it."""

    def connect(self, arguments: ConnectArguments, made: list[ConnectedQueueManager]) -> tuple[int, int, int]:
        """MQCONNX. Returns (hconn, comp, reason).

        The binding's QueueManager object, which will hold the handle, is added to ``made`` before the call.

        Raises:
            ConfigurationError: this binding has no field for one of the arguments, or a secret cannot be read.
        """

    def message_handle(
        self, hconn: int, properties: Mapping[str, PropertyValue], hmsg: int | None = None
    ) -> tuple[int, int, int]:
        """MQCRTMH, unless ``hmsg`` is given, then MQSETMP for each property. Returns (hmsg, comp, reason)."""

    def handle_of(self, q_mgr: ConnectedQueueManager) -> int:
        """Return the connection handle of a QueueManager object of this binding; ConfigurationError if it has none."""

    def inquire(self, hconn: int, hobj: int, selector: int) -> tuple[int | str, int, int]:
        """MQINQ of one attribute. Returns (value, comp, reason); character values without padding."""


class ConnectedQueueManager(Protocol):
    """A ``pymqi.QueueManager`` or ``ibmmq.QueueManager`` that an application has connected itself."""

    # pymqi's own annotation says None, so a type checker that reads pymqi would refuse its objects for ``int``.
    def get_handle(self) -> object:
        """Return the connection handle."""
