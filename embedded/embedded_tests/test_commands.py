"""PCF commands, sent as users send them: through PCFExecute of pymqi and of ibmmq, on the embedded queue manager."""

from __future__ import annotations

import os
import uuid

import pytest

from embedded_tests.fix_mqi import OK, Code, failed, wait_until
from embedded_tests.tables import table
from mqembedded import constants as c
from mqembedded import constants as mqi_constants
from mqembedded.wire import pcf_constants as cf

pytestmark = pytest.mark.embedded


class Commands:
    """PCFExecute of one binding; commands by name, refusals as codes."""

    def __init__(self, binding, q_mgr):
        self.binding = binding
        self.execute = binding.PCFExecute(q_mgr)

    def __call__(self, command, parameters=None, filters=None):
        """Carry a command out; returns the responses."""
        arguments = [{} if parameters is None else parameters, *([filters] if filters else [])]
        return [row for row in getattr(self.execute, f"MQCMD_{command}")(*arguments) if row]

    def refusal(self, command, parameters=None, filters=None):
        """Carry a command out and return its completion and reason code."""
        try:
            self(command, parameters, filters)
        except self.binding.MQMIError as error:
            return Code(error.comp, error.reason)
        return OK

    def where(self, selector):
        return self.binding.Filter(selector)

    def structure(self, kind, **fields):
        return getattr(self.binding, kind)(**fields)


@pytest.fixture
def command(mq, binding):
    q_mgr = mq.connect(binding)
    commands = Commands(binding, q_mgr)
    yield commands
    commands.execute.disconnect()
    q_mgr.disconnect()


@pytest.fixture
def name(command):
    """A name that nothing has; a queue, a namelist or a channel of it is deleted afterwards."""
    chosen = f"PCF.{uuid.uuid4().hex[:12].upper()}"
    yield chosen.encode()
    command.refusal("DELETE_Q", {c.MQCA_Q_NAME: chosen.encode(), cf.MQIACF_PURGE: cf.MQPO_YES})
    command.refusal("DELETE_NAMELIST", {cf.MQCA_NAMELIST_NAME: chosen.encode()})
    command.refusal("DELETE_CHANNEL", {cf.MQCACH_CHANNEL_NAME: chosen.encode()})


def local(name, **more):
    attributes = {getattr(mqi_constants, selector): value for selector, value in more.items()}
    return {c.MQCA_Q_NAME: name, c.MQIA_Q_TYPE: c.MQQT_LOCAL, **attributes}


@pytest.fixture
def made(command, name):
    """A local queue of this test's own."""
    command("CREATE_Q", local(name))
    return name


# --- the program that everybody writes first


def test_a_plain_program_creates_inquires_and_deletes_a_queue(mq, binding, name):
    q_mgr = binding.QueueManager(None)
    q_mgr.connect_tcp_client(mq.q_mgr_name, binding.CD(), mq.channel, mq.conn_name, mq.user, mq.password)
    pcf = binding.PCFExecute(q_mgr)
    cmqc = binding.CMQC
    pcf.MQCMD_CREATE_Q(
        {
            cmqc.MQCA_Q_NAME: name,
            cmqc.MQIA_Q_TYPE: cmqc.MQQT_LOCAL,
            cmqc.MQIA_MAX_Q_DEPTH: 100,
            cmqc.MQCA_Q_DESC: b"mine",
        }
    )
    queue = binding.Queue(q_mgr, name.decode(), cmqc.MQOO_OUTPUT | cmqc.MQOO_INPUT_SHARED)
    queue.put(b"hello")
    assert queue.get() == b"hello"
    queue.close()
    (found,) = pcf.MQCMD_INQUIRE_Q({cmqc.MQCA_Q_NAME: name})
    assert found[cmqc.MQCA_Q_NAME].strip() == name
    assert found[cmqc.MQIA_MAX_Q_DEPTH] == 100
    assert found[cmqc.MQCA_Q_DESC].strip() == b"mine"
    assert found[cmqc.MQIA_CURRENT_Q_DEPTH] == 0
    pcf.MQCMD_DELETE_Q({cmqc.MQCA_Q_NAME: name})
    with pytest.raises(binding.MQMIError) as gone:
        pcf.MQCMD_INQUIRE_Q({cmqc.MQCA_Q_NAME: name})
    assert gone.value.reason == cmqc.MQRC_UNKNOWN_OBJECT_NAME
    pcf.disconnect()
    q_mgr.disconnect()


# --- queues


def test_create_sets_what_is_given_and_the_rest_is_default(command, name):
    command("CREATE_Q", local(name, MQIA_DEF_PRIORITY=4, MQCA_Q_DESC=b"four"))
    (found,) = command("INQUIRE_Q", {c.MQCA_Q_NAME: name})
    assert (found[c.MQIA_DEF_PRIORITY], found[c.MQIA_MAX_Q_DEPTH]) == (4, 5000)
    assert found[c.MQCA_Q_DESC] == b"four".ljust(64)
    assert found[c.MQIA_DEFINITION_TYPE] == c.MQQDT_PREDEFINED


def test_create_refuses_a_queue_that_exists_and_replaces_when_told(command, made):
    assert command.refusal("CREATE_Q", local(made)) == failed(cf.MQRCCF_OBJECT_ALREADY_EXISTS)
    command("CREATE_Q", {**local(made, MQIA_MAX_Q_DEPTH=9), cf.MQIACF_REPLACE: cf.MQRP_YES})
    assert command("INQUIRE_Q", {c.MQCA_Q_NAME: made})[0][c.MQIA_MAX_Q_DEPTH] == 9
    other = {c.MQCA_Q_NAME: made, c.MQIA_Q_TYPE: c.MQQT_ALIAS, cf.MQIACF_REPLACE: cf.MQRP_YES}
    assert command.refusal("CREATE_Q", other) == failed(cf.MQRCCF_OBJECT_WRONG_TYPE)


