"""Attributes of objects other than queues: queue manager, channels, namelists, processes, authentication information, topics.

The tables have the same form as the table for queues in ``attributes.py``. Most attributes are stored and can be inquired, but
have no other effect. ``WITHOUT_EFFECT`` lists them.

Source: IBM MQ, "ALTER QMGR", "DEFINE CHANNEL" (SVRCONN), "DEFINE NAMELIST", "DEFINE PROCESS", "DEFINE AUTHINFO", "DEFINE TOPIC".
"""

from __future__ import annotations

import enum

from mqembedded import constants as mq
from mqembedded.objects.attributes import Attribute, Value
from mqembedded.wire import pcf_constants as pcf

_NONE: frozenset[int] = frozenset()
_EVENT = {"ENABLED": 1, "DISABLED": 0}
_MONITORING = {"NONE": -1, "OFF": 0, "LOW": 17, "MEDIUM": 33, "HIGH": 65}
_MONITORING_Q_MGR = {"QMGR": -3, "OFF": 0, "LOW": 17, "MEDIUM": 33, "HIGH": 65}
_ON_OFF = {"NONE": -1, "OFF": 0, "ON": 1}
_COMPRESSIONS = {"NONE": 0, "RLE": 1, "ZLIBFAST": 2, "ZLIBHIGH": 4, "LZ4FAST": 16, "LZ4HIGH": 32, "ANY": 0x0FFFFFFF}
_LONGEST_WORDS = 64
_RECORDING = {"DISABLED": 0, "QUEUE": 1, "MSG": 2}
DEFAULT_AUTH_INFO = "SYSTEM.DEFAULT.AUTHINFO.IDPWOS"
# The authentication information object has this name in IBM's developer container.
DEFAULT_DEAD_LETTER_Q = "DEV.DEAD.LETTER.QUEUE"


class Kind(enum.Enum):
    """A kind of object that is not a queue. Each kind has its own name space."""

    CHANNEL = "channel"
    NAMELIST = "namelist"
    PROCESS = "process"
    AUTH_INFO = "authinfo"
    TOPIC = "topic"


def _text(selector: int, keyword: str, length: int, default: str = "") -> Attribute:
    return Attribute(selector, keyword, default, _NONE, length=length)


def _number(selector: int, keyword: str, default: int, high: int = 999_999_999, low: int = 0) -> Attribute:
    return Attribute(selector, keyword, default, _NONE, low=low, high=high)


def _word(selector: int, keyword: str, default: int, keywords: dict[str, int]) -> Attribute:
    return Attribute(selector, keyword, default, _NONE, keywords)


def _words(selector: int, keyword: str, default: str, keywords: dict[str, int]) -> Attribute:
    return Attribute(selector, keyword, default, _NONE, keywords, length=_LONGEST_WORDS, many=True)


