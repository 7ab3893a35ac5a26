"""What the rest of the package needs of an MQ binding: the C layer's verbs, nothing more.

Every verb returns its outputs followed by completion code and reason code, and raises nothing for either: a warning may
carry a message that *is* on the queue, so whoever calls has to see both the code and the data. Turning codes into
errors is the work of ``connection.py``, and of it alone.

Structures cross this seam packed (``structures.py``), names as ``str``, everything MQ calls MQBYTE as ``bytes``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from mqgroups.mqi.secret import Secret
from mqgroups.mqi.structures import LONGEST_MESSAGE_BYTES

# Of a message property; which MQTYPE_* each is, ``properties.py`` says.
PropertyValue: TypeAlias = "str | int | float | bool | bytes | None"


@dataclass(frozen=True, slots=True)
class ConnectArguments:
    """What MQCONNX is told.

    Without ``channel`` the binding finds the queue manager by itself: local bindings, MQSERVER, or a client channel
    definition table (``ccdt_url``, MQCCDTURL, MQCHLLIB). ``max_msg_length`` is this client's limit in bytes; the
    server-connection channel may set a lower one. Secrets are read at each MQCONNX. Which of these go together,
    ``connection/rules.py`` says.
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
    options: int = 0
    max_msg_length: int = LONGEST_MESSAGE_BYTES


class Binding(Protocol):
    """The MQI as pymqi's and ibmmq's C layers offer it, with the two calls they differ in (MQCONNX, MQINQ) made equal.

    ``md``, ``pmo``, ``gmo`` and ``od`` must be fresh objects in each call: the C libraries write into them.
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

    def connect(self, arguments: ConnectArguments, made: list[ConnectedQueueManager]) -> tuple[int, int, int]:
        """MQCONNX: return (hconn, comp, reason); the binding's object that has the handle is in ``made`` before the call.

        Raises:
            ConfigurationError: this binding has no field for one of the arguments, or a secret cannot be read.
        """

    def message_handle(
        self, hconn: int, properties: Mapping[str, PropertyValue], hmsg: int | None = None
    ) -> tuple[int, int, int]:
        """MQCRTMH, unless there is ``hmsg``, and MQSETMP: return (hmsg, comp, reason) of a message handle with these
        properties."""

    def handle_of(self, q_mgr: ConnectedQueueManager) -> int:
        """Return the connection handle of a QueueManager object of this binding; ConfigurationError if it has none."""

    def inquire(self, hconn: int, hobj: int, selector: int) -> tuple[int | str, int, int]:
        """MQINQ of one attribute: return (value, comp, reason); character values without their padding."""


class ConnectedQueueManager(Protocol):
    """A ``pymqi.QueueManager`` or ``ibmmq.QueueManager`` that an application has connected itself."""

    def get_handle(self) -> int:
        """Return the connection handle."""
