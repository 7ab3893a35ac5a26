"""The command server: how it answers, what it survives, and that it can be left out."""

from __future__ import annotations

import random
import struct

import pytest

from embedded_tests.fix_mqi import EMPTY, OK, PATIENCE_MS, failed
from embedded_tests.tables import table
from mqembedded import constants as mq
from mqembedded.admin import pcf
from mqembedded.admin.commands import COMMANDS
from mqembedded.admin.pcf import Header, Parameter
from mqembedded.wire import pcf_constants as cf
from mqembedded.wire.pcf_conversion import convert_pcf

pytestmark = pytest.mark.embedded

COMMAND_QUEUE = "SYSTEM.ADMIN.COMMAND.QUEUE"
PING = pcf.build(Header(cf.MQCFT_COMMAND, cf.MQCMD_PING_Q_MGR), [])


class Asker:
    """Puts command messages, and gets what comes back on a queue of its own."""

    def __init__(self, connection, queue, command_queue=COMMAND_QUEUE):
        self.connection = connection
        self.command_queue = command_queue
        self.queue = queue
        self.replies = connection.open(queue, mq.MQOO_INPUT_SHARED)

    def put(self, data, **fields):
        fields = {"Format": mq.MQFMT_ADMIN, "MsgType": mq.MQMT_REQUEST, "ReplyToQ": self.queue.encode(), **fields}
        answer = self.connection.put1(self.command_queue, data, **fields)
        assert answer.code == OK
        return answer.md

    def reply(self, correl_id, **more):
        answer = self.replies.get(
            mq.MQGMO_CONVERT,
            match=mq.MQMO_MATCH_CORREL_ID,
            CorrelId=correl_id,
            wait_ms=PATIENCE_MS,
            length=10**6,
            **more,
        )
        assert answer.code == OK
        return answer

    def ask(self, data, **fields):
        """Return the header and the parameters of the response."""
        return pcf.parse(self.reply(self.put(data, **fields).MsgId).data, 2)


@pytest.fixture
def asker(connection, queue):
    return Asker(connection, queue)


def test_a_response_is_a_reply_that_carries_the_request_s_identifier(asker):
    sent = asker.put(PING, Persistence=1, Priority=7)
    answer = asker.reply(sent.MsgId)
    md = answer.md
    assert (md.MsgType, md.Format, md.Persistence, md.Priority) == (mq.MQMT_REPLY, mq.MQFMT_ADMIN, 1, 7)
    assert md.CorrelId == sent.MsgId
    assert md.MsgId != sent.MsgId
    assert md.Expiry == mq.MQEI_UNLIMITED
    header, parameters = pcf.parse(answer.data, md.Encoding)
    assert header == Header(cf.MQCFT_RESPONSE, cf.MQCMD_PING_Q_MGR)
    assert parameters == []


def test_report_options_of_the_request_are_followed(asker):
    correl_id = b"C" * 24
    report = mq.MQRO_PASS_MSG_ID | mq.MQRO_PASS_CORREL_ID | mq.MQRO_PASS_DISCARD_AND_EXPIRY | mq.MQRO_DISCARD_MSG
    sent = asker.put(PING, CorrelId=correl_id, Report=report, Expiry=3000)
    md = asker.reply(correl_id).md
    assert md.MsgId == sent.MsgId
    assert md.Report == mq.MQRO_DISCARD_MSG
    assert 0 < md.Expiry <= 3000


def test_every_response_but_the_last_says_that_more_come(asker):
    names = pcf.build(Header(cf.MQCFT_COMMAND_XR, cf.MQCMD_INQUIRE_Q, 3), [pcf.string(mq.MQCA_Q_NAME, "SYSTEM.*")])
    sent = asker.put(names)
    headers: list[Header] = []
    while not headers or headers[-1].control == cf.MQCFC_NOT_LAST:
        headers.append(pcf.parse(asker.reply(sent.MsgId).data, 2)[0])
    assert len(headers) > 3
    assert [header.msg_seq_number for header in headers] == list(range(1, len(headers) + 1))
    assert asker.replies.get().code == EMPTY


