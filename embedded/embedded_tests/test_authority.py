"""Authority records: which profile fits and which of several holds, what each call needs, and who may say so.

Oracle: IBM MQ's topics "Using OAM generic profiles", "Profile priorities", "Authorizations for MQI calls", "SET AUTHREC".
"""

from __future__ import annotations

import struct

import pytest

from embedded_tests.fix_mqi import OK, empty, failed, shared_input, wait_until
from embedded_tests.fix_pubsub import subscribe
from embedded_tests.tables import table
from embedded_tests.test_commands import Commands
from mqembedded import EmbeddedQueueManager
from mqembedded import constants as mq
from mqembedded.admin.commands.authority import _MQAUTH
from mqembedded.objects.authority import WORDS, Authorities, Entity, RecordKey, applicable, fits, meant_by
from mqembedded.store.store import Store
from mqembedded.testing.under_test import QueueManagerUnderTest
from mqembedded.wire import pcf_constants as cf

pytestmark = pytest.mark.embedded
REFUSED = failed(mq.MQRC_NOT_AUTHORIZED)
MQSC = """
DEFINE QLOCAL(A.LOCAL) REPLACE
DEFINE QLOCAL(A.REPLIES) REPLACE
DEFINE QALIAS(A.REPLIES.ALIAS) TARGET(A.REPLIES) REPLACE
DEFINE QREMOTE(A.REPLIES.REMOTE) RNAME(REPLIES) RQMNAME(QM6) XMITQ(A.XMIT) REPLACE
DEFINE QALIAS(A.ALIAS) TARGET(A.LOCAL) REPLACE
DEFINE QLOCAL(A.XMIT) USAGE(XMITQ) REPLACE
DEFINE QMODEL(A.MODEL) DEFTYPE(PERMDYN) REPLACE
DEFINE NAMELIST(A.NAMELIST) REPLACE
DEFINE PROCESS(A.PROCESS) REPLACE
DEFINE TOPIC(A.TOPIC) TOPICSTR('a') REPLACE
DEFINE TOPIC(A.TOPIC.BELOW) TOPICSTR('a/b') REPLACE
"""


# --- profiles


@table(
    ("profile", "fitting", "others"),
    [
        ("AB.?D", ["AB.CD", "AB.ED"], ["AB.D", "AB.CCD"]),
        ("ABC.*.JKL", ["ABC.DEF.JKL", "ABC.GHI.JKL"], ["ABC.JKL", "ABC.D.E.JKL"]),
        ("ABC.DE*.JKL", ["ABC.DE.JKL", "ABC.DEF.JKL", "ABC.DEGH.JKL"], ["ABC.D.JKL", "ABC.DE.F.JKL"]),
        ("**", ["A", "A.B", "A.B.C"], []),
        ("*", ["A"], ["A.B"]),
        ("AB.**", ["AB.C", "AB.C.D", "AB"], ["ABC", "A"]),
        ("**.ABC", ["X.ABC", "X.Y.ABC", "ABC"], ["XABC", "ABC.X"]),
        ("A.**.C", ["A.C", "A.B.C", "A.B.B.C"], ["AB.C", "A.BC"]),
        ("A.B", ["A.B"], ["A/B", "AXB"]),
        ("A*B*C", ["ABC", "AXBBXC"], ["ACB", "A.B.C"]),
        # Each of these asterisks could stand for any number of the letters.
        ("*A" * 23 + "*B", ["A" * 23 + "B"], ["A" * 48]),
    ],
)
def test_which_names_a_profile_fits(profile, fitting, others):
    assert [name for name in fitting if not fits(profile, name)] == []
    assert [name for name in others if fits(profile, name)] == []


@pytest.fixture
def authorities(tmp_path):
    store = Store(tmp_path, "QM1")
    yield Authorities(store)
    store.close()


def key(profile, name="fred", kind="PRINCIPAL", object_type="QUEUE"):
    return RecordKey(object_type, profile, Entity(kind, name))


