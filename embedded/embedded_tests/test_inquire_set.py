"""MQINQ and MQSET of queues, aliases and the queue manager (IBM MQ, topics "MQINQ", "MQSET")."""

from __future__ import annotations

import pytest

from embedded_tests.fix_mqi import OK, failed, warning
from embedded_tests.tables import table
from mqembedded import constants as c
from mqembedded.queue_manager import COMMAND_LEVEL

# Written in embedded/embedded_tests/objects.mqsc, or the default of DEFINE QLOCAL.
BASE = {
    c.MQIA_Q_TYPE: c.MQQT_LOCAL,
    c.MQIA_DEFINITION_TYPE: c.MQQDT_PREDEFINED,
    c.MQIA_DEF_PRIORITY: 2,
    c.MQIA_DEF_PERSISTENCE: 0,
    c.MQIA_DEF_BIND: c.MQBND_BIND_ON_OPEN,
    c.MQIA_DEF_INPUT_OPEN_OPTION: c.MQOO_INPUT_SHARED,
    c.MQIA_MAX_Q_DEPTH: 100,
    c.MQIA_MAX_MSG_LENGTH: 4_194_304,
    c.MQIA_MSG_DELIVERY_SEQUENCE: c.MQMDS_PRIORITY,
    c.MQIA_SHAREABILITY: c.MQQA_SHAREABLE,
    c.MQIA_USAGE: c.MQUS_NORMAL,
    c.MQIA_BACKOUT_THRESHOLD: 0,
    c.MQIA_INHIBIT_GET: c.MQQA_GET_ALLOWED,
    c.MQCA_Q_NAME: b"TEST.BASE".ljust(48),
    c.MQCA_Q_DESC: b"The base queue".ljust(64),
    c.MQCA_BACKOUT_REQ_Q_NAME: b" " * 48,
}
ALIAS = {
    c.MQIA_Q_TYPE: c.MQQT_ALIAS,
    c.MQIA_DEF_PRIORITY: 5,
    c.MQIA_DEF_PERSISTENCE: 0,
    c.MQCA_Q_NAME: b"TEST.ALIAS".ljust(48),
    c.MQCA_BASE_Q_NAME: b"TEST.BASE".ljust(48),
    c.MQCA_Q_DESC: b"The alias".ljust(64),
}


@pytest.mark.embedded
@table(("name", "expected"), [("TEST.BASE", BASE), ("TEST.ALIAS", ALIAS)])
def test_a_queue_answers_with_its_definition(connection, name, expected):
    handle = connection.open(name, c.MQOO_INQUIRE)
    assert {selector: handle.inquire(selector) for selector in expected} == {
        selector: (OK, value) for selector, value in expected.items()
    }


@table(
    ("model", "selector", "value"),
    [
        (None, c.MQIA_DEFINITION_TYPE, c.MQQDT_PERMANENT_DYNAMIC),
        (None, c.MQIA_Q_TYPE, c.MQQT_LOCAL),
        ("TEST.TEMPORARY.MODEL", c.MQIA_DEFINITION_TYPE, c.MQQDT_TEMPORARY_DYNAMIC),
        ("TEST.NOSHARE.MODEL", c.MQIA_SHAREABILITY, c.MQQA_NOT_SHAREABLE),
        ("TEST.DEFAULTS.MODEL", c.MQIA_DEF_PRIORITY, 7),
        ("TEST.SMALL.MODEL", c.MQIA_MAX_MSG_LENGTH, 10),
    ],
)
def test_a_dynamic_queue_has_its_models_attributes(connection, make_queue, model, selector, value):
    assert connection.open(make_queue(model), c.MQOO_INQUIRE).inquire(selector) == (OK, value)