def test_a_refusal_names_the_parameter(asker):
    given = [pcf.string(mq.MQCA_Q_NAME, "X" * 60)]
    header, parameters = asker.ask(pcf.build(Header(cf.MQCFT_COMMAND, cf.MQCMD_CLEAR_Q), given))
    assert (header.comp_code, header.reason) == (2, cf.MQRCCF_CFST_STRING_LENGTH_ERR)
    assert header.command == cf.MQCMD_CLEAR_Q
    assert parameters == [pcf.integer(cf.MQIACF_PARAMETER_ID, mq.MQCA_Q_NAME)]


def test_a_message_of_another_format_is_refused(asker):
    header, _ = asker.ask(PING, Format=mq.MQFMT_STRING)
    assert header.reason == cf.MQRCCF_MD_FORMAT_ERROR


def test_a_command_in_the_other_byte_order_is_understood(asker):
    words = [cf.MQCFT_COMMAND, 36, 1, cf.MQCMD_PING_Q_MGR, 1, cf.MQCFC_LAST, 0, 0, 0]
    header, _ = asker.ask(b"".join(word.to_bytes(4, "big") for word in words), Encoding=0x111)
    assert (header.command, header.reason) == (cf.MQCMD_PING_Q_MGR, 0)


def test_a_command_that_wants_no_reply_is_carried_out(asker, connect, make_queue):
    name = make_queue()
    change = pcf.build(
        Header(cf.MQCFT_COMMAND, cf.MQCMD_CHANGE_Q),
        [pcf.string(mq.MQCA_Q_NAME, name), pcf.integer(20, 1), pcf.integer(mq.MQIA_INHIBIT_GET, 1)],
    )
    asker.put(change, MsgType=mq.MQMT_DATAGRAM, ReplyToQ=b"")
    assert asker.ask(PING)[0].reason == 0
    assert asker.connection.open(name, mq.MQOO_INPUT_SHARED).get().code != EMPTY


@table("reply_to", [b"NO.SUCH.QUEUE", COMMAND_QUEUE.encode()])
def test_replies_that_find_no_queue_stop_nobody(asker, reply_to):
    # The second makes a command of the reply, which is refused; it wants no reply itself.
    asker.put(PING, ReplyToQ=reply_to)
    assert asker.ask(PING)[0].reason == 0


def test_nobody_else_reads_the_command_queue(connection):
    assert connection.open(COMMAND_QUEUE, mq.MQOO_INPUT_SHARED).code == failed(mq.MQRC_OBJECT_IN_USE)


def test_a_command_queue_that_was_inhibited_is_served_again(asker):
    handle = asker.connection.open(COMMAND_QUEUE, mq.MQOO_SET)
    assert handle.set(mq.MQIA_INHIBIT_GET, 1) == OK
    sent = asker.put(PING)
    assert asker.replies.get().code == EMPTY
    assert handle.set(mq.MQIA_INHIBIT_GET, 0) == OK
    assert pcf.parse(asker.reply(sent.MsgId).data, 2)[0].reason == 0


# --- what it survives


def damaged(chance: random.Random) -> bytes:
    """Random bytes, or a command with parameters that may belong to it, or that with some bytes changed."""
    if chance.random() < 0.2:
        return chance.randbytes(chance.randrange(200))
    command = chance.choice([*COMMANDS, chance.randrange(300)])
    shape = COMMANDS[command][0] if command in COMMANDS else None
    slots = [*shape.required, *chance.sample(shape.optional, min(2, len(shape.optional)))] if shape else []
    parameters = [value_of(chance, *slot) for slot in slots]
    message = bytearray(pcf.build(Header(cf.MQCFT_COMMAND, command), parameters))
    if chance.random() < 0.5:
        for _ in range(chance.randrange(1, 5)):
            message[chance.randrange(len(message))] = chance.randrange(256)
    return bytes(message)