@table(
    ("name", "holds"),
    [("AB.CD", "GET"), ("AB.X", "PUT"), ("AB.X.Y", "INQ"), ("AB.CDE", "BROWSE"), ("AB.EXACT", "SET")],
)
def test_only_the_most_specific_profile_holds(authorities, name, holds):
    for profile, word in {
        "AB.*": "PUT",
        "AB.C*": "BROWSE",
        "AB.C?": "GET",
        "AB.**": "INQ",
        "AB.EXACT": "SET",
    }.items():
        authorities.change(key(profile), [word], [])
    assert authorities.of("fred", "QUEUE", name) == {holds}


def test_a_user_has_what_its_entities_have_together_and_only_for_the_type(authorities):
    authorities.change(key("Q", "app"), ["GET"], [])
    authorities.change(key("Q", "mqclient", "GROUP"), ["PUT"], [])
    authorities.change(key("Q", "other", "GROUP"), ["SET"], [])
    assert authorities.of("app", "QUEUE", "Q") == {"GET", "PUT"}
    assert authorities.of("app", "TOPIC", "Q") == authorities.of("mqclient", "QUEUE", "Q") == frozenset()


def test_adding_and_removing(authorities):
    authorities.change(key("Q"), ["ALLMQI"], ["SET", "PASSALL", "PASSID", "SETALL", "SETID"])
    assert authorities.of("fred", "QUEUE", "Q") == {"BROWSE", "GET", "INQ", "PUT"}
    authorities.change(key("Q"), ["DSP"], ["ALLMQI"])
    assert authorities.of("fred", "QUEUE", "Q") == {"DSP"}
    assert authorities.delete(key("Q"))
    assert not authorities.delete(key("Q"))


def test_an_empty_specific_record_hides_a_generic_one(authorities):
    authorities.change(key("**"), ["GET"], [])
    authorities.change(key("Q"), ["NONE"], [])
    assert authorities.of("fred", "QUEUE", "Q") == frozenset()


def test_all_is_all_but_create():
    assert meant_by("QUEUE", ["ALL"]) == applicable("QUEUE") - {"CRT"}
    with pytest.raises(ValueError, match="CONNECT is not an authority for OBJTYPE"):
        meant_by("QUEUE", ["CONNECT"])


def test_the_administrators_have_everything(authorities):
    for user in ("mqm", "admin"):
        assert authorities.of(user, "QUEUE", "ANY") == applicable("QUEUE")


def test_every_word_has_the_number_of_ibm_s():
    numbers = dict(zip(WORDS, range(1, 23), strict=True))
    assert {word: numbers[word] for word in ("ALTUSR", "GET", "PUT", "SETID", "SUB", "SYSTEM")} == {
        "ALTUSR": 1,
        "GET": 9,
        "PUT": 11,
        "SETID": 16,
        "SUB": 20,
        "SYSTEM": 22,
    }


# --- calls


@pytest.fixture(scope="module")
def target(_client_library, tmp_path_factory):
    path = tmp_path_factory.mktemp("authority") / "objects.mqsc"
    path.write_text(MQSC)
    with EmbeddedQueueManager("QM5", mqsc=[path], users={"fred": "pw", "admin": "pw"}) as running:
        yield running


@pytest.fixture
def mqsc(target):
    """A function that carries MQSC out as the administrator; returns what is said."""

    def run(command, *, must=True):
        done, said = target.control.mqsc(command)
        assert done or not must, said
        return "\n".join(said)

    return run


@pytest.fixture
def grant(mqsc):
    """A function that gives fred authorities; afterwards nobody has any."""
    given = set()

    def give(words, profile="", object_type="QUEUE"):
        where = f"PROFILE('{profile}') " if profile else ""
        about = f"AUTHREC {where}OBJTYPE({object_type}) PRINCIPAL('fred')"
        given.add(about)
        mqsc(f"SET {about} AUTHADD({words})")

    give("CONNECT", object_type="QMGR")
    yield give
    for about in given:
        # It may have gone with its queue.
        mqsc(f"DELETE {about}", must=False)


@pytest.fixture
def fred(target, connect, grant):
    """A connection of a user who may connect and nothing else."""
    return connect(to=target, user="fred", password="pw")


