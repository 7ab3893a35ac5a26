"""Attributes of queues: MQSC keyword, selector, default, and values.

One table serves MQSC, PCF, MQINQ and MQSET. Every attribute is stored and can be inquired as on IBM MQ. ``WITHOUT_EFFECT`` in
``kinds.py`` lists the attributes that have no other effect. ``admin/mqsc.py`` parses MQSC.

Source: IBM MQ, "Attributes for queues", "DEFINE QLOCAL" and the pages of other queue types.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mqembedded import constants as mq
from mqembedded.wire import pcf_constants as pcf

Value = int | str
_YES_NO = {"YES": 1, "NO": 0}
_ENABLED = {"ENABLED": 0, "DISABLED": 1}
_EVENT = {"ENABLED": 1, "DISABLED": 0}
_ON_OFF_Q_MGR = {"QMGR": pcf.MQMON_Q_MGR, "OFF": 0, "ON": 1}

LOCAL, MODEL, ALIAS, REMOTE = mq.MQQT_LOCAL, mq.MQQT_MODEL, mq.MQQT_ALIAS, mq.MQQT_REMOTE
_STORING = frozenset({LOCAL, MODEL})
_ALL = frozenset({LOCAL, MODEL, ALIAS})
# The queue types that can be in a cluster, and the queue types that have default put options.
_DEFINED = frozenset({LOCAL, ALIAS, REMOTE})
_FOR_PUTS = _ALL | {REMOTE}
TYPE_NAMES = {LOCAL: "QLOCAL", MODEL: "QMODEL", ALIAS: "QALIAS", REMOTE: "QREMOTE"}
# DEFINE without LIKE takes missing attributes from these objects, which a site can alter (IBM MQ, "DEFINE QLOCAL").
DEFAULT_QUEUES = {
    LOCAL: "SYSTEM.DEFAULT.LOCAL.QUEUE",
    MODEL: "SYSTEM.DEFAULT.MODEL.QUEUE",
    ALIAS: "SYSTEM.DEFAULT.ALIAS.QUEUE",
    REMOTE: "SYSTEM.DEFAULT.REMOTE.QUEUE",
}
_CUSTOM_CAP = re.compile(r"\bCAPEXPRY\(\s*([1-9]\d*)\s*\)")


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of a queue or of another object.

    ``keywords`` maps MQSC words to numbers. If there are keywords, other numbers are allowed only if ``number_too`` is set.
    ``low`` and ``high`` limit a number. ``length`` is a character attribute's length in MQINQ, or 0 for an integer. ``types`` are
    the queue types that have the attribute. With ``many``, a value is several words with commas between them, or in PCF a list.
    """

    selector: int
    keyword: str
    default: Value
    types: frozenset[int] = _STORING
    keywords: Mapping[str, int] = field(default_factory=dict)
    low: int = 0
    high: int = 999_999_999
    length: int = 0
    zos_only: bool = False
    number_too: bool = False
    many: bool = False

    def problem(self, value: object) -> str:
        """Return a sentence that explains what is wrong with a value, or "" if the value is allowed."""
        if self.length:
            if not isinstance(value, str):
                return f"{self.keyword} takes characters"
            if len(value) > self.length:
                return f"{self.keyword} takes {self.length} characters, {len(value)} are given"
            if self.many and (wrong := set(value.split(",")) - self.keywords.keys()):
                return f"{self.keyword} takes {', '.join(self.keywords)}, not {', '.join(sorted(wrong))}"
            return ""
        if not isinstance(value, int):
            return f"{self.keyword} takes a number"
        if value in self.keywords.values():
            return ""
        if self.keywords and not self.number_too:
            return f"{self.keyword} takes one of {', '.join(map(str, sorted(self.keywords.values())))}, not {value}"
        if not self.low <= value <= self.high:
            return f"{self.keyword} takes a number from {self.low} to {self.high}, not {value}"
        return ""

    def value_of(self, text: str) -> Value:
        """Return the value of an MQSC parameter. Raises ValueError with a sentence that explains what is wrong."""
        if self.length:
            # A text of blanks means no value, as in BOQNAME(' ').
            value: Value = text if text.strip(" ") else ""
        elif text in self.keywords:
            return self.keywords[text]
        elif self.keywords and not self.number_too:
            raise ValueError(f"{self.keyword} takes one of {', '.join(self.keywords)}, not {text}")
        elif not text.isdigit():
            raise ValueError(f"{self.keyword} takes a number from {self.low} to {self.high}, not {text!r}")
        else:
            value = int(text)
        if problem := self.problem(value):
            raise ValueError(problem)
        return value

    def numbers(self, words: object) -> list[int]:
        """Return the numbers for the words of a value, which is text with commas."""
        return [self.keywords[word] for word in str(words).split(",")]

    def words(self, numbers: Iterable[object]) -> str:
        """Return the words for these numbers, as text with commas. An illegal number, which has no word, becomes digits."""
        known = {number: word for word, number in self.keywords.items()}
        return ",".join(known.get(number, str(number)) if isinstance(number, int) else "" for number in numbers)

    def in_words(self, value: object) -> str:
        """Return the attribute and this value as MQSC text, such as PUT(ENABLED)."""
        if isinstance(value, tuple):
            words = self.words(value).split(",") if self.many else [str(item).rstrip() for item in value]
            return f"{self.keyword}({', '.join(words)})"
        if isinstance(value, bytes):
            return f"{self.keyword}({value.hex().upper()})"
        if isinstance(value, str):
            return f"{self.keyword}({value.strip() or ' '})"
        word = next((word for word, number in self.keywords.items() if number == value), None)
        if self.keyword in self.keywords and word is not None:
            return word
        return f"{self.keyword}({value if word is None else word})"


