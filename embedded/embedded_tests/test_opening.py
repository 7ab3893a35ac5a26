"""MQOPEN and MQCLOSE: names, models, aliases, shared and exclusive input, dynamic queues, deleting.

IBM MQ, topics "MQOPEN", "MQCLOSE", "MQOD", and q041130 (MQRC_OBJECT_IN_USE).
"""

from __future__ import annotations

import pytest

from embedded_tests.fix_mqi import OK, failed, text, warning
from embedded_tests.tables import table
from mqembedded import constants as c

SHARED, EXCLUSIVE, AS_Q_DEF = c.MQOO_INPUT_SHARED, c.MQOO_INPUT_EXCLUSIVE, c.MQOO_INPUT_AS_Q_DEF
IN_USE = failed(c.MQRC_OBJECT_IN_USE)
MODEL = "MQTEST.MODEL"
TEMPORARY = "TEST.TEMPORARY.MODEL"

pytestmark = pytest.mark.embedded  # its models and aliases are those of objects.mqsc


# --- names


def test_an_unknown_queue(connection):
    assert connection.open("NOBODY.KNOWS", c.MQOO_OUTPUT).code == failed(c.MQRC_UNKNOWN_OBJECT_NAME)
    assert connection.put1("NOBODY.KNOWS").code == failed(c.MQRC_UNKNOWN_OBJECT_NAME)


def test_names_keep_their_case(connection):
    assert connection.open("test.local", c.MQOO_OUTPUT).code == failed(c.MQRC_UNKNOWN_OBJECT_NAME)


@table("padding", [b"\0", b" ", b"\0garbage"])
def test_a_name_ends_at_a_nul_or_in_blanks(connection, mqi, padding):
    handle = connection.open("", c.MQOO_OUTPUT, od=mqi.od(ObjectName=b"TEST.LOCAL" + padding))
    assert handle.code == OK


def test_the_queue_managers_own_name_may_be_given(connection, mqi, mq):
    name = mq.q_mgr_name.encode()
    assert connection.open("", c.MQOO_OUTPUT, od=mqi.od(ObjectName=b"TEST.LOCAL", ObjectQMgrName=name)).code == OK


def test_another_queue_managers_name_is_not_known(connection, mqi):
    handle = connection.open("", c.MQOO_OUTPUT, od=mqi.od(ObjectName=b"TEST.LOCAL", ObjectQMgrName=b"ELSEWHERE"))
    assert handle.code in (failed(c.MQRC_UNKNOWN_REMOTE_Q_MGR), failed(c.MQRC_UNKNOWN_OBJECT_Q_MGR))


def test_an_unknown_object_type(connection, mqi):
    handle = connection.open("", c.MQOO_OUTPUT, od=mqi.od(ObjectName=b"TEST.LOCAL", ObjectType=4711))
    assert handle.code == failed(c.MQRC_OBJECT_TYPE_ERROR)


def test_the_queue_manager_is_open_for_inquiry_only(connection, mqi):
    handle = connection.open("", c.MQOO_INQUIRE, od=mqi.od(ObjectType=c.MQOT_Q_MGR))
    assert handle.code == OK
    assert handle.put(b"").code.comp == 2
    code = connection.open("", c.MQOO_OUTPUT, od=mqi.od(ObjectType=c.MQOT_Q_MGR)).code
    assert code == failed(c.MQRC_OPTION_NOT_VALID_FOR_TYPE)


def test_a_closed_handle_is_no_handle(connection, queue):
    handle = connection.open(queue, c.MQOO_OUTPUT | SHARED)
    assert handle.close() == OK
    assert handle.close() == failed(c.MQRC_HOBJ_ERROR)
    assert handle.put(b"").code == failed(c.MQRC_HOBJ_ERROR)
    assert handle.get().code == failed(c.MQRC_HOBJ_ERROR)


def test_a_handle_belongs_to_its_connection(connect, queue):
    one, other = connect(), connect()
    handle = one.open(queue, c.MQOO_OUTPUT)
    handle.connection = other
    assert handle.put(b"").code == failed(c.MQRC_HOBJ_ERROR)


# --- shared and exclusive input


@table("same", [True, False], ids=["one connection", "two connections"])
@table(
    ("first", "second", "expected"),
    [
        (SHARED, SHARED, OK),
        (SHARED, EXCLUSIVE, IN_USE),
        (EXCLUSIVE, SHARED, IN_USE),
        (EXCLUSIVE, EXCLUSIVE, IN_USE),
        (EXCLUSIVE, AS_Q_DEF, IN_USE),
        (AS_Q_DEF, SHARED, OK),
        (AS_Q_DEF, EXCLUSIVE, IN_USE),
        (c.MQOO_BROWSE, EXCLUSIVE, OK),
        (EXCLUSIVE, c.MQOO_BROWSE, OK),
        (EXCLUSIVE, c.MQOO_OUTPUT | c.MQOO_INQUIRE | c.MQOO_SET, OK),
    ],
)
def test_exclusive_input_excludes_other_input(connect, queue, first, second, expected, same):
    connection = connect()
    other = connection if same else connect()
    handle = connection.open(queue, first)
    assert handle.code == OK
    assert other.open(queue, second).code == expected
    assert handle.close() == OK
    assert other.open(queue, c.MQOO_OUTPUT).code == OK


