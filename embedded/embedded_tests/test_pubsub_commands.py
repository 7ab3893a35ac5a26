"""Topic objects and subscriptions by PCF and MQSC, and what topic objects do to publishing and subscribing."""

from __future__ import annotations

import contextlib
import uuid

import pytest

from embedded_tests.fix_mqi import OK, failed, shared_input, text
from embedded_tests.fix_pubsub import open_topic, publish, subscribe
from embedded_tests.tables import table
from embedded_tests.test_commands import Commands
from mqembedded import constants as c
from mqembedded import constants as mqi_constants
from mqembedded.admin.mqsc import MQSCError, parse
from mqembedded.admin.mqsc_commands import run
from mqembedded.serve.start_up import started
from mqembedded.wire import pcf_constants as cf

pytestmark = pytest.mark.embedded

MANAGED = c.MQSO_CREATE | c.MQSO_MANAGED


def bare(value: bytes) -> bytes:
    """Return a string without what pads its structure to a multiple of four, which pymqi leaves there."""
    return value.rstrip(b"\0")


@pytest.fixture
def command(mq, binding):
    q_mgr = mq.connect(binding)
    commands = Commands(binding, q_mgr)
    yield commands
    commands.execute.disconnect()
    q_mgr.disconnect()


@pytest.fixture
def name(command):
    """A name that no topic object and no subscription has; what gets it is deleted afterwards."""
    chosen = f"PUBSUB.{uuid.uuid4().hex[:12].upper()}".encode()
    yield chosen
    command.refusal("DELETE_TOPIC", {c.MQCA_TOPIC_NAME: chosen})
    command.refusal("DELETE_SUBSCRIPTION", {cf.MQCACF_SUB_NAME: chosen})


@pytest.fixture
def string():
    return f"commands/{uuid.uuid4().hex}"


@pytest.fixture
def topic(command, name, string):
    """A function that makes a topic object of this test's own."""

    def make(**attributes):
        parameters = {c.MQCA_TOPIC_NAME: name, c.MQCA_TOPIC_STRING: string.encode()}
        command("CREATE_TOPIC", parameters | {getattr(mqi_constants, key): value for key, value in attributes.items()})
        return name.decode()

    return make


# --- topic objects


def test_a_topic_object_is_made_changed_inquired_and_deleted(command, name, topic, string):
    topic(MQCA_TOPIC_DESC=b"fruit")
    assert command.refusal("CREATE_TOPIC", {c.MQCA_TOPIC_NAME: name, c.MQCA_TOPIC_STRING: b"x"}) == failed(
        cf.MQRCCF_OBJECT_ALREADY_EXISTS
    )
    command("CHANGE_TOPIC", {c.MQCA_TOPIC_NAME: name, c.MQIA_DEF_PRIORITY: 4})
    (found,) = command("INQUIRE_TOPIC", {c.MQCA_TOPIC_NAME: name})
    assert bare(found[c.MQCA_TOPIC_STRING]) == string.encode()
    assert found[c.MQCA_TOPIC_DESC].rstrip() == b"fruit"
    assert (found[c.MQIA_DEF_PRIORITY], found[c.MQIA_TOPIC_DEF_PERSISTENCE], found[c.MQIA_INHIBIT_PUB]) == (4, -1, 0)
    (names,) = command("INQUIRE_TOPIC_NAMES", {c.MQCA_TOPIC_NAME: name[:-1] + b"*"})
    assert [one.rstrip() for one in names[cf.MQCACF_TOPIC_NAMES]] == [name]
    command("DELETE_TOPIC", {c.MQCA_TOPIC_NAME: name})
    assert command.refusal("INQUIRE_TOPIC", {c.MQCA_TOPIC_NAME: name}) == failed(c.MQRC_UNKNOWN_OBJECT_NAME)


