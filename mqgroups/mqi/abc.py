"""The interface of an MQ binding: the verbs of its C layer that this package calls.

Every verb returns its outputs, followed by completion code and reason code, and raises no error for them. After a warning the
message may be on the queue, so the caller needs both the codes and the data. Only ``connection.py`` turns codes into errors.

Structures are passed packed (``structures.py``), names as ``str``, MQBYTE fields as ``bytes``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Protocol, TypeAlias

from mqgroups.mqi.secret import SECRETS, Secret, check_secret
from mqgroups.setting import Settings

# The value of a message property; ``properties.py`` maps these types to MQTYPE_*.
PropertyValue: TypeAlias = "str | int | float | bool | bytes | None"


@dataclass(frozen=True, kw_only=True)
class ConnectArguments(Settings):
    """The arguments of MQCONNX.

    Secrets are read at each MQCONNX. ``connection/rules.py`` checks which arguments may be combined.

    Attributes:
        q_mgr_name: the queue manager. Not blank, ``*NAME`` or the name of a queue sharing group, because a group can be resumed
            on one queue manager only.
        channel: its server-connection channel; an address needs one.
        conn_name: its address, ``host(port)``; several, separated by commas, are tried in order. Without it the MQ client's own
            configuration counts: local bindings, MQSERVER, or a client channel definition table.
        user: the user to connect as, with a password, which the queue manager checks.
        password: the user's password. A string, or a ``Secret`` that names a file or an environment variable, which is then read
            again at each reconnect.
        token: a JSON web token (ibmmq only), used instead of user and password.
        cipher_spec: the CipherSpec of the channel; the connection then uses TLS (MQCD.SSLCipherSpec).
        key_repository: the key repository with the certificates to check the queue manager's certificate against
            (MQSCO.KeyRepository). By default the one in MQSSLKEYR or mqclient.ini.
        key_repository_password: the password of the key repository (ibmmq only). By default MQKEYRPWD or a stash file.
        certificate_label: the label of this client's own certificate, which a channel with SSLCAUTH(REQUIRED) asks for.
        peer_name: a pattern for the distinguished name in the queue manager's certificate (``"CN=QM1,O=*"``).
        ccdt_url: a client channel definition table (ibmmq only), instead of channel and address. By default the one in MQCCDTURL,
            MQCHLLIB and MQCHLTAB.
        fips: whether only FIPS-certified CipherSpecs are used (MQSCO.FipsRequired). By default if MQSSLFIPS is YES.
    """

    q_mgr_name: str = field(kw_only=False)
    channel: str | None = field(default=None, kw_only=False)
    conn_name: str | None = field(default=None, kw_only=False)
    user: str | None = None
    password: Annotated[str | Secret | None, check_secret] = None
    token: Annotated[str | Secret | None, check_secret] = None
    cipher_spec: str | None = None
    key_repository: str | None = None
    key_repository_password: Annotated[str | Secret | None, check_secret] = None
    certificate_label: str | None = None
    peer_name: str | None = None
    ccdt_url: str | None = None
    fips: bool | None = None

    def __post_init__(self) -> None:
        for name in SECRETS:
            object.__setattr__(self, name, Secret.of(getattr(self, name)))
        super().__post_init__()

    def read_secret(self, name: str) -> bytes:
        """Return a secret, read now, in UTF-8; raises ConfigurationError if it cannot be read."""
        secret = Secret.of(getattr(self, name))
        return b"" if secret is None else secret.read(name).encode()


class Binding(Protocol):
    """The MQI as the C layers of pymqi and ibmmq offer it; MQCONNX and MQINQ, in which they differ, are made equal.

    ``md``, ``pmo``, ``gmo``, ``od`` and ``sts`` must be new objects in each call, because the C libraries write into them.
    """

    # "pymqi" or "ibmmq".
    name: str
    # (hconn, od, options) -> (hobj, od, comp, reason)
    MQOPEN: Callable[[int, bytes, int], tuple[int, bytes, int, int]]
    # (hconn, hobj, options) -> (comp, reason)
    MQCLOSE: Callable[[int, int, int], tuple[int, int]]
    # (hconn, hobj, md, pmo, data) -> (md, pmo, comp, reason)
    MQPUT: Callable[[int, int, bytes, bytes, bytes], tuple[bytes, bytes, int, int]]
    # (hconn, hobj, md, gmo, buffer length) -> (data, md, gmo, data length, comp, reason)
    MQGET: Callable[[int, int, bytes, bytes, int], tuple[bytes, bytes, bytes, int, int, int]]
    # (hconn) -> (comp, reason). MQDISC commits an open unit of work: call MQBACK first.
    MQCMIT: Callable[[int], tuple[int, int]]
    MQBACK: Callable[[int], tuple[int, int]]
    MQDISC: Callable[[int], tuple[int, int]]

    @property
    def MQSTAT(self) -> Callable[[int, int, bytes], tuple[bytes, int, int]]:
        """(hconn, type, sts) -> (sts, comp, reason), if ``has_mqstat``."""

    @property
    def has_mqstat(self) -> bool:
        """Whether the client library has MQSTAT."""

    def connect(self, arguments: ConnectArguments, made: list[ConnectedQueueManager]) -> tuple[int, int, int]:
        """MQCONNX. Returns (hconn, comp, reason).

        ``made`` gets the binding's QueueManager object, which will hold the handle, before the call; or it has one that is not
        connected. Raises ConfigurationError if this binding has no field for one of the arguments, or a secret cannot be read.
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
