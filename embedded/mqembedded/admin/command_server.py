"""The command server: a program inside the queue manager that answers PCF commands.

The command server gets requests from its queue, and puts responses on the queue that each request names. It uses the same verbs
as applications, in its own thread and with its own connection. It logs and drops a request that it cannot answer.

``commands/`` carries out the commands, and ``pcf.py`` reads and writes the messages.

Source: IBM MQ, "Responses", "Standard responses", "The message descriptor of a PCF command message". Commands of type
MQCFT_COMMAND_XR also get standard responses, as on Multiplatforms. On z/OS, all responses are extended (IBM MQ, "Extended
responses"). Then a command gets an item for each row of its result, or a message that explains the error, and then a summary.
"""

from __future__ import annotations

import dataclasses
import logging
import sqlite3
import struct
import threading
from collections.abc import Sequence

from mqembedded import constants as mq
from mqembedded.admin import pcf
from mqembedded.admin.commands import COMMANDS, permission
from mqembedded.admin.commands.escape import EscapeFailed, escape_text
from mqembedded.admin.commands.request import Row
from mqembedded.admin.pcf import Header, PCFError
from mqembedded.answer import ConnectionGone, Failed
from mqembedded.calls import getting, opening, putting
from mqembedded.connection import Connection
from mqembedded.objects.others import CatalogueError
from mqembedded.platform import Platform
from mqembedded.queue_manager import QueueManager
from mqembedded.wire import pcf_constants as cf
from mqembedded.wire.pcf_conversion import convert_pcf
from mqembedded.wire.structures import MD_V1, NO_ID, MessageDescriptor, name_field, text_field

_log = logging.getLogger(__name__)

_APPL_NAME = "command server"
# The forms of PCF messages: this package's form, and the form of z/OS.
_NATIVE, _EBCDIC = ("<", 819), (">", 500)
_LONGEST_COMMAND = 104_857_600
# Seconds to wait if the command queue cannot be read, for example because gets are inhibited.
_RETRY_S = 1.0
_GET_OPTIONS = mq.MQGMO_WAIT | mq.MQGMO_NO_SYNCPOINT | mq.MQGMO_NO_PROPERTIES
_GMO = struct.pack("<4siiiii48siBBBB", b"GMO ", 2, _GET_OPTIONS, mq.MQWI_UNLIMITED, 0, 0, b"", 0, *b"    ")
_PMO = struct.pack("<4sii", b"PMO ", 1, mq.MQPMO_NO_SYNCPOINT).ljust(128, b"\0")


