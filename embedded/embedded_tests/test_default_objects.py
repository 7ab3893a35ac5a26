"""What a queue manager offers from its first start, and that command files of IBM's developer container are read.

Sources: IBM MQ, topic "System and default objects" (q081590); the file 10-dev.mqsc of ibm-messaging/mq-container and those beside
it for TLS, whose commands are told again here in our own words.
"""

from __future__ import annotations

import contextlib

import pytest

from embedded_tests.fix_mqi import OK, failed, text
from embedded_tests.fix_pubsub import open_topic, subscribe
from mqembedded import constants as mq
from mqembedded.admin.mqsc import parse
from mqembedded.admin.mqsc_commands import run
from mqembedded.objects.kinds import Kind
from mqembedded.serve.start_up import started
from mqembedded.wire import pcf_constants as cf

pytestmark = pytest.mark.embedded

# The same commands as in IBM's files, with names of our own where they say who or what is told.
DEVELOPER = """
STOP LISTENER('SYSTEM.LISTENER.TCP.1') IGNSTATE(YES)
DEFINE QLOCAL('DEV.QUEUE.1') REPLACE
DEFINE QLOCAL('DEV.QUEUE.4') REPLACE
DEFINE QLOCAL('DEV.DEAD.LETTER.QUEUE') REPLACE
ALTER QMGR DEADQ('DEV.DEAD.LETTER.QUEUE')
DEFINE TOPIC('DEV.BASE.TOPIC') TOPICSTR('dev/') REPLACE
DEFINE AUTHINFO('DEV.AUTHINFO') AUTHTYPE(IDPWOS) CHCKCLNT(REQDADM) CHCKLOCL(OPTIONAL) ADOPTCTX(YES) REPLACE
ALTER QMGR CONNAUTH('DEV.AUTHINFO')
REFRESH SECURITY(*) TYPE(CONNAUTH)
DEFINE CHANNEL('DEV.ADMIN.SVRCONN') CHLTYPE(SVRCONN) REPLACE
DEFINE CHANNEL('DEV.APP.SVRCONN') CHLTYPE(SVRCONN) MCAUSER('app') REPLACE
SET CHLAUTH('*') TYPE(ADDRESSMAP) ADDRESS('*') USERSRC(NOACCESS) DESCR('nobody - but those below') ACTION(REPLACE)
SET CHLAUTH('DEV.APP.SVRCONN') TYPE(ADDRESSMAP) ADDRESS('*') USERSRC(CHANNEL) CHCKCLNT(ASQMGR) ACTION(REPLACE)
SET CHLAUTH('DEV.ADMIN.SVRCONN') TYPE(BLOCKUSER) USERLIST('nobody') ACTION(REPLACE)
SET CHLAUTH('DEV.ADMIN.SVRCONN') TYPE(USERMAP) CLNTUSER('admin') USERSRC(CHANNEL) ACTION(REPLACE)
SET AUTHREC GROUP('mqclient') OBJTYPE(QMGR) AUTHADD(CONNECT,INQ)
SET AUTHREC PROFILE('DEV.**') GROUP('mqclient') OBJTYPE(QUEUE) AUTHADD(BROWSE,GET,INQ,PUT)
SET AUTHREC PROFILE('DEV.**') GROUP('mqclient') OBJTYPE(TOPIC) AUTHADD(PUB,SUB)
DEFINE LISTENER('DEV.LISTENER.TCP') TRPTYPE(TCP) PORT(1414) CONTROL(QMGR) REPLACE
START LISTENER('DEV.LISTENER.TCP') IGNSTATE(YES)
"""
TLS = """
ALTER QMGR SSLKEYR('/run/runmqserver/tls/key')
ALTER QMGR CERTLABL('default')
ALTER QMGR SSLFIPS(YES) SSLCRLNL('REVOKED')
REFRESH SECURITY(*) TYPE(SSL)
ALTER CHANNEL('DEV.APP.SVRCONN') CHLTYPE(SVRCONN) SSLCIPH(ANY_TLS12_OR_HIGHER) SSLCAUTH(OPTIONAL)
ALTER CHANNEL('DEV.ADMIN.SVRCONN') CHLTYPE(SVRCONN) SSLCIPH(ANY_TLS12_OR_HIGHER) SSLCAUTH(OPTIONAL)
"""
QUEUES = ["DEV.QUEUE.1", "DEV.QUEUE.2", "DEV.QUEUE.3", "DEV.DEAD.LETTER.QUEUE"]
# Those of q081590 that monitoring programs and tools open.
SYSTEM_QUEUES = [
    *(f"SYSTEM.ADMIN.{kind}.EVENT" for kind in ("QMGR", "PERFM", "CHANNEL", "COMMAND", "CONFIG", "LOGGER", "PUBSUB")),
    *(
        f"SYSTEM.ADMIN.{kind}.QUEUE"
        for kind in ("ACCOUNTING", "STATISTICS", "ACTIVITY", "TRACE.ACTIVITY", "TRACE.ROUTE")
    ),
    "SYSTEM.ADMIN.COMMAND.QUEUE",
    "SYSTEM.CHANNEL.INITQ",
    "SYSTEM.CHANNEL.SYNCQ",
    "SYSTEM.DEAD.LETTER.QUEUE",
    "SYSTEM.DEFAULT.INITIATION.QUEUE",
    "SYSTEM.RETAINED.PUB.QUEUE",
]


