"""Messages with properties without end: refused, read without the queue manager's lock, and nobody's connection ends of it."""

from __future__ import annotations

import gc
import struct
import threading
import time
from typing import Any

import pytest

from embedded_tests.fix_mqi import OK, failed
from embedded_tests.fix_properties import MessageHandle, get, put, rfh2
from embedded_tests.tables import table
from mqembedded import constants as mq
from mqembedded.answer import Failed
from mqembedded.calls import property_transfer
from mqembedded.calls.property_transfer import properties_ahead, properties_to_put
from mqembedded.calls.put_options import put_structures
from mqembedded.connection import Connection
from mqembedded.properties import control
from mqembedded.properties import rfh2 as headers
from mqembedded.properties.message_handle import MessageHandle as Handle
from mqembedded.properties.names import DEEPEST, MOST_PROPERTIES, PropertyError
from mqembedded.properties.sets import Property, PropertySet, combined
from mqembedded.pubsub import publishing
from mqembedded.serve.start_up import started

pytestmark = pytest.mark.embedded

IN_RFH2: dict[str, Any] = {"Format": mq.MQFMT_RF_HEADER_2, "Encoding": mq.MQENC_NATIVE}


def nested(levels):
    """A folder of so many levels, the folder and the property counted."""
    groups = levels - 2
    return "<shop content='properties'>" + "<a>" * groups + "<p>1</p>" + "</a>" * groups + "</shop>"


def many(number, folder="usr"):
    """A folder of so many properties."""
    return f"<{folder}>" + "".join(f"<p{n}>1</p{n}>" for n in range(number)) + f"</{folder}>"


@pytest.fixture
def both(connection, queue):
    return connection.open(queue, mq.MQOO_OUTPUT | mq.MQOO_INPUT_SHARED)


# --- depth


@table("levels", [DEEPEST + 1, 985, 100_000])
def test_elements_nested_without_end_are_refused(both, levels):
    assert put(both, rfh2(nested(levels)), **IN_RFH2).code == failed(mq.MQRC_RFH_FORMAT_ERROR)
    assert put(both, b"the next call").code == OK


@table("option", [0, mq.MQGMO_PROPERTIES_FORCE_MQRFH2, mq.MQGMO_NO_PROPERTIES, mq.MQGMO_PROPERTIES_IN_HANDLE])
def test_elements_nested_as_deep_as_may_be_are_got_in_every_form(connection, both, option):
    assert put(both, rfh2(nested(DEEPEST)) + b"data", **IN_RFH2).code == OK
    handle = MessageHandle(connection) if option == mq.MQGMO_PROPERTIES_IN_HANDLE else None
    answer = get(both, handle, option)
    assert (answer.code, answer.data[-4:]) == (OK, b"data")
    if handle is not None:
        assert handle.all() == [b"1"] or handle.all() == ["1"]


def test_a_property_name_may_be_as_deep_and_no_deeper(connection, both):
    handle = MessageHandle(connection)
    name = ".".join("a" * DEEPEST)
    assert handle.set(name + ".a", "value") == failed(mq.MQRC_PROPERTY_NAME_ERROR)
    assert handle.set(name, "value") == OK
    assert put(both, b"data", handle).code == OK
    assert get(both, MessageHandle(connection), mq.MQGMO_PROPERTIES_FORCE_MQRFH2).data.endswith(b"data")


# --- number


@table("number", [MOST_PROPERTIES + 1, 100_000])
def test_more_properties_than_may_be_in_headers_are_refused(both, number):
    assert put(both, rfh2(many(number)), **IN_RFH2).code == failed(mq.MQRC_PROPERTIES_TOO_BIG)
    half = number // 2
    two = rfh2(many(half), format_=mq.MQFMT_RF_HEADER_2) + rfh2(many(number - half))
    assert put(both, two, **IN_RFH2).code == failed(mq.MQRC_PROPERTIES_TOO_BIG)
    assert put(both, b"the next call").code == OK


def test_as_many_properties_as_may_be_are_got(connection, both):
    assert put(both, rfh2(many(MOST_PROPERTIES)) + b"data", **IN_RFH2).code == OK
    assert get(both, None, mq.MQGMO_NO_PROPERTIES).data == b"data"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(rfh2(*["<x/>"] * (MOST_PROPERTIES + 1)), id="folders"),
        pytest.param(rfh2(format_=mq.MQFMT_RF_HEADER_2) * (2 * MOST_PROPERTIES) + rfh2(), id="headers"),
    ],
)
def test_folders_and_headers_without_end_are_refused(both, data):
    assert put(both, data, **IN_RFH2).code == failed(mq.MQRC_RFH_FORMAT_ERROR)
    assert put(both, b"the next call").code == OK


def test_a_header_that_was_not_looked_at_when_it_was_put_is_data_if_it_has_too_many():
    md = bytearray(364)
    struct.pack_into("<ii8s", md, 24, mq.MQENC_NATIVE, 1208, mq.MQFMT_RF_HEADER_2)
    data = rfh2(many(MOST_PROPERTIES + 1))
    assert control.present(bytes(md), data, b"", control.Delivery.DISCARDED)[1] == data


def test_what_a_message_keeps_apart_is_read_however_much_it_is():
    properties = [Property((f"f{n}", "p"), mq.MQTYPE_STRING, "v") for n in range(MOST_PROPERTIES + 3)]
    assert control.read(control.kept(properties)) == properties


