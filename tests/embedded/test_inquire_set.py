"""MQINQ and MQSET of queues, aliases and the queue manager (IBM MQ, topics "MQINQ", "MQSET")."""

from __future__ import annotations

import pytest

from mqgroups.embedded.queue_manager import COMMAND_LEVEL
from mqgroups.mqi.constants import (
    MQBND_BIND_ON_OPEN,
    MQCA_ALTERATION_DATE,
    MQCA_BACKOUT_REQ_Q_NAME,
    MQCA_BASE_Q_NAME,
    MQCA_CREATION_DATE,
    MQCA_CREATION_TIME,
    MQCA_Q_DESC,
    MQCA_Q_MGR_IDENTIFIER,
    MQCA_Q_MGR_NAME,
    MQCA_Q_NAME,
    MQCA_TRIGGER_DATA,
    MQIA_BACKOUT_THRESHOLD,
    MQIA_COMMAND_LEVEL,
    MQIA_CURRENT_Q_DEPTH,
    MQIA_DEF_BIND,
    MQIA_DEF_INPUT_OPEN_OPTION,
    MQIA_DEF_PERSISTENCE,
    MQIA_DEF_PRIORITY,
    MQIA_DEFINITION_TYPE,
    MQIA_INHIBIT_GET,
    MQIA_INHIBIT_PUT,
    MQIA_MAX_MSG_LENGTH,
    MQIA_MAX_PRIORITY,
    MQIA_MAX_Q_DEPTH,
    MQIA_MAX_UNCOMMITTED_MSGS,
    MQIA_MSG_DELIVERY_SEQUENCE,
    MQIA_OPEN_INPUT_COUNT,
    MQIA_OPEN_OUTPUT_COUNT,
    MQIA_PLATFORM,
    MQIA_Q_TYPE,
    MQIA_SHAREABILITY,
    MQIA_SYNCPOINT,
    MQIA_TRIGGER_CONTROL,
    MQIA_TRIGGER_DEPTH,
    MQIA_TRIGGER_MSG_PRIORITY,
    MQIA_TRIGGER_TYPE,
    MQIA_USAGE,
    MQMDS_PRIORITY,
    MQOO_BROWSE,
    MQOO_INPUT_SHARED,
    MQOO_INQUIRE,
    MQOO_OUTPUT,
    MQOO_SET,
    MQOT_Q_MGR,
    MQPL_UNIX,
    MQQA_GET_ALLOWED,
    MQQA_GET_INHIBITED,
    MQQA_NOT_SHAREABLE,
    MQQA_PUT_INHIBITED,
    MQQA_SHAREABLE,
    MQQDT_PERMANENT_DYNAMIC,
    MQQDT_PREDEFINED,
    MQQDT_TEMPORARY_DYNAMIC,
    MQQT_ALIAS,
    MQQT_LOCAL,
    MQRC_CHAR_ATTRS_TOO_SHORT,
    MQRC_INHIBIT_VALUE_ERROR,
    MQRC_INT_ATTR_COUNT_TOO_SMALL,
    MQRC_NOT_OPEN_FOR_INQUIRE,
    MQRC_NOT_OPEN_FOR_SET,
    MQRC_SELECTOR_ERROR,
    MQRC_SELECTOR_NOT_FOR_TYPE,
    MQRC_TRIGGER_CONTROL_ERROR,
    MQRC_TRIGGER_DEPTH_ERROR,
    MQRC_TRIGGER_MSG_PRIORITY_ERR,
    MQRC_TRIGGER_TYPE_ERROR,
    MQSP_AVAILABLE,
    MQUS_NORMAL,
)
from tests.fix_mqi import OK, failed, warning
from tests.tables import table

