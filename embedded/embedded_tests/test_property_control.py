"""In which form a message's properties are delivered, and that they survive: PROPCTL, MQGMO options, MQRFH2, restarts."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import struct

import pytest

from embedded_tests.fix_mqi import EMPTY, OK, failed, warning
from embedded_tests.fix_properties import MessageHandle, get, put, rfh2
from embedded_tests.tables import table
from mqembedded import constants as mq
from mqembedded.store.files import StoreError
from mqembedded.store.store import Store

pytestmark = pytest.mark.embedded

AS_Q_DEF = mq.MQGMO_PROPERTIES_AS_Q_DEF
IN_HANDLE = mq.MQGMO_PROPERTIES_IN_HANDLE
NO_PROPERTIES = mq.MQGMO_NO_PROPERTIES
FORCE = mq.MQGMO_PROPERTIES_FORCE_MQRFH2
COMPATIBILITY = mq.MQGMO_PROPERTIES_COMPATIBILITY
PROPCTL = ["COMPAT", "NONE", "ALL", "FORCE", "V6COMPAT"]

NOWHERE, HANDLE, HEADER, REFUSED = "nowhere", "handle", "MQRFH2", "2460"
IF_KNOWN = "MQRFH2 if a property is in mcd, jms, usr or mqext, else nowhere"
# What is asked for, PROPCTL -> where the properties are, without and with a message handle in MQGMO.
TABLE = {
    (AS_Q_DEF, "COMPAT"): (IF_KNOWN, HANDLE),
    (AS_Q_DEF, "NONE"): (NOWHERE, HANDLE),
    (AS_Q_DEF, "ALL"): (HEADER, HANDLE),
    (AS_Q_DEF, "FORCE"): (HEADER, HEADER),
    (AS_Q_DEF, "V6COMPAT"): (NOWHERE, HANDLE),
    **{(IN_HANDLE, control): (REFUSED, HANDLE) for control in PROPCTL},
    **{(NO_PROPERTIES, control): (NOWHERE, NOWHERE) for control in PROPCTL},
    **{(FORCE, control): (HEADER, HEADER) for control in PROPCTL},
    **{(COMPATIBILITY, control): (IF_KNOWN, IF_KNOWN) for control in PROPCTL},
}
ROWS = [(*key, has_handle, where[has_handle]) for key, where in TABLE.items() for has_handle in (False, True)]


@pytest.fixture
def handle(connection):
    return MessageHandle(connection)


@pytest.fixture
def received(connection):
    return MessageHandle(connection)


@pytest.fixture
def both(connection, queue):
    return connection.open(queue, mq.MQOO_OUTPUT | mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE)


def delivered(connection, make_queue, control, option, *, has_handle, fill):
    """Put one message as ``fill`` does and return how it is got, and the values in the handle."""
    queue = connection.open(make_queue(f"TEST.PROPCTL.{control}.MODEL"), mq.MQOO_OUTPUT | mq.MQOO_INPUT_SHARED)
    fill(queue)
    received = MessageHandle(connection)
    answer = get(queue, received if has_handle else None, option)
    return answer, received.all()


@table("folder", ["usr", "shop"])
@table(("option", "control", "has_handle", "where"), ROWS)
def test_properties_of_a_handle(connection, make_queue, option, control, has_handle, where, folder):
    def fill(queue):
        sent = MessageHandle(connection)
        sent.set(f"{folder}.a", "1")
        put(queue, b"data", sent, Format=mq.MQFMT_STRING)

    answer, values = delivered(connection, make_queue, control, option, has_handle=has_handle, fill=fill)
    if where == IF_KNOWN:
        where = HEADER if folder == "usr" else NOWHERE
    if where == REFUSED:
        assert answer.code == failed(mq.MQRC_HMSG_ERROR)
        return
    assert answer.code == OK
    assert values == (["1"] if where == HANDLE else [])
    if where == HEADER:
        marked = "" if folder == "usr" else " content='properties'"
        assert answer.data == rfh2(f"<{folder}{marked}><a>1</a></{folder}>") + b"data"
        assert (answer.md.Format, answer.md.CodedCharSetId, answer.md.Encoding) == (
            mq.MQFMT_RF_HEADER_2,
            1208,
            mq.MQENC_NATIVE,
        )
    else:
        assert (answer.data, answer.md.Format) == (b"data", mq.MQFMT_STRING)


@table("folder", ["usr", "shop"])
@table(("option", "control", "has_handle", "where"), ROWS)
def test_properties_of_an_mqrfh2(connection, make_queue, option, control, has_handle, where, folder):
    # Given a header of the application's, in the other byte order and with a folder that is nobody's business
    marked = "" if folder == "usr" else " content='properties'"
    properties, rest = f"<{folder}{marked}><a>1</a></{folder}>", "<psc><Command>RegSub</Command></psc>"
    whole = rfh2(properties, rest, encoding=mq.MQENC_NORMAL, ccsid=819, order=">") + b"data"

    def fill(queue):
        queue.put(whole, Format=mq.MQFMT_RF_HEADER_2, Encoding=mq.MQENC_NORMAL, CodedCharSetId=1208)

    answer, values = delivered(connection, make_queue, control, option, has_handle=has_handle, fill=fill)
    if where == IF_KNOWN:
        where = HEADER if folder == "usr" else NOWHERE
    if where == REFUSED:
        assert answer.code == failed(mq.MQRC_HMSG_ERROR)
        return
    assert answer.code == OK
    stays = where == HEADER or (control == "V6COMPAT" and option == AS_Q_DEF)
    assert values == (["1"] if where == HANDLE and not stays else [])
    assert answer.md.Format == mq.MQFMT_RF_HEADER_2
    if stays:
        assert answer.data == whole
        assert answer.md.Encoding == mq.MQENC_NORMAL
    else:
        # What was taken out leaves the other folder, and what the header said of the data behind it.
        assert answer.data == rfh2(rest, encoding=mq.MQENC_NORMAL, ccsid=819) + b"data"
        assert answer.md.Encoding == mq.MQENC_NATIVE


def test_two_property_options_are_2046(both, received):
    options = (IN_HANDLE, NO_PROPERTIES, FORCE, COMPATIBILITY)
    for first, second in itertools.combinations(options, 2):
        assert get(both, received, first | second).code == failed(mq.MQRC_OPTIONS_ERROR)


def test_an_alias_has_its_own_propctl(connection, handle):
    alias = connection.open("TEST.ALIAS.PROPCTL.NONE", mq.MQOO_OUTPUT | mq.MQOO_INPUT_SHARED)
    handle.set("a", "1")
    put(alias, b"data", handle)
    assert get(alias).data == b"data"


def test_a_header_without_other_folders_goes_altogether(both, received):
    data = rfh2("<usr><a>1</a></usr>", encoding=mq.MQENC_NORMAL, ccsid=-2, format_=mq.MQFMT_STRING) + b"data"
    both.put(data, Format=mq.MQFMT_RF_HEADER_2, CodedCharSetId=819)
    answer = get(both, received)
    assert (answer.data, received.all()) == (b"data", ["1"])
    # Described now by the descriptor; MQCCSI_INHERIT meant what stood in front.
    assert (answer.md.Format, answer.md.Encoding, answer.md.CodedCharSetId) == (mq.MQFMT_STRING, mq.MQENC_NORMAL, 819)


def test_a_row_of_headers(both, received):
    second = rfh2("<usr><b>2</b></usr>", "<psc/>", format_=mq.MQFMT_STRING)
    first = rfh2("<jms><Cid>1</Cid></jms>", format_=mq.MQFMT_RF_HEADER_2)
    both.put(first + second + b"data", Format=mq.MQFMT_RF_HEADER_2)
    answer = get(both, received)
    assert answer.data == rfh2("<psc/>", format_=mq.MQFMT_STRING) + b"data"
    assert received.all() == ["1", "2"]


def test_properties_of_handle_and_header_are_one_set(both, handle, received):
    body = rfh2("<usr><a>header</a><b>header</b></usr>", format_=mq.MQFMT_STRING) + b"data"
    handle.set("a", "handle")
    put(both, body, handle, Format=mq.MQFMT_RF_HEADER_2)
    put(both, body, handle, Format=mq.MQFMT_RF_HEADER_2)
    answer = get(both)
    assert answer.data == rfh2("<usr><a>handle</a><b>header</b></usr>", format_=mq.MQFMT_STRING) + b"data"
    answer = get(both, received)
    assert (answer.data, answer.md.Format, received.all()) == (b"data", mq.MQFMT_STRING, ["handle", "header"])


def test_a_version_1_reader_gets_the_extension_before_the_header(both, handle):
    handle.set("a", "1")
    put(both, b"data", handle, MsgFlags=mq.MQMF_MSG_IN_GROUP, GroupId=b"g" * 24, Format=mq.MQFMT_STRING)
    answer = get(both, md=both.mqi.md(Version=1))
    assert answer.md.Format == mq.MQFMT_MD_EXTENSION
    assert struct.unpack_from("<8s", answer.data, 20)[0] == mq.MQFMT_RF_HEADER_2
    assert answer.data[72:] == rfh2("<usr><a>1</a></usr>", format_=mq.MQFMT_STRING) + b"data"


def test_a_header_counts_in_the_length_and_the_handle_is_filled_when_truncated(both, handle, received):
    handle.set("a", "1")
    put(both, b"data", handle)
    header = rfh2("<usr><a>1</a></usr>", format_=mq.MQFMT_NONE)
    answer = get(both, length=4)
    assert (answer.code, answer.length) == (warning(mq.MQRC_TRUNCATED_MSG_FAILED), len(header) + 4)
    answer = get(both, received, mq.MQGMO_BROWSE_NEXT | mq.MQGMO_ACCEPT_TRUNCATED_MSG, length=2)
    assert (answer.code, answer.data, answer.length) == (warning(mq.MQRC_TRUNCATED_MSG_ACCEPTED), b"da", 4)
    assert received.all() == ["1"]
    assert get(both).data == header + b"data"


# --- keeping them


def test_properties_of_persistent_messages_survive_a_kill(own_queue_manager, mqi, tmp_path):
    # Given a queue manager with messages that have properties
    commands = tmp_path / "kept.mqsc"
    commands.write_text("DEFINE QLOCAL(KEPT) REPLACE\n")
    queue_manager = own_queue_manager(mqsc=[commands])

    def connected():
        code, connection = mqi.connect(queue_manager.q_mgr_name, queue_manager.channel, queue_manager.conn_name)
        assert code == OK
        return connection, connection.open("KEPT", mq.MQOO_OUTPUT | mq.MQOO_INPUT_SHARED)

    connection, queue = connected()
    handle = MessageHandle(connection)
    handle.set("a", "grün")
    handle.set("shop.basket.id", b"\x00\xff", 8)
    put(queue, b"kept", handle, Persistence=mq.MQPER_PERSISTENT)
    put(queue, b"lost", handle, Persistence=mq.MQPER_NOT_PERSISTENT)
    put(queue, b"bare", Persistence=mq.MQPER_PERSISTENT)
    # When it is killed and starts again
    queue_manager.kill()
    queue_manager.start()
    connection, queue = connected()
    received = MessageHandle(connection)
    # Then they are there
    assert get(queue, received).data == b"kept"
    assert received.all() == ["grün", b"\x00\xff"]
    assert get(queue, received).data == b"bare"
    assert received.all() == []
    assert get(queue, received).code == EMPTY
    connection.disconnect()


@table(("version", "said"), [(99, "schema version 99"), (2, "another version")])
def test_data_of_another_version_is_refused(tmp_path, version, said):
    Store(tmp_path, "QM1").close()
    with contextlib.closing(sqlite3.connect(tmp_path / "queue-manager.db")) as db:
        db.execute(f"PRAGMA user_version={version}")
    with pytest.raises(StoreError, match=said):
        Store(tmp_path, "QM1")