@table(
    ("more", "reason"),
    [
        ({c.MQIA_DEF_PRIORITY: 10}, cf.MQRCCF_ATTR_VALUE_ERROR),
        ({c.MQIA_INHIBIT_PUT: 2}, cf.MQRCCF_ATTR_VALUE_ERROR),
        ({c.MQIA_MAX_Q_DEPTH: -1}, cf.MQRCCF_ATTR_VALUE_ERROR),
        ({c.MQCA_Q_DESC: b"x" * 65}, cf.MQRCCF_CFST_STRING_LENGTH_ERR),
        ({mqi_constants.MQCA_BASE_Q_NAME: b"X"}, cf.MQRCCF_CFST_PARM_ID_ERROR),
        ({c.MQIA_CURRENT_Q_DEPTH: 1}, cf.MQRCCF_CFIN_PARM_ID_ERROR),
        ({cf.MQCA_NAMES: [b"X"]}, cf.MQRCCF_CFSL_PARM_ID_ERROR),
        ({cf.MQIACF_REPLACE: 2}, cf.MQRCCF_REPLACE_VALUE_ERROR),
    ],
)
def test_create_refuses_what_the_queue_cannot_have(command, name, more, reason):
    assert command.refusal("CREATE_Q", {**local(name), **more}) == failed(reason)
    assert command.refusal("INQUIRE_Q", {c.MQCA_Q_NAME: name}) == failed(c.MQRC_UNKNOWN_OBJECT_NAME)


def test_required_parameters_come_first_and_in_order(command, name):
    turned = {c.MQIA_Q_TYPE: c.MQQT_LOCAL, c.MQCA_Q_NAME: name}
    assert command.refusal("CREATE_Q", turned) == failed(cf.MQRCCF_PARM_SEQUENCE_ERROR)
    assert command.refusal("CREATE_Q", {c.MQCA_Q_NAME: name}) == failed(cf.MQRCCF_PARM_COUNT_TOO_SMALL)


def test_a_parameter_given_twice(command, made):
    twice = [command.structure("CFST", Parameter=c.MQCA_Q_NAME, String=made) for _ in range(2)]
    assert command.refusal("INQUIRE_Q", twice) == failed(cf.MQRCCF_CFST_DUPLICATE_PARM)


def test_types_that_are_not_here(command, name):
    hosted_elsewhere = {c.MQCA_Q_NAME: name, c.MQIA_Q_TYPE: c.MQQT_CLUSTER}
    assert command.refusal("CREATE_Q", hosted_elsewhere) == failed(c.MQRC_FUNCTION_NOT_SUPPORTED)
    assert command.refusal("CREATE_Q", {**hosted_elsewhere, c.MQIA_Q_TYPE: 99}) == failed(cf.MQRCCF_Q_TYPE_ERROR)


@table("wrong", [b"NO SUCH", b"X" * 49, b""])
def test_names_that_are_none(command, wrong):
    expected = cf.MQRCCF_CFST_STRING_LENGTH_ERR if len(wrong) > 48 else cf.MQRCCF_OBJECT_NAME_ERROR
    assert command.refusal("CREATE_Q", local(wrong)) == failed(expected)


def test_change_changes_what_it_names(command, connect, made):
    command("CREATE_Q", {**local(made, MQIA_DEF_PRIORITY=4), cf.MQIACF_REPLACE: cf.MQRP_YES})
    command("CHANGE_Q", local(made, MQIA_MAX_Q_DEPTH=3, MQIA_INHIBIT_PUT=1))
    (found,) = command("INQUIRE_Q", {c.MQCA_Q_NAME: made})
    assert (found[c.MQIA_MAX_Q_DEPTH], found[c.MQIA_DEF_PRIORITY]) == (3, 4)
    assert connect().put1(made.decode()).code == failed(c.MQRC_PUT_INHIBITED)
    wrong = {c.MQCA_Q_NAME: made, c.MQIA_Q_TYPE: c.MQQT_MODEL}
    assert command.refusal("CHANGE_Q", wrong) == failed(cf.MQRCCF_OBJECT_WRONG_TYPE)


def test_change_of_a_queue_that_is_not_there(command, name):
    assert command.refusal("CHANGE_Q", local(name)) == failed(c.MQRC_UNKNOWN_OBJECT_NAME)


def test_copy_takes_the_attributes_of_another_queue(command, made, name):
    copy = made + b".COPY"
    command("CHANGE_Q", local(made, MQIA_MAX_Q_DEPTH=3, MQIA_BACKOUT_THRESHOLD=2))
    given = {cf.MQCACF_FROM_Q_NAME: made, cf.MQCACF_TO_Q_NAME: copy, c.MQIA_Q_TYPE: c.MQQT_LOCAL, c.MQIA_MAX_Q_DEPTH: 4}
    command("COPY_Q", given)
    (found,) = command("INQUIRE_Q", {c.MQCA_Q_NAME: copy})
    assert (found[c.MQIA_MAX_Q_DEPTH], found[c.MQIA_BACKOUT_THRESHOLD]) == (4, 2)
    assert command.refusal("COPY_Q", given) == failed(cf.MQRCCF_OBJECT_ALREADY_EXISTS)
    command("DELETE_Q", {c.MQCA_Q_NAME: copy})
    given[cf.MQCACF_FROM_Q_NAME] = made + b".NOT"
    assert command.refusal("COPY_Q", given) == failed(c.MQRC_UNKNOWN_OBJECT_NAME)