# Written in tests/embedded/objects.mqsc, or the default of DEFINE QLOCAL.
BASE = {
    MQIA_Q_TYPE: MQQT_LOCAL,
    MQIA_DEFINITION_TYPE: MQQDT_PREDEFINED,
    MQIA_DEF_PRIORITY: 2,
    MQIA_DEF_PERSISTENCE: 0,
    MQIA_DEF_BIND: MQBND_BIND_ON_OPEN,
    MQIA_DEF_INPUT_OPEN_OPTION: MQOO_INPUT_SHARED,
    MQIA_MAX_Q_DEPTH: 100,
    MQIA_MAX_MSG_LENGTH: 4_194_304,
    MQIA_MSG_DELIVERY_SEQUENCE: MQMDS_PRIORITY,
    MQIA_SHAREABILITY: MQQA_SHAREABLE,
    MQIA_USAGE: MQUS_NORMAL,
    MQIA_BACKOUT_THRESHOLD: 0,
    MQIA_INHIBIT_GET: MQQA_GET_ALLOWED,
    MQCA_Q_NAME: b"TEST.BASE".ljust(48),
    MQCA_Q_DESC: b"The base queue".ljust(64),
    MQCA_BACKOUT_REQ_Q_NAME: b" " * 48,
}
ALIAS = {
    MQIA_Q_TYPE: MQQT_ALIAS,
    MQIA_DEF_PRIORITY: 5,
    MQIA_DEF_PERSISTENCE: 0,
    MQCA_Q_NAME: b"TEST.ALIAS".ljust(48),
    MQCA_BASE_Q_NAME: b"TEST.BASE".ljust(48),
    MQCA_Q_DESC: b"The alias".ljust(64),
}


@pytest.mark.embedded
@table(("name", "expected"), [("TEST.BASE", BASE), ("TEST.ALIAS", ALIAS)])
def test_a_queue_answers_with_its_definition(connection, name, expected):
    handle = connection.open(name, MQOO_INQUIRE)
    assert {selector: handle.inquire(selector) for selector in expected} == {
        selector: (OK, value) for selector, value in expected.items()
    }


@table(
    ("model", "selector", "value"),
    [
        (None, MQIA_DEFINITION_TYPE, MQQDT_PERMANENT_DYNAMIC),
        (None, MQIA_Q_TYPE, MQQT_LOCAL),
        ("TEST.TEMPORARY.MODEL", MQIA_DEFINITION_TYPE, MQQDT_TEMPORARY_DYNAMIC),
        ("TEST.NOSHARE.MODEL", MQIA_SHAREABILITY, MQQA_NOT_SHAREABLE),
        ("TEST.DEFAULTS.MODEL", MQIA_DEF_PRIORITY, 7),
        ("TEST.SMALL.MODEL", MQIA_MAX_MSG_LENGTH, 10),
    ],
)
def test_a_dynamic_queue_has_its_models_attributes(connection, make_queue, model, selector, value):
    assert connection.open(make_queue(model), MQOO_INQUIRE).inquire(selector) == (OK, value)


def test_depth_and_open_counts(connection, queue):
    handle = connection.open(queue, MQOO_INQUIRE)

    def counts():
        selectors = MQIA_CURRENT_Q_DEPTH, MQIA_OPEN_INPUT_COUNT, MQIA_OPEN_OUTPUT_COUNT
        return [handle.inquire(selector)[1] for selector in selectors]

    assert counts() == [0, 0, 0]
    out = connection.open(queue, MQOO_OUTPUT)
    sources = [connection.open(queue, MQOO_INPUT_SHARED | MQOO_OUTPUT), connection.open(queue, MQOO_INPUT_SHARED)]
    connection.open(queue, MQOO_BROWSE)
    out.put(b"m")
    assert counts() == [1, 2, 2]
    for one in (out, *sources):
        one.close()
    assert counts() == [1, 0, 0]


def test_dates_and_times_have_their_own_lengths(connection, queue):
    handle = connection.open(queue, MQOO_INQUIRE)
    for selector, length in ((MQCA_CREATION_DATE, 12), (MQCA_CREATION_TIME, 8), (MQCA_ALTERATION_DATE, 12)):
        code, value = handle.inquire(selector)
        assert (code, len(value)) == (OK, length)


@pytest.fixture
def q_mgr_handle(connection, mqi):
    """The queue manager object, open for inquiry."""
    return connection.open("", MQOO_INQUIRE, od=mqi.od(ObjectType=MQOT_Q_MGR))