Q_MGR_ATTRIBUTES: tuple[Attribute, ...] = (
    _text(mq.MQCA_Q_MGR_DESC, "DESCR", mq.MQ_Q_MGR_DESC_LENGTH),
    _text(mq.MQCA_DEAD_LETTER_Q_NAME, "DEADQ", mq.MQ_Q_NAME_LENGTH, DEFAULT_DEAD_LETTER_Q),
    _text(mq.MQCA_DEF_XMIT_Q_NAME, "DEFXMITQ", mq.MQ_Q_NAME_LENGTH),
    _text(pcf.MQCA_CONN_AUTH, "CONNAUTH", pcf.MQ_AUTH_INFO_NAME_LENGTH, DEFAULT_AUTH_INFO),
    _number(mq.MQIA_MAX_UNCOMMITTED_MSGS, "MAXUMSGS", 10_000, low=1),
    _number(mq.MQIA_MAX_MSG_LENGTH, "MAXMSGL", 4_194_304, 104_857_600, 32_768),
    _number(mq.MQIA_MAX_HANDLES, "MAXHANDS", 256, low=1),
    Attribute(
        mq.MQIA_MAX_PROPERTIES_LENGTH,
        "MAXPROPL",
        mq.MQPROP_UNRESTRICTED_LENGTH,
        _NONE,
        {"NOLIMIT": mq.MQPROP_UNRESTRICTED_LENGTH},
        high=104_857_600,
        number_too=True,
    ),
    Attribute(
        mq.MQIA_MSG_MARK_BROWSE_INTERVAL,
        "MARKINT",
        5000,
        _NONE,
        {"NOLIMIT": mq.MQMMBI_UNLIMITED},
        number_too=True,
    ),
    _word(mq.MQIA_CLWL_USEQ, "CLWLUSEQ", mq.MQCLWL_USEQ_LOCAL, {"LOCAL": 0, "ANY": 1}),
    _number(mq.MQIA_TRIGGER_INTERVAL, "TRIGINT", 999_999_999),
    # The attribute is stored as it is set, but MQINQ always returns "disabled" (calls/inquiring.py), because records are not
    # enforced.
    _word(pcf.MQIA_CHLAUTH_RECORDS, "CHLAUTH", pcf.MQCHLA_DISABLED, _EVENT),
    # These are stored, but have no effect, because there is no TLS.
    _text(pcf.MQCA_SSL_KEY_REPOSITORY, "SSLKEYR", mq.MQ_SSL_KEY_REPOSITORY_LENGTH),
    _text(pcf.MQCA_CERT_LABEL, "CERTLABL", mq.MQ_CERT_LABEL_LENGTH),
    _text(pcf.MQCA_SSL_CRL_NAMELIST, "SSLCRLNL", mq.MQ_NAMELIST_NAME_LENGTH),
    _word(pcf.MQIA_SSL_FIPS_REQUIRED, "SSLFIPS", 0, {"YES": 1, "NO": 0}),
    _word(pcf.MQIA_AUTHORITY_EVENT, "AUTHOREV", 0, _EVENT),
    _word(pcf.MQIA_INHIBIT_EVENT, "INHIBTEV", 0, _EVENT),
    _word(pcf.MQIA_LOCAL_EVENT, "LOCALEV", 0, _EVENT),
    _word(pcf.MQIA_REMOTE_EVENT, "REMOTEEV", 0, _EVENT),
    _word(pcf.MQIA_START_STOP_EVENT, "STRSTPEV", 1, _EVENT),
    _word(pcf.MQIA_PERFORMANCE_EVENT, "PERFMEV", 0, _EVENT),
    _word(pcf.MQIA_CONFIGURATION_EVENT, "CONFIGEV", 0, _EVENT),
    _word(pcf.MQIA_COMMAND_EVENT, "CMDEV", 0, {**_EVENT, "NODISPLAY": 3}),
    _word(pcf.MQIA_CHANNEL_EVENT, "CHLEV", 0, {**_EVENT, "EXCEPTION": 2}),
    _word(pcf.MQIA_CHANNEL_AUTO_DEF_EVENT, "CHADEV", 0, _EVENT),
    _word(pcf.MQIA_LOGGER_EVENT, "LOGGEREV", 0, _EVENT),
    _word(pcf.MQIA_SSL_EVENT, "SSLEV", 0, _EVENT),
    _word(pcf.MQIA_MONITORING_Q, "MONQ", 0, _MONITORING),
    _word(pcf.MQIA_MONITORING_CHANNEL, "MONCHL", 0, _MONITORING),
    _word(pcf.MQIA_MONITORING_AUTO_CLUSSDR, "MONACLS", pcf.MQMON_Q_MGR, _MONITORING_Q_MGR),
    _word(pcf.MQIA_STATISTICS_Q, "STATQ", 0, _ON_OFF),
    _word(pcf.MQIA_STATISTICS_MQI, "STATMQI", 0, {"OFF": 0, "ON": 1}),
    _word(pcf.MQIA_STATISTICS_CHANNEL, "STATCHL", 0, _MONITORING),
    _word(pcf.MQIA_STATISTICS_AUTO_CLUSSDR, "STATACLS", pcf.MQMON_Q_MGR, _MONITORING_Q_MGR),
    _number(pcf.MQIA_STATISTICS_INTERVAL, "STATINT", 1800, 604_800),
    _word(pcf.MQIA_ACCOUNTING_Q, "ACCTQ", 0, _ON_OFF),
    _word(pcf.MQIA_ACCOUNTING_MQI, "ACCTMQI", 0, {"OFF": 0, "ON": 1}),
    _number(pcf.MQIA_ACCOUNTING_INTERVAL, "ACCTINT", 1800, 604_000, 1),
    _word(pcf.MQIA_ACCOUNTING_CONN_OVERRIDE, "ACCTCONO", 0, _EVENT),
    _word(pcf.MQIA_ACTIVITY_TRACE, "ACTVTRC", 0, {"OFF": 0, "ON": 1}),
    _word(pcf.MQIA_ACTIVITY_CONN_OVERRIDE, "ACTVCONO", 0, _EVENT),
    _word(pcf.MQIA_ACTIVITY_RECORDING, "ACTIVREC", 2, _RECORDING),
    _word(pcf.MQIA_TRACE_ROUTE_RECORDING, "ROUTEREC", 2, _RECORDING),
    _word(pcf.MQIA_CERT_VAL_POLICY, "CERTVPOL", 0, {"ANY": 0, "RFC5280": 1}),
    _words(pcf.MQIA_SUITE_B_STRENGTH, "SUITEB", "NONE", {"NONE": 1, "128_BIT": 2, "192_BIT": 4}),
    _text(pcf.MQCA_SSL_CRYPTO_HARDWARE, "SSLCRYP", pcf.MQ_SSL_CRYPTO_HARDWARE_LENGTH),
    _number(pcf.MQIA_SSL_RESET_COUNT, "SSLRKEYC", 0),
    _word(pcf.MQIA_CHANNEL_AUTO_DEF, "CHAD", 0, _EVENT),
    _text(pcf.MQCA_CHANNEL_AUTO_DEF_EXIT, "CHADEXIT", pcf.MQ_EXIT_NAME_LENGTH),
    _word(pcf.MQIA_CHINIT_CONTROL, "SCHINIT", 0, {"QMGR": 0, "MANUAL": 2}),
    _word(pcf.MQIA_CMD_SERVER_CONTROL, "SCMDSERV", 0, {"QMGR": 0, "MANUAL": 2}),
    _word(pcf.MQIA_IP_ADDRESS_VERSION, "IPADDRV", 0, {"IPV4": 0, "IPV6": 1}),
    _word(pcf.MQIA_REVERSE_DNS_LOOKUP, "REVDNS", 0, {"ENABLED": 0, "DISABLED": 1}),
    _text(pcf.MQCA_CLUSTER_WORKLOAD_DATA, "CLWLDATA", pcf.MQ_EXIT_DATA_LENGTH),
    _text(pcf.MQCA_CLUSTER_WORKLOAD_EXIT, "CLWLEXIT", pcf.MQ_EXIT_NAME_LENGTH),
    _number(pcf.MQIA_CLUSTER_WORKLOAD_LENGTH, "CLWLLEN", 100),
    _number(pcf.MQIA_CLWL_MRU_CHANNELS, "CLWLMRUC", 999_999_999, low=1),
    _word(pcf.MQIA_DEF_CLUSTER_XMIT_Q_TYPE, "DEFCLXQ", 0, {"SCTQ": 0, "CHANNEL": 1}),
    _text(pcf.MQCA_REPOSITORY_NAME, "REPOS", mq.MQ_CLUSTER_NAME_LENGTH),
    _text(pcf.MQCA_REPOSITORY_NAMELIST, "REPOSNL", mq.MQ_NAMELIST_NAME_LENGTH),
    _word(pcf.MQIA_MEDIA_IMAGE_SCHEDULING, "IMGSCHED", 0, {"MANUAL": 0, "AUTO": 1}),
    Attribute(pcf.MQIA_MEDIA_IMAGE_INTERVAL, "IMGINTVL", 60, _NONE, {"OFF": 0}, low=1, number_too=True),
    Attribute(pcf.MQIA_MEDIA_IMAGE_LOG_LENGTH, "IMGLOGLN", 0, _NONE, {"OFF": 0}, low=1, number_too=True),
    _word(pcf.MQIA_MEDIA_IMAGE_RECOVER_OBJ, "IMGRCOVO", 1, {"YES": 1, "NO": 0}),
    _word(pcf.MQIA_MEDIA_IMAGE_RECOVER_Q, "IMGRCOVQ", 1, {"YES": 1, "NO": 0}),
    _text(pcf.MQCA_PARENT, "PARENT", mq.MQ_Q_MGR_NAME_LENGTH),
    _word(pcf.MQIA_PUBSUB_MODE, "PSMODE", 2, {"DISABLED": 0, "COMPAT": 1, "ENABLED": 2}),
    _word(pcf.MQIA_PUBSUB_CLUSTER, "PSCLUS", 1, _EVENT),
    _word(pcf.MQIA_PUBSUB_NP_MSG, "PSNPMSG", 2, {"DISCARD": 2, "KEEP": 3}),
    _word(pcf.MQIA_PUBSUB_NP_RESP, "PSNPRES", 0, {"NORMAL": 0, "SAFE": 1, "DISCARD": 2, "KEEP": 3}),
    _number(pcf.MQIA_PUBSUB_MAXMSG_RETRY_COUNT, "PSRTYCNT", 5),
    _word(pcf.MQIA_PUBSUB_SYNC_PT, "PSSYNCPT", 1, {"YES": 0, "IFPER": 1}),
    _number(pcf.MQIA_TREE_LIFE_TIME, "TREELIFE", 1800, 604_000),
    _text(mq.MQCA_CUSTOM, "CUSTOM", mq.MQ_CUSTOM_LENGTH),
)