def test_a_user_without_connect_cannot_connect(target, mqi):
    code, _ = mqi.connect(target.q_mgr_name, target.channel, target.conn_name, user="fred", password="pw")
    assert code == REFUSED


CHANNEL_OF_FRED = "DEFINE CHANNEL('OF.FRED') CHLTYPE(SVRCONN) MCAUSER('fred') REPLACE"


def test_who_gives_no_credentials_may_not_what_the_mcauser_of_the_channel_may_not(target, mqi, mqsc):
    mqsc(CHANNEL_OF_FRED)
    assert mqi.connect(target.q_mgr_name, "OF.FRED", target.conn_name)[0] == REFUSED
    # Credentials that are given count more.
    assert mqi.connect(target.q_mgr_name, "OF.FRED", target.conn_name, user="admin", password="pw")[0] == OK


def test_who_gives_no_credentials_works_as_the_mcauser_of_the_channel(target, mqi, mqsc, grant):
    mqsc(CHANNEL_OF_FRED)
    assert mqi.connect(target.q_mgr_name, "OF.FRED", target.conn_name)[0] == OK


def test_who_gives_no_credentials_and_who_is_in_group_mqm_may_everything(target, connect):
    for credentials in ({}, {"user": "admin", "password": "pw"}):
        connection = connect(to=target, **credentials)
        assert connection.open("A.LOCAL", mq.MQOO_OUTPUT | mq.MQOO_SET_ALL_CONTEXT | mq.MQOO_SET).code == OK


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (mq.MQOO_INPUT_SHARED, "GET"),
        (mq.MQOO_INPUT_AS_Q_DEF, "GET"),
        (mq.MQOO_INPUT_EXCLUSIVE | mq.MQOO_SAVE_ALL_CONTEXT, "GET"),
        (mq.MQOO_BROWSE, "BROWSE"),
        (mq.MQOO_OUTPUT, "PUT"),
        (mq.MQOO_INQUIRE, "INQ"),
        (mq.MQOO_SET, "SET"),
        (mq.MQOO_OUTPUT | mq.MQOO_PASS_IDENTITY_CONTEXT, "PUT,PASSID"),
        (mq.MQOO_OUTPUT | mq.MQOO_PASS_ALL_CONTEXT, "PUT,PASSALL"),
        (mq.MQOO_BROWSE | mq.MQOO_OUTPUT | mq.MQOO_INQUIRE, "BROWSE,PUT,INQ"),
    ],
)
def test_each_open_option_needs_its_authority_and_no_other(fred, grant, mqsc, options, word):
    words = word.split(",")
    others = sorted(meant_by("QUEUE", ["ALL"]) - set(words))
    grant(",".join(others), "A.LOCAL")
    for each in words:
        assert fred.open("A.LOCAL", options).code == REFUSED
        grant(each, "A.LOCAL")
    mqsc(f"SET AUTHREC PROFILE('A.LOCAL') OBJTYPE(QUEUE) PRINCIPAL('fred') AUTHRMV({','.join(others)})")
    handle = fred.open("A.LOCAL", options)
    assert handle.code == OK
    assert handle.close() == OK


@pytest.mark.parametrize(
    ("option", "word"), [(mq.MQOO_SET_IDENTITY_CONTEXT, "SETID"), (mq.MQOO_SET_ALL_CONTEXT, "SETALL")]
)
def test_setting_context_needs_authority_on_the_queue_manager_too(fred, grant, option, word):
    grant(f"PUT,{word}", "A.LOCAL")
    assert fred.open("A.LOCAL", mq.MQOO_OUTPUT | option).code == REFUSED
    grant(word, object_type="QMGR")
    assert fred.open("A.LOCAL", mq.MQOO_OUTPUT | option).code == OK


REPORTS = {"COA": mq.MQRO_COA, "COD": mq.MQRO_COD, "expiration": mq.MQRO_EXPIRATION}