@table(("model", "expected"), [("TEST.EXCLUSIVE.MODEL", IN_USE), ("TEST.NOSHARE.MODEL", IN_USE), (None, OK)])
def test_input_as_q_def_is_what_the_queue_says(connection, make_queue, model, expected):
    queue = make_queue(model)
    assert connection.open(queue, AS_Q_DEF).code == OK
    assert connection.open(queue, AS_Q_DEF).code == expected


@table("options", [SHARED, EXCLUSIVE, AS_Q_DEF])
def test_every_input_handle_of_a_noshare_queue_is_exclusive(connect, make_queue, options):
    queue = make_queue("TEST.NOSHARE.MODEL")
    handle = connect().open(queue, options)
    assert handle.code == OK
    other = connect()
    for more in (SHARED, EXCLUSIVE, AS_Q_DEF):
        assert other.open(queue, more).code == IN_USE
    assert handle.close() == OK
    assert other.open(queue, SHARED).code == OK


def test_a_refused_open_leaves_nothing_behind(connection, queue):
    handle = connection.open(queue, EXCLUSIVE)
    assert connection.open(queue, SHARED | c.MQOO_OUTPUT).code == IN_USE
    assert handle.close() == OK
    inquirer = connection.open(queue, c.MQOO_INQUIRE)
    assert inquirer.inquire(c.MQIA_OPEN_INPUT_COUNT) == (OK, 0)
    assert connection.open(queue, EXCLUSIVE).code == OK


def test_disconnecting_ends_exclusive_input(connect, queue):
    connection, other = connect(), connect()
    assert connection.open(queue, EXCLUSIVE).code == OK
    assert connection.disconnect() == OK
    assert other.open(queue, EXCLUSIVE).code == OK


# --- dynamic queues


DYNAMIC_Q_NAME_ERROR = failed(c.MQRC_DYNAMIC_Q_NAME_ERROR)


def open_model(connection, mqi, model, name, options=c.MQOO_OUTPUT | SHARED, version=3):
    od = mqi.od(Version=version, ObjectName=model.encode(), DynamicQName=name)
    return connection.open("", options, od=od)


@table("version", [1, 2, 3, 4])
def test_a_star_is_replaced_by_something_unique(connection, mqi, version):
    handles = [open_model(connection, mqi, TEMPORARY, b"SOME.PREFIX.*", version=version) for _ in range(2)]
    names = [handle.name for handle in handles]
    assert all(handle.code == OK for handle in handles)
    assert all(name.startswith("SOME.PREFIX.") and 12 < len(name) <= 48 for name in names)
    assert names[0] != names[1]


@table(("position", "code"), [(1, OK), (33, OK), (34, DYNAMIC_Q_NAME_ERROR), (48, DYNAMIC_Q_NAME_ERROR)])
def test_a_star_is_in_the_first_33_positions(connection, mqi, position, code):
    """Topics q098150, q040850."""
    prefix = b"A.PREFIX.THAT.IS.LONGER.THAN.THIRTY.THREE.CHARS"[: position - 1]
    handle = open_model(connection, mqi, TEMPORARY, prefix + b"*")
    assert handle.code == code
    assert handle.name.startswith(prefix.decode() if code == OK else "")


def test_a_whole_name_is_taken_as_it_is(connection, mqi, mq):
    handle = open_model(connection, mqi, MODEL, b"A.WHOLE.NAME")
    assert (handle.code, handle.name) == (OK, "A.WHOLE.NAME")
    assert text(handle.od.ResolvedQName) == "A.WHOLE.NAME"
    assert open_model(connection, mqi, MODEL, b"A.WHOLE.NAME").code == failed(c.MQRC_OBJECT_ALREADY_EXISTS)
    assert open_model(connection, mqi, MODEL, b"TEST.LOCAL").code == failed(c.MQRC_OBJECT_ALREADY_EXISTS)
    assert handle.close(c.MQCO_DELETE) == OK


@table("name", [b"", b" ", b"NOT-ALLOWED", b"A*B", b"BLANK IN IT", b"*.BEHIND"])
def test_a_name_that_no_queue_may_have(connection, mqi, name):
    assert open_model(connection, mqi, MODEL, name).code == DYNAMIC_Q_NAME_ERROR