def test_delete_wants_purge_for_messages(command, connect, made):
    assert connect().put1(made.decode(), b"m").code == OK
    assert command.refusal("DELETE_Q", {c.MQCA_Q_NAME: made}) == failed(c.MQRC_Q_NOT_EMPTY)
    keep = {c.MQCA_Q_NAME: made, cf.MQIACF_PURGE: cf.MQPO_NO}
    assert command.refusal("DELETE_Q", keep) == failed(c.MQRC_Q_NOT_EMPTY)
    wrong = {c.MQCA_Q_NAME: made, cf.MQIACF_PURGE: 2}
    assert command.refusal("DELETE_Q", wrong) == failed(cf.MQRCCF_PURGE_VALUE_ERROR)
    command("DELETE_Q", {c.MQCA_Q_NAME: made, cf.MQIACF_PURGE: cf.MQPO_YES})
    assert command.refusal("DELETE_Q", {c.MQCA_Q_NAME: made}) == failed(c.MQRC_UNKNOWN_OBJECT_NAME)


@pytest.mark.parametrize("options", [c.MQOO_OUTPUT, c.MQOO_INPUT_SHARED, c.MQOO_INQUIRE])
def test_a_queue_that_is_open_is_neither_deleted_nor_cleared(command, connect, made, options):
    handle = connect().open(made.decode(), options)
    purge = {c.MQCA_Q_NAME: made, cf.MQIACF_PURGE: cf.MQPO_YES}
    assert command.refusal("DELETE_Q", purge) == failed(c.MQRC_OBJECT_IN_USE)
    assert command.refusal("CLEAR_Q", {c.MQCA_Q_NAME: made}) == failed(c.MQRC_OBJECT_IN_USE)
    assert handle.close() == OK
    command("CLEAR_Q", {c.MQCA_Q_NAME: made})
    command("DELETE_Q", purge)


def test_uncommitted_messages_keep_a_queue(command, connect, made):
    connection = connect()
    assert connection.put1(made.decode(), b"m", c.MQPMO_SYNCPOINT).code == OK
    purge = {c.MQCA_Q_NAME: made, cf.MQIACF_PURGE: cf.MQPO_YES}
    assert command.refusal("CLEAR_Q", {c.MQCA_Q_NAME: made}) == failed(c.MQRC_Q_NOT_EMPTY)
    assert command.refusal("DELETE_Q", purge) == failed(c.MQRC_Q_NOT_EMPTY)
    assert connection.commit() == OK
    command("CLEAR_Q", {c.MQCA_Q_NAME: made})
    assert connection.depth(made.decode()) == 0


def test_clear_is_for_local_queues(command, name):
    alias = {c.MQCA_Q_NAME: name, c.MQIA_Q_TYPE: c.MQQT_ALIAS}
    command("CREATE_Q", alias)
    assert command.refusal("CLEAR_Q", {c.MQCA_Q_NAME: name}) == failed(cf.MQRCCF_Q_WRONG_TYPE)


def test_inquire_by_generic_name_type_and_attributes(command, made):
    command("CREATE_Q", {c.MQCA_Q_NAME: made + b".A", c.MQIA_Q_TYPE: c.MQQT_ALIAS})
    everything = command("INQUIRE_Q", {c.MQCA_Q_NAME: made + b"*"})
    assert [row[c.MQCA_Q_NAME].strip() for row in everything] == [made, made + b".A"]
    asked = {c.MQCA_Q_NAME: made + b"*", c.MQIA_Q_TYPE: c.MQQT_LOCAL, cf.MQIACF_Q_ATTRS: [c.MQIA_MAX_Q_DEPTH]}
    assert command("INQUIRE_Q", asked) == [
        {c.MQCA_Q_NAME: made.ljust(48), c.MQIA_Q_TYPE: c.MQQT_LOCAL, c.MQIA_MAX_Q_DEPTH: 5000}
    ]
    (row,) = command("INQUIRE_Q_NAMES", {c.MQCA_Q_NAME: made + b"*", c.MQIA_Q_TYPE: c.MQQT_ALL})
    assert [found.strip() for found in row[cf.MQCACF_Q_NAMES]] == [made, made + b".A"]
    assert row[cf.MQIACF_Q_TYPES] == [c.MQQT_LOCAL, c.MQQT_ALIAS]
    command("DELETE_Q", {c.MQCA_Q_NAME: made + b".A"})


def test_inquire_refuses_names_and_selectors_that_are_none(command, made):
    assert command.refusal("INQUIRE_Q", {c.MQCA_Q_NAME: b"A*B"}) == failed(cf.MQRCCF_OBJECT_NAME_ERROR)
    unknown = {c.MQCA_Q_NAME: made, cf.MQIACF_Q_ATTRS: [123_456]}
    assert command.refusal("INQUIRE_Q", unknown) == failed(c.MQRC_SELECTOR_ERROR)
    twice = {c.MQCA_Q_NAME: made, cf.MQIACF_Q_ATTRS: [c.MQIA_MAX_Q_DEPTH, c.MQIA_MAX_Q_DEPTH]}
    assert command.refusal("INQUIRE_Q", twice) == failed(cf.MQRCCF_CFIL_DUPLICATE_VALUE)