CHANNEL_ATTRIBUTES: tuple[Attribute, ...] = (
    _word(pcf.MQIACH_XMIT_PROTOCOL_TYPE, "TRPTYPE", mq.MQXPT_TCP, {"TCP": mq.MQXPT_TCP}),
    _text(pcf.MQCACH_DESC, "DESCR", pcf.MQ_CHANNEL_DESC_LENGTH),
    _text(pcf.MQCACH_MCA_USER_ID, "MCAUSER", 64),
    _number(pcf.MQIACH_MAX_MSG_LENGTH, "MAXMSGL", 4_194_304, 104_857_600),
    _number(pcf.MQIACH_MAX_INSTANCES, "MAXINST", 999_999_999),
    _number(pcf.MQIACH_MAX_INSTS_PER_CLIENT, "MAXINSTC", 999_999_999),
    _number(pcf.MQIACH_SHARING_CONVERSATIONS, "SHARECNV", 10),
    _number(pcf.MQIACH_HB_INTERVAL, "HBINT", 300, 999_999),
    _number(pcf.MQIACH_DISC_INTERVAL, "DISCINT", 0),
    Attribute(pcf.MQIACH_KEEP_ALIVE_INTERVAL, "KAINT", -1, _NONE, {"AUTO": -1}, high=99_999, number_too=True),
    _word(pcf.MQIACH_SSL_CLIENT_AUTH, "SSLCAUTH", 0, {"REQUIRED": 0, "OPTIONAL": 1}),
    _text(pcf.MQCACH_SSL_CIPHER_SPEC, "SSLCIPH", pcf.MQ_SSL_CIPHER_SPEC_LENGTH),
    _text(pcf.MQCACH_SSL_PEER_NAME, "SSLPEER", pcf.MQ_SSL_PEER_NAME_LENGTH),
    _text(pcf.MQCA_CERT_LABEL, "CERTLABL", mq.MQ_CERT_LABEL_LENGTH),
    _word(pcf.MQIA_MONITORING_CHANNEL, "MONCHL", pcf.MQMON_Q_MGR, _MONITORING_Q_MGR),
    _words(pcf.MQIACH_HDR_COMPRESSION, "COMPHDR", "NONE", {"NONE": 0, "SYSTEM": 8}),
    _words(pcf.MQIACH_MSG_COMPRESSION, "COMPMSG", "NONE", _COMPRESSIONS),
    _text(pcf.MQCACH_SEC_EXIT_NAME, "SCYEXIT", pcf.MQ_EXIT_NAME_LENGTH),
    _text(pcf.MQCACH_SEC_EXIT_USER_DATA, "SCYDATA", pcf.MQ_EXIT_DATA_LENGTH),
    _text(pcf.MQCACH_SEND_EXIT_NAME, "SENDEXIT", pcf.MQ_EXIT_NAME_LENGTH),
    _text(pcf.MQCACH_SEND_EXIT_USER_DATA, "SENDDATA", pcf.MQ_EXIT_DATA_LENGTH),
    _text(pcf.MQCACH_RCV_EXIT_NAME, "RCVEXIT", pcf.MQ_EXIT_NAME_LENGTH),
    _text(pcf.MQCACH_RCV_EXIT_USER_DATA, "RCVDATA", pcf.MQ_EXIT_DATA_LENGTH),
)