def test_a_topic_object_keeps_its_topic_string_and_shares_it_with_none(command, name, topic, string):
    topic()
    other = {c.MQCA_TOPIC_NAME: name, c.MQCA_TOPIC_STRING: string.encode() + b"/x"}
    assert command.refusal("CHANGE_TOPIC", other) == failed(cf.MQRCCF_TOPICSTR_ALREADY_EXISTS)
    same = {c.MQCA_TOPIC_NAME: name + b".2", c.MQCA_TOPIC_STRING: string.encode()}
    assert command.refusal("CREATE_TOPIC", same) == failed(cf.MQRCCF_TOPICSTR_ALREADY_EXISTS)
    empty = {c.MQCA_TOPIC_NAME: name + b".2", c.MQCA_TOPIC_STRING: b" "}
    assert command.refusal("CREATE_TOPIC", empty) == failed(c.MQRC_TOPIC_STRING_ERROR)
    assert command.refusal("CREATE_TOPIC", {c.MQCA_TOPIC_NAME: name + b".2"}) == failed(cf.MQRCCF_PARM_MISSING)
    copied = {cf.MQCACF_FROM_TOPIC_NAME: name, cf.MQCACF_TO_TOPIC_NAME: name + b".2"}
    assert command.refusal("COPY_TOPIC", copied) == failed(cf.MQRCCF_TOPICSTR_ALREADY_EXISTS)
    command("COPY_TOPIC", copied | {c.MQCA_TOPIC_STRING: string.encode() + b"/2"})
    command("DELETE_TOPIC", {c.MQCA_TOPIC_NAME: name + b".2"})


def test_the_root_of_all_topics_stays(command):
    base = {c.MQCA_TOPIC_NAME: b"SYSTEM.BASE.TOPIC"}
    assert command.refusal("DELETE_TOPIC", base) == failed(c.MQRC_OBJECT_IN_USE)
    (found,) = command("INQUIRE_TOPIC", base)
    assert found[c.MQIA_INHIBIT_PUB] == cf.MQTA_PUB_ALLOWED


def test_name_and_string_make_a_topic_together(connection, topic, string):
    made = topic()
    one = subscribe(connection, "below", ObjectName=made.encode())
    whole = subscribe(connection, ObjectName=made.encode())
    assert (one.topic_string, whole.topic_string) == (f"{string}/below", string)
    assert open_topic(connection, "below", made).put(b"below").code == OK
    assert open_topic(connection, name=made).put(b"itself").code == OK
    assert (one.received(), whole.received()) == ([b"below"], [b"itself"])


def test_defaults_of_publications_come_from_the_nearest_object(connection, topic, string):
    topic(MQIA_DEF_PRIORITY=6, MQIA_TOPIC_DEF_PERSISTENCE=c.MQPER_PERSISTENT)
    source = shared_input(connection, "TEST.BASE")
    one = subscribe(connection, f"{string}/deep/down", c.MQSO_CREATE, queue=source)
    as_topic = {"Priority": c.MQPRI_PRIORITY_AS_Q_DEF, "Persistence": c.MQPER_PERSISTENCE_AS_Q_DEF}
    put = publish(connection, f"{string}/deep/down", b"m", **as_topic)
    md = one.queue.get().md
    assert (md.Priority, md.Persistence) == (put.md.Priority, put.md.Persistence) == (6, c.MQPER_PERSISTENT)
    one.close()


def test_publishing_and_subscribing_may_be_inhibited(connection, topic, string):
    topic(MQIA_INHIBIT_PUB=cf.MQTA_PUB_INHIBITED, MQIA_INHIBIT_SUB=cf.MQTA_SUB_INHIBITED)
    assert open_topic(connection, f"{string}/x").put(b"m").code == failed(c.MQRC_PUT_INHIBITED)
    assert publish(connection, string, b"m").code == failed(c.MQRC_PUT_INHIBITED)
    assert subscribe(connection, string).code == failed(c.MQRC_SUB_INHIBITED)
    assert publish(connection, "elsewhere", b"m").code == OK


def test_durable_subscriptions_may_be_forbidden(command, connection, name, topic, string):
    topic(MQIA_DURABLE_SUB=cf.MQSUB_DURABLE_INHIBITED)
    options = MANAGED | c.MQSO_DURABLE
    assert subscribe(connection, string, options, name=name.decode()).code == failed(c.MQRC_DURABILITY_NOT_ALLOWED)
    defined = {cf.MQCACF_SUB_NAME: name, c.MQCA_TOPIC_STRING: string.encode(), cf.MQCACF_DESTINATION: b"TEST.LOCAL"}
    assert command.refusal("CREATE_SUBSCRIPTION", defined) == failed(cf.MQRCCF_DURABILITY_NOT_ALLOWED)
    assert subscribe(connection, string).code == OK