def test_filters_choose_by_numbers_and_by_text(command, connect, made):
    command("CHANGE_Q", local(made, MQCA_Q_DESC=b"alpha beta"))
    every = {c.MQCA_Q_NAME: made + b"*", cf.MQIACF_Q_ATTRS: [c.MQIA_MAX_Q_DEPTH]}
    depth, description = command.where(c.MQIA_CURRENT_Q_DEPTH), command.where(c.MQCA_Q_DESC)
    assert command.refusal("INQUIRE_Q", every, [depth.greater(0)]) == failed(c.MQRC_UNKNOWN_OBJECT_NAME)
    assert connect().put1(made.decode()).code == OK
    for chosen in (depth.greater(0), depth.equal(1), depth.less(2), depth.not_equal(0), depth.not_less(1)):
        (row,) = command("INQUIRE_Q", every, [chosen])
        assert row[c.MQIA_CURRENT_Q_DEPTH] == 1
    for wanted in (description.like(b"alpha*"), description.equal(b"alpha beta"), description.not_like(b"beta*")):
        (row,) = command("INQUIRE_Q", every, [wanted])
        assert row[c.MQCA_Q_DESC].strip() == b"alpha beta"
    for unwanted in (
        depth.greater(1),
        depth.not_greater(0),
        description.like(b"beta*"),
        description.not_like(b"alpha*"),
    ):
        assert command.refusal("INQUIRE_Q", every, [unwanted]) == failed(c.MQRC_UNKNOWN_OBJECT_NAME)
    assert command.refusal("INQUIRE_Q", every, [depth.less(1), depth.less(2)]) == failed(cf.MQRCCF_TOO_MANY_FILTERS)
    by_level = command.where(c.MQIA_COMMAND_LEVEL).equal(1)
    assert command.refusal("INQUIRE_Q", every, [by_level]) == failed(cf.MQRCCF_CFIF_PARM_ID_ERROR)


def test_definitions_survive_a_restart(own_queue_manager, binding):
    queue_manager = own_queue_manager()

    def connect():
        q_mgr = binding.QueueManager(None)
        q_mgr.connect_tcp_client("QM2", binding.CD(), queue_manager.channel, queue_manager.conn_name, None, None)
        return Commands(binding, q_mgr)

    command = connect()
    command("CREATE_Q", local(b"KEPT", MQIA_MAX_Q_DEPTH=7))
    command("CREATE_NAMELIST", {cf.MQCA_NAMELIST_NAME: b"KEPT", cf.MQCA_NAMES: [b"A", b"B"]})
    command("CREATE_CHANNEL", {cf.MQCACH_CHANNEL_NAME: b"KEPT", cf.MQIACH_CHANNEL_TYPE: cf.MQCHT_SVRCONN})
    command("CHANGE_Q_MGR", {c.MQCA_Q_MGR_DESC: b"kept"})
    queue_manager.kill()
    queue_manager.start()
    command = connect()
    assert command("INQUIRE_Q", {c.MQCA_Q_NAME: b"KEPT"})[0][c.MQIA_MAX_Q_DEPTH] == 7
    names = command("INQUIRE_NAMELIST", {cf.MQCA_NAMELIST_NAME: b"KEPT"})[0][cf.MQCA_NAMES]
    assert [found.strip() for found in names] == [b"A", b"B"]
    assert command("INQUIRE_CHANNEL", {cf.MQCACH_CHANNEL_NAME: b"KEPT"})
    assert command("INQUIRE_Q_MGR")[0][c.MQCA_Q_MGR_DESC].strip() == b"kept"


# --- what is going on


def test_queue_status_counts_messages_handles_and_what_is_uncommitted(command, connect, made):
    connection = connect()
    out = connection.open(made.decode(), c.MQOO_OUTPUT)
    reader = connection.open(made.decode(), c.MQOO_INPUT_SHARED)
    for _ in range(3):
        assert out.put(b"m").code == OK
    assert out.put(b"m", c.MQPMO_SYNCPOINT).code == OK
    assert reader.get(c.MQGMO_SYNCPOINT).code == OK
    (row,) = command("INQUIRE_Q_STATUS", {c.MQCA_Q_NAME: made})
    assert row[c.MQIA_CURRENT_Q_DEPTH] == 3
    assert row[cf.MQIACF_UNCOMMITTED_MSGS] == 2
    assert (row[c.MQIA_OPEN_INPUT_COUNT], row[c.MQIA_OPEN_OUTPUT_COUNT]) == (1, 1)
    assert 0 <= row[cf.MQIACF_OLDEST_MSG_AGE] < 60


def test_the_age_is_that_of_the_message_that_came_first_whatever_its_priority(command, connect, made):
    old = {"PutDate": b"20200101", "PutTime": b"00000000"}
    connection = connect()
    handle = connection.open(made.decode(), c.MQOO_OUTPUT | c.MQOO_SET_ALL_CONTEXT)
    assert handle.put(b"m", c.MQPMO_SET_ALL_CONTEXT, Priority=1, **old).code == OK
    assert handle.put(b"m", Priority=9).code == OK
    (row,) = command("INQUIRE_Q_STATUS", {c.MQCA_Q_NAME: made})
    assert row[cf.MQIACF_OLDEST_MSG_AGE] > 86_400