NAMELIST_ATTRIBUTES: tuple[Attribute, ...] = (_text(pcf.MQCA_NAMELIST_DESC, "DESCR", pcf.MQ_NAMELIST_DESC_LENGTH),)

_APPL_TYPES = {
    "UNIX": mq.MQAT_UNIX,
    "DEF": mq.MQAT_UNIX,
    "CICS": 1,
    "MVS": 2,
    "IMS": 3,
    "DOS": 5,
    "OS400": 8,
    "WINDOWS": 9,
}
_APPL_TYPES |= {"WINDOWSNT": 11, "VMS": 12, "NSK": 13, "NOTESAGENT": 22}
PROCESS_ATTRIBUTES: tuple[Attribute, ...] = (
    _text(pcf.MQCA_PROCESS_DESC, "DESCR", pcf.MQ_PROCESS_DESC_LENGTH),
    Attribute(
        pcf.MQIA_APPL_TYPE,
        "APPLTYPE",
        mq.MQAT_UNIX,
        _NONE,
        _APPL_TYPES,
        number_too=True,
    ),
    _text(pcf.MQCA_APPL_ID, "APPLICID", pcf.MQ_PROCESS_APPL_ID_LENGTH),
    _text(pcf.MQCA_ENV_DATA, "ENVRDATA", pcf.MQ_PROCESS_ENV_DATA_LENGTH),
    _text(pcf.MQCA_USER_DATA, "USERDATA", pcf.MQ_PROCESS_USER_DATA_LENGTH),
)