QUEUE_ATTRIBUTES: tuple[Attribute, ...] = (
    Attribute(mq.MQCA_Q_DESC, "DESCR", "", _FOR_PUTS, length=mq.MQ_Q_DESC_LENGTH),
    Attribute(mq.MQIA_INHIBIT_PUT, "PUT", mq.MQQA_PUT_ALLOWED, _FOR_PUTS, _ENABLED),
    Attribute(mq.MQIA_INHIBIT_GET, "GET", mq.MQQA_GET_ALLOWED, _ALL, _ENABLED),
    Attribute(mq.MQIA_DEF_PRIORITY, "DEFPRTY", 0, _FOR_PUTS, high=9),
    Attribute(mq.MQIA_DEF_PERSISTENCE, "DEFPSIST", mq.MQPER_NOT_PERSISTENT, _FOR_PUTS, _YES_NO),
    Attribute(mq.MQIA_DEF_BIND, "DEFBIND", mq.MQBND_BIND_ON_OPEN, _FOR_PUTS, {"OPEN": 0, "NOTFIXED": 1, "GROUP": 2}),
    Attribute(mq.MQIA_DEF_PUT_RESPONSE_TYPE, "DEFPRESP", mq.MQPRT_SYNC_RESPONSE, _FOR_PUTS, {"SYNC": 1, "ASYNC": 2}),
    Attribute(mq.MQIA_DEF_READ_AHEAD, "DEFREADA", mq.MQREADA_NO, _ALL, {"NO": 0, "YES": 1, "DISABLED": 2}),
    Attribute(
        mq.MQIA_PROPERTY_CONTROL,
        "PROPCTL",
        mq.MQPROP_COMPATIBILITY,
        _ALL,
        {"COMPAT": 0, "NONE": 1, "ALL": 2, "FORCE": 3, "V6COMPAT": 4},
    ),
    Attribute(mq.MQIA_SCOPE, "SCOPE", 1, _FOR_PUTS, {"QMGR": 1, "CELL": 2}),
    Attribute(mq.MQCA_CLUSTER_NAME, "CLUSTER", "", _FOR_PUTS, length=mq.MQ_CLUSTER_NAME_LENGTH),
    Attribute(mq.MQCA_CLUSTER_NAMELIST, "CLUSNL", "", _FOR_PUTS, length=mq.MQ_NAMELIST_NAME_LENGTH),
    Attribute(mq.MQIA_CLWL_Q_RANK, "CLWLRANK", 0, _DEFINED, high=9),
    Attribute(mq.MQIA_CLWL_Q_PRIORITY, "CLWLPRTY", 0, _DEFINED, high=9),
    Attribute(
        mq.MQIA_CLWL_USEQ,
        "CLWLUSEQ",
        mq.MQCLWL_USEQ_AS_Q_MGR,
        frozenset({LOCAL}),
        {"QMGR": mq.MQCLWL_USEQ_AS_Q_MGR, "LOCAL": mq.MQCLWL_USEQ_LOCAL, "ANY": mq.MQCLWL_USEQ_ANY},
    ),
    Attribute(mq.MQCA_CUSTOM, "CUSTOM", "", _FOR_PUTS, length=mq.MQ_CUSTOM_LENGTH),
    Attribute(
        pcf.MQIA_CAP_EXPIRY,
        "CAPEXPRY",
        pcf.MQCEX_NOLIMIT,
        _FOR_PUTS,
        {"NOLIMIT": pcf.MQCEX_NOLIMIT},
        low=1,
        number_too=True,
    ),
    Attribute(mq.MQIA_MAX_Q_DEPTH, "MAXDEPTH", 5000),
    Attribute(mq.MQIA_MAX_MSG_LENGTH, "MAXMSGL", 4_194_304, high=104_857_600),
    Attribute(mq.MQIA_SHAREABILITY, "SHARE", mq.MQQA_SHAREABLE, keywords={"SHARE": mq.MQQA_SHAREABLE, "NOSHARE": 0}),
    Attribute(
        mq.MQIA_DEF_INPUT_OPEN_OPTION,
        "DEFSOPT",
        mq.MQOO_INPUT_SHARED,
        keywords={"SHARED": mq.MQOO_INPUT_SHARED, "EXCL": mq.MQOO_INPUT_EXCLUSIVE},
    ),
    Attribute(
        mq.MQIA_MSG_DELIVERY_SEQUENCE,
        "MSGDLVSQ",
        mq.MQMDS_PRIORITY,
        keywords={"PRIORITY": mq.MQMDS_PRIORITY, "FIFO": mq.MQMDS_FIFO},
    ),
    Attribute(mq.MQIA_BACKOUT_THRESHOLD, "BOTHRESH", 0),
    Attribute(mq.MQCA_BACKOUT_REQ_Q_NAME, "BOQNAME", "", length=mq.MQ_Q_NAME_LENGTH),
    Attribute(
        mq.MQIA_HARDEN_GET_BACKOUT, "HARDENBO", 1, keywords={"HARDENBO": mq.MQQA_BACKOUT_HARDENED, "NOHARDENBO": 0}
    ),
    Attribute(
        mq.MQIA_INDEX_TYPE,
        "INDXTYPE",
        mq.MQIT_NONE,
        keywords={
            "NONE": mq.MQIT_NONE,
            "MSGID": mq.MQIT_MSG_ID,
            "CORRELID": mq.MQIT_CORREL_ID,
            "GROUPID": mq.MQIT_GROUP_ID,
        },
        zos_only=True,
    ),
    Attribute(mq.MQIA_USAGE, "USAGE", mq.MQUS_NORMAL, keywords={"NORMAL": 0, "XMITQ": 1}),
    Attribute(mq.MQIA_NPM_CLASS, "NPMCLASS", mq.MQNPM_CLASS_NORMAL, keywords={"NORMAL": 0, "HIGH": 10}),
    Attribute(mq.MQCA_STREAM_QUEUE_NAME, "STREAMQ", "", length=mq.MQ_Q_NAME_LENGTH),
    Attribute(
        mq.MQIA_STREAM_QUEUE_QOS,
        "STRMQOS",
        mq.MQST_BEST_EFFORT,
        keywords={"BESTEF": mq.MQST_BEST_EFFORT, "MUSTDUP": mq.MQST_MUST_DUP},
    ),
    Attribute(mq.MQIA_RETENTION_INTERVAL, "RETINTVL", 999_999_999),
    Attribute(
        pcf.MQIA_MONITORING_Q,
        "MONQ",
        pcf.MQMON_Q_MGR,
        keywords={"QMGR": pcf.MQMON_Q_MGR, "OFF": 0, "LOW": 17, "MEDIUM": 33, "HIGH": 65},
    ),
    Attribute(pcf.MQIA_STATISTICS_Q, "STATQ", pcf.MQMON_Q_MGR, keywords=_ON_OFF_Q_MGR),
    Attribute(pcf.MQIA_ACCOUNTING_Q, "ACCTQ", pcf.MQMON_Q_MGR, keywords=_ON_OFF_Q_MGR),
    Attribute(
        pcf.MQIA_MEDIA_IMAGE_RECOVER_Q,
        "IMGRCOVQ",
        pcf.MQIMGRCOV_AS_Q_MGR,
        keywords={"QMGR": pcf.MQIMGRCOV_AS_Q_MGR, **_YES_NO},
    ),
    Attribute(
        pcf.MQIA_MAX_Q_FILE_SIZE,
        "MAXFSIZE",
        pcf.MQQFS_DEFAULT,
        keywords={"DEFAULT": pcf.MQQFS_DEFAULT},
        low=20,
        high=267_386_880,
        number_too=True,
    ),
    Attribute(pcf.MQCA_CLUS_CHL_NAME, "CLCHNAME", "", frozenset({LOCAL}), length=mq.MQ_CHANNEL_NAME_LENGTH),
    Attribute(mq.MQIA_DIST_LISTS, "DISTL", mq.MQDL_NOT_SUPPORTED, keywords=_YES_NO),
    Attribute(mq.MQIA_TRIGGER_CONTROL, "TRIGGER", mq.MQTC_OFF, keywords={"TRIGGER": 1, "NOTRIGGER": 0}),
    Attribute(mq.MQIA_TRIGGER_TYPE, "TRIGTYPE", 1, keywords={"FIRST": 1, "EVERY": 2, "DEPTH": 3, "NONE": 0}),
    Attribute(mq.MQIA_TRIGGER_DEPTH, "TRIGDPTH", 1, low=1),
    Attribute(mq.MQIA_TRIGGER_MSG_PRIORITY, "TRIGMPRI", 0, high=9),
    Attribute(mq.MQCA_TRIGGER_DATA, "TRIGDATA", "", length=mq.MQ_TRIGGER_DATA_LENGTH),
    Attribute(mq.MQCA_INITIATION_Q_NAME, "INITQ", "", length=mq.MQ_Q_NAME_LENGTH),
    Attribute(mq.MQCA_PROCESS_NAME, "PROCESS", "", length=mq.MQ_PROCESS_NAME_LENGTH),
    Attribute(mq.MQIA_Q_DEPTH_HIGH_LIMIT, "QDEPTHHI", 80, high=100),
    Attribute(mq.MQIA_Q_DEPTH_LOW_LIMIT, "QDEPTHLO", 20, high=100),
    Attribute(mq.MQIA_Q_DEPTH_MAX_EVENT, "QDPMAXEV", 1, keywords=_EVENT),
    Attribute(mq.MQIA_Q_DEPTH_HIGH_EVENT, "QDPHIEV", 0, keywords=_EVENT),
    Attribute(mq.MQIA_Q_DEPTH_LOW_EVENT, "QDPLOEV", 0, keywords=_EVENT),
    Attribute(mq.MQIA_Q_SERVICE_INTERVAL, "QSVCINT", 999_999_999),
    Attribute(mq.MQIA_Q_SERVICE_INTERVAL_EVENT, "QSVCIEV", 0, keywords={"NONE": 0, "HIGH": 1, "OK": 2}),
    Attribute(
        mq.MQIA_DEFINITION_TYPE,
        "DEFTYPE",
        mq.MQQDT_TEMPORARY_DYNAMIC,
        frozenset({MODEL}),
        {"PERMDYN": mq.MQQDT_PERMANENT_DYNAMIC, "TEMPDYN": mq.MQQDT_TEMPORARY_DYNAMIC},
    ),
    Attribute(mq.MQCA_REMOTE_Q_NAME, "RNAME", "", frozenset({REMOTE}), length=mq.MQ_Q_NAME_LENGTH),
    Attribute(mq.MQCA_REMOTE_Q_MGR_NAME, "RQMNAME", "", frozenset({REMOTE}), length=mq.MQ_Q_MGR_NAME_LENGTH),
    Attribute(mq.MQCA_XMIT_Q_NAME, "XMITQ", "", frozenset({REMOTE}), length=mq.MQ_Q_NAME_LENGTH),
    Attribute(mq.MQCA_BASE_Q_NAME, "TARGET", "", frozenset({ALIAS}), length=mq.MQ_Q_NAME_LENGTH),
    Attribute(
        mq.MQIA_BASE_TYPE, "TARGTYPE", mq.MQOT_Q, frozenset({ALIAS}), {"QUEUE": mq.MQOT_Q, "TOPIC": mq.MQOT_TOPIC}
    ),
)