def test_queue_status_of_handles_says_who_has_the_queue_open(command, connect, mq, made):
    handles = {c.MQCA_Q_NAME: made, cf.MQIACF_Q_STATUS_TYPE: cf.MQIACF_Q_HANDLE}
    assert command.refusal("INQUIRE_Q_STATUS", handles) == failed(cf.MQRCCF_Q_STATUS_NOT_FOUND)
    connection = connect()
    connection.open(made.decode(), c.MQOO_OUTPUT)
    connection.open(made.decode(), c.MQOO_INPUT_SHARED)
    rows = command("INQUIRE_Q_STATUS", handles)
    assert [row[cf.MQIACF_OPEN_OPTIONS] for row in rows] == [c.MQOO_OUTPUT, c.MQOO_INPUT_SHARED]
    assert [row[cf.MQIACF_OPEN_INPUT_TYPE] for row in rows] == [cf.MQQSO_NO, cf.MQQSO_SHARED]
    assert {row[cf.MQIACF_PROCESS_ID] for row in rows} == {os.getpid()}
    assert {row[cf.MQCACF_USER_IDENTIFIER].strip() for row in rows} == {mq.user.encode()}
    assert {row[cf.MQCACH_CHANNEL_NAME].strip() for row in rows} == {mq.channel.encode()}
    assert all(row[cf.MQCACF_APPL_TAG].strip() for row in rows)
    (only,) = command("INQUIRE_Q_STATUS", {**handles, cf.MQIACF_OPEN_TYPE: cf.MQQSOT_INPUT})
    assert only[cf.MQIACF_OPEN_OPTIONS] == c.MQOO_INPUT_SHARED


def test_reset_statistics_tells_and_begins_anew(command, connect, made):
    connection = connect()
    for _ in range(3):
        assert connection.put1(made.decode(), b"m").code == OK
    assert connection.open(made.decode(), c.MQOO_INPUT_SHARED).get().code == OK
    (row,) = command("RESET_Q_STATS", {c.MQCA_Q_NAME: made})
    assert (row[c.MQIA_HIGH_Q_DEPTH], row[c.MQIA_MSG_ENQ_COUNT], row[c.MQIA_MSG_DEQ_COUNT]) == (3, 3, 1)
    (row,) = command("RESET_Q_STATS", {c.MQCA_Q_NAME: made})
    assert (row[c.MQIA_HIGH_Q_DEPTH], row[c.MQIA_MSG_ENQ_COUNT], row[c.MQIA_MSG_DEQ_COUNT]) == (2, 0, 0)


def test_depths_have_what_is_put_and_not_what_is_got_in_a_unit_of_work(command, connect, made):
    """Topic q103130; the depth that a backout brings back is one that the queue had (MQIA_HIGH_Q_DEPTH)."""

    def depths():
        rows = [command(each, {c.MQCA_Q_NAME: made})[0] for each in ("INQUIRE_Q", "INQUIRE_Q_STATUS")]
        return [row[c.MQIA_CURRENT_Q_DEPTH] for row in rows]

    connection = connect()
    handle = connection.open(made.decode(), c.MQOO_INPUT_SHARED | c.MQOO_OUTPUT)
    assert handle.put(b"m").code == OK
    assert handle.get(c.MQGMO_SYNCPOINT).code == OK
    assert depths() == [0, 0]
    command("RESET_Q_STATS", {c.MQCA_Q_NAME: made})
    for _ in range(2):
        assert connect().put1(made.decode(), b"m").code == OK
    assert depths() == [2, 2]
    assert connection.back_out() == OK
    assert depths() == [3, 3]
    for _ in range(3):
        assert handle.get().code == OK
    (row,) = command("RESET_Q_STATS", {c.MQCA_Q_NAME: made})
    assert row[c.MQIA_HIGH_Q_DEPTH] == 3


def test_connections_and_their_handles(command, connect, made):
    handle = connect().open(made.decode(), c.MQOO_OUTPUT)
    every = {cf.MQBACF_GENERIC_CONNECTION_ID: command.binding.ByteString(b"")}
    users = command("INQUIRE_CONNECTION", every, [command.where(cf.MQIA_APPL_TYPE).equal(c.MQAT_USER)])
    # Workers of a Spark session may be connected to this queue manager as well.
    users = [row for row in users if row[cf.MQIACF_PROCESS_ID] == os.getpid()]
    assert len(users) >= 2
    handles = command("INQUIRE_CONNECTION", {**every, cf.MQIACF_CONN_INFO_TYPE: cf.MQIACF_CONN_INFO_HANDLE})
    assert made in {row[cf.MQCACF_OBJECT_NAME].strip() for row in handles}
    identifier = users[0][cf.MQBACF_CONNECTION_ID]
    (one,) = command("INQUIRE_CONNECTION", {cf.MQBACF_CONNECTION_ID: command.binding.ByteString(identifier)})
    assert one[cf.MQBACF_CONNECTION_ID] == identifier
    nobody = {cf.MQBACF_CONNECTION_ID: command.binding.ByteString(b"nobody" * 4)}
    assert command.refusal("INQUIRE_CONNECTION", nobody) == failed(cf.MQRCCF_CONNECTION_ID_ERROR)
    assert handle.close() == OK


# --- the queue manager


def test_ping_and_inquire_the_queue_manager(command, mq):
    command("PING_Q_MGR")
    (row,) = command("INQUIRE_Q_MGR")
    assert row[c.MQCA_Q_MGR_NAME] == mq.q_mgr_name.encode().ljust(48)
    assert row[c.MQIA_COMMAND_LEVEL] >= 900
    (row,) = command("INQUIRE_Q_MGR", {cf.MQIACF_Q_MGR_ATTRS: [cf.MQCA_CONN_AUTH]})
    assert row.keys() == {c.MQCA_Q_MGR_NAME, cf.MQCA_CONN_AUTH}
    (row,) = command("INQUIRE_Q_MGR_STATUS")
    assert row[cf.MQIACF_Q_MGR_STATUS] == cf.MQQMSTA_RUNNING
    assert row[cf.MQIACF_CONNECTION_COUNT] >= 2