def test_depth_and_open_counts(connection, queue):
    handle = connection.open(queue, c.MQOO_INQUIRE)

    def counts():
        selectors = c.MQIA_CURRENT_Q_DEPTH, c.MQIA_OPEN_INPUT_COUNT, c.MQIA_OPEN_OUTPUT_COUNT
        return [handle.inquire(selector)[1] for selector in selectors]

    assert counts() == [0, 0, 0]
    out = connection.open(queue, c.MQOO_OUTPUT)
    sources = [connection.open(queue, c.MQOO_INPUT_SHARED | c.MQOO_OUTPUT), connection.open(queue, c.MQOO_INPUT_SHARED)]
    connection.open(queue, c.MQOO_BROWSE)
    out.put(b"m")
    assert counts() == [1, 2, 2]
    for one in (out, *sources):
        one.close()
    assert counts() == [1, 0, 0]


def test_dates_and_times_have_their_own_lengths(connection, queue):
    handle = connection.open(queue, c.MQOO_INQUIRE)
    for selector, length in ((c.MQCA_CREATION_DATE, 12), (c.MQCA_CREATION_TIME, 8), (c.MQCA_ALTERATION_DATE, 12)):
        code, value = handle.inquire(selector)
        assert (code, len(value)) == (OK, length)


@pytest.fixture
def q_mgr_handle(connection, mqi):
    """The queue manager object, open for inquiry."""
    return connection.open("", c.MQOO_INQUIRE, od=mqi.od(ObjectType=c.MQOT_Q_MGR))


def test_the_queue_manager_answers(q_mgr_handle, mq):
    assert q_mgr_handle.inquire(c.MQCA_Q_MGR_NAME) == (OK, mq.q_mgr_name.encode().ljust(48))
    assert q_mgr_handle.inquire(c.MQIA_MAX_PRIORITY) == (OK, 9)
    assert q_mgr_handle.inquire(c.MQIA_SYNCPOINT) == (OK, c.MQSP_AVAILABLE)
    code, identifier = q_mgr_handle.inquire(c.MQCA_Q_MGR_IDENTIFIER)
    assert (code, len(identifier)) == (OK, 48)
    assert identifier.startswith(mq.q_mgr_name.encode() + b"_")


@pytest.mark.embedded
def test_the_embedded_queue_manager_says_what_the_report_header_says(q_mgr_handle):
    assert q_mgr_handle.inquire(c.MQIA_COMMAND_LEVEL) == (OK, COMMAND_LEVEL)
    assert q_mgr_handle.inquire(c.MQIA_PLATFORM) == (OK, c.MQPL_UNIX)
    assert q_mgr_handle.inquire(c.MQIA_MAX_UNCOMMITTED_MSGS) == (OK, 10_000)


@pytest.mark.embedded
def test_the_identifier_survives_a_restart(own_queue_manager, connect, mqi):
    queue_manager = own_queue_manager()
    identifiers = []
    for _ in range(2):
        handle = connect(to=queue_manager).open("", c.MQOO_INQUIRE, od=mqi.od(ObjectType=c.MQOT_Q_MGR))
        identifiers.append(handle.inquire(c.MQCA_Q_MGR_IDENTIFIER))
        queue_manager.kill()
        queue_manager.start()
    assert identifiers[0] == identifiers[1]


# --- what MQINQ refuses


@table("options", [c.MQOO_OUTPUT, c.MQOO_INPUT_SHARED, c.MQOO_BROWSE, c.MQOO_SET])
def test_inquiring_needs_a_queue_open_for_it(connection, queue, options):
    code, _ = connection.open(queue, options).inquire(c.MQIA_CURRENT_Q_DEPTH)
    assert code == failed(c.MQRC_NOT_OPEN_FOR_INQUIRE)


@table("selector", [1999, 999])
def test_an_unknown_selector_is_refused(connection, queue, selector):
    code, _ = connection.open(queue, c.MQOO_INQUIRE).inquire(selector)
    assert code == failed(c.MQRC_SELECTOR_ERROR)


@table("selector", [c.MQIA_PLATFORM, c.MQIA_MAX_HANDLES, c.MQCA_Q_MGR_NAME, c.MQCA_DEAD_LETTER_Q_NAME])
def test_an_attribute_of_the_queue_manager_is_not_a_queues(connection, queue, selector):
    """Topics q026770, q101840."""
    code, _ = connection.open(queue, c.MQOO_INQUIRE).inquire(selector)
    assert code == failed(c.MQRC_SELECTOR_ERROR)