def test_managed_queues_are_made_from_the_topic_s_model(connection, topic, string):
    topic(MQCA_MODEL_NON_DURABLE_Q=b"TEST.SMALL.MODEL", MQIA_NPM_DELIVERY=cf.MQDLV_ALL)
    one = subscribe(connection, string)
    refused = publish(connection, string, b"more than ten bytes")
    assert refused.code == failed(c.MQRC_PUBLICATION_FAILURE)
    assert publish(connection, string, b"ten bytes.").code == OK
    assert one.received() == [b"ten bytes."]


def test_a_model_queue_that_is_not_there_is_no_destination(connection, topic, string):
    topic(MQCA_MODEL_NON_DURABLE_Q=b"NO.SUCH.MODEL")
    assert subscribe(connection, string).code == failed(c.MQRC_INVALID_DESTINATION)


def test_the_status_of_a_topic(command, connection, string):
    asked = {c.MQCA_TOPIC_STRING: string.encode()}
    assert command.refusal("INQUIRE_TOPIC_STATUS", asked) == failed(cf.MQRCCF_TOPIC_STRING_NOT_FOUND)
    one = subscribe(connection, string)
    open_topic(connection, string).put(b"m", c.MQPMO_RETAIN)
    (found,) = command("INQUIRE_TOPIC_STATUS", asked)
    assert [found[key] for key in (cf.MQIA_SUB_COUNT, cf.MQIA_PUB_COUNT, cf.MQIACF_RETAINED_PUBLICATION)] == [1, 1, 1]
    subscribers = command("INQUIRE_TOPIC_STATUS", asked | {cf.MQIACF_TOPIC_STATUS_TYPE: cf.MQIACF_TOPIC_SUB})
    assert [found[cf.MQBACF_SUB_ID] for found in subscribers] == [one.sd["SubCorrelId"]]
    assert len(command("INQUIRE_TOPIC_STATUS", asked | {cf.MQIACF_TOPIC_STATUS_TYPE: cf.MQIACF_TOPIC_PUB})) == 1
    command("CLEAR_TOPIC_STRING", asked | {cf.MQIACF_CLEAR_TYPE: cf.MQCLRT_RETAINED})
    assert subscribe(connection, string).received() == []


# --- subscriptions


@pytest.fixture
def defined(command, name, string):
    """A function that defines a subscription of this test's own; a managed one unless it is told otherwise."""

    def define(**attributes):
        parameters = {cf.MQCACF_SUB_NAME: name, c.MQCA_TOPIC_STRING: string.encode()}
        attributes = {"MQIACF_DESTINATION_CLASS": cf.MQDC_MANAGED, **attributes}
        command("CREATE_SUBSCRIPTION", parameters | {getattr(cf, key): value for key, value in attributes.items()})
        return name.decode()

    return define