def test_change_the_queue_manager(command):
    before = command("INQUIRE_Q_MGR")[0][c.MQIA_MAX_HANDLES]
    command("CHANGE_Q_MGR", {c.MQIA_MAX_HANDLES: 300})
    assert command("INQUIRE_Q_MGR")[0][c.MQIA_MAX_HANDLES] == 300
    command("CHANGE_Q_MGR", {c.MQIA_MAX_HANDLES: before})
    assert command.refusal("CHANGE_Q_MGR", {c.MQIA_MAX_HANDLES: 0}) == failed(cf.MQRCCF_ATTR_VALUE_ERROR)
    assert command.refusal("CHANGE_Q_MGR", {c.MQIA_COMMAND_LEVEL: 1}) == failed(cf.MQRCCF_CFIN_PARM_ID_ERROR)


@table(
    ("selector", "value", "wrong"),
    [
        (cf.MQIA_STATISTICS_Q, 1, 2),
        (cf.MQIA_STATISTICS_CHANNEL, 65, 1),
        (cf.MQIA_STATISTICS_AUTO_CLUSSDR, 17, -1),
        (cf.MQIA_STATISTICS_MQI, 1, -1),
        (cf.MQIA_STATISTICS_INTERVAL, 604_800, 604_801),
        (cf.MQIA_ACCOUNTING_Q, -1, -3),
        (cf.MQIA_ACCOUNTING_MQI, 1, -1),
        (cf.MQIA_ACCOUNTING_CONN_OVERRIDE, 1, 2),
        (cf.MQIA_ACCOUNTING_INTERVAL, 604_000, 0),
        (cf.MQIA_COMMAND_EVENT, 3, 2),
    ],
)
def test_statistics_and_accounting_are_kept_by_the_queue_manager(command, selector, value, wrong):
    before = command("INQUIRE_Q_MGR")[0][selector]
    command("CHANGE_Q_MGR", {selector: value})
    assert command("INQUIRE_Q_MGR")[0][selector] == value
    assert command.refusal("CHANGE_Q_MGR", {selector: wrong}) == failed(cf.MQRCCF_ATTR_VALUE_ERROR)
    command("CHANGE_Q_MGR", {selector: before})


def test_attributes_of_many_words_are_lists(command, name):
    assert command("INQUIRE_Q_MGR")[0][cf.MQIA_SUITE_B_STRENGTH] == [1]
    command("CHANGE_Q_MGR", {cf.MQIA_SUITE_B_STRENGTH: [2, 4]})
    assert command("INQUIRE_Q_MGR")[0][cf.MQIA_SUITE_B_STRENGTH] == [2, 4]
    assert command.refusal("CHANGE_Q_MGR", {cf.MQIA_SUITE_B_STRENGTH: [8]}) == failed(cf.MQRCCF_ATTR_VALUE_ERROR)
    command("CHANGE_Q_MGR", {cf.MQIA_SUITE_B_STRENGTH: [1]})
    channel = {cf.MQCACH_CHANNEL_NAME: name, cf.MQIACH_CHANNEL_TYPE: cf.MQCHT_SVRCONN}
    command("CREATE_CHANNEL", {**channel, cf.MQIACH_MSG_COMPRESSION: [1, 2]})
    (row,) = command("INQUIRE_CHANNEL", {cf.MQCACH_CHANNEL_NAME: name})
    assert (row[cf.MQIACH_MSG_COMPRESSION], row[cf.MQIACH_HDR_COMPRESSION]) == ([1, 2], [0])
    wrong = {**channel, cf.MQIACH_HDR_COMPRESSION: [1]}
    assert command.refusal("CHANGE_CHANNEL", wrong) == failed(cf.MQRCCF_ATTR_VALUE_ERROR)


def test_statistics_accounting_and_media_images_of_a_queue_are_kept(command, name):
    given = {
        cf.MQIA_MONITORING_Q: 33,
        cf.MQIA_STATISTICS_Q: 1,
        cf.MQIA_ACCOUNTING_Q: 0,
        cf.MQIA_MEDIA_IMAGE_RECOVER_Q: 0,
        cf.MQIA_MAX_Q_FILE_SIZE: 20,
        cf.MQCA_CLUS_CHL_NAME: b"TO.*",
    }
    command("CREATE_Q", {**local(name), **given})
    (found,) = command("INQUIRE_Q", {c.MQCA_Q_NAME: name})
    assert {selector: found[selector] for selector in given} == {**given, cf.MQCA_CLUS_CHL_NAME: b"TO.*".ljust(20)}
    refused = {**local(name), cf.MQIA_MAX_Q_FILE_SIZE: 19}
    assert command.refusal("CHANGE_Q", refused) == failed(cf.MQRCCF_ATTR_VALUE_ERROR)