_CHECKS = {
    "NONE": pcf.MQCHK_NONE,
    "OPTIONAL": pcf.MQCHK_OPTIONAL,
    "REQUIRED": pcf.MQCHK_REQUIRED,
    "REQDADM": pcf.MQCHK_REQUIRED_ADMIN,
}
AUTH_INFO_ATTRIBUTES: tuple[Attribute, ...] = (
    _text(pcf.MQCA_AUTH_INFO_DESC, "DESCR", pcf.MQ_AUTH_INFO_DESC_LENGTH),
    _word(
        pcf.MQIA_CHECK_CLIENT_BINDING,
        "CHCKCLNT",
        pcf.MQCHK_OPTIONAL,
        _CHECKS,
    ),
    _word(
        pcf.MQIA_CHECK_LOCAL_BINDING,
        "CHCKLOCL",
        pcf.MQCHK_OPTIONAL,
        _CHECKS,
    ),
    _number(pcf.MQIA_AUTHENTICATION_FAIL_DELAY, "FAILDLAY", 1, 60),
    _word(pcf.MQIA_ADOPT_CONTEXT, "ADOPTCTX", 1, {"YES": 1, "NO": 0}),
    _word(pcf.MQIA_AUTHENTICATION_METHOD, "AUTHENMD", 0, {"OS": 0, "PAM": 1}),
)

