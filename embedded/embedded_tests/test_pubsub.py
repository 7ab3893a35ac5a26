"""Publish and subscribe by MQSUB, MQOPEN of topics, MQPUT and MQPUT1, on both bindings."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

from embedded_tests.fix_mqi import EMPTY, OK, failed, shared_input, text, warning
from embedded_tests.fix_properties import MessageHandle, get
from embedded_tests.fix_pubsub import open_topic, publish, subscribe
from embedded_tests.tables import table
from mqembedded import constants as c

pytestmark = pytest.mark.embedded

OTHER_USERS = Path(__file__).with_name("other_users.mqsc")
MANAGED = c.MQSO_CREATE | c.MQSO_MANAGED
DURABLE = MANAGED | c.MQSO_DURABLE
NOTHING = failed(c.MQRC_NO_SUBSCRIPTION)


@pytest.fixture
def topic():
    """A topic string of this test's own."""
    return f"test/{uuid.uuid4().hex}"


@pytest.fixture
def name(connection):
    """A name for a subscription, which is removed afterwards."""
    chosen = f"sub {uuid.uuid4().hex}"
    yield chosen
    left = subscribe(connection, options=c.MQSO_RESUME, name=chosen)
    left.close(c.MQCO_REMOVE_SUB)


# --- who gets what


def test_every_subscription_gets_a_copy(connection, topic):
    first, second = subscribe(connection, topic), subscribe(connection, f"{topic}/#")
    elsewhere = subscribe(connection, f"{topic}/elsewhere")
    out = open_topic(connection, topic)
    assert (out.code, out.put(b"1").code, publish(connection, topic, b"2").code) == (OK, OK, OK)
    assert (first.received(), second.received(), elsewhere.received()) == ([b"1", b"2"], [b"1", b"2"], [])


def test_wildcard_schemes(connection, topic):
    levels = subscribe(connection, f"{topic}/+", MANAGED | c.MQSO_WILDCARD_TOPIC)
    characters = subscribe(connection, f"{topic}/*e", MANAGED | c.MQSO_WILDCARD_CHAR)
    for last in ("apple", "plum", "+", "pear/slice"):
        publish(connection, f"{topic}/{last}", last.encode())
    assert levels.received() == [b"apple", b"plum", b"+"]
    assert characters.received() == [b"apple", b"pear/slice"]


def test_publications_before_the_subscription_and_after_it_do_not_come(connection, topic):
    publish(connection, topic, b"before")
    one = subscribe(connection, topic)
    publish(connection, topic, b"meanwhile")
    assert one.hsub.close() == OK
    publish(connection, topic, b"after")
    assert one.received() == [b"meanwhile"]


def test_a_queue_of_one_s_own_gets_what_several_subscriptions_match(connection, queue, topic):
    source = shared_input(connection, queue)
    one = subscribe(connection, topic, c.MQSO_CREATE, queue=source)
    other = subscribe(connection, f"{topic}/#", c.MQSO_CREATE, queue=source)
    assert one.queue.hobj == source.hobj
    publish(connection, topic, b"m")
    correl_ids = {answer.md.CorrelId for answer in source.all()}
    assert correl_ids == {one.sd["SubCorrelId"], other.sd["SubCorrelId"]}
    assert len(correl_ids) == 2
    assert {one_id[:4] for one_id in correl_ids} == {b"AMQX"}


def test_closing_a_subscription_leaves_its_publications_on_a_provided_queue(connection, queue, topic):
    one = subscribe(connection, topic, c.MQSO_CREATE, queue=shared_input(connection, queue))
    publish(connection, topic, b"m")
    one.close()
    assert [answer.data for answer in connection.browse(queue)] == [b"m"]