BY_KEYWORD: dict[str, Attribute] = {attribute.keyword: attribute for attribute in QUEUE_ATTRIBUTES}
BY_KEYWORD["TARGQ"] = BY_KEYWORD["TARGET"]
for _flag in ("SHARE", "HARDENBO", "TRIGGER"):
    BY_KEYWORD["NO" + _flag] = BY_KEYWORD[_flag]
BY_SELECTOR: dict[int, Attribute] = {attribute.selector: attribute for attribute in QUEUE_ATTRIBUTES}

# Character attributes that are computed instead of stored, with their lengths in MQINQ.
COMPUTED_CHARACTER_LENGTHS = {
    mq.MQCA_Q_NAME: mq.MQ_Q_NAME_LENGTH,
    mq.MQCA_CREATION_DATE: mq.MQ_CREATION_DATE_LENGTH,
    mq.MQCA_CREATION_TIME: mq.MQ_CREATION_TIME_LENGTH,
    mq.MQCA_ALTERATION_DATE: mq.MQ_DATE_LENGTH,
    mq.MQCA_ALTERATION_TIME: mq.MQ_TIME_LENGTH,
    mq.MQCA_Q_MGR_NAME: mq.MQ_Q_MGR_NAME_LENGTH,
    mq.MQCA_Q_MGR_IDENTIFIER: mq.MQ_Q_MGR_IDENTIFIER_LENGTH,
    mq.MQCA_COMMAND_INPUT_Q_NAME: mq.MQ_Q_NAME_LENGTH,
    mq.MQCA_VERSION: mq.MQ_VERSION_LENGTH,
    mq.MQCA_INSTALLATION_NAME: mq.MQ_INSTALLATION_NAME_LENGTH,
}