@table("selector", [c.MQIA_CURRENT_Q_DEPTH, c.MQIA_Q_TYPE, c.MQCA_Q_NAME, c.MQCA_BASE_Q_NAME])
def test_an_attribute_of_queues_is_not_the_queue_managers(q_mgr_handle, selector):
    code, _ = q_mgr_handle.inquire(selector)
    assert code == failed(c.MQRC_SELECTOR_ERROR)


@pytest.mark.embedded
@table("selector", [c.MQIA_CURRENT_Q_DEPTH, c.MQIA_OPEN_INPUT_COUNT, c.MQIA_MAX_Q_DEPTH])
def test_an_attribute_of_another_type_of_queue_is_a_warning(connection, mqi, selector):
    """MQIAV_NOT_APPLICABLE, -1, is returned for it; ibmmq passes no integers on with a warning."""
    code, value = connection.open("TEST.ALIAS", c.MQOO_INQUIRE).inquire(selector)
    assert code == warning(c.MQRC_SELECTOR_NOT_FOR_TYPE)
    assert value == (-1 if mqi.name == "pymqi" else None)


def test_a_character_attribute_of_another_type_of_queue_is_asterisks(connection, queue):
    code, value = connection.open(queue, c.MQOO_INQUIRE).inquire(c.MQCA_BASE_Q_NAME)
    assert (code, value) == (warning(c.MQRC_SELECTOR_NOT_FOR_TYPE), b"*" * 48)


@pytest.fixture
def ibmmq_only(mqi):
    """pymqi asks for one attribute and leaves it room enough."""
    if mqi.name != "ibmmq":
        pytest.skip("pymqi's MQINQ takes one selector")


def test_several_attributes_come_in_the_order_of_their_selectors(ibmmq_only, connection, queue):
    selectors = [c.MQIA_MAX_Q_DEPTH, c.MQCA_Q_NAME, c.MQIA_CURRENT_Q_DEPTH, c.MQCA_Q_DESC, c.MQIA_MAX_MSG_LENGTH]
    code, integers, characters = connection.open(queue, c.MQOO_INQUIRE).inquire_many(selectors)
    assert (code, integers) == (OK, [5000, 0, 4_194_304])
    assert (characters[:48], len(characters)) == (queue.encode().ljust(48), 48 + 64)


def test_too_little_room_is_a_warning(ibmmq_only, connection, queue):
    handle = connection.open(queue, c.MQOO_INQUIRE)
    code, _, _ = handle.inquire_many([c.MQIA_MAX_Q_DEPTH, c.MQIA_CURRENT_Q_DEPTH], int_count=1)
    assert code == warning(c.MQRC_INT_ATTR_COUNT_TOO_SMALL)
    code, _, characters = handle.inquire_many([c.MQCA_Q_NAME], char_length=9)
    assert (code, characters) == (warning(c.MQRC_CHAR_ATTRS_TOO_SHORT), queue.encode()[:9])


@table(
    ("selectors", "reason"),
    [
        ([c.MQIA_Q_TYPE, c.MQIA_BASE_TYPE, c.MQCA_Q_NAME], c.MQRC_SELECTOR_NOT_FOR_TYPE),
        ([c.MQIA_Q_TYPE, c.MQIA_USAGE, c.MQCA_Q_NAME], c.MQRC_INT_ATTR_COUNT_TOO_SMALL),
        ([c.MQIA_Q_TYPE, c.MQCA_Q_NAME], c.MQRC_CHAR_ATTRS_TOO_SHORT),
    ],
)
def test_of_several_warnings_the_first_in_the_order_of_the_usage_notes_is_returned(
    ibmmq_only, connection, queue, selectors, reason
):
    code, _, _ = connection.open(queue, c.MQOO_INQUIRE).inquire_many(selectors, int_count=1, char_length=9)
    assert code == warning(reason)


# --- MQSET