def value_of(chance: random.Random, kind: int, identifier: int) -> Parameter:
    number = chance.choice([-1, 0, 1, 3, 7, 1001, 1009, 2**31 - 1, chance.randrange(-5, 2000)])
    # No name that is a real object's: the tests' queues are not for fuzzing.
    said = chance.choice(["", "*", "FUZZ.*", "FUZZ.A", "FUZZ.B", "FUZZ *", "F" * 70, "\xff\xfe"])
    if kind == cf.MQCFT_INTEGER:
        return Parameter(kind, identifier, number)
    if kind == cf.MQCFT_STRING:
        return Parameter(kind, identifier, said)
    if kind == cf.MQCFT_BYTE_STRING:
        return Parameter(kind, identifier, said.encode("latin-1"))
    if kind == cf.MQCFT_STRING_LIST:
        return Parameter(kind, identifier, (said,) * chance.randrange(3))
    return Parameter(kind, identifier, (number,) * chance.randrange(3))


def test_whatever_it_is_sent_it_answers_and_goes_on(own_queue_manager, connect):
    """Every message is answered, well-formed, with a reason that PCF or the MQI has, and none is a defect's."""
    connection = connect(to=own_queue_manager())
    assert connection.put1("SYSTEM.DEFAULT.LOCAL.QUEUE").code == OK
    asker = Asker(connection, "SYSTEM.DEFAULT.LOCAL.QUEUE")
    chance = random.Random(0)
    commands = connection.open(COMMAND_QUEUE, mq.MQOO_OUTPUT)
    for _ in range(300):
        data = damaged(chance)
        md = asker.connection.mqi.md(Format=mq.MQFMT_ADMIN, MsgType=mq.MQMT_REQUEST, ReplyToQ=asker.queue.encode())
        sent = commands.put(data, md=md)
        assert sent.code == OK
        control = cf.MQCFC_NOT_LAST
        while control == cf.MQCFC_NOT_LAST:
            header, _ = pcf.parse(asker.reply(sent.md.MsgId).data, 2)
            control = header.control
            assert header.type == cf.MQCFT_RESPONSE
            assert header.reason not in (2195, 2102), data.hex()
    assert asker.replies.get(mq.MQGMO_WAIT, wait_ms=0).code in (OK, EMPTY)


# --- without it


def test_it_can_be_left_out(own_queue_manager, connect):
    connection = connect(to=own_queue_manager(command_server=False))
    assert connection.put1(COMMAND_QUEUE, PING).code == OK
    assert connection.open(COMMAND_QUEUE, mq.MQOO_INPUT_SHARED).get().data == PING


def test_a_waiting_command_is_carried_out_after_a_restart(own_queue_manager, connect):
    queue_manager = own_queue_manager(command_server=False)
    connection = connect(to=queue_manager)
    create = pcf.build(
        Header(cf.MQCFT_COMMAND, cf.MQCMD_CREATE_Q), [pcf.string(mq.MQCA_Q_NAME, "LATER"), pcf.integer(20, 1)]
    )
    assert connection.put1(COMMAND_QUEUE, create, Format=mq.MQFMT_ADMIN, Persistence=1).code == OK
    queue_manager.stop()
    again = own_queue_manager(data=queue_manager.data)
    asker = Asker(connect(to=again), "SYSTEM.DEFAULT.LOCAL.QUEUE")
    assert asker.ask(PING)[0].reason == 0
    assert asker.connection.open("LATER", mq.MQOO_OUTPUT).code == OK


# --- on z/OS

ZOS_QUEUE = "SYSTEM.COMMAND.INPUT"
NAMES = [pcf.string(mq.MQCA_Q_NAME, "SYSTEM.DEFAULT.*")]


@pytest.fixture(scope="module")
def zos(module_queue_manager):
    return module_queue_manager("DEFINE QLOCAL(REPLIES)", "QMZ", platform="zos")


@pytest.fixture
def zos_asker(connect, zos):
    return Asker(connect(to=zos), "REPLIES", ZOS_QUEUE)