def test_a_connection_and_a_channel_are_stopped(command, mqi, mq, name):
    command("CREATE_CHANNEL", {cf.MQCACH_CHANNEL_NAME: name, cf.MQIACH_CHANNEL_TYPE: cf.MQCHT_SVRCONN})
    who = {"user": mq.user, "password": mq.password}

    def connected():
        code, connection = mqi.connect(mq.q_mgr_name, name.decode(), mq.conn_name, **who)
        return connection if code == OK else code

    byte_string = command.binding.ByteString
    through_it = command.where(cf.MQCACH_CHANNEL_NAME).equal(name)
    first, second = connected(), connected()
    every = {cf.MQBACF_GENERIC_CONNECTION_ID: byte_string(b"")}
    stopped = command("INQUIRE_CONNECTION", every, [through_it])[0][cf.MQBACF_CONNECTION_ID]
    command("STOP_CONNECTION", {cf.MQBACF_CONNECTION_ID: byte_string(stopped)})
    wait_until(lambda: len(command("INQUIRE_CONNECTION", every, [through_it])) == 1)
    nobody = {cf.MQBACF_CONNECTION_ID: byte_string(b"nobody" * 4)}
    assert command.refusal("STOP_CONNECTION", nobody) == failed(cf.MQRCCF_CONNECTION_ID_ERROR)
    channel = {cf.MQCACH_CHANNEL_NAME: name}
    assert command.refusal("STOP_CHANNEL", {**channel, cf.MQIACF_MODE: 3}) == failed(cf.MQRCCF_MODE_VALUE_ERROR)
    command("STOP_CHANNEL", {**channel, cf.MQIACF_MODE: cf.MQMODE_FORCE})
    nobody_is_there = failed(cf.MQRCCF_NONE_FOUND)
    wait_until(lambda: command.refusal("INQUIRE_CONNECTION", every, [through_it]) == nobody_is_there)
    assert {each.commit() for each in (first, second)} == {failed(c.MQRC_CONNECTION_BROKEN)}
    assert connected() == failed(c.MQRC_CHANNEL_NOT_AVAILABLE)
    (row,) = command("INQUIRE_CHANNEL_STATUS", channel)
    assert row[cf.MQIACH_CHANNEL_STATUS] == cf.MQCHS_STOPPED
    command("START_CHANNEL", channel)
    assert connected().disconnect() == OK
    inactive = {**channel, cf.MQIACH_CHANNEL_STATUS: cf.MQCHS_INACTIVE}
    wait_until(lambda: command.refusal("STOP_CHANNEL", inactive) == failed(cf.MQRCCF_CHANNEL_NOT_ACTIVE))
    unknown = {cf.MQCACH_CHANNEL_NAME: b"NO.SUCH.CHANNEL"}
    assert command.refusal("STOP_CHANNEL", unknown) == failed(cf.MQRCCF_CHANNEL_NOT_FOUND)
    assert command.refusal("START_CHANNEL", unknown) == failed(cf.MQRCCF_CHANNEL_NOT_FOUND)


def test_mqsc_in_pcf(command, name):
    text = f"DEFINE QLOCAL({name.decode()}) MAXDEPTH(7)".encode()
    (row,) = command("ESCAPE", {cf.MQIACF_ESCAPE_TYPE: cf.MQET_MQSC, cf.MQCACF_ESCAPE_TEXT: text})
    assert b"DEFINE QLOCAL" in row[cf.MQCACF_ESCAPE_TEXT]
    assert command("INQUIRE_Q", {c.MQCA_Q_NAME: name})[0][c.MQIA_MAX_Q_DEPTH] == 7
    wrong = {cf.MQIACF_ESCAPE_TYPE: cf.MQET_MQSC, cf.MQCACF_ESCAPE_TEXT: text}
    assert command.refusal("ESCAPE", wrong) == failed(cf.MQRCCF_COMMAND_FAILED)
    assert command.refusal("ESCAPE", {**wrong, cf.MQCACF_ESCAPE_TEXT: text + b" REPLACE"}) == OK
    wrong = {cf.MQIACF_ESCAPE_TYPE: cf.MQET_MQSC, cf.MQCACF_ESCAPE_TEXT: b"DEFINE NONSENSE"}
    assert command.refusal("ESCAPE", wrong) == failed(cf.MQRCCF_COMMAND_FAILED)
    wrong = {cf.MQIACF_ESCAPE_TYPE: 2, cf.MQCACF_ESCAPE_TEXT: b""}
    assert command.refusal("ESCAPE", wrong) == failed(cf.MQRCCF_ESCAPE_TYPE_ERROR)


def test_commands_that_are_not_here(command):
    assert command.refusal("INQUIRE_SERVICE") == failed(cf.MQRCCF_CFH_COMMAND_ERROR)
    assert command.refusal("CHANGE_PROCESS") == failed(cf.MQRCCF_CFH_COMMAND_ERROR)


# --- what is no queue


def test_namelists(command, name):
    created = {cf.MQCA_NAMELIST_NAME: name, cf.MQCA_NAMES: [b"ONE", b"TWO"], cf.MQCA_NAMELIST_DESC: b"two"}
    command("CREATE_NAMELIST", created)
    assert command.refusal("CREATE_NAMELIST", created) == failed(cf.MQRCCF_OBJECT_ALREADY_EXISTS)
    (row,) = command("INQUIRE_NAMELIST", {cf.MQCA_NAMELIST_NAME: name})
    assert [found.strip() for found in row[cf.MQCA_NAMES]] == [b"ONE", b"TWO"]
    assert row[cf.MQIA_NAME_COUNT] == 2
    command("CHANGE_NAMELIST", {cf.MQCA_NAMELIST_NAME: name, cf.MQCA_NAMES: [b"THREE"]})
    (row,) = command("INQUIRE_NAMELIST", {cf.MQCA_NAMELIST_NAME: name, cf.MQIACF_NAMELIST_ATTRS: [cf.MQCA_NAMES]})
    assert row == {cf.MQCA_NAMELIST_NAME: name.ljust(48), cf.MQCA_NAMES: [b"THREE".ljust(48)]}
    copy = {cf.MQCACF_FROM_NAMELIST_NAME: name, cf.MQCACF_TO_NAMELIST_NAME: name + b".C"}
    command("COPY_NAMELIST", copy)
    (row,) = command("INQUIRE_NAMELIST_NAMES", {cf.MQCA_NAMELIST_NAME: name + b"*"})
    assert [found.strip() for found in row[cf.MQCACF_NAMELIST_NAMES]] == [name, name + b".C"]
    for gone in (name, name + b".C"):
        command("DELETE_NAMELIST", {cf.MQCA_NAMELIST_NAME: gone})
    assert command.refusal("DELETE_NAMELIST", {cf.MQCA_NAMELIST_NAME: name}) == failed(c.MQRC_UNKNOWN_OBJECT_NAME)
    assert command.refusal("INQUIRE_NAMELIST", {cf.MQCA_NAMELIST_NAME: name}) == failed(c.MQRC_UNKNOWN_OBJECT_NAME)