_AS_PARENT_YES_NO = {"ASPARENT": -1, "YES": 1, "NO": 0}
_DELIVERY = {
    "ASPARENT": pcf.MQDLV_AS_PARENT,
    "ALL": pcf.MQDLV_ALL,
    "ALLDUR": pcf.MQDLV_ALL_DUR,
    "ALLAVAIL": pcf.MQDLV_ALL_AVAIL,
}
_SCOPE = {"ASPARENT": pcf.MQSCOPE_AS_PARENT, "ALL": pcf.MQSCOPE_ALL, "QMGR": pcf.MQSCOPE_QMGR}
# By default an attribute has the parent's value, if the attribute allows that. pubsub/topic.py finds the parent.
TOPIC_ATTRIBUTES: tuple[Attribute, ...] = (
    _text(mq.MQCA_TOPIC_STRING, "TOPICSTR", mq.MQ_TOPIC_STR_LENGTH),
    _text(mq.MQCA_TOPIC_DESC, "DESCR", mq.MQ_TOPIC_DESC_LENGTH),
    _word(mq.MQIA_INHIBIT_PUB, "PUB", 0, {"ASPARENT": 0, "DISABLED": 1, "ENABLED": 2}),
    _word(mq.MQIA_INHIBIT_SUB, "SUB", 0, {"ASPARENT": 0, "DISABLED": 1, "ENABLED": 2}),
    _word(mq.MQIA_DURABLE_SUB, "DURSUB", 0, {"ASPARENT": 0, "YES": 1, "NO": 2}),
    Attribute(mq.MQIA_DEF_PRIORITY, "DEFPRTY", -2, _NONE, {"ASPARENT": -2}, high=9, number_too=True),
    _word(mq.MQIA_TOPIC_DEF_PERSISTENCE, "DEFPSIST", -1, _AS_PARENT_YES_NO),
    _word(mq.MQIA_DEF_PUT_RESPONSE_TYPE, "DEFPRESP", 0, {"ASPARENT": 0, "SYNC": 1, "ASYNC": 2}),
    _text(mq.MQCA_MODEL_DURABLE_Q, "MDURMDL", mq.MQ_Q_NAME_LENGTH),
    _text(mq.MQCA_MODEL_NON_DURABLE_Q, "MNDURMDL", mq.MQ_Q_NAME_LENGTH),
    _word(mq.MQIA_PM_DELIVERY, "PMSGDLV", 0, _DELIVERY),
    _word(mq.MQIA_NPM_DELIVERY, "NPMSGDLV", 0, _DELIVERY),
    _word(pcf.MQIA_PUB_SCOPE, "PUBSCOPE", 1, _SCOPE),
    _word(pcf.MQIA_SUB_SCOPE, "SUBSCOPE", 1, _SCOPE),
    _word(pcf.MQIA_WILDCARD_OPERATION, "WILDCARD", 2, {"BLOCK": pcf.MQTA_BLOCK, "PASSTHRU": pcf.MQTA_PASSTHRU}),
    _word(pcf.MQIA_USE_DEAD_LETTER_Q, "USEDLQ", 0, {"ASPARENT": 0, "NO": 1, "YES": 2}),
    _text(mq.MQCA_CLUSTER_NAME, "CLUSTER", mq.MQ_CLUSTER_NAME_LENGTH),
    _word(pcf.MQIA_CLUSTER_PUB_ROUTE, "CLROUTE", 0, {"DIRECT": 0, "TOPICHOST": 1}),
    _word(pcf.MQIA_PROXY_SUB, "PROXYSUB", 2, {"FORCE": 1, "FIRSTUSE": 2}),
    _word(pcf.MQIA_MULTICAST, "MCAST", 0, {"ASPARENT": 0, "ENABLED": 1, "DISABLED": 2, "ONLY": 3}),
    _text(pcf.MQCA_COMM_INFO_NAME, "COMMINFO", pcf.MQ_COMM_INFO_NAME_LENGTH),
    Attribute(
        pcf.MQIA_CAP_EXPIRY,
        "CAPEXPRY",
        -2,
        _NONE,
        {"ASPARENT": -2, "NOLIMIT": pcf.MQCEX_NOLIMIT},
        low=1,
        number_too=True,
    ),
    _text(mq.MQCA_CUSTOM, "CUSTOM", mq.MQ_CUSTOM_LENGTH),
)

# The attributes of DEFINE SUB, except DESTCORL, which is a byte string. Selectors are PCF's parameter identifiers.
SUBSCRIPTION_ATTRIBUTES: tuple[Attribute, ...] = (
    _text(mq.MQCA_TOPIC_STRING, "TOPICSTR", mq.MQ_TOPIC_STR_LENGTH),
    _text(mq.MQCA_TOPIC_NAME, "TOPICOBJ", mq.MQ_TOPIC_NAME_LENGTH),
    _text(pcf.MQCACF_DESTINATION, "DEST", mq.MQ_Q_NAME_LENGTH),
    _text(pcf.MQCACF_DESTINATION_Q_MGR, "DESTQMGR", mq.MQ_Q_MGR_NAME_LENGTH),
    _word(pcf.MQIACF_DESTINATION_CLASS, "DESTCLAS", pcf.MQDC_PROVIDED, {"MANAGED": 1, "PROVIDED": 2}),
    Attribute(pcf.MQIACF_EXPIRY, "EXPIRY", -1, _NONE, {"UNLIMITED": -1}, low=1, number_too=True),
    _word(pcf.MQIACF_PUBSUB_PROPERTIES, "PSPROP", pcf.MQPSPROP_MSGPROP, {"NONE": 0, "MSGPROP": 3}),
    Attribute(
        pcf.MQIACF_PUB_PRIORITY,
        "PUBPRTY",
        mq.MQPRI_PRIORITY_AS_PUBLISHED,
        _NONE,
        {"ASPUB": mq.MQPRI_PRIORITY_AS_PUBLISHED, "ASQDEF": mq.MQPRI_PRIORITY_AS_Q_DEF},
        high=9,
        number_too=True,
    ),
    _word(pcf.MQIACF_REQUEST_ONLY, "REQONLY", pcf.MQRU_PUBLISH_ALL, {"YES": pcf.MQRU_PUBLISH_ON_REQUEST, "NO": 2}),
    _number(pcf.MQIACF_SUB_LEVEL, "SUBLEVEL", 1, high=9),
    _word(pcf.MQIACF_SUBSCRIPTION_SCOPE, "SUBSCOPE", pcf.MQTSCOPE_ALL, {"ALL": pcf.MQTSCOPE_ALL, "QMGR": 1}),
    _text(pcf.MQCACF_SUB_USER_ID, "SUBUSER", mq.MQ_USER_ID_LENGTH),
    _text(pcf.MQCACF_SUB_USER_DATA, "USERDATA", pcf.MQ_SUB_NAME_LENGTH),
    _word(pcf.MQIACF_VARIABLE_USER_ID, "VARUSER", pcf.MQVU_ANY_USER, {"ANY": pcf.MQVU_ANY_USER, "FIXED": 1}),
    _word(pcf.MQIACF_WILDCARD_SCHEMA, "WSCHEMA", pcf.MQWS_TOPIC, {"CHAR": pcf.MQWS_CHAR, "TOPIC": pcf.MQWS_TOPIC}),
)