@pytest.fixture
def reported(target, fred, grant, connect):
    """A function: fred's message asks for a report to a queue; returns which queues have it, with the reason of a dead letter."""
    grant("PUT", "A.LOCAL")
    seer = connect(to=target, user="admin", password="pw")
    queues = ("A.REPLIES", "A.XMIT", "DEV.DEAD.LETTER.QUEUE")
    empty(seer, "A.LOCAL", *queues)

    def put(report, to, options=0, q_mgr=""):
        fields = {"ReplyToQ": to.encode(), "ReplyToQMgr": q_mgr.encode(), "Report": report, "Expiry": 1}
        assert fred.put1("A.LOCAL", b"m", options, **fields).code == OK
        if report == mq.MQRO_EXPIRATION:
            wait_until(lambda: seer.browse("A.LOCAL") == [])
        shared_input(seer, "A.LOCAL").all()
        found = {name: shared_input(seer, name).all() for name in queues}
        return [
            (name, struct.unpack_from("<i", each.data, 8)[0] if "DEAD" in name else each.md.UserIdentifier.strip())
            for name, reports in found.items()
            for each in reports
        ]

    return put


DEAD_LETTER = [("DEV.DEAD.LETTER.QUEUE", mq.MQRC_NOT_AUTHORIZED)]


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_a_report_needs_put_and_passid_of_the_message_s_user_and_becomes_a_dead_letter_without(
    reported, grant, mqsc, report
):
    """q023110: the user context is checked for +put and +passid authority on the destination of the report."""
    assert reported(report, "A.REPLIES") == DEAD_LETTER
    grant("PUT", "A.REPLIES")
    assert reported(report, "A.REPLIES") == DEAD_LETTER
    grant("PASSID", "A.REPLIES")
    assert reported(report, "A.REPLIES") == [("A.REPLIES", b"fred")]
    # A message without context has a blank user, who may nothing (q026170).
    assert reported(report, "A.REPLIES", mq.MQPMO_NO_CONTEXT) == DEAD_LETTER
    mqsc("ALTER QMGR DEADQ(' ')")
    assert reported(report, "A.REPLIES", mq.MQPMO_NO_CONTEXT) == []
    mqsc("ALTER QMGR DEADQ('DEV.DEAD.LETTER.QUEUE')")


def test_a_report_to_another_queue_manager_needs_authority_for_the_name_or_the_transmission_queue(reported, grant):
    grant("PUT,PASSID", "A.REPLIES.ALIAS")
    assert reported(mq.MQRO_COD, "A.REPLIES.ALIAS") == [("A.REPLIES", b"fred")]
    mine = {"to": "REPLIES", "q_mgr": "A.XMIT"}
    assert reported(mq.MQRO_COD, **mine) == DEAD_LETTER
    # The reply-to queue of the descriptor is what the remote queue names (q023100).
    grant("PUT,PASSID", "A.REPLIES.REMOTE")
    assert reported(mq.MQRO_COD, "A.REPLIES.REMOTE", q_mgr="QM5") == [("A.XMIT", b"fred")]
    grant("PUT,PASSID", "A.XMIT")
    assert reported(mq.MQRO_COD, **mine) == [("A.XMIT", b"fred")]


def test_an_alias_needs_authority_for_the_alias_and_none_for_its_base(fred, grant):
    grant("PUT", "A.LOCAL")
    assert fred.open("A.ALIAS", mq.MQOO_OUTPUT).code == REFUSED
    grant("PUT", "A.ALIAS")
    grant("NONE", "A.LOCAL")
    assert fred.open("A.ALIAS", mq.MQOO_OUTPUT).code == OK


def test_a_transmission_queue_needs_setall_on_both(fred, grant):
    grant("PUT", "A.XMIT")
    assert fred.open("A.XMIT", mq.MQOO_OUTPUT).code == REFUSED
    grant("SETALL", "A.XMIT")
    assert fred.open("A.XMIT", mq.MQOO_OUTPUT).code == REFUSED
    grant("SETALL", object_type="QMGR")
    assert fred.open("A.XMIT", mq.MQOO_OUTPUT).code == OK