def test_a_subscription_is_made_inquired_changed_and_deleted(command, connection, name, defined, string):
    publish(connection, string, b"retained", c.MQPMO_RETAIN)
    defined(MQCACF_SUB_USER_DATA="grün".encode())
    (found,) = command("INQUIRE_SUBSCRIPTION", {cf.MQCACF_SUB_NAME: name[:-1] + b"*"})
    assert bare(found[cf.MQCACF_SUB_NAME]) == name
    assert bare(found[c.MQCA_TOPIC_STRING]) == string.encode()
    assert bare(found[cf.MQCACF_SUB_USER_DATA]) == "grün".encode()
    kinds = (
        cf.MQIACF_SUB_TYPE,
        cf.MQIACF_DURABLE_SUBSCRIPTION,
        cf.MQIACF_DESTINATION_CLASS,
        cf.MQIACF_VARIABLE_USER_ID,
    )
    assert [found[key] for key in kinds] == [
        cf.MQSUBTYPE_ADMIN,
        cf.MQSUB_DURABLE_YES,
        cf.MQDC_MANAGED,
        cf.MQVU_ANY_USER,
    ]
    managed = found[cf.MQCACF_DESTINATION].decode().rstrip()
    assert managed.startswith("SYSTEM.MANAGED.DURABLE.")
    assert connection.depth(managed) == 1
    command("CHANGE_SUBSCRIPTION", {cf.MQCACF_SUB_NAME: name, cf.MQIACF_PUB_PRIORITY: 7})
    by_id = {cf.MQBACF_SUB_ID: command.structure("ByteString", value=found[cf.MQBACF_SUB_ID])}
    (found,) = command("INQUIRE_SUBSCRIPTION", by_id)
    assert found[cf.MQIACF_PUB_PRIORITY] == 7
    command("DELETE_SUBSCRIPTION", by_id)
    assert command.refusal("INQUIRE_SUBSCRIPTION", by_id) == failed(c.MQRC_NO_SUBSCRIPTION)
    assert connection.open(managed, c.MQOO_INQUIRE).code == failed(c.MQRC_UNKNOWN_OBJECT_NAME)


def test_a_subscription_in_use_is_not_deleted(command, connection, name, defined, string):
    resumed = subscribe(connection, options=c.MQSO_RESUME, name=defined())
    publish(connection, string, b"m")
    chosen = {cf.MQCACF_SUB_NAME: name}
    assert command.refusal("DELETE_SUBSCRIPTION", chosen) == failed(cf.MQRCCF_SUBSCRIPTION_IN_USE)
    (status,) = command("INQUIRE_SUB_STATUS", chosen)
    assert status[cf.MQIACF_MESSAGE_COUNT] == 1
    assert status[cf.MQBACF_CONNECTION_ID] != bytes(24)
    resumed.close()
    (status,) = command("INQUIRE_SUB_STATUS", chosen)
    assert status[cf.MQBACF_CONNECTION_ID] == bytes(24)


def test_a_subscription_is_replaced_only_if_asked_and_keeps_what_it_is(command, name, defined):
    defined()
    with pytest.raises(command.binding.MQMIError) as error:
        defined()
    assert error.value.reason == c.MQRC_SUB_ALREADY_EXISTS
    defined(MQIACF_REPLACE=cf.MQRP_YES, MQIACF_PUB_PRIORITY=2)
    (found,) = command("INQUIRE_SUBSCRIPTION", {cf.MQCACF_SUB_NAME: name})
    assert found[cf.MQIACF_PUB_PRIORITY] == 2

    def refusal(**attributes):
        parameters = {getattr(cf, key, c.MQCA_TOPIC_STRING): value for key, value in attributes.items()}
        return command.refusal("CHANGE_SUBSCRIPTION", {cf.MQCACF_SUB_NAME: name} | parameters)

    assert refusal(MQCA_TOPIC_STRING=b"other") == failed(c.MQRC_TOPIC_NOT_ALTERABLE)
    assert refusal(MQIACF_WILDCARD_SCHEMA=cf.MQWS_CHAR) == failed(c.MQRC_TOPIC_NOT_ALTERABLE)
    assert refusal(MQIACF_DESTINATION_CLASS=cf.MQDC_PROVIDED) == failed(c.MQRC_DEST_CLASS_NOT_ALTERABLE)
    assert refusal(MQIACF_REQUEST_ONLY=99) == failed(cf.MQRCCF_ATTR_VALUE_ERROR)


def test_a_subscription_needs_a_topic_and_a_destination(command, name, string):
    bare = {cf.MQCACF_SUB_NAME: name}
    assert command.refusal("CREATE_SUBSCRIPTION", bare) == failed(cf.MQRCCF_PARM_MISSING)
    assert command.refusal("CREATE_SUBSCRIPTION", bare | {c.MQCA_TOPIC_STRING: string.encode()}) == failed(
        cf.MQRCCF_DEST_NAME_ERROR
    )
    assert command.refusal("DELETE_SUBSCRIPTION") == failed(cf.MQRCCF_PARM_COUNT_TOO_SMALL)