class _Waiter:
    """The object with which the command server sleeps until a request comes or the queue manager stops."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._stopped = False

    def wait(self, timeout_s: float | None) -> None:
        self._event.wait(timeout_s)
        self._event.clear()
        if self._stopped:
            raise ConnectionGone

    def wake(self) -> None:
        self._event.set()

    def stop(self) -> None:
        self._stopped = True
        self._event.set()


class CommandServer:
    """The program that answers PCF commands. It runs from ``start`` until ``stop``."""

    def __init__(self, q_mgr: QueueManager) -> None:
        self._q_mgr = q_mgr
        self._waiter = _Waiter()
        self._thread: threading.Thread | None = None
        self._refused = mq.MQRC_NONE

    def start(self) -> None:
        """Open the command queue before any application can open it, and start the thread. Raises Failed if MQOPEN fails."""
        connection = self._q_mgr.connect_program(self._waiter, _APPL_NAME)
        od = _descriptor(self._q_mgr.platform.command_queue, "")
        _, _, opened = opening.open_object(self._q_mgr, connection, od, mq.MQOO_INPUT_EXCLUSIVE)
        self._thread = threading.Thread(target=self._serve, args=(connection, opened[0]), name=_APPL_NAME, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop after the current command. The command server then no longer uses the queue manager's store."""
        self._waiter.stop()
        if self._thread is not None:
            self._thread.join()

    def _serve(self, connection: Connection, hobj: int) -> None:
        try:
            while True:
                self._serve_one(connection, hobj)
        except ConnectionGone:
            pass
        except Exception:
            _log.exception("the command server ends: PCF commands are not answered any more")
        finally:
            self._q_mgr.drop(connection)

    def _serve_one(self, connection: Connection, hobj: int) -> None:
        """Wait for a request and answer it; raise ConnectionGone when the queue manager stops."""
        try:
            got = getting.get(self._q_mgr, connection, hobj, _ANY_MESSAGE, _GMO, _LONGEST_COMMAND)[2]
        except Failed as failed:
            if failed.reason != self._refused:
                _log.warning("%s cannot be read: %s", self._q_mgr.platform.command_queue, failed)
            self._refused = failed.reason
            self._waiter.wait(_RETRY_S)
            return
        self._refused = mq.MQRC_NONE
        raw, data = got[0], got[3]
        assert isinstance(raw, bytes)
        assert isinstance(data, bytes)
        request = MessageDescriptor(raw)
        platform = self._q_mgr.platform
        try:
            if platform is Platform.ZOS and request.coded_char_set_id == platform.ccsid:
                data = convert_pcf(data, _EBCDIC, _NATIVE) or data
                request.encoding = mq.MQENC_NATIVE
            responses = self._answer(request, data)
            if platform is Platform.ZOS:
                responses = [convert_pcf(each, _NATIVE, _EBCDIC) or each for each in responses]
            self._reply(connection, request, responses)
        except Exception:
            # After a bug, the command server must still answer the next program.
            _log.exception("a command of %d bytes from %s is dropped", len(data), text_field(request.put_appl_name))

    def _answer(self, request: MessageDescriptor, data: bytes) -> list[bytes]:
        """Carry out a command, and return the data of each response message."""
        try:
            rows, reason = self._carried_out(request, data), mq.MQRC_NONE
        except EscapeFailed as error:
            rows, reason = [escape_text(error.text)], error.reason
        except PCFError as error:
            detail = [pcf.integer(error.error_parameter, error.error_value)] if error.error_value else []
            rows, reason = [detail], error.reason
        except CatalogueError as error:
            detail = [pcf.integer(cf.MQIACF_PARAMETER_ID, error.selector)] if error.selector else []
            rows, reason = [detail], error.reason
        except Failed as failed:
            rows, reason = [[]], failed.reason
        except sqlite3.Error:
            _log.exception("a command could not be written")
            rows, reason = [[]], mq.MQRC_RESOURCE_PROBLEM
        except Exception:
            _log.exception("a command of %d bytes failed", len(data))
            rows, reason = [[pcf.integer(cf.MQIACF_ERROR_ID, mq.MQRC_UNEXPECTED_ERROR)]], mq.MQRC_UNEXPECTED_ERROR
        command = pcf.parse_header(data, request.encoding).command
        if self._q_mgr.platform is Platform.ZOS:
            return self._extended(command, rows, reason)
        return _built([(cf.MQCFT_RESPONSE, reason, row) for row in rows or [[]]], command)

    def _carried_out(self, request: MessageDescriptor, data: bytes) -> list[Row]:
        """Carry out a command, and return the parameters of each response."""
        if request.format != mq.MQFMT_ADMIN:
            raise PCFError(cf.MQRCCF_MD_FORMAT_ERROR)
        platform = self._q_mgr.platform
        header, parameters = pcf.parse_command(data, request.encoding, platform)
        known = COMMANDS.get(header.command)
        if known is None or (platform is Platform.ZOS and header.command == cf.MQCMD_ESCAPE):
            raise PCFError(cf.MQRCCF_CFH_COMMAND_ERROR)
        shape, carry_out = known
        checked = dataclasses.replace(shape.check(parameters), user=text_field(request.user_identifier))
        with self._q_mgr.lock:
            created = permission.check(self._q_mgr, header.command, checked)
            rows = carry_out(self._q_mgr, checked)
            if created is not None:
                self._q_mgr.catalogue.authorities.created(checked.user, *created)
            return permission.visible(self._q_mgr, header.command, checked, rows)

    def _extended(self, command: int, rows: list[Row], reason: int) -> list[bytes]:
        """Return the extended responses to a command, which end with a summary."""
        of_set = [
            pcf.byte_string(cf.MQBACF_RESPONSE_ID, self._q_mgr.new_identifier()),
            pcf.string(cf.MQCACF_RESPONSE_Q_MGR_NAME, self._q_mgr.name, mq.MQ_Q_MGR_NAME_LENGTH),
        ]
        kind, ends = (cf.MQCFT_XR_MSG, cf.MQRCCF_COMMAND_FAILED) if reason else (cf.MQCFT_XR_ITEM, mq.MQRC_NONE)
        messages = [(kind, reason, of_set + row) for row in rows]
        return _built([*messages, (cf.MQCFT_XR_SUMMARY, ends, of_set)], command, cf.MQCFH_VERSION_3)

    def _reply(self, connection: Connection, request: MessageDescriptor, responses: Sequence[bytes]) -> None:
        """Put the responses on the queue that the request names."""
        reply_to = text_field(request.reply_to_q)
        if request.msg_type != mq.MQMT_REQUEST or not reply_to:
            _log.info("a command from %s asks for no reply", text_field(request.put_appl_name))
            return
        od = _descriptor(reply_to, text_field(request.reply_to_q_mgr))
        for data in responses:
            try:
                putting.put1(self._q_mgr, connection, od, _reply_descriptor(request, self._q_mgr.platform), _PMO, data)
            except Failed as failed:
                _log.info(
                    "the reply to %s cannot be put on %s: %s", text_field(request.put_appl_name), reply_to, failed
                )
                return