def test_a_model_needs_dsp_besides_and_who_makes_a_queue_may_do_everything_with_it(fred, grant, mqi):
    def model():
        return mqi.od(ObjectName=b"A.MODEL", DynamicQName=b"MADE.BY.FRED")

    grant("INQ", "A.MODEL")
    assert fred.open("", mq.MQOO_INQUIRE, od=model()).code == REFUSED
    grant("DSP", "A.MODEL")
    made = fred.open("", mq.MQOO_INQUIRE, od=model())
    assert made.code == OK
    assert made.close() == OK
    again = fred.open(
        "MADE.BY.FRED", mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE | mq.MQOO_OUTPUT | mq.MQOO_INQUIRE | mq.MQOO_SET
    )
    assert again.code == OK
    assert again.close(mq.MQCO_DELETE) == OK
    # The record goes with the queue.
    assert fred.open("MADE.BY.FRED", mq.MQOO_INQUIRE).code == failed(mq.MQRC_UNKNOWN_OBJECT_NAME)


def test_a_queue_is_deleted_by_who_may_or_by_the_handle_that_made_it(fred, grant, mqi, connect, target):
    administrator = connect(to=target)
    od = mqi.od(ObjectName=b"A.MODEL", DynamicQName=b"MADE.BY.ADMIN")
    made = administrator.open("", mq.MQOO_INQUIRE, od=od)
    grant("INQ", "MADE.BY.ADMIN")
    handle = fred.open("MADE.BY.ADMIN", mq.MQOO_INQUIRE)
    assert handle.close(mq.MQCO_DELETE) == REFUSED
    grant("DLT", "MADE.BY.ADMIN")
    assert made.close(mq.MQCO_NONE) == OK
    assert handle.close(mq.MQCO_DELETE) == OK
    grant("INQ,DSP", "A.MODEL")
    own = fred.open("", mq.MQOO_INQUIRE, od=mqi.od(ObjectName=b"A.MODEL", DynamicQName=b"MADE.BY.FRED.2"))
    grant("NONE", "MADE.BY.FRED.2")
    assert own.close(mq.MQCO_DELETE) == OK


def test_mqput1_needs_what_it_opens_for(fred, grant):
    assert fred.put1("A.LOCAL", b"m").code == REFUSED
    grant("PUT", "A.LOCAL")
    assert fred.put1("A.LOCAL", b"m").code == OK
    assert fred.put1("A.LOCAL", b"m", mq.MQPMO_SET_ALL_CONTEXT).code == REFUSED
    grant("SETALL", "A.LOCAL")
    grant("SETALL", object_type="QMGR")
    assert fred.put1("A.LOCAL", b"m", mq.MQPMO_SET_ALL_CONTEXT).code == OK


def test_another_user_s_authority_needs_altusr(fred, grant, mqi, mqsc):
    def od():
        return mqi.od(ObjectName=b"A.LOCAL", AlternateUserId=b"ann".ljust(12))

    mqsc("SET AUTHREC PROFILE('A.LOCAL') OBJTYPE(QUEUE) PRINCIPAL('ann') AUTHADD(PUT)")
    options = mq.MQOO_OUTPUT | mq.MQOO_ALTERNATE_USER_AUTHORITY
    assert fred.open("", options, od=od()).code == REFUSED
    grant("ALTUSR", object_type="QMGR")
    assert fred.open("", options, od=od()).code == OK
    assert fred.put1("", b"m", mq.MQPMO_ALTERNATE_USER_AUTHORITY, od=od()).code == OK
    assert fred.open("", mq.MQOO_BROWSE | mq.MQOO_ALTERNATE_USER_AUTHORITY, od=od()).code == REFUSED
    assert fred.open("A.LOCAL", options).code == REFUSED
    mqsc("DELETE AUTHREC PROFILE('A.LOCAL') OBJTYPE(QUEUE) PRINCIPAL('ann')")


@pytest.mark.parametrize(
    ("object_type", "name", "kind"),
    [
        (mq.MQOT_Q_MGR, "", "QMGR"),
        (mq.MQOT_NAMELIST, "A.NAMELIST", "NAMELIST"),
        (mq.MQOT_PROCESS, "A.PROCESS", "PROCESS"),
    ],
)
def test_other_objects_are_inquired_by_who_may(fred, grant, mqi, object_type, name, kind):
    def opened():
        return fred.open("", mq.MQOO_INQUIRE, od=mqi.od(ObjectType=object_type, ObjectName=name.encode()))

    assert opened().code == REFUSED
    grant("INQ", name, kind)
    assert opened().code == OK


