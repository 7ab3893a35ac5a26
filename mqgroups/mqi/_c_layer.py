"""The common base of the adapters for pymqi and ibmmq: the C functions, and MQCONNX through the binding's own classes.

pymqi's ``pymqe`` and ibmmq's ``ibmmqc`` have the same arguments and results for these verbs, because ibmmq is derived from
pymqi. The C functions are not wrapped, so no Python code runs between the caller and the MQI.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, cast

from mqgroups.errors import ConfigurationError
from mqgroups.mqi import constants as mq
from mqgroups.mqi.abc import ConnectArguments, ConnectedQueueManager, PropertyValue
from mqgroups.mqi.properties import type_of
from mqgroups.mqi.structures import LONGEST_MESSAGE_BYTES

# (hconn, type, sts) -> (sts, comp, reason)
Mqstat: TypeAlias = Callable[[int, int, bytes], tuple[bytes, int, int]]

_UTF_8 = 1208
# MQCD of IBM MQ 8.0, which both bindings' structures have; TLS needs version 7, SharingConversations version 9. And the first
# versions with the URL of a channel definition table, with an application's name, and with the password of a key repository.
_MQCD_VERSION_11, _MQCNO_VERSION_6, _MQCNO_VERSION_7, _MQSCO_VERSION_6 = 11, 6, 7, 6
# The larger HeartbeatInterval of both ends counts, unless one end has 0 (IBM MQ, "HeartbeatInterval"). So with 1 the channel's
# interval counts. The default of both bindings is 300, IBM's own for programs in C is 1.
_LET_THE_CHANNEL_DECIDE_S = 1
_APPL_NAME_LENGTH = 28
# This package reconnects by itself, because MQPMO_LOGICAL_ORDER is refused with the client's automatic reconnection (2547). Each
# connection has its own socket, because connections that share a socket are lost together, and wait for each other (IBM MQ,
# "Default behavior of client-connection and server-connection channels").
_CONNECT_OPTIONS = mq.MQCNO_RECONNECT_DISABLED | mq.MQCNO_HANDLE_SHARE_BLOCK | mq.MQCNO_NO_CONV_SHARING
# Arguments whose fields only some bindings have: argument -> structure, field, and an alternative for the error's text.
_NOT_IN_EVERY_BINDING = {
    "token": ("CSP", "Token", ""),
    "ccdt_url": ("CNO", "CCDTUrl", ", or set MQCCDTURL, or MQCHLLIB and MQCHLTAB, in the environment and leave it out"),
    "key_repository_password": (
        "SCO",
        "KeyRepoPassword",
        ", or set MQKEYRPWD in the environment or keep a stash file beside the repository, and leave it out",
    ),
    "certificate_label": ("SCO", "CertificateLabel", ""),
}


class CLayer:
    """An adapter for one binding: the verbs of its C module, and ``connect``."""

    # Whether the binding passes an MQSCO to MQCONNX even if the caller gives none.
    always_passes_mqsco = False

    def __init__(self, name: str, package: Any, c_module: Any) -> None:
        self.name = name
        self._package = package
        self._c = c_module
        self.MQOPEN: Callable[[int, bytes, int], tuple[int, bytes, int, int]] = c_module.MQOPEN
        self.MQCLOSE: Callable[[int, int, int], tuple[int, int]] = c_module.MQCLOSE
        self.MQPUT: Callable[[int, int, bytes, bytes, bytes], tuple[bytes, bytes, int, int]] = c_module.MQPUT
        self.MQGET: Callable[[int, int, bytes, bytes, int], tuple[bytes, bytes, bytes, int, int, int]] = c_module.MQGET
        self.MQCMIT: Callable[[int], tuple[int, int]] = c_module.MQCMIT
        self.MQBACK: Callable[[int], tuple[int, int]] = c_module.MQBACK
        self.MQDISC: Callable[[int], tuple[int, int]] = c_module.MQDISC

    def connect(self, arguments: ConnectArguments, made: list[ConnectedQueueManager]) -> tuple[int, int, int]:
        """Connect with the binding's MQCD, MQSCO and MQCSP classes, which fit the MQ client that the binding was built for.

        The binding's QueueManager object is used only to connect. It does not disconnect when it is garbage-collected, because
        MQDISC commits. It is added to ``made`` first, so that no interruption can lose its handle. After a failed try, the next
        try uses the same object.
        """
        self._require_fields(arguments)
        package = self._package
        if not made:
            made.append(package.QueueManager(None, disconnect_on_exit=False))
        q_mgr: Any = made[0]
        keywords = self._connect_options(arguments)
        if arguments.channel is not None:
            cd = package.CD()
            cd.Version = max(cd.Version, _MQCD_VERSION_11)
            cd.HeartbeatInterval = _LET_THE_CHANNEL_DECIDE_S
            cd.ChannelName = arguments.channel.encode()
            cd.ConnectionName = (arguments.conn_name or "").encode()
            cd.ChannelType = package.CMQXC.MQCHT_CLNTCONN
            cd.TransportType = mq.MQXPT_TCP
            cd.MaxMsgLength = LONGEST_MESSAGE_BYTES
            if arguments.cipher_spec is not None:
                cd.SSLCipherSpec = arguments.cipher_spec.encode()
            # The memory that MQCD points to must exist until the call has returned.
            _peer_name = self._set_peer_name(cd, arguments.peer_name)
            keywords["cd"] = cd
        try:
            if arguments.user is not None and arguments.password is not None:
                # As bytes: ibmmq encodes a str as ASCII, and its error would show a password that is not ASCII.
                keywords.update(user=arguments.user.encode(), password=arguments.read_secret("password"))
            if arguments.token is not None:
                keywords["token"] = arguments.read_secret("token")
            keywords |= self._key_repository(arguments)
            q_mgr.connect_with_options(arguments.q_mgr_name, **keywords)
        except package.MQMIError as error:
            # The binding raises this error for a warning, too. Then the handle is usable.
            hconn = q_mgr.get_handle() if error.comp == mq.MQCC_WARNING else mq.MQHC_UNUSABLE_HCONN
            return hconn, error.comp, error.reason
        finally:
            # They have secrets, and a traceback may show the local variables of this frame.
            keywords.clear()
        return q_mgr.get_handle(), mq.MQCC_OK, mq.MQRC_NONE

    def _require_fields(self, arguments: ConnectArguments) -> None:
        """Raise ConfigurationError if this binding's structures have no field for one of the arguments."""
        for name, (structure, field, instead) in _NOT_IN_EVERY_BINDING.items():
            if getattr(arguments, name) is not None and not hasattr(getattr(self._package, structure, object)(), field):
                raise ConfigurationError(
                    f"{self.name} cannot pass on {name}: it does not have MQ{structure}.{field}. Use ibmmq "
                    f"(MQGROUPS_MQI=ibmmq){instead}"
                )

    def _connect_options(self, arguments: ConnectArguments) -> dict[str, Any]:
        """Return the keyword argument for MQCNO. pymqi has no class for MQCNO, so pymqi gets only the options."""
        options = _CONNECT_OPTIONS
        if arguments.channel is not None or arguments.ccdt_url is not None:
            # libmqm_r would try local bindings first (IBM MQ, "Connecting to a queue manager using the MQCONNX call"). ibmmq
            # 2.1.2 sets this option too late: it has packed its MQCNO before.
            options |= mq.MQCNO_CLIENT_BINDING
        if not hasattr(self._package, "CNO"):
            return {"opts": options}
        cno = self._package.CNO(Options=options)
        if arguments.ccdt_url is not None:
            cno.Version, cno.CCDTUrl = max(cno.Version, _MQCNO_VERSION_6), arguments.ccdt_url.encode()
        if (name := program_name(sys.argv)) and hasattr(cno, "ApplName"):
            cno.Version, cno.ApplName = max(cno.Version, _MQCNO_VERSION_7), name
        return {"cno": cno}

    def _key_repository(self, arguments: ConnectArguments) -> dict[str, Any]:
        """Return the keyword argument for MQSCO. The result is empty if no argument needs an MQSCO.

        An MQSCO makes the client ignore MQSSLKEYR and MQSSLCRYP (IBM MQ, "MQSCO"), and its FipsRequired overrides MQSSLFIPS.
        So this package reads these variables itself.
        """
        given = (arguments.key_repository, arguments.certificate_label, arguments.fips)
        if not self.always_passes_mqsco and all(argument is None for argument in given):
            return {}
        sco = self._package.SCO()
        sco.KeyRepository = (arguments.key_repository or os.environ.get("MQSSLKEYR", "")).encode()
        sco.CryptoHardware = os.environ.get("MQSSLCRYP", "").encode()
        fips = os.environ.get("MQSSLFIPS", "").upper() == "YES" if arguments.fips is None else arguments.fips
        sco.FipsRequired = mq.MQSSL_FIPS_YES if fips else mq.MQSSL_FIPS_NO
        if arguments.certificate_label is not None:
            sco.CertificateLabel = arguments.certificate_label.encode()
        if arguments.key_repository_password is not None:
            sco.Version = _MQSCO_VERSION_6
            sco.KeyRepoPassword = arguments.read_secret("key_repository_password")
        return {"sco": sco}

    def _set_peer_name(self, cd: Any, peer_name: str | None) -> object:
        """Make an MQCD point to a peer name. Returns an object that the caller must keep while the MQCD is used."""
        raise NotImplementedError  # for subclasses

    @cached_property
    def _set_options(self) -> tuple[bytes, bytes]:
        """The MQSMPO and MQPD for each MQSETMP. They are packed once, because packing takes longer than the rest of a call."""
        # Strings are passed as UTF-8; the default would be the character set of the program's locale.
        return self._package.SMPO(ValueCCSID=_UTF_8).pack(), self._package.PD().pack()

    def message_handle(
        self, hconn: int, properties: Mapping[str, PropertyValue], hmsg: int | None = None
    ) -> tuple[int, int, int]:
        """Call MQCRTMH if ``hmsg`` is not given, then MQSETMP for each property. Returns (hmsg, comp, reason).

        The message handle exists until the connection ends, because pymqi has no MQDLTMH.
        """
        c = self._c
        comp, reason = mq.MQCC_OK, mq.MQRC_NONE
        if hmsg is None:
            hmsg, comp, reason = c.MQCRTMH(hconn, self._package.CMHO().pack())
        for name, value in properties.items():
            if comp == mq.MQCC_FAILED:
                break
            kind, length = type_of(value)
            smpo, pd = self._set_options
            comp, reason = c.MQSETMP(hconn, hmsg, smpo, name.encode(), pd, kind, value, length)
        return hmsg, comp, reason

    def handle_of(self, q_mgr: ConnectedQueueManager) -> int:
        """As in ``Binding``."""
        try:
            return cast("int", q_mgr.get_handle())
        except self._package.PYIFError:
            raise ConfigurationError(f"the {self.name}.QueueManager is not connected; connect it first") from None


def program_name(argv: list[str]) -> bytes:
    """Return the name of the script or package that ``argv`` names, in 28 bytes; empty if it names neither.

    Without this name, DISPLAY CONN shows administrators the interpreter's name, which is the same for all Python programs.
    """
    path = Path(argv[0] if argv else "")
    name = path.parent.name if path.name == "__main__.py" else path.name
    known = name.encode("ascii", "replace")[:_APPL_NAME_LENGTH]
    return b"" if name in ("", "-c", "-m") else known.ljust(_APPL_NAME_LENGTH)