def _built(messages: Sequence[tuple[int, int, Row]], command: int, version: int = cf.MQCFH_VERSION_1) -> list[bytes]:
    """Return response messages. ``messages`` has the type, the reason code and the parameters of each response."""
    return [
        pcf.build(
            Header(
                kind,
                command,
                version,
                number,
                cf.MQCFC_LAST if number == len(messages) else cf.MQCFC_NOT_LAST,
                mq.MQCC_FAILED if reason else mq.MQCC_OK,
                reason,
            ),
            row,
        )
        for number, (kind, reason, row) in enumerate(messages, 1)
    ]


def _reply_descriptor(request: MessageDescriptor, platform: Platform) -> bytes:
    """Return the MQMD of a response, with the identifiers, expiry and discard option that the request's Report asks for."""
    report = request.report
    msg_id = request.msg_id if report & mq.MQRO_PASS_MSG_ID else NO_ID
    correl_id = request.correl_id if report & mq.MQRO_PASS_CORREL_ID else request.msg_id
    passes = bool(report & mq.MQRO_PASS_DISCARD_AND_EXPIRY)
    return MD_V1.pack(
        b"MD  ",
        1,
        report & mq.MQRO_DISCARD_MSG if passes else mq.MQRO_NONE,
        mq.MQMT_REPLY,
        request.expiry if passes else mq.MQEI_UNLIMITED,
        mq.MQFB_NONE,
        platform.encoding,
        platform.ccsid,
        mq.MQFMT_ADMIN,
        request.priority,
        request.persistence,
        msg_id,
        correl_id,
        0,
        b"",
        b"",
        b"",
        b"",
        b"",
        0,
        b"",
        b"",
        b"",
        b"",
    )


def _descriptor(q_name: str, q_mgr_name: str) -> bytes:
    """Return the MQOD for a queue."""
    return struct.pack("<4sii48s48s48s12s", b"OD  ", 1, mq.MQOT_Q, name_field(q_name), name_field(q_mgr_name), b"", b"")


_ANY_MESSAGE = MD_V1.pack(
    b"MD  ", 1, 0, mq.MQMT_DATAGRAM, mq.MQEI_UNLIMITED, 0, mq.MQENC_NATIVE, 0, b"", 0, 0, NO_ID, NO_ID, 0,
    b"", b"", b"", b"", b"", 0, b"", b"", b"", b"",
)  # fmt: skip