def test_a_topic_may_be_published_on_by_authority_there_or_above(fred, grant, mqi):
    def opened():
        return fred.open("", mq.MQOO_OUTPUT, od=mqi.od(ObjectType=mq.MQOT_TOPIC, ObjectName=b"A.TOPIC.BELOW"))

    assert opened().code == REFUSED
    grant("SUB", "A.TOPIC", "TOPIC")
    assert opened().code == REFUSED
    grant("PUB", "A.TOPIC", "TOPIC")
    assert opened().code == OK


def test_subscribing_needs_sub_and_put_on_a_queue_that_is_provided(fred, grant):
    assert subscribe(fred, "a/b").code == REFUSED
    grant("SUB", "A.TOPIC", "TOPIC")
    assert subscribe(fred, "a/b").code == OK
    grant("GET,BROWSE", "A.LOCAL")
    provided = shared_input(fred, "A.LOCAL")
    assert subscribe(fred, "a/b", mq.MQSO_CREATE, queue=provided).code == REFUSED
    grant("PUT", "A.LOCAL")
    assert subscribe(fred, "a/b", mq.MQSO_CREATE, queue=provided).code == OK


def test_resuming_needs_resume_or_sub_and_removing_is_for_the_creator(fred, grant, connect, target, mqi):
    name = f"sub.{mqi.name}"
    made = subscribe(
        connect(to=target), "a/b", mq.MQSO_CREATE | mq.MQSO_MANAGED | mq.MQSO_DURABLE | mq.MQSO_ANY_USERID, name=name
    )
    assert made.close() == OK
    assert subscribe(fred, options=mq.MQSO_RESUME, name=name).code == REFUSED
    grant("RESUME", "A.TOPIC", "TOPIC")
    resumed = subscribe(fred, options=mq.MQSO_RESUME, name=name)
    assert resumed.code == OK
    # Who resumes it owns it then.
    assert resumed.close(mq.MQCO_REMOVE_SUB) == OK


def test_what_is_not_there_is_told_before(fred):
    assert fred.open("A.NOWHERE", mq.MQOO_OUTPUT).code == failed(mq.MQRC_UNKNOWN_OBJECT_NAME)


def test_an_open_handle_goes_on_when_the_authority_is_taken_away(fred, grant, mqsc):
    grant("PUT", "A.LOCAL")
    handle = fred.open("A.LOCAL", mq.MQOO_OUTPUT)
    mqsc("SET AUTHREC PROFILE('A.LOCAL') OBJTYPE(QUEUE) PRINCIPAL('fred') AUTHRMV(PUT)")
    assert handle.put(b"m").code == OK
    assert fred.open("A.LOCAL", mq.MQOO_OUTPUT).code == REFUSED


def test_records_survive_a_restart(own_queue_manager, connect, tmp_path):
    grants = tmp_path / "grants.mqsc"
    grants.write_text(
        "SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('fred') AUTHADD(CONNECT)\n"
        "SET AUTHREC PROFILE('TEST.*') OBJTYPE(QUEUE) PRINCIPAL('fred') AUTHADD(PUT)\n"
    )
    server = own_queue_manager(users={"fred": "pw"}, mqsc=[grants])
    server.stop()
    grants.write_text("")
    server.start()
    fred = connect(to=server, user="fred", password="pw")
    assert fred.open("TEST.LOCAL", mq.MQOO_OUTPUT).code == OK
    assert fred.open("TEST.LOCAL", mq.MQOO_BROWSE).code == REFUSED


# --- commands


def test_records_are_displayed(grant, mqsc):
    grant("GET,PUT", "A.*")
    said = mqsc("DISPLAY AUTHREC PROFILE('A.LOCAL') OBJTYPE(QUEUE) PRINCIPAL('fred')")
    assert "PROFILE(A.*)" in said
    assert "AUTHLIST(GET,PUT)" in said
    with pytest.raises(AssertionError, match="AMQ8147E"):
        mqsc("DISPLAY AUTHREC PROFILE('A.LOCAL') OBJTYPE(QUEUE) PRINCIPAL('fred') MATCH(EXACT)")