OF_ITS_OWN = """
DEFINE QLOCAL(MY.DLQ) REPLACE
ALTER QMGR DEADQ(MY.DLQ) DESCR('mine') CONNAUTH(' ') TRIGINT(7)
"""
USERS = {"app": "right", "admin": "also right"}


@pytest.fixture(scope="module")
def by_itself(module_queue_manager):
    return module_queue_manager(users=USERS)


@pytest.fixture(scope="module")
def with_ibms_files(module_queue_manager):
    return module_queue_manager(DEVELOPER + TLS + "ALTER QMGR CHLAUTH(ENABLED)", users=USERS)


@pytest.fixture(params=["by_itself", "with_ibms_files"])
def either(request):
    return request.getfixturevalue(request.param)


def inquire(connection, selector, name="", object_type=None):
    fields = {} if object_type is None else {"ObjectType": object_type}
    return connection.open(name, mq.MQOO_INQUIRE, **fields).inquire(selector)


def of_q_mgr(connection, selector):
    return inquire(connection, selector, object_type=mq.MQOT_Q_MGR)


def test_it_offers_what_the_developer_container_offers(either, mqi):
    code, app = mqi.connect("QM2", "DEV.APP.SVRCONN", either.conn_name, user="app", password="right")
    assert code == OK
    for queue in QUEUES:
        handle = app.open(queue, mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT)
        assert handle.put(b"m").code == OK
        assert handle.get().data == b"m"
    one = subscribe(app, ObjectName=b"DEV.BASE.TOPIC")
    assert open_topic(app, name="DEV.BASE.TOPIC").put(b"p").code == OK
    assert one.queue.get().data == b"p"
    code, admin = mqi.connect("QM2", "DEV.ADMIN.SVRCONN", either.conn_name, user="admin", password="also right")
    assert code == OK
    assert of_q_mgr(admin, mq.MQCA_DEAD_LETTER_Q_NAME) == (OK, b"DEV.DEAD.LETTER.QUEUE".ljust(48))
    app.disconnect()
    admin.disconnect()


def test_authentication_information_of_a_file_is_checked(with_ibms_files, mqi):
    q_mgr = with_ibms_files
    for user, password in [("app", "wrong"), ("stranger", "right")]:
        code, _ = mqi.connect("QM2", "DEV.APP.SVRCONN", q_mgr.conn_name, user=user, password=password)
        assert code == failed(mq.MQRC_NOT_AUTHORIZED)
    code, _ = mqi.connect("QM2", "DEV.OTHER.SVRCONN", q_mgr.conn_name)
    assert code == failed(mq.MQRC_UNKNOWN_CHANNEL_NAME)


def test_another_dead_letter_queue_stays_over_a_restart_and_what_is_altered_can_be_inquired(
    module_queue_manager, connect
):
    q_mgr = module_queue_manager(OF_ITS_OWN)
    q_mgr.kill()
    q_mgr.start()
    connection = connect(to=q_mgr)
    assert of_q_mgr(connection, mq.MQCA_DEAD_LETTER_Q_NAME) == (OK, b"MY.DLQ".ljust(48))
    assert of_q_mgr(connection, cf.MQCA_CONN_AUTH) == (OK, b" " * 48)


def test_the_queues_of_the_system_are_there_and_say_what_they_are_for(by_itself, connect):
    connection = connect(to=by_itself)
    found = {queue: inquire(connection, mq.MQCA_Q_DESC, queue) for queue in SYSTEM_QUEUES}
    assert {queue: code for queue, (code, _) in found.items()} == dict.fromkeys(SYSTEM_QUEUES, OK)
    assert all(text(description) for _, description in found.values())


# --- attributes of the queue manager that are about TLS and channel authentication


def test_tls_attributes_are_inquired_as_they_are_set(with_ibms_files, mqi):
    code, connection = mqi.connect(
        "QM2", "DEV.ADMIN.SVRCONN", with_ibms_files.conn_name, user="admin", password="also right"
    )
    assert code == OK
    assert of_q_mgr(connection, cf.MQCA_SSL_KEY_REPOSITORY) == (OK, b"/run/runmqserver/tls/key".ljust(256))
    assert of_q_mgr(connection, cf.MQCA_CERT_LABEL) == (OK, b"default".ljust(64))
    assert of_q_mgr(connection, cf.MQCA_SSL_CRL_NAMELIST) == (OK, b"REVOKED".ljust(48))
    assert of_q_mgr(connection, cf.MQIA_SSL_FIPS_REQUIRED) == (OK, 1)