@table("options", [c.MQOO_OUTPUT, c.MQOO_INQUIRE])
def test_a_provided_queue_is_open_to_get_from(connection, queue, topic, options):
    handle = connection.open(queue, options)
    assert subscribe(connection, topic, c.MQSO_CREATE, queue=handle).code == failed(c.MQRC_HOBJ_ERROR)
    assert subscribe(connection, topic, c.MQSO_CREATE).code == failed(c.MQRC_HOBJ_ERROR)


def test_the_managed_queue_goes_with_the_subscription_and_its_handle(connection, topic):
    one = subscribe(connection, topic)
    publish(connection, topic, b"m")
    answer = one.queue.get()
    managed = text(answer.gmo.ResolvedQName)
    assert managed.startswith("SYSTEM.MANAGED.NDURABLE.")
    assert one.queue.close(c.MQCO_DELETE) == failed(c.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    one.hsub.close()
    assert connection.open(managed, c.MQOO_INQUIRE).close() == OK
    one.queue.close()
    assert connection.open(managed, c.MQOO_INQUIRE).code == failed(c.MQRC_UNKNOWN_OBJECT_NAME)


def test_a_managed_queue_waits_for_units_of_work(connection, connect, topic, name):
    other = connect()
    one = subscribe(connection, topic, DURABLE, name=name)
    managed = text(one.queue.inquire(c.MQCA_Q_NAME)[1])
    publish(other, topic, b"m", c.MQPMO_SYNCPOINT, Persistence=c.MQPER_PERSISTENT)
    assert one.close(c.MQCO_REMOVE_SUB) == OK
    assert connection.open(managed, c.MQOO_INQUIRE).close() == OK
    assert other.commit() == OK
    assert connection.open(managed, c.MQOO_INQUIRE).code == failed(c.MQRC_UNKNOWN_OBJECT_NAME)


@pytest.mark.parametrize("how", ["disconnect", "close"])
def test_a_non_durable_subscription_ends_with_the_connection(connection, connect, topic, name, how):
    other = connect()
    one = subscribe(other, topic, name=name)
    managed = text(one.queue.inquire(c.MQCA_Q_NAME)[1])
    assert (other.disconnect() if how == "disconnect" else one.close()) == OK
    assert subscribe(connection, topic, name=name).code == OK
    assert connection.open(managed, c.MQOO_INQUIRE).code == failed(c.MQRC_UNKNOWN_OBJECT_NAME)


# --- units of work


def test_publications_in_a_unit_of_work_appear_with_it(connection, topic):
    first, second = subscribe(connection, topic), subscribe(connection, topic)
    publish(connection, topic, b"m", c.MQPMO_SYNCPOINT)
    assert first.queue.get().code == EMPTY
    assert connection.commit() == OK
    assert (first.received(), second.received()) == ([b"m"], [b"m"])


def test_publications_that_are_backed_out_never_were(connection, topic):
    one = subscribe(connection, topic)
    publish(connection, topic, b"m", c.MQPMO_SYNCPOINT | c.MQPMO_RETAIN)
    assert connection.back_out() == OK
    assert (one.received(), subscribe(connection, topic).received()) == ([], [])
    assert one.queue.inquire(c.MQIA_CURRENT_Q_DEPTH) == (OK, 0)


def test_every_copy_counts_against_maxumsgs(own_queue_manager, connect, tmp_path, topic):
    mqsc = tmp_path / "limit.mqsc"
    mqsc.write_text("ALTER QMGR MAXUMSGS(3)\n")
    connection = connect(to=own_queue_manager(mqsc=[mqsc]))
    subscriptions = [subscribe(connection, topic) for _ in range(2)]
    assert publish(connection, topic, b"1", c.MQPMO_SYNCPOINT).code == OK
    assert publish(connection, topic, b"2", c.MQPMO_SYNCPOINT).code == failed(c.MQRC_SYNCPOINT_LIMIT_REACHED)
    connection.commit()
    assert [one.received() for one in subscriptions] == [[b"1"], [b"1"]]


# --- the publication's descriptor


def test_identifiers_of_a_publication(connection, topic):
    one = subscribe(connection, topic)
    other = subscribe(connection, topic)
    put = publish(connection, topic, b"m")
    assert put.md.MsgId == c.MQMI_NONE
    ids = {one.queue.get().md.MsgId, other.queue.get().md.MsgId}
    assert len(ids) == 2
    assert c.MQMI_NONE not in ids
    put = publish(connection, topic, b"m", c.MQPMO_NEW_MSG_ID)
    assert put.md.MsgId != c.MQMI_NONE
    assert one.queue.get().md.MsgId == put.md.MsgId


def test_correlation_identifiers(connection, topic):
    generated = subscribe(connection, topic)
    given = subscribe(connection, topic, MANAGED | c.MQSO_SET_CORREL_ID, SubCorrelId=b"G" * 24)
    published = subscribe(connection, topic, MANAGED | c.MQSO_SET_CORREL_ID)
    publish(connection, topic, b"m", CorrelId=b"P" * 24)
    found = [one.queue.get().md.CorrelId for one in (generated, given, published)]
    assert found == [generated.sd["SubCorrelId"], b"G" * 24, b"P" * 24]


def test_priority(connection, make_queue, topic):
    source = shared_input(connection, make_queue("TEST.DEFAULTS.MODEL"))
    as_queue = subscribe(connection, topic, c.MQSO_CREATE, queue=source, PubPriority=c.MQPRI_PRIORITY_AS_Q_DEF)
    as_published, fixed = subscribe(connection, topic), subscribe(connection, topic, PubPriority=9)
    publish(connection, topic, b"m", Priority=4)
    assert [one.queue.get().md.Priority for one in (as_queue, as_published, fixed)] == [7, 4, 9]


def test_identity_context_is_the_subscriber_s(connection, topic):
    context: Any = {"PubAccountingToken": b"T" * 32, "PubApplIdentityData": b"identity"}
    default = subscribe(connection, topic, **context)
    given = subscribe(connection, topic, MANAGED | c.MQSO_SET_IDENTITY_CONTEXT, **context)
    publish(connection, topic, b"m")
    md = default.queue.get().md
    assert (md.AccountingToken, text(md.ApplIdentityData)) == (bytes(32), "")
    md = given.queue.get().md
    assert (md.AccountingToken, text(md.ApplIdentityData)) == (b"T" * 32, "identity")


def test_reply_to_may_be_withheld(connection, topic):
    one = subscribe(connection, topic)
    for options in (0, c.MQPMO_SUPPRESS_REPLYTO | c.MQPMO_SCOPE_QMGR):
        assert publish(connection, topic, b"m", options, ReplyToQ=b"REPLIES").code == OK
    assert [text(answer.md.ReplyToQ) for answer in one.queue.all()] == ["REPLIES", ""]


def test_topic_string_and_user_data_are_properties(connection, topic):
    one = subscribe(connection, f"{topic}/+", user_data=b"mine & yours")
    publish(connection, f"{topic}/<x>", b"m")
    handle = MessageHandle(connection)
    answer = get(one.queue, handle, c.MQGMO_PROPERTIES_IN_HANDLE)
    assert (answer.code, answer.data) == (OK, b"m")
    assert handle.inquire("MQTopicString").value == f"{topic}/<x>"
    assert handle.inquire("MQSubUserData").value == "mine & yours"


@table("flags", [c.MQMF_MSG_IN_GROUP, c.MQMF_SEGMENT])
def test_groups_and_segments_cannot_be_published(connection, topic, flags):
    refused = failed(c.MQRC_MSG_NOT_ALLOWED_IN_GROUP)
    assert open_topic(connection, topic).put(b"m", MsgFlags=flags).code == refused
    assert publish(connection, topic, b"m", MsgFlags=flags).code == refused


# --- MQPMO options


def test_nobody_there_is_a_warning_if_asked_for(connection, topic):
    assert publish(connection, topic, b"m").code == OK
    asked = c.MQPMO_WARN_IF_NO_SUBS_MATCHED
    assert publish(connection, topic, b"m", asked).code == warning(c.MQRC_NO_SUBS_MATCHED)
    on_request = subscribe(connection, topic, MANAGED | c.MQSO_PUBLICATIONS_ON_REQUEST)
    assert publish(connection, topic, b"m", asked).code == warning(c.MQRC_NO_SUBS_MATCHED)
    one = subscribe(connection, topic)
    assert publish(connection, topic, b"m", asked).code == OK
    assert publish(connection, topic, b"m", asked | c.MQPMO_NOT_OWN_SUBS).code == warning(c.MQRC_NO_SUBS_MATCHED)
    assert (len(one.received()), on_request.received()) == (1, [])


def test_own_subscriptions_are_those_of_the_connection(connection, connect, topic):
    own, other = subscribe(connection, topic), subscribe(connect(), topic)
    publish(connection, topic, b"m", c.MQPMO_NOT_OWN_SUBS)
    assert (own.received(), other.received()) == ([], [b"m"])


def test_the_highest_level_intercepts(connection, topic):
    high, low = subscribe(connection, topic, SubLevel=5), subscribe(connection, topic, SubLevel=1)
    publish(connection, topic, b"intercepted")
    out = open_topic(connection, topic)
    assert out.put(b"on", pmo=connection.mqi.pmo(Version=3, Options=4, PubLevel=4)).code == OK
    assert (high.received(), low.received()) == ([b"intercepted"], [b"on"])


def test_one_of_a_group_gets_it(connection, queue, topic):
    source = shared_input(connection, queue)
    options = c.MQSO_CREATE | c.MQSO_GROUP_SUB | c.MQSO_SET_CORREL_ID
    for string in (topic, f"{topic}/#"):
        assert subscribe(connection, string, options, queue=source, SubCorrelId=b"G" * 24).code == OK
    publish(connection, topic, b"both match")
    publish(connection, f"{topic}/below", b"one matches")
    assert [answer.data for answer in source.all()] == [b"both match", b"one matches"]


def test_a_persistent_publication_must_reach_durable_subscriptions(connection, make_queue, topic, name):
    small = shared_input(connection, make_queue("TEST.SMALL.MODEL"))
    subscribe(connection, topic, c.MQSO_CREATE | c.MQSO_DURABLE, name=name, queue=small)
    other = subscribe(connection, topic)
    refused = publish(connection, topic, b"more than ten bytes", Persistence=c.MQPER_PERSISTENT)
    assert refused.code == failed(c.MQRC_PUBLICATION_FAILURE)
    assert other.received() == []
    # NPMSGDLV(ALLAVAIL) and PMSGDLV(ALLDUR) are SYSTEM.BASE.TOPIC's
    assert publish(connection, topic, b"more than ten bytes", Persistence=c.MQPER_NOT_PERSISTENT).code == OK
    assert other.received() == [b"more than ten bytes"]


# --- retained publications


def test_a_retained_publication_is_sent_to_who_subscribes_later(connection, topic):
    publish(connection, topic, b"old", c.MQPMO_RETAIN)
    publish(connection, topic, b"new", c.MQPMO_RETAIN)
    publish(connection, f"{topic}/other", b"other", c.MQPMO_RETAIN)
    one = subscribe(connection, topic)
    handle = MessageHandle(connection)
    assert get(one.queue, handle, c.MQGMO_PROPERTIES_IN_HANDLE).data == b"new"
    assert handle.inquire("MQIsRetained").value == 1
    assert handle.inquire("MQTopicString").value == topic
    assert sorted(subscribe(connection, f"{topic}/#").received()) == [b"new", b"other"]
    assert subscribe(connection, topic, MANAGED | c.MQSO_NEW_PUBLICATIONS_ONLY).received() == []
    assert one.queue.get().code == EMPTY


def test_retained_in_a_unit_of_work_counts_when_it_ends(connection, topic):
    publish(connection, topic, b"old", c.MQPMO_RETAIN)
    publish(connection, topic, b"new", c.MQPMO_RETAIN | c.MQPMO_SYNCPOINT)
    assert subscribe(connection, topic).received() == [b"old"]
    connection.commit()
    assert subscribe(connection, topic).received() == [b"new"]


def test_publications_on_request(connection, mqi, topic):
    if mqi.name == "pymqi":
        pytest.skip("pymqi has no MQSUBRQ")
    one = subscribe(connection, f"{topic}/#", MANAGED | c.MQSO_PUBLICATIONS_ON_REQUEST)
    assert one.request() == (failed(c.MQRC_NO_RETAINED_MSG), 0)
    for last in ("a", "b"):
        publish(connection, f"{topic}/{last}", last.encode(), c.MQPMO_RETAIN)
    assert one.received() == []
    assert one.request() == (OK, 2)
    assert sorted(one.received()) == [b"a", b"b"]
    everything = subscribe(connection, topic)
    assert everything.request()[0] == failed(c.MQRC_OPTIONS_ERROR)


# --- durable subscriptions, resuming, altering


def test_a_durable_subscription_goes_on_without_the_application(connect, topic, connection, name):
    first = connect()
    one = subscribe(first, topic, DURABLE, name=name, user_data=b"data", PubPriority=3)
    assert one.code == OK
    assert first.disconnect() == OK
    publish(connection, topic, b"m")
    resumed = subscribe(connection, options=c.MQSO_RESUME, name=name)
    assert resumed.code == OK
    assert resumed.received() == [b"m"]
    sd = resumed.sd
    assert sd["Options"] == c.MQSO_DURABLE | c.MQSO_MANAGED | c.MQSO_FIXED_USERID
    assert (sd["SubCorrelId"], sd["PubPriority"], sd["SubLevel"]) == (one.sd["SubCorrelId"], 3, 1)
    assert (resumed.user_data, resumed.topic_string) == (b"data", topic)
    resumed.close()


def test_a_topic_string_that_does_not_fit_comes_from_the_right(connection, topic):
    one = subscribe(connection, topic, room=4)
    assert one.sd["ResObjectStringVSLength"] == len(topic)
    assert one.topic_string == topic[-4:]


def test_creating_and_resuming(connection, connect, topic, name):
    assert subscribe(connection, options=c.MQSO_RESUME, name=name).code == NOTHING
    assert subscribe(connection, options=c.MQSO_ALTER | c.MQSO_DURABLE, name=name).code == NOTHING
    one = subscribe(connection, topic, DURABLE | c.MQSO_RESUME, name=name)
    assert one.code == OK
    assert subscribe(connection, topic, DURABLE, name=name).code == failed(c.MQRC_SUB_ALREADY_EXISTS)
    for who in (connection, connect()):
        assert subscribe(who, options=c.MQSO_RESUME, name=name).code == failed(c.MQRC_SUBSCRIPTION_IN_USE)
    one.close()
    assert subscribe(connection, f"{topic}/x", c.MQSO_RESUME, name=name).code == failed(c.MQRC_TOPIC_NOT_ALTERABLE)
    again = subscribe(connection, topic, DURABLE | c.MQSO_RESUME, name=name)
    assert (again.code, again.sd["SubCorrelId"]) == (OK, one.sd["SubCorrelId"])
    assert again.close(c.MQCO_KEEP_SUB) == OK
    assert subscribe(connection, options=c.MQSO_RESUME, name=name).close(c.MQCO_REMOVE_SUB) == OK
    assert subscribe(connection, options=c.MQSO_RESUME, name=name).code == NOTHING


def test_the_name_of_a_non_durable_subscription_is_its_own_too(connection, topic, name):
    one = subscribe(connection, topic, name=name)
    assert subscribe(connection, topic, name=name).code == failed(c.MQRC_SUB_ALREADY_EXISTS)
    assert one.hsub.close(c.MQCO_KEEP_SUB) == failed(c.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    assert one.hsub.close() == OK
    assert subscribe(connection, topic, name=name).code == OK


def test_altering(connection, queue, make_queue, topic, name):
    options = c.MQSO_CREATE | c.MQSO_DURABLE
    subscribe(connection, topic, options, name=name, queue=shared_input(connection, queue)).hsub.close()
    other = make_queue()
    alter = c.MQSO_ALTER | c.MQSO_DURABLE | c.MQSO_SET_CORREL_ID
    altered = subscribe(
        connection,
        options=alter,
        name=name,
        queue=shared_input(connection, other),
        user_data=b"new",
        SubCorrelId=b"C" * 24,
        PubPriority=2,
    )
    assert altered.code == OK
    publish(connection, topic, b"m")
    md = altered.queue.get().md
    assert (connection.depth(queue), md.Priority, md.CorrelId) == (0, 2, b"C" * 24)
    altered.hsub.close()

    def refusal(options, topic="", **fields):
        return subscribe(connection, topic, options, name=name, **fields).code

    assert refusal(c.MQSO_ALTER) == failed(c.MQRC_DURABILITY_NOT_ALTERABLE)
    assert refusal(alter, f"{topic}/x") == failed(c.MQRC_TOPIC_NOT_ALTERABLE)
    assert refusal(alter | c.MQSO_WILDCARD_CHAR) == failed(c.MQRC_TOPIC_NOT_ALTERABLE)
    assert refusal(alter | c.MQSO_GROUP_SUB) == failed(c.MQRC_GROUPING_NOT_ALTERABLE)
    assert refusal(alter, SubLevel=2) == failed(c.MQRC_SUBLEVEL_NOT_ALTERABLE)


def test_who_may_resume(own_queue_manager, connect, topic):
    target = own_queue_manager(mqsc=[OTHER_USERS], users={"ann": "secret", "bob": "secret"})
    ann, bob = (connect(to=target, user=user, password="secret") for user in ("ann", "bob"))
    subscribe(ann, topic, DURABLE, name="fixed").close()
    subscribe(ann, topic, DURABLE | c.MQSO_ANY_USERID, name="any").close()
    assert subscribe(bob, options=c.MQSO_RESUME, name="fixed").code == failed(c.MQRC_IDENTITY_MISMATCH)
    resumed = subscribe(bob, options=c.MQSO_RESUME, name="any")
    assert resumed.code == OK
    publish(ann, topic, b"m")
    assert text(resumed.queue.get().md.UserIdentifier) == "bob"


def test_resuming_with_a_queue_of_another_name_is_refused(connection, queue, make_queue, topic, name):
    source = shared_input(connection, queue)
    subscribe(connection, topic, c.MQSO_CREATE | c.MQSO_DURABLE, name=name, queue=source).hsub.close()
    other = shared_input(connection, make_queue())
    assert subscribe(connection, options=c.MQSO_RESUME, name=name, queue=other).code == failed(c.MQRC_HOBJ_ERROR)
    resumed = subscribe(connection, options=c.MQSO_RESUME, name=name, queue=source)
    assert (resumed.code, resumed.queue.hobj) == (OK, source.hobj)
    resumed.hsub.close()


def test_a_subscription_expires(connection, topic, name):
    one = subscribe(connection, topic, DURABLE, name=name, SubExpiry=1)
    assert one.code == OK
    while publish(connection, topic, b"m", c.MQPMO_WARN_IF_NO_SUBS_MATCHED).code == OK:
        pass
    assert subscribe(connection, options=c.MQSO_RESUME, name=name).code == NOTHING
    if connection.mqi.name == "ibmmq":
        assert one.request()[0] == failed(c.MQRC_INVALID_SUBSCRIPTION)
    assert one.close() == OK


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_what_survives_a_restart(own_queue_manager, connect, how):
    target = own_queue_manager()
    connection = connect(to=target)
    subscribe(connection, "fruit/+", DURABLE, name="managed", user_data=b"kept")
    subscribe(connection, "fruit/+", MANAGED, name="not durable")
    source = shared_input(connection, "TEST.LOCAL")
    subscribe(connection, "fruit/+", c.MQSO_CREATE | c.MQSO_DURABLE, name="provided", queue=source)
    publish(connection, "fruit/apple", b"before", Persistence=c.MQPER_PERSISTENT)
    publish(connection, "fruit/pear", b"retained", c.MQPMO_RETAIN, Persistence=c.MQPER_PERSISTENT)
    publish(connection, "fruit/plum", b"not persistent", c.MQPMO_RETAIN)
    getattr(target, how)()
    target.start()

    connection = connect(to=target)
    assert subscribe(connection, options=c.MQSO_RESUME, name="not durable").code == NOTHING
    publish(connection, "fruit/apple", b"after", Persistence=c.MQPER_PERSISTENT)
    managed = subscribe(connection, options=c.MQSO_RESUME, name="managed")
    assert (managed.received(), managed.user_data) == ([b"before", b"retained", b"after"], b"kept")
    provided = subscribe(connection, options=c.MQSO_RESUME, name="provided")
    assert provided.received() == [b"before", b"retained", b"after"]
    assert subscribe(connection, "fruit/#").received() == [b"retained"]


def test_a_managed_queue_that_outlived_its_subscription_is_gone_after_a_restart(own_queue_manager, connect):
    target = own_queue_manager()
    connection, other = connect(to=target), connect(to=target)
    one = subscribe(connection, "fruit", DURABLE, name="one")
    managed = text(one.queue.inquire(c.MQCA_Q_NAME)[1])
    publish(other, "fruit", b"m", c.MQPMO_SYNCPOINT, Persistence=c.MQPER_PERSISTENT)
    one.close(c.MQCO_REMOVE_SUB)
    assert connection.open(managed, c.MQOO_INQUIRE).code == OK
    target.kill()
    target.start()
    assert connect(to=target).open(managed, c.MQOO_INQUIRE).code == failed(c.MQRC_UNKNOWN_OBJECT_NAME)


def test_the_bindings_own_classes(mq, binding, topic):
    """A program as everybody writes it first, with the defaults of the binding's structures."""
    q_mgr = mq.connect(binding)
    sub = binding.Subscription(q_mgr)
    sub.sub(sub_name=f"plain {topic}", topic_string=topic)
    out = binding.Topic(q_mgr, topic_string=topic)
    out.open(open_opts=c.MQOO_OUTPUT)
    out.pub(b"hello")
    out.close()
    assert sub.get() == b"hello"
    sub.close(sub_close_options=0, close_sub_queue=True)
    q_mgr.disconnect()


# --- what is refused


@table(
    "options",
    [
        c.MQSO_MANAGED,
        c.MQSO_RESUME | c.MQSO_ALTER,
        MANAGED | c.MQSO_GROUP_SUB | c.MQSO_SET_CORREL_ID,
        c.MQSO_CREATE | c.MQSO_GROUP_SUB,
        MANAGED | c.MQSO_ANY_USERID | c.MQSO_FIXED_USERID,
        MANAGED | c.MQSO_NEW_PUBLICATIONS_ONLY | c.MQSO_PUBLICATIONS_ON_REQUEST,
        c.MQSO_RESUME | c.MQSO_NEW_PUBLICATIONS_ONLY,
        MANAGED | c.MQSO_WILDCARD_CHAR | c.MQSO_WILDCARD_TOPIC,
        MANAGED | 0x40000000,
    ],
)
def test_options_that_do_not_go_together(connection, topic, options):
    assert subscribe(connection, topic, options, name="some name").code == failed(c.MQRC_OPTIONS_ERROR)


def test_fields_of_mqsd_that_cannot_be(connection, topic):
    def refusal(topic=topic, options=MANAGED, **more):
        return subscribe(connection, topic, options, **more).code

    assert refusal(Version=2) == failed(c.MQRC_SD_ERROR)
    assert refusal(topic="") == failed(c.MQRC_UNKNOWN_OBJECT_NAME)
    assert refusal(ObjectName=b"NO.SUCH.TOPIC") == failed(c.MQRC_UNKNOWN_OBJECT_NAME)
    assert refusal(topic="x" * 10241) == failed(c.MQRC_OBJECT_STRING_ERROR)
    assert refusal(topic="x%y", options=MANAGED | c.MQSO_WILDCARD_CHAR) == failed(c.MQRC_TOPIC_STRING_ERROR)
    assert refusal(options=DURABLE) == failed(c.MQRC_SUB_NAME_ERROR)
    assert refusal(options=c.MQSO_RESUME) == failed(c.MQRC_SUB_NAME_ERROR)
    assert refusal(name="n" * 10241) == failed(c.MQRC_SUB_NAME_ERROR)
    assert refusal(SubExpiry=0) == failed(c.MQRC_EXPIRY_ERROR)
    assert refusal(SelectionStringVSOffset=4, SelectionStringVSLength=3) == failed(c.MQRC_FUNCTION_NOT_SUPPORTED)


def test_a_temporary_queue_is_no_place_for_a_durable_subscription(connection, topic, name):
    temporary = connection.open("TEST.TEMPORARY.MODEL", c.MQOO_INPUT_SHARED, DynamicQName=b"TEMP.*")
    refused = subscribe(connection, topic, c.MQSO_CREATE | c.MQSO_DURABLE, name=name, queue=temporary)
    assert refused.code == failed(c.MQRC_INVALID_DESTINATION)
    assert subscribe(connection, topic, c.MQSO_CREATE, queue=temporary).code == OK


def test_a_persistent_publication_on_a_temporary_queue_is_not_persistent(connection, topic):
    one = subscribe(connection, topic)
    publish(connection, topic, b"m", Persistence=c.MQPER_PERSISTENT)
    assert one.queue.get().md.Persistence == c.MQPER_NOT_PERSISTENT


# --- topics


def test_opening_a_topic(connection):
    assert open_topic(connection).code == failed(c.MQRC_UNKNOWN_OBJECT_NAME)
    assert open_topic(connection, name="SYSTEM.BASE.TOPIC").code == failed(c.MQRC_TOPIC_STRING_ERROR)
    assert open_topic(connection, "x" * 10241).code == failed(c.MQRC_OBJECT_STRING_ERROR)
    assert open_topic(connection, "$SYS/MQ/x").code == failed(c.MQRC_ADMIN_TOPIC_STRING_ERROR)
    for options in (c.MQOO_INPUT_SHARED, c.MQOO_BROWSE):
        assert open_topic(connection, "x", options=options).code == failed(c.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    handle = open_topic(connection, "x")
    assert handle.close(c.MQCO_DELETE) == failed(c.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    assert handle.close(c.MQCO_REMOVE_SUB) == failed(c.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    assert handle.close() == OK


def test_handles_of_topics_and_subscriptions_are_not_queues(connection, topic):
    one = subscribe(connection, topic)
    for handle in (open_topic(connection, topic), one.hsub):
        assert handle.get(c.MQGMO_NO_SYNCPOINT).code == failed(c.MQRC_HOBJ_ERROR)
    assert one.hsub.put(b"m").code == failed(c.MQRC_HOBJ_ERROR)


def test_gets_from_a_managed_queue_are_like_others(connection, topic):
    one = subscribe(connection, topic)
    publish(connection, topic, b"m")
    assert one.queue.get(c.MQGMO_SYNCPOINT).data == b"m"
    connection.back_out()
    again = one.queue.get()
    assert (again.data, again.md.BackoutCount) == (b"m", 1)