def test_subscriptions_are_chosen_by_what_they_are(command, connection, name, defined, string):
    defined()
    other = subscribe(connection, string, name=f"{name.decode()}.API")

    def found(**more):
        asked = {getattr(cf, key): value for key, value in more.items()}
        return [
            bare(row[cf.MQCACF_SUB_NAME])
            for row in command("INQUIRE_SUBSCRIPTION", {cf.MQCACF_SUB_NAME: name + b"*"} | asked)
        ]

    assert found() == [name, name + b".API"]
    assert found(MQIACF_DURABLE_SUBSCRIPTION=cf.MQSUB_DURABLE_NO) == [name + b".API"]
    assert found(MQIACF_SUB_TYPE=cf.MQSUBTYPE_ADMIN) == [name]
    other.close()


# --- MQSC


def test_topics_and_subscriptions_of_a_command_file(own_queue_manager, connect, tmp_path):
    mqsc = tmp_path / "topics.mqsc"
    mqsc.write_text(
        "DEFINE TOPIC(FRUIT) TOPICSTR('Fruit') DEFPSIST(YES) DESCR('it''s fruit') REPLACE\n"
        "DEFINE QALIAS(TO.FRUIT) TARGET(FRUIT) TARGTYPE(TOPIC) REPLACE\n"
        "DEFINE SUB('all fruit') TOPICOBJ(FRUIT) TOPICSTR('#') DEST(TEST.LOCAL) USERDATA('x') REPLACE +\n"
        "  DESTCORL(" + "AB" * 24 + ")\n"
        "DEFINE SUB(GONE) TOPICSTR(X) DESTCLAS(MANAGED)\n"
        "ALTER SUB('all fruit') PUBPRTY(8)\n"
        "ALTER TOPIC(FRUIT) DEFPRTY(1)\n"
        "DELETE SUB(GONE)\n"
    )
    target = own_queue_manager(mqsc=[mqsc])
    connection = connect(to=target)
    assert publish(connection, "Fruit/Apple", b"m", Priority=5).code == OK
    alias = connection.open("TO.FRUIT", c.MQOO_OUTPUT)
    assert (alias.code, alias.put(b"by alias").code, connection.put1("TO.FRUIT", b"by alias").code) == (OK, OK, OK)
    found = connection.browse("TEST.LOCAL")
    assert [answer.data for answer in found] == [b"m", b"by alias", b"by alias"]
    assert {(answer.md.Priority, answer.md.Persistence, answer.md.CorrelId) for answer in found} == {
        (8, 1, b"\xab" * 24)
    }
    # Read at every start: nothing is made twice
    target.kill()
    target.start()
    assert connect(to=target).depth("TEST.LOCAL") == 3


@table(
    "line",
    [
        "DEFINE TOPIC(T)",
        "DEFINE SUB(S) TOPICSTR(X)",
        "DEFINE SUB(S) DESTCLAS(MANAGED)",
        "DEFINE SUB(S) TOPICOBJ(NO.SUCH) DESTCLAS(MANAGED)",
        "DEFINE SUB(S) TOPICSTR(X) DESTCLAS(MANAGED) DESTCORL(XYZ)",
        "ALTER SUB(S) PUBPRTY(1)",
        "DELETE SUB(S)",
        "DELETE TOPIC(T)",
        "ALTER TOPIC(T) DEFPRTY(1)",
    ],
)
def test_commands_that_cannot_be_carried_out(tmp_path, line):
    with contextlib.closing(started("QM2", tmp_path)) as q_mgr, pytest.raises(MQSCError, match="line 1"):
        run(q_mgr, parse(line))


def test_topics_are_not_inquired_by_mqinq(connection, string):
    handle = open_topic(connection, string, options=c.MQOO_INQUIRE | c.MQOO_OUTPUT)
    assert handle.inquire(c.MQIA_CURRENT_Q_DEPTH)[0] == failed(c.MQRC_SELECTOR_ERROR)


def test_a_managed_queue_is_inquired_by_mqinq(connection, string):
    one = subscribe(connection, string)
    code, value = one.queue.inquire(c.MQCA_Q_NAME)
    assert (code, text(value)[:15]) == (OK, "SYSTEM.MANAGED.")