def test_no_tls_is_there_unless_a_file_says_so(by_itself, connect):
    connection = connect(to=by_itself)
    for selector, length in [
        (cf.MQCA_SSL_KEY_REPOSITORY, 256),
        (cf.MQCA_CERT_LABEL, 64),
        (cf.MQCA_SSL_CRL_NAMELIST, 48),
    ]:
        assert of_q_mgr(connection, selector) == (OK, b" " * length)
    assert of_q_mgr(connection, cf.MQIA_SSL_FIPS_REQUIRED) == (OK, 0)


def test_channel_authentication_records_are_told_to_be_disabled_while_nothing_looks_at_them(either, mqi):
    code, admin = mqi.connect("QM2", "DEV.ADMIN.SVRCONN", either.conn_name, user="admin", password="also right")
    assert code == OK
    assert of_q_mgr(admin, cf.MQIA_CHLAUTH_RECORDS) == (OK, cf.MQCHLA_DISABLED)
    admin.disconnect()


CHANGED_DEFAULTS = """
ALTER QLOCAL(SYSTEM.DEFAULT.LOCAL.QUEUE) MAXDEPTH(7) CAPEXPRY(600) STREAMQ(COPIES)
ALTER QMODEL(SYSTEM.DEFAULT.MODEL.QUEUE) MAXDEPTH(8)
ALTER QALIAS(SYSTEM.DEFAULT.ALIAS.QUEUE) PUT(DISABLED)
ALTER QREMOTE(SYSTEM.DEFAULT.REMOTE.QUEUE) DEFPRTY(6)
ALTER CHANNEL(SYSTEM.DEF.SVRCONN) CHLTYPE(SVRCONN) HBINT(5)
ALTER NAMELIST(SYSTEM.DEFAULT.NAMELIST) DESCR('changed')
ALTER PROCESS(SYSTEM.DEFAULT.PROCESS) DESCR('changed')
ALTER TOPIC(SYSTEM.DEFAULT.TOPIC) DEFPRTY(3)
DEFINE QLOCAL(NAMED) MAXDEPTH(9)
DEFINE QLOCAL(LIKENED) LIKE(DEV.QUEUE.1)
DEFINE QLOCAL(REPLACED) MAXDEPTH(9)
DEFINE QLOCAL(REPLACED) REPLACE
DEFINE QMODEL(MODEL)
DEFINE QALIAS(AN.ALIAS)
DEFINE QREMOTE(REMOTE)
DEFINE CHANNEL(CHANGED.SVRCONN) CHLTYPE(SVRCONN)
DEFINE NAMELIST(NAMES)
DEFINE PROCESS(PROCESS)
DEFINE TOPIC(TOPIC) TOPICSTR('a')
"""


def test_define_takes_what_it_does_not_name_from_the_default_object_of_its_type(tmp_path):
    """DEFINE QLOCAL without LIKE "is the same as DEFINE LIKE(SYSTEM.DEFAULT.LOCAL.QUEUE)" (q020830)."""

    def values(name):
        found = catalogue.get(name)
        assert found is not None
        return found.values

    def of(name):
        return [values(name)[selector] for selector in (mq.MQIA_MAX_Q_DEPTH, cf.MQIA_CAP_EXPIRY)]

    for mqsc in (CHANGED_DEFAULTS, "DEFINE QLOCAL(AFTER.A.RESTART)"):
        with contextlib.closing(started("QM2", tmp_path)) as q_mgr:
            run(q_mgr, parse(mqsc))
            catalogue = q_mgr.catalogue
            objects = catalogue.objects
    assert of("NAMED") == [9, 600]
    assert of("LIKENED") == [5000, cf.MQCEX_NOLIMIT]
    assert of("REPLACED") == of("AFTER.A.RESTART") == [7, 600]
    assert values("NAMED")[mq.MQCA_STREAM_QUEUE_NAME] == "COPIES"
    model = values("MODEL")
    assert (model[mq.MQIA_MAX_Q_DEPTH], model[mq.MQIA_SHAREABILITY], model[mq.MQCA_Q_DESC]) == (8, 0, "")
    assert values("AN.ALIAS")[mq.MQIA_INHIBIT_PUT] == mq.MQQA_PUT_INHIBITED
    assert values("REMOTE")[mq.MQIA_DEF_PRIORITY] == 6
    assert objects.get(Kind.CHANNEL, "CHANGED.SVRCONN")[cf.MQIACH_HB_INTERVAL] == 5
    assert objects.get(Kind.NAMELIST, "NAMES")[cf.MQCA_NAMELIST_DESC] == "changed"
    assert objects.get(Kind.PROCESS, "PROCESS")[cf.MQCA_PROCESS_DESC] == "changed"
    assert objects.get(Kind.TOPIC, "TOPIC")[mq.MQIA_DEF_PRIORITY] == 3
