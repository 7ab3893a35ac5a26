"""The interface of an MQ binding: the verbs of its C layer that this package calls.

Every verb returns its outputs, then completion code and reason code. It raises no error for these codes, because a caller needs
the outputs even after a warning. For example, the message may be on the queue. Only ``connection/`` turns codes into errors.

Structures are packed (``structures.py``), names are ``str``, MQBYTE fields are ``bytes``.
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

    Secrets are read at each MQCONNX. ``connection/rules.py`` checks which arguments can be combined.

    Attributes:
        q_mgr_name: the queue manager's name. It cannot be blank, ``*NAME``, or the name of a queue sharing group, because a group
            can be resumed only on its queue manager.
        channel: the queue manager's server-connection channel, which is needed if there is an address.
        conn_name: the queue manager's address, ``host(port)``, or several addresses with commas, which are tried in order.
            Without an address the MQ client's configuration counts: local bindings, MQSERVER, or a channel definition table.
        user: the user to connect as, with a password, which the queue manager checks.
        password: the user's password. It is a string, or a ``Secret`` that names a file or an environment variable, which is then
            read again at each reconnect.
        token: a JSON web token (ibmmq only), used instead of user and password.
        cipher_spec: the CipherSpec of the channel; the connection then uses TLS (MQCD.SSLCipherSpec).
        key_repository: the key repository with the certificates to check the queue manager's certificate against
            (MQSCO.KeyRepository). The default is the key repository of MQSSLKEYR or mqclient.ini.
        key_repository_password: the password of the key repository (ibmmq only). The default is MQKEYRPWD or a stash file.
        certificate_label: the label of this client's own certificate, which a channel with SSLCAUTH(REQUIRED) asks for.
        peer_name: a pattern for the distinguished name in the queue manager's certificate (``"CN=QM1,O=*"``).
        ccdt_url: a client channel definition table (ibmmq only), instead of channel and address. The default is the table of
            MQCCDTURL, or of MQCHLLIB and MQCHLTAB.
        fips: whether to use only FIPS-certified CipherSpecs (MQSCO.FipsRequired). By default it is true if MQSSLFIPS is YES.
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
        """Return the secret of the argument ``name``, in UTF-8; raises ConfigurationError if it cannot be read."""
        secret = Secret.of(getattr(self, name))
        return b"" if secret is None else secret.read(name).encode()


class Binding(Protocol):
    """The MQI as the C layers of pymqi and ibmmq define it. ``connect`` and ``inquire`` hide differences between these layers.

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
    # (hconn) -> (comp, reason). MQDISC commits an open unit of work, so call MQBACK first.
    MQCMIT: Callable[[int], tuple[int, int]]
    MQBACK: Callable[[int], tuple[int, int]]
    MQDISC: Callable[[int], tuple[int, int]]

    @property
    def MQSTAT(self) -> Callable[[int, int, bytes], tuple[bytes, int, int]]:
        """The function (hconn, type, sts) -> (sts, comp, reason). Use it only if ``has_mqstat`` is true."""

    @property
    def has_mqstat(self) -> bool:
        """Whether the client library has MQSTAT."""

    def connect(self, arguments: ConnectArguments, made: list[ConnectedQueueManager]) -> tuple[int, int, int]:
        """Connect with MQCONNX. Returns (hconn, comp, reason).

        If ``made`` is empty, the binding's QueueManager object is added to ``made`` before MQCONNX. Otherwise the object in
        ``made`` is used again. Raises ConfigurationError if this binding lacks a field, or a secret cannot be read.
        """

    def message_handle(
        self, hconn: int, properties: Mapping[str, PropertyValue], hmsg: int | None = None
    ) -> tuple[int, int, int]:
        """Call MQCRTMH if ``hmsg`` is not given, then MQSETMP for each property. Returns (hmsg, comp, reason)."""

    def handle_of(self, q_mgr: ConnectedQueueManager) -> int:
        """Return the handle of this binding's QueueManager object; raises ConfigurationError if it is not connected."""

    def inquire(self, hconn: int, hobj: int, selector: int) -> tuple[int | str, int, int]:
        """Call MQINQ for one attribute. Returns (value, comp, reason). Character values have no padding."""


class ConnectedQueueManager(Protocol):
    """A ``pymqi.QueueManager`` or ``ibmmq.QueueManager`` that an application has connected itself."""

    # pymqi annotates its own method with None, so with ``int`` a type checker would refuse pymqi's objects.
    def get_handle(self) -> object:
        """Return the connection handle."""