def supplied_values(queue_type: int) -> dict[int, Value]:
    """Return the attributes of the default object that IBM MQ supplies for this queue type, by selector."""
    return {attribute.selector: attribute.default for attribute in QUEUE_ATTRIBUTES if queue_type in attribute.types}


def cap_on_expiry(values: Mapping[int, Value]) -> int | None:
    """Return the limit of Expiry for messages that are put through a queue, in tenths of a second, or None if there is no limit.

    CAPEXPRY in CUSTOM, which every release knows, takes precedence over the attribute CAPEXPRY, which 9.3.1 and later have (IBM
    MQ, "Enforcing lower expiration times").
    """
    custom = _CUSTOM_CAP.search(str(values.get(mq.MQCA_CUSTOM, "")))
    if custom:
        return int(custom[1])
    cap = values.get(pcf.MQIA_CAP_EXPIRY, pcf.MQCEX_NOLIMIT)
    assert isinstance(cap, int)
    return None if cap == pcf.MQCEX_NOLIMIT else cap


def character_length(selector: int) -> int:
    """Return a character attribute's length in MQINQ, or 0 for an unknown selector."""
    attribute = BY_SELECTOR.get(selector)
    return attribute.length if attribute else COMPUTED_CHARACTER_LENGTHS.get(selector, 0)