@table(
    ("selector", "value"),
    [
        (c.MQIA_INHIBIT_GET, c.MQQA_GET_INHIBITED),
        (c.MQIA_INHIBIT_PUT, c.MQQA_PUT_INHIBITED),
        (c.MQIA_TRIGGER_CONTROL, 1),
        (c.MQIA_TRIGGER_DEPTH, 12),
        (c.MQIA_TRIGGER_MSG_PRIORITY, 3),
        (c.MQIA_TRIGGER_TYPE, 2),
        (c.MQCA_TRIGGER_DATA, b"some data".ljust(64)),
    ],
)
def test_what_mqset_sets_mqinq_returns(connection, queue, selector, value):
    assert connection.open(queue, c.MQOO_SET).set(selector, value) == OK
    assert connection.open(queue, c.MQOO_INQUIRE).inquire(selector) == (OK, value)


@pytest.mark.embedded
def test_what_mqset_sets_survives_a_restart(own_queue_manager, tmp_path, connect):
    commands = tmp_path / "once.mqsc"
    commands.write_text("DEFINE QLOCAL(ONCE)\n")
    queue_manager = own_queue_manager(mqsc=[commands])
    assert connect(to=queue_manager).open("ONCE", c.MQOO_SET).set(c.MQIA_INHIBIT_GET, c.MQQA_GET_INHIBITED) == OK
    queue_manager.kill()
    commands.write_text("* nothing\n")
    queue_manager.start()
    handle = connect(to=queue_manager).open("ONCE", c.MQOO_INQUIRE)
    assert handle.inquire(c.MQIA_INHIBIT_GET) == (OK, c.MQQA_GET_INHIBITED)


@table("options", [c.MQOO_OUTPUT, c.MQOO_INPUT_SHARED, c.MQOO_BROWSE, c.MQOO_INQUIRE])
def test_setting_needs_a_queue_open_for_it(connection, queue, options):
    code = connection.open(queue, options).set(c.MQIA_INHIBIT_GET, c.MQQA_GET_INHIBITED)
    assert code == failed(c.MQRC_NOT_OPEN_FOR_SET)


@table(
    ("selector", "value", "reason"),
    [
        (c.MQIA_MAX_Q_DEPTH, 10, c.MQRC_SELECTOR_ERROR),
        (c.MQIA_CURRENT_Q_DEPTH, 0, c.MQRC_SELECTOR_ERROR),
        (1999, 0, c.MQRC_SELECTOR_ERROR),
        (c.MQIA_INHIBIT_GET, 2, c.MQRC_INHIBIT_VALUE_ERROR),
        (c.MQIA_INHIBIT_PUT, -1, c.MQRC_INHIBIT_VALUE_ERROR),
        (c.MQIA_TRIGGER_CONTROL, 2, c.MQRC_TRIGGER_CONTROL_ERROR),
        (c.MQIA_TRIGGER_DEPTH, 0, c.MQRC_TRIGGER_DEPTH_ERROR),
        (c.MQIA_TRIGGER_MSG_PRIORITY, 10, c.MQRC_TRIGGER_MSG_PRIORITY_ERR),
        (c.MQIA_TRIGGER_TYPE, 9, c.MQRC_TRIGGER_TYPE_ERROR),
    ],
)
def test_what_mqset_refuses(connection, queue, selector, value, reason):
    assert connection.open(queue, c.MQOO_SET).set(selector, value) == failed(reason)


@pytest.mark.embedded
def test_an_alias_is_set_apart_from_its_base(connection):
    alias = connection.open("TEST.ALIAS", c.MQOO_SET | c.MQOO_INQUIRE)
    base = connection.open("TEST.BASE", c.MQOO_INQUIRE)
    assert alias.set(c.MQIA_INHIBIT_GET, c.MQQA_GET_INHIBITED) == OK
    assert alias.inquire(c.MQIA_INHIBIT_GET) == (OK, c.MQQA_GET_INHIBITED)
    assert base.inquire(c.MQIA_INHIBIT_GET) == (OK, c.MQQA_GET_ALLOWED)
    assert alias.set(c.MQIA_INHIBIT_GET, c.MQQA_GET_ALLOWED) == OK