@table(
    ("kind", "version", "command", "parameters", "expected"),
    [
        # "z/OS requires MQCFH_VERSION_3" (q046070); MQCFT_COMMAND is "supported on all platforms except z/OS" (q020030).
        (cf.MQCFT_COMMAND, 3, cf.MQCMD_PING_Q_MGR, [], [(17, 2, cf.MQRCCF_CFH_TYPE_ERROR), (19, 2, 3008)]),
        (cf.MQCFT_COMMAND_XR, 1, cf.MQCMD_PING_Q_MGR, [], [(17, 2, cf.MQRCCF_CFH_VERSION_ERROR), (19, 2, 3008)]),
        (cf.MQCFT_COMMAND_XR, 3, cf.MQCMD_ESCAPE, [], [(17, 2, cf.MQRCCF_CFH_COMMAND_ERROR), (19, 2, 3008)]),
        (cf.MQCFT_COMMAND_XR, 3, cf.MQCMD_PING_Q_MGR, [], [(19, 0, 0)]),
        (cf.MQCFT_COMMAND_XR, 3, cf.MQCMD_INQUIRE_Q_NAMES, NAMES, [(18, 0, 0), (19, 0, 0)]),
        (cf.MQCFT_COMMAND_XR, 3, cf.MQCMD_CLEAR_Q, NAMES, [(17, 2, 2085), (19, 2, 3008)]),
    ],
)
def test_z_os_takes_extended_commands_and_answers_with_extended_responses(
    zos_asker, kind, version, command, parameters, expected
):
    """Items or messages, and a summary (q020050)."""
    sent = zos_asker.put(pcf.build(Header(kind, command, version), parameters))
    answers = [pcf.parse(zos_asker.reply(sent.MsgId).data, 2) for _ in expected]
    assert [(header.type, header.comp_code, header.reason) for header, _ in answers] == expected
    assert [header.control for header, _ in answers] == [*[cf.MQCFC_NOT_LAST] * (len(expected) - 1), cf.MQCFC_LAST]
    assert [header.msg_seq_number for header, _ in answers] == list(range(1, len(expected) + 1))
    sets = [found.value for _, row in answers for found in row if found.identifier == cf.MQBACF_RESPONSE_ID]
    assert (len(sets), len(set(sets))) == (len(expected), 1)


def test_commands_of_z_os_have_a_queue_of_their_own(connect, zos):
    connection = connect(to=zos)
    assert connection.open(COMMAND_QUEUE, mq.MQOO_OUTPUT).code == failed(mq.MQRC_UNKNOWN_OBJECT_NAME)
    handle = connection.open("", mq.MQOO_INQUIRE, ObjectType=mq.MQOT_Q_MGR)
    assert handle.inquire(mq.MQCA_COMMAND_INPUT_Q_NAME) == (OK, ZOS_QUEUE.encode().ljust(48))


def test_answers_of_z_os_are_in_ebcdic_and_converted_if_that_is_asked_for(zos_asker):
    command = pcf.build(Header(cf.MQCFT_COMMAND_XR, cf.MQCMD_INQUIRE_Q_NAMES, 3), NAMES)
    wanted = {"match": mq.MQMO_MATCH_CORREL_ID, "wait_ms": PATIENCE_MS, "length": 10**6}
    as_it_is = zos_asker.replies.get(CorrelId=zos_asker.put(command).MsgId, **wanted)
    assert (as_it_is.md.Encoding, as_it_is.md.CodedCharSetId) == (785, 500)
    assert as_it_is.data[:8] == struct.pack(">2i", cf.MQCFT_XR_ITEM, 36)
    assert "SYSTEM.DEFAULT.LOCAL.QUEUE".encode("cp500") in as_it_is.data
    converted = zos_asker.replies.get(mq.MQGMO_CONVERT, CorrelId=zos_asker.put(command).MsgId, **wanted)
    assert b"SYSTEM.DEFAULT.LOCAL.QUEUE" in converted.data
    # A command may come in any form.
    sent = zos_asker.put(convert_pcf(command, ("<", 819), (">", 500)), Encoding=785, CodedCharSetId=500)
    header, _ = pcf.parse(zos_asker.reply(sent.MsgId).data, 2)
    assert (header.type, header.reason) == (cf.MQCFT_XR_ITEM, 0)