def test_a_temporary_dynamic_queue_ends_with_the_handle_that_made_it(connection, mqi):
    handle = open_model(connection, mqi, TEMPORARY, b"TEMP.*")
    assert handle.put(b"m").code == OK
    other = connection.open(handle.name, c.MQOO_OUTPUT)
    assert other.code == OK
    assert handle.close() == OK
    assert connection.open(handle.name, c.MQOO_OUTPUT).code == failed(c.MQRC_UNKNOWN_OBJECT_NAME)
    assert other.put(b"").code == failed(c.MQRC_Q_DELETED)
    assert other.close() == OK


@table("options", [c.MQCO_NONE, c.MQCO_DELETE, c.MQCO_DELETE_PURGE])
@table("uncommitted", [False, True], ids=["messages", "uncommitted messages"])
def test_whoever_made_a_temporary_dynamic_queue_deletes_it_with_any_option(connection, mqi, options, uncommitted):
    """Table "Effect of MQCLOSE options": by its creator it is deleted, "even if there are uncommitted" calls (q026120)."""
    handle = open_model(connection, mqi, TEMPORARY, b"TEMP.*")
    assert handle.put(b"m", c.MQPMO_SYNCPOINT if uncommitted else 0).code == OK
    assert handle.close(options) == OK
    assert connection.open(handle.name, c.MQOO_OUTPUT).code == failed(c.MQRC_UNKNOWN_OBJECT_NAME)
    # "the units of work do not fail"
    assert connection.commit() == OK


def test_a_temporary_dynamic_queue_outlives_the_other_handles(connection, mqi):
    handle = open_model(connection, mqi, TEMPORARY, b"TEMP.*")
    assert connection.open(handle.name, c.MQOO_OUTPUT).close() == OK
    assert handle.put(b"m").code == OK


def test_a_temporary_dynamic_queue_ends_with_its_connection(connect, mqi):
    connection, other = connect(), connect()
    name = open_model(connection, mqi, TEMPORARY, b"TEMP.*").name
    assert connection.disconnect() == OK
    assert other.open(name, c.MQOO_OUTPUT).code == failed(c.MQRC_UNKNOWN_OBJECT_NAME)


def test_a_permanent_dynamic_queue_stays(connect, mqi):
    connection, other = connect(), connect()
    handle = open_model(connection, mqi, MODEL, b"PERM.*")
    assert handle.put(b"m").code == OK
    assert connection.disconnect() == OK
    found = other.open(handle.name, c.MQOO_INQUIRE)
    assert found.inquire(c.MQIA_DEFINITION_TYPE) == (OK, c.MQQDT_PERMANENT_DYNAMIC)
    assert found.close(c.MQCO_DELETE_PURGE) == OK


def test_delete_takes_an_empty_queue_only(connection, mqi):
    handle = open_model(connection, mqi, MODEL, b"PERM.*")
    assert handle.put(b"m").code == OK
    assert handle.close(c.MQCO_DELETE) == failed(c.MQRC_Q_NOT_EMPTY)
    # The call failed: the handle is what it was.
    assert handle.get().data == b"m"
    assert handle.close(c.MQCO_DELETE) == OK
    assert connection.open(handle.name, c.MQOO_OUTPUT).code == failed(c.MQRC_UNKNOWN_OBJECT_NAME)


def test_delete_purge_takes_the_messages_with_it(connection, mqi):
    handle = open_model(connection, mqi, MODEL, b"PERM.*")
    assert handle.put(b"m").code == OK
    assert handle.close(c.MQCO_DELETE_PURGE) == OK
    assert connection.open(handle.name, c.MQOO_OUTPUT).code == failed(c.MQRC_UNKNOWN_OBJECT_NAME)


@table("options", [c.MQCO_DELETE, c.MQCO_DELETE_PURGE])
@table("what", ["put", "get"])
def test_a_queue_with_uncommitted_messages_is_not_deleted(connection, mqi, options, what):
    handle = open_model(connection, mqi, MODEL, b"PERM.*")
    if what == "put":
        assert handle.put(b"m", c.MQPMO_SYNCPOINT).code == OK
    else:
        assert handle.put(b"m").code == OK
        assert handle.get(c.MQGMO_SYNCPOINT).code == OK
    assert handle.close(options) == failed(c.MQRC_Q_NOT_EMPTY)
    assert connection.commit() == OK
    assert handle.close(c.MQCO_DELETE_PURGE) == OK


def test_other_handles_of_a_deleted_queue_learn_of_it(connect, mqi):
    connection, other = connect(), connect()
    handle = open_model(connection, mqi, MODEL, b"PERM.*")
    left = other.open(handle.name, c.MQOO_OUTPUT | c.MQOO_BROWSE)
    assert handle.close(c.MQCO_DELETE) == OK
    assert left.put(b"").code == failed(c.MQRC_Q_DELETED)
    assert left.close() == OK