def test_a_channel_is_a_way_in_until_it_is_deleted(command, mqi, mq, name):
    channel = {cf.MQCACH_CHANNEL_NAME: name, cf.MQIACH_CHANNEL_TYPE: cf.MQCHT_SVRCONN}
    who = (mq.q_mgr_name, name.decode(), mq.conn_name)
    credentials = {"user": mq.user, "password": mq.password}
    assert mqi.connect(*who, **credentials)[0] == failed(c.MQRC_UNKNOWN_CHANNEL_NAME)
    command("CREATE_CHANNEL", {**channel, cf.MQCACH_DESC: b"mine"})
    assert command.refusal("CREATE_CHANNEL", channel) == failed(cf.MQRCCF_CHANNEL_ALREADY_EXISTS)
    code, connection = mqi.connect(*who, **credentials)
    assert code == OK
    assert connection.disconnect() == OK
    (row,) = command("INQUIRE_CHANNEL", {cf.MQCACH_CHANNEL_NAME: name})
    assert row[cf.MQCACH_DESC].strip() == b"mine"
    command("CHANGE_CHANNEL", {**channel, cf.MQCACH_DESC: b"yours"})
    (row,) = command("INQUIRE_CHANNEL", {cf.MQCACH_CHANNEL_NAME: name, cf.MQIACF_CHANNEL_ATTRS: [cf.MQCACH_DESC]})
    assert row[cf.MQCACH_DESC].strip() == b"yours"
    (row,) = command("INQUIRE_CHANNEL_NAMES", {cf.MQCACH_CHANNEL_NAME: name[:8] + b"*"})
    assert name.ljust(20) in row[cf.MQCACH_CHANNEL_NAMES]
    command("DELETE_CHANNEL", {cf.MQCACH_CHANNEL_NAME: name})
    assert mqi.connect(*who, **credentials)[0] == failed(c.MQRC_UNKNOWN_CHANNEL_NAME)
    assert command.refusal("INQUIRE_CHANNEL", {cf.MQCACH_CHANNEL_NAME: name}) == failed(cf.MQRCCF_CHANNEL_NOT_FOUND)
    sender = {cf.MQCACH_CHANNEL_NAME: name, cf.MQIACH_CHANNEL_TYPE: 1}
    assert command.refusal("CREATE_CHANNEL", sender) == failed(cf.MQRCCF_CHANNEL_TYPE_ERROR)


def test_authentication_information_says_who_must_give_a_password(command):
    name = command("INQUIRE_Q_MGR")[0][cf.MQCA_CONN_AUTH].strip()
    asked = {cf.MQCA_AUTH_INFO_NAME: name, cf.MQIA_AUTH_INFO_TYPE: cf.MQAIT_IDPW_OS}
    (row,) = command("INQUIRE_AUTH_INFO", {**asked, cf.MQIACF_AUTH_INFO_ATTRS: [cf.MQIA_CHECK_CLIENT_BINDING]})
    assert row[cf.MQIA_CHECK_CLIENT_BINDING] == cf.MQCHK_OPTIONAL


@pytest.mark.parametrize(
    ("word", "code"), [("REQUIRED", failed(c.MQRC_NOT_AUTHORIZED)), ("OPTIONAL", OK), ("NONE", OK)]
)
def test_chckclnt_decides_whether_a_client_may_come_without_credentials(own_queue_manager, tmp_path, mqi, word, code):
    commands = tmp_path / "check.mqsc"
    commands.write_text(f"ALTER AUTHINFO(SYSTEM.DEFAULT.AUTHINFO.IDPWOS) AUTHTYPE(IDPWOS) CHCKCLNT({word})\n")
    queue_manager = own_queue_manager(mqsc=[commands], users={"app": "right"})
    who = (queue_manager.q_mgr_name, queue_manager.channel, queue_manager.conn_name)
    assert mqi.connect(*who)[0] == code
    assert mqi.connect(*who, user="app", password="right")[0] == OK
    wrong = OK if word == "NONE" else failed(c.MQRC_NOT_AUTHORIZED)
    assert mqi.connect(*who, user="app", password="wrong")[0] == wrong


def test_authority_records_are_accepted(command):
    record = {cf.MQCACF_AUTH_PROFILE_NAME: b"OF.NO.OTHER.TEST", cf.MQIACF_OBJECT_TYPE: 1, cf.MQIACF_AUTH_ADD_AUTHS: [8]}
    assert command.refusal("SET_AUTH_REC", record) == failed(cf.MQRCCF_ENTITY_NAME_MISSING)
    command("SET_AUTH_REC", {**record, cf.MQCACF_PRINCIPAL_ENTITY_NAMES: [b"app"]})
    command("DELETE_AUTH_REC", {**record, cf.MQCACF_PRINCIPAL_ENTITY_NAMES: [b"app"]})
    command("SET_CHLAUTH_REC", {cf.MQCACH_CHANNEL_NAME: b"DEV.*", cf.MQIACF_CHLAUTH_TYPE: 2})