# --- time


def took_s(work):
    """Return the least processor time of three; what else there is to collect does not count."""
    took = []
    for _ in range(3):
        gc.collect()
        gc.disable()
        begun_s = time.process_time()
        work()
        took.append(time.process_time() - begun_s)
        gc.enable()
    return min(took)


def test_setting_and_combining_properties_takes_no_longer_for_each_when_there_are_many():
    def properties(number):
        return [Property(("usr", f"p{n}"), mq.MQTYPE_STRING, "v") for n in range(number)]

    def build(number):
        made = PropertySet()
        for one in properties(number):
            made.set(one)
        assert list(combined(made, properties(number), mq.MQACTP_NEW)) == properties(number)

    few_s = took_s(lambda: [build(400) for _ in range(10)])
    assert took_s(lambda: build(4000)) < 5 * few_s


def test_a_null_property_takes_the_originals_away_and_others_replace_them():
    def of(name, value, kind=mq.MQTYPE_STRING):
        return Property(("usr", name), kind, value)

    original = [of("a", "1"), of("b", "1"), of("b", "2"), of("c", "1")]
    new = [of("b", None, mq.MQTYPE_NULL), of("c", "9"), of("d", "9")]
    assert list(combined(original, new, mq.MQACTP_NEW)) == [of("a", "1"), of("c", "9"), of("d", "9")]


# --- the lock


class Elsewhere:
    """A waiter that is never needed."""

    def wait(self, _timeout_s):
        raise AssertionError("nothing waits here")

    def wake(self):
        pass


@pytest.fixture
def q_mgr(tmp_path):
    q_mgr = started("QM1", tmp_path)
    yield q_mgr
    q_mgr.close()


@pytest.fixture
def program(q_mgr):
    return q_mgr.connect_program(Elsewhere(), "test")


def message_handle(connection: Connection, number: int) -> int:
    connection.message_handles[7] = Handle(7)
    connection.message_handles[7].properties = PropertySet(
        Property(("usr", f"p{n}"), mq.MQTYPE_STRING, "v") for n in range(number)
    )
    return 7


def structures(hmsg=0, format_=b""):
    """A datagram's MQMD and an MQPMO, both packed."""
    md, pmo = bytearray(364), bytearray(184)
    struct.pack_into("<4siiiiiii8sii", md, 0, b"MD  ", 2, 0, 8, -1, 0, mq.MQENC_NATIVE, 1208, format_, 0, 2)
    struct.pack_into("<ii4xi", md, 348, 1, 0, -1)
    struct.pack_into("<4sii", pmo, 0, b"PMO ", 3, mq.MQPMO_NO_SYNCPOINT)
    struct.pack_into("<q", pmo, 160, hmsg)
    return bytes(md), bytes(pmo)


@table("number", [MOST_PROPERTIES + 1, 100_000])
def test_more_properties_than_may_be_in_a_handle_are_refused(q_mgr, program, number):
    md_raw, pmo_raw = structures(message_handle(program, number))
    md, pmo = put_structures(md_raw, pmo_raw, q_mgr.platform)
    with pytest.raises(Failed) as refused:
        properties_to_put(q_mgr, program, md, pmo, b"")
    assert refused.value.reason == mq.MQRC_PROPERTIES_TOO_BIG


def test_what_is_refused_ahead_is_told_when_it_is_asked_for(q_mgr, program):
    md_raw, pmo_raw = structures(message_handle(program, MOST_PROPERTIES + 1))
    md, pmo = put_structures(md_raw, pmo_raw, q_mgr.platform)
    outcome = properties_ahead(q_mgr, program, md, pmo, b"")
    with pytest.raises(Failed):
        outcome()


@pytest.fixture
def others_can_go_on(q_mgr):
    """A function that says whether another thread gets the queue manager's lock now."""

    def can_go_on():
        got = []

        def take():
            if q_mgr.lock.acquire(blocking=False):
                got.append(True)
                q_mgr.lock.release()

        thread = threading.Thread(target=take)
        thread.start()
        thread.join()
        return bool(got)

    return can_go_on


@pytest.mark.parametrize("how", ["handle", "header"])
def test_properties_are_read_without_the_lock_by_every_put(q_mgr, program, monkeypatch, others_can_go_on, how):
    free: list[bool] = []
    for owner, name in ((headers, "check"), (property_transfer, "combined")):
        real = getattr(owner, name)

        def looks(*arguments, real=real):
            free.append(others_can_go_on())
            return real(*arguments)

        monkeypatch.setattr(owner, name, looks)
    hmsg = message_handle(program, 3) if how == "handle" else 0
    md, pmo = structures(hmsg, mq.MQFMT_RF_HEADER_2 if how == "header" else b"")
    od = struct.pack("<4sii48s340x", b"OD  ", 1, 1, b"SYSTEM.DEFAULT.LOCAL.QUEUE")
    data = rfh2(many(3)) if how == "header" else b"data"
    comp, reason, _ = publishing.put1(q_mgr, program, od, md, pmo, data, b"")
    assert (comp, reason) == (0, 0)
    assert free == [True]


def test_a_malformed_folder_is_still_told_by_its_own_reason():
    with pytest.raises(PropertyError) as refused:
        headers.check(rfh2("<usr><a></usr>"), mq.MQENC_NATIVE, mq.MQFMT_RF_HEADER_2)
    assert refused.value.reason == mq.MQRC_RFH_FORMAT_ERROR