def test_the_queue_manager_answers(q_mgr_handle, mq):
    assert q_mgr_handle.inquire(MQCA_Q_MGR_NAME) == (OK, mq.q_mgr_name.encode().ljust(48))
    assert q_mgr_handle.inquire(MQIA_MAX_PRIORITY) == (OK, 9)
    assert q_mgr_handle.inquire(MQIA_SYNCPOINT) == (OK, MQSP_AVAILABLE)
    code, identifier = q_mgr_handle.inquire(MQCA_Q_MGR_IDENTIFIER)
    assert (code, len(identifier)) == (OK, 48)
    assert identifier.startswith(mq.q_mgr_name.encode() + b"_")


@pytest.mark.embedded
def test_the_embedded_queue_manager_says_what_the_report_header_says(q_mgr_handle):
    assert q_mgr_handle.inquire(MQIA_COMMAND_LEVEL) == (OK, COMMAND_LEVEL)
    assert q_mgr_handle.inquire(MQIA_PLATFORM) == (OK, MQPL_UNIX)
    assert q_mgr_handle.inquire(MQIA_MAX_UNCOMMITTED_MSGS) == (OK, 10_000)


@pytest.mark.embedded
def test_the_identifier_survives_a_restart(own_queue_manager, connect, mqi):
    queue_manager = own_queue_manager()
    identifiers = []
    for _ in range(2):
        handle = connect(to=queue_manager).open("", MQOO_INQUIRE, od=mqi.od(ObjectType=MQOT_Q_MGR))
        identifiers.append(handle.inquire(MQCA_Q_MGR_IDENTIFIER))
        queue_manager.kill()
        queue_manager.start()
    assert identifiers[0] == identifiers[1]


# --- what MQINQ refuses


@table("options", [MQOO_OUTPUT, MQOO_INPUT_SHARED, MQOO_BROWSE, MQOO_SET])
def test_inquiring_needs_a_queue_open_for_it(connection, queue, options):
    code, _ = connection.open(queue, options).inquire(MQIA_CURRENT_Q_DEPTH)
    assert code == failed(MQRC_NOT_OPEN_FOR_INQUIRE)


@table("selector", [1999, 999])
def test_an_unknown_selector_is_refused(connection, queue, selector):
    code, _ = connection.open(queue, MQOO_INQUIRE).inquire(selector)
    assert code == failed(MQRC_SELECTOR_ERROR)


@pytest.mark.embedded
@table("selector", [MQIA_CURRENT_Q_DEPTH, MQIA_OPEN_INPUT_COUNT, MQIA_MAX_Q_DEPTH])
def test_an_attribute_of_another_type_of_queue_is_a_warning(connection, mqi, selector):
    """MQIAV_NOT_APPLICABLE, -1, is returned for it; ibmmq passes no integers on with a warning."""
    code, value = connection.open("TEST.ALIAS", MQOO_INQUIRE).inquire(selector)
    assert code == warning(MQRC_SELECTOR_NOT_FOR_TYPE)
    assert value == (-1 if mqi.name == "pymqi" else None)


def test_a_character_attribute_of_another_type_of_queue_is_asterisks(connection, queue):
    code, value = connection.open(queue, MQOO_INQUIRE).inquire(MQCA_BASE_Q_NAME)
    assert (code, value) == (warning(MQRC_SELECTOR_NOT_FOR_TYPE), b"*" * 48)


@pytest.fixture
def ibmmq_only(mqi):
    """pymqi asks for one attribute and leaves it room enough."""
    if mqi.name != "ibmmq":
        pytest.skip("pymqi's MQINQ takes one selector")


def test_several_attributes_come_in_the_order_of_their_selectors(ibmmq_only, connection, queue):
    selectors = [MQIA_MAX_Q_DEPTH, MQCA_Q_NAME, MQIA_CURRENT_Q_DEPTH, MQCA_Q_DESC, MQIA_MAX_MSG_LENGTH]
    code, integers, characters = connection.open(queue, MQOO_INQUIRE).inquire_many(selectors)
    assert (code, integers) == (OK, [5000, 0, 4_194_304])
    assert (characters[:48], len(characters)) == (queue.encode().ljust(48), 48 + 64)


def test_too_little_room_is_a_warning(ibmmq_only, connection, queue):
    handle = connection.open(queue, MQOO_INQUIRE)
    code, _, _ = handle.inquire_many([MQIA_MAX_Q_DEPTH, MQIA_CURRENT_Q_DEPTH], int_count=1)
    assert code == warning(MQRC_INT_ATTR_COUNT_TOO_SMALL)
    code, _, characters = handle.inquire_many([MQCA_Q_NAME], char_length=9)
    assert (code, characters) == (warning(MQRC_CHAR_ATTRS_TOO_SHORT), queue.encode()[:9])


