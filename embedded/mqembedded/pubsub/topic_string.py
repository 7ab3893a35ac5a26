"""Combines the parts of topic strings, and matches topic strings with a subscription's wildcards.

Topic objects and their attributes are in ``topic.py``, subscriptions in ``subscription.py``.

Source: IBM MQ, "Using topic strings", "Combining topic strings", "Topic-based wildcard scheme", "Wildcard schemes", reason code
2425. Unverified: a topic-based wildcard also matches an empty level.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Sequence

from mqembedded import constants as mq
from mqembedded.code_pages import UTF_8
from mqembedded.objects.authority import starred
from mqembedded.properties.values import codec

SEPARATOR = "/"
_ESCAPED = frozenset("*?%")
# Only the queue manager publishes on topics with this prefix (reason code 2598). A wildcard does not match the prefix.
ADMIN_PREFIX = "$SYS/MQ/"


def text_of(raw: bytes, ccsid: int = UTF_8) -> str:
    """Return an application's text. ``ccsid`` is the text's CCSID, which can be MQCCSI_Q_MGR.

    Invalid UTF-8 is kept, so that ``bytes_of`` returns it unchanged.
    """
    page = codec(ccsid, mq.MQENC_NATIVE)
    if page is None or page.name == "utf-8":
        return raw.decode("utf-8", "surrogateescape")
    return page.decode(raw, "replace")[0]


def bytes_of(text: str) -> bytes:
    """Return text in UTF-8, the form in which applications receive it."""
    return text.encode("utf-8", "surrogateescape")


class Wildcards(enum.Enum):
    """How wildcards in a subscription's topic string are interpreted."""

    TOPIC = "topic"
    CHARACTER = "character"


def combined(of_object: str, given: str) -> str:
    """Return the full topic string from a topic object's TOPICSTR and the application's string. Either part can be empty."""
    # A part that begins with a blank or a null counts as empty.
    present = [part for part in (of_object, given) if part and part[0] not in " \0"]
    return SEPARATOR.join(present)


def is_well_formed(pattern: str, wildcards: Wildcards) -> bool:
    """Return whether a subscription's topic string is legal. With character wildcards, ``%`` escapes ``*``, ``?`` or ``%``."""
    if wildcards is Wildcards.TOPIC:
        return True
    characters = iter(pattern)
    return all(next(characters, "") in _ESCAPED for one in characters if one == "%")


def has_wildcards(pattern: str, wildcards: Wildcards) -> bool:
    """Return whether a subscription's topic string can match more than one topic."""
    if wildcards is Wildcards.TOPIC:
        return not {"#", "+"}.isdisjoint(pattern.split(SEPARATOR))
    return bool(re.search(r"[*?]", re.sub(r"%.", "", pattern, flags=re.DOTALL)))


def matcher(pattern: str, wildcards: Wildcards) -> Callable[[str], bool]:
    """Return a function that tests whether a publication's topic string matches a subscription's topic string."""
    if wildcards is Wildcards.TOPIC:
        levels = pattern.split(SEPARATOR)
        return lambda topic: _levels_match(levels, topic.split(SEPARATOR)) and _may_see(pattern, topic)
    expression = re.compile(_expression(pattern), re.DOTALL)
    return lambda topic: expression.fullmatch(topic) is not None and _may_see(pattern, topic)


def _may_see(pattern: str, topic: str) -> bool:
    return not topic.startswith(ADMIN_PREFIX) or pattern.startswith(ADMIN_PREFIX)


def _levels_match(pattern: Sequence[str], topic: Sequence[str]) -> bool:
    """Return whether a pattern matches a topic. ``#`` matches any number of levels, even none; ``+`` matches any level."""
    # The numbers of leading topic levels that all pattern levels so far can match.
    reached = {0}
    for level in pattern:
        if level == "#":
            reached = set(range(min(reached), len(topic) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(topic) and level in ("+", topic[at])}
        if not reached:
            return False
    return len(topic) in reached


def _expression(pattern: str) -> str:
    parts = [""]
    characters = iter(pattern)
    for one in characters:
        if one == "*":
            parts.append("")
        else:
            parts[-1] += "." if one == "?" else re.escape(next(characters, "") if one == "%" else one)
    return starred(parts, ".*")