@table(
    ("command", "problem"),
    [
        ("SET AUTHREC PROFILE(A) OBJTYPE(QUEUE) AUTHADD(GET)", "one of PRINCIPAL and GROUP is needed"),
        ("SET AUTHREC PROFILE(A) OBJTYPE(THING) PRINCIPAL(B) AUTHADD(GET)", "OBJTYPE.THING. is not one of"),
        ("SET AUTHREC OBJTYPE(QUEUE) PRINCIPAL(B) AUTHADD(GET)", "PROFILE is needed"),
        # "Use the double asterisk (**) once in a profile name", as the name or as a qualifier (Using OAM generic profiles).
        ("SET AUTHREC PROFILE('A.B**') OBJTYPE(QUEUE) PRINCIPAL(B) AUTHADD(GET)", "is allowed only once, between dots"),
        (
            "SET AUTHREC PROFILE('**.A.**') OBJTYPE(QUEUE) PRINCIPAL(B) AUTHADD(GET)",
            "is allowed only once, between dots",
        ),
        ("SET AUTHREC PROFILE(A) OBJTYPE(QUEUE) PRINCIPAL(B)", "AUTHADD or AUTHRMV is needed"),
        ("SET AUTHREC PROFILE(A) OBJTYPE(QUEUE) PRINCIPAL(B) AUTHADD(CONNECT)", "CONNECT is not an authority"),
        ("DELETE AUTHREC PROFILE(A) OBJTYPE(QUEUE) PRINCIPAL(B)", "there is no record"),
    ],
)
def test_commands_that_cannot_be(mqsc, command, problem):
    with pytest.raises(AssertionError, match=problem):
        mqsc(command)


@pytest.fixture
def commands(target, binding, grant):
    """PCFExecute as fred, who may send commands and get their answers."""
    grant("PUT", "SYSTEM.ADMIN.COMMAND.QUEUE")
    grant("DSP,GET,INQ,PUT,BROWSE", "SYSTEM.DEFAULT.MODEL.QUEUE")
    grant("DSP", object_type="QMGR")
    where = (target.q_mgr_name, target.channel, target.conn_name)
    q_mgr = QueueManagerUnderTest(*where, "fred", "pw", "A.MODEL", target).connect(binding)
    made = Commands(binding, q_mgr)
    yield made
    made.execute.disconnect()
    q_mgr.disconnect()


def test_a_command_needs_its_authority(commands, grant):
    local = {mq.MQCA_Q_NAME: b"PCF.LOCAL", mq.MQIA_Q_TYPE: mq.MQQT_LOCAL}
    assert commands.refusal("CREATE_Q", local) == REFUSED
    grant("CRT", object_type="QMGR")
    assert commands.refusal("CREATE_Q", local) == OK
    # Who creates it may do everything with it.
    assert commands.refusal("CHANGE_Q", local) == OK
    assert commands.refusal("DELETE_Q", {mq.MQCA_Q_NAME: b"PCF.LOCAL"}) == OK
    asked = {mq.MQCA_Q_NAME: b"A.LOCAL"}
    for command, word in (("INQUIRE_Q", "DSP"), ("CLEAR_Q", "CLR")):
        assert commands.refusal(command, asked) == REFUSED
        grant(word, "A.LOCAL")
        assert commands.refusal(command, asked) == OK
    change = {**asked, mq.MQIA_Q_TYPE: mq.MQQT_LOCAL}
    assert commands.refusal("CHANGE_Q", change) == REFUSED
    assert commands.refusal("CHANGE_Q_MGR", {}) == REFUSED


def test_who_replaces_an_object_gets_nothing_for_it(commands, grant):
    replaced = {mq.MQCA_Q_NAME: b"A.LOCAL", mq.MQIA_Q_TYPE: mq.MQQT_LOCAL, cf.MQIACF_REPLACE: cf.MQRP_YES}
    grant("CRT", object_type="QMGR")
    assert commands.refusal("CREATE_Q", replaced) == REFUSED
    grant("CHG", "A.LOCAL")
    assert commands.refusal("CREATE_Q", replaced) == OK
    assert commands.refusal("DELETE_Q", {mq.MQCA_Q_NAME: b"A.LOCAL"}) == REFUSED