# --- MQSET


@table(
    ("selector", "value"),
    [
        (MQIA_INHIBIT_GET, MQQA_GET_INHIBITED),
        (MQIA_INHIBIT_PUT, MQQA_PUT_INHIBITED),
        (MQIA_TRIGGER_CONTROL, 1),
        (MQIA_TRIGGER_DEPTH, 12),
        (MQIA_TRIGGER_MSG_PRIORITY, 3),
        (MQIA_TRIGGER_TYPE, 2),
        (MQCA_TRIGGER_DATA, b"some data".ljust(64)),
    ],
)
def test_what_mqset_sets_mqinq_returns(connection, queue, selector, value):
    assert connection.open(queue, MQOO_SET).set(selector, value) == OK
    assert connection.open(queue, MQOO_INQUIRE).inquire(selector) == (OK, value)


@pytest.mark.embedded
def test_what_mqset_sets_survives_a_restart(own_queue_manager, tmp_path, connect):
    commands = tmp_path / "once.mqsc"
    commands.write_text("DEFINE QLOCAL(ONCE)\n")
    queue_manager = own_queue_manager(mqsc=[commands])
    assert connect(to=queue_manager).open("ONCE", MQOO_SET).set(MQIA_INHIBIT_GET, MQQA_GET_INHIBITED) == OK
    queue_manager.kill()
    commands.write_text("* nothing\n")
    queue_manager.start()
    handle = connect(to=queue_manager).open("ONCE", MQOO_INQUIRE)
    assert handle.inquire(MQIA_INHIBIT_GET) == (OK, MQQA_GET_INHIBITED)


@table("options", [MQOO_OUTPUT, MQOO_INPUT_SHARED, MQOO_BROWSE, MQOO_INQUIRE])
def test_setting_needs_a_queue_open_for_it(connection, queue, options):
    code = connection.open(queue, options).set(MQIA_INHIBIT_GET, MQQA_GET_INHIBITED)
    assert code == failed(MQRC_NOT_OPEN_FOR_SET)


@table(
    ("selector", "value", "reason"),
    [
        (MQIA_MAX_Q_DEPTH, 10, MQRC_SELECTOR_ERROR),
        (MQIA_CURRENT_Q_DEPTH, 0, MQRC_SELECTOR_ERROR),
        (1999, 0, MQRC_SELECTOR_ERROR),
        (MQIA_INHIBIT_GET, 2, MQRC_INHIBIT_VALUE_ERROR),
        (MQIA_INHIBIT_PUT, -1, MQRC_INHIBIT_VALUE_ERROR),
        (MQIA_TRIGGER_CONTROL, 2, MQRC_TRIGGER_CONTROL_ERROR),
        (MQIA_TRIGGER_DEPTH, 0, MQRC_TRIGGER_DEPTH_ERROR),
        (MQIA_TRIGGER_MSG_PRIORITY, 10, MQRC_TRIGGER_MSG_PRIORITY_ERR),
        (MQIA_TRIGGER_TYPE, 9, MQRC_TRIGGER_TYPE_ERROR),
    ],
)
def test_what_mqset_refuses(connection, queue, selector, value, reason):
    assert connection.open(queue, MQOO_SET).set(selector, value) == failed(reason)


@pytest.mark.embedded
def test_an_alias_is_set_apart_from_its_base(connection):
    alias = connection.open("TEST.ALIAS", MQOO_SET | MQOO_INQUIRE)
    base = connection.open("TEST.BASE", MQOO_INQUIRE)
    assert alias.set(MQIA_INHIBIT_GET, MQQA_GET_INHIBITED) == OK
    assert alias.inquire(MQIA_INHIBIT_GET) == (OK, MQQA_GET_INHIBITED)
    assert base.inquire(MQIA_INHIBIT_GET) == (OK, MQQA_GET_ALLOWED)
    assert alias.set(MQIA_INHIBIT_GET, MQQA_GET_ALLOWED) == OK