ATTRIBUTES: dict[Kind, tuple[Attribute, ...]] = {
    Kind.CHANNEL: CHANNEL_ATTRIBUTES,
    Kind.NAMELIST: NAMELIST_ATTRIBUTES,
    Kind.PROCESS: PROCESS_ATTRIBUTES,
    Kind.AUTH_INFO: AUTH_INFO_ATTRIBUTES,
    Kind.TOPIC: TOPIC_ATTRIBUTES,
}

# Attributes that have an effect on IBM MQ, but no effect here. They are stored and shown. If any are set, the log warns of them
# at the start.
WITHOUT_EFFECT: dict[str, frozenset[str]] = {
    "QUEUE": frozenset(
        "ACCTQ CLCHNAME CLUSNL DEFREADA DISTL HARDENBO IMGRCOVQ INITQ MAXFSIZE MONQ NPMCLASS PROCESS QDEPTHHI QDEPTHLO QDPHIEV "
        "QDPLOEV QDPMAXEV QSVCIEV QSVCINT RETINTVL SCOPE STATQ STREAMQ STRMQOS TRIGDPTH TRIGGER TRIGMPRI TRIGTYPE".split()
    ),
    "QMGR": frozenset(attribute.keyword for attribute in Q_MGR_ATTRIBUTES)
    - frozenset(
        "CLWLUSEQ CONNAUTH CUSTOM DEADQ DEFCLXQ DEFXMITQ DESCR MARKINT MAXHANDS MAXMSGL MAXPROPL MAXUMSGS REPOS".split()
    ),
    "CHANNEL": frozenset(attribute.keyword for attribute in CHANNEL_ATTRIBUTES)
    - frozenset("DESCR HBINT MCAUSER SHARECNV TRPTYPE".split()),
    "AUTHINFO": frozenset("ADOPTCTX AUTHENMD CHCKLOCL FAILDLAY".split()),
    "TOPIC": frozenset(
        "CAPEXPRY CLROUTE CLUSTER COMMINFO DEFPRESP MCAST PROXYSUB PUBSCOPE SUBSCOPE USEDLQ WILDCARD".split()
    ),
}
# The attributes whose values are several words, by selector.
BY_LIST = {attribute.selector: attribute for attribute in Q_MGR_ATTRIBUTES + CHANNEL_ATTRIBUTES if attribute.many}


def defaults(attributes: tuple[Attribute, ...]) -> dict[int, Value]:
    """Return the default values of these attributes, by selector."""
    return {attribute.selector: attribute.default for attribute in attributes}


def by_selector(attributes: tuple[Attribute, ...]) -> dict[int, Attribute]:
    """Return these attributes by selector."""
    return {attribute.selector: attribute for attribute in attributes}


def by_keyword(attributes: tuple[Attribute, ...]) -> dict[str, Attribute]:
    """Return these attributes by MQSC keyword."""
    return {attribute.keyword: attribute for attribute in attributes}