def test_mqsc_in_a_command_needs_the_same(target, commands, grant):
    def escaped(text):
        asked = {cf.MQIACF_ESCAPE_TYPE: cf.MQET_MQSC, cf.MQCACF_ESCAPE_TEXT: text}
        return commands.refusal("ESCAPE", asked)

    refused = failed(cf.MQRCCF_COMMAND_FAILED)
    for command, words, profile, object_type in (
        (b"DEFINE QLOCAL(PCF.MADE)", "CRT", "", "QMGR"),
        (b"DISPLAY QLOCAL(A.LOCAL)", "DSP", "A.LOCAL", "QUEUE"),
        (b"ALTER QLOCAL(A.LOCAL) MAXDEPTH(7)", "CHG", "A.LOCAL", "QUEUE"),
        (b"CLEAR QLOCAL(A.LOCAL)", "CLR", "A.LOCAL", "QUEUE"),
        (b"ALTER QMGR MAXUMSGS(7)", "CHG", "", "QMGR"),
        (b"DELETE TOPIC(A.TOPIC.BELOW)", "DLT", "A.TOPIC.BELOW", "TOPIC"),
        (b"START CHANNEL(DEV.ADMIN.SVRCONN)", "CTRL", "DEV.ADMIN.SVRCONN", "CHANNEL"),
        (b"DISPLAY AUTHINFO(*)", "DSP", "SYSTEM.DEFAULT.AUTHINFO.IDPWOS", "AUTHINFO"),
        (b"DISPLAY TOPIC(A.*)", "DSP", "A.TOPIC", "TOPIC"),
    ):
        assert escaped(command) == refused, command
        grant(words, profile, object_type)
        assert escaped(command) == OK, command
    assert escaped(b"DELETE QLOCAL(PCF.MADE)") == OK
    assert escaped(b"DEFINE TOPIC(A.TOPIC.BELOW) TOPICSTR('a/b')") == OK
    assert escaped(b"ALTER QMGR MAXUMSGS(10000)") == OK


def test_an_inquiry_shows_what_may_be_seen(commands, grant):
    grant("DSP", "A.ALIAS")
    assert [row[mq.MQCA_Q_NAME].strip() for row in commands("INQUIRE_Q", {mq.MQCA_Q_NAME: b"A.*"})] == [b"A.ALIAS"]


def test_records_are_set_and_inquired_by_pcf(commands, grant):
    record = {cf.MQCACF_AUTH_PROFILE_NAME: b"PCF.*", cf.MQIACF_OBJECT_TYPE: 1}
    given = {**record, cf.MQCACF_PRINCIPAL_ENTITY_NAMES: [b"ann"]}
    assert commands.refusal("SET_AUTH_REC", given) == REFUSED
    grant("CHG", object_type="QMGR")
    added = {**given, cf.MQIACF_AUTH_ADD_AUTHS: [_MQAUTH["GET"], _MQAUTH["PUT"]]}
    assert commands.refusal("SET_AUTH_REC", added) == OK
    assert commands.refusal("SET_AUTH_REC", {**given, cf.MQIACF_AUTH_ADD_AUTHS: [5]}) == failed(
        cf.MQRCCF_AUTH_VALUE_ERROR
    )
    wrong = {**given, cf.MQCACF_AUTH_PROFILE_NAME: b"PCF**"}
    assert commands.refusal("SET_AUTH_REC", wrong) == failed(cf.MQRCCF_PROFILE_NAME_ERROR)
    asked = {cf.MQIACF_AUTH_OPTIONS: 0x11, **record}
    (row,) = commands("INQUIRE_AUTH_RECS", asked)
    assert (row[cf.MQCACF_ENTITY_NAME].strip(b"\0 "), row[cf.MQIACF_AUTHORIZATION_LIST]) == (b"ann", [9, 11])
    assert commands.refusal("DELETE_AUTH_REC", given) == OK
    assert commands.refusal("INQUIRE_AUTH_RECS", asked) == failed(cf.MQRCCF_NONE_FOUND)