@table("options", [c.MQCO_DELETE, c.MQCO_DELETE_PURGE])
def test_a_predefined_queue_is_not_deleted(connection, options):
    handle = connection.open("TEST.LOCAL", c.MQOO_OUTPUT)
    assert handle.close(options) == failed(c.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    assert handle.close(c.MQCO_NONE) == OK


def test_a_permanent_dynamic_queue_may_be_deleted_by_any_handle(connect, mqi):
    connection, other = connect(), connect()
    name = open_model(connection, mqi, MODEL, b"PERM.*").name
    assert other.open(name, c.MQOO_OUTPUT).close(c.MQCO_DELETE) == OK


def test_a_temporary_dynamic_queue_is_deleted_by_the_handle_that_made_it_only(connect, mqi):
    connection, other = connect(), connect()
    name = open_model(connection, mqi, TEMPORARY, b"TEMP.*").name
    assert other.open(name, c.MQOO_OUTPUT).close(c.MQCO_DELETE) == failed(c.MQRC_OPTION_NOT_VALID_FOR_TYPE)


# --- aliases


@pytest.fixture
def base(connection):
    """The base queue of the aliases, emptied."""
    handle = connection.open("TEST.BASE", SHARED | c.MQOO_OUTPUT)
    handle.all()
    yield handle
    handle.all()


def test_an_alias_leads_to_its_base(connection, base):
    alias = connection.open("TEST.ALIAS", c.MQOO_OUTPUT | SHARED)
    answer = alias.put(b"through the alias")
    assert text(answer.pmo.ResolvedQName) == "TEST.BASE"
    assert base.get().data == b"through the alias"
    assert base.put(b"to the base").code == OK
    assert alias.get().data == b"to the base"


def test_an_alias_has_default_attributes_of_its_own(connection, base):
    assert connection.put1("TEST.ALIAS", b"").md.Priority == 5
    assert connection.put1("TEST.BASE", b"").md.Priority == 2


def test_an_alias_opens_under_the_name_of_its_base(connection):
    handle = connection.open("TEST.ALIAS", c.MQOO_OUTPUT)
    assert (handle.name, text(handle.od.ResolvedQName)) == ("TEST.ALIAS", "TEST.BASE")


def test_exclusive_input_through_an_alias_excludes_input_to_the_base(connection):
    handle = connection.open("TEST.ALIAS", EXCLUSIVE)
    assert handle.code == OK
    assert connection.open("TEST.BASE", SHARED).code == IN_USE
    assert handle.close() == OK


def test_an_inhibited_alias_is_inhibited_by_itself(connection, base):
    assert connection.put1("TEST.ALIAS.PUT.INHIBITED", b"").code == failed(c.MQRC_PUT_INHIBITED)
    assert connection.open("TEST.ALIAS.GET.INHIBITED", SHARED).get().code == failed(c.MQRC_GET_INHIBITED)
    assert connection.put1("TEST.ALIAS.GET.INHIBITED", b"").code == OK
    assert connection.open("TEST.ALIAS.PUT.INHIBITED", SHARED).get().code == OK


def test_an_inhibited_base_inhibits_its_aliases(connection, base):
    control = connection.open("TEST.BASE", c.MQOO_SET)
    assert control.set(c.MQIA_INHIBIT_PUT, c.MQQA_PUT_INHIBITED) == OK
    assert connection.put1("TEST.ALIAS", b"").code == failed(c.MQRC_PUT_INHIBITED)
    assert control.set(c.MQIA_INHIBIT_PUT, c.MQQA_PUT_ALLOWED) == OK


@table(
    ("name", "reason"),
    [
        ("TEST.ALIAS.DANGLING", c.MQRC_UNKNOWN_ALIAS_BASE_Q),
        ("TEST.ALIAS.OF.ALIAS", c.MQRC_ALIAS_BASE_Q_TYPE_ERROR),
        ("TEST.ALIAS.OF.MODEL", c.MQRC_ALIAS_BASE_Q_TYPE_ERROR),
    ],
)
def test_an_alias_must_lead_to_a_local_queue(connection, name, reason):
    assert connection.open(name, c.MQOO_OUTPUT).code == failed(reason)
    assert connection.put1(name).code == failed(reason)


def test_warnings_of_mqclose_still_close(connection, queue):
    handle = connection.open(queue, EXCLUSIVE | c.MQOO_OUTPUT)
    assert handle.put(b"", 0x8000, MsgFlags=0x08).code == OK
    assert handle.close() == warning(2241)
    assert connection.open(queue, EXCLUSIVE).code == OK
