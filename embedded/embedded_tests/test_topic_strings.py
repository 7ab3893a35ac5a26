"""Topic strings: IBM's examples, and wildcards against a matcher that works another way."""

from __future__ import annotations

import fnmatch

from hypothesis import example, given
from hypothesis import strategies as st

from embedded_tests.tables import table
from mqembedded.pubsub.topic_string import (
    Wildcards,
    bytes_of,
    combined,
    has_wildcards,
    is_well_formed,
    matcher,
    text_of,
)

TOPIC, CHARACTER = Wildcards.TOPIC, Wildcards.CHARACTER


@table(
    ("of_object", "given_string", "whole"),
    [
        # Table 1 of "Using topic strings" (q100210)
        ("Football/Scores", "", "Football/Scores"),
        ("", "Football/Scores", "Football/Scores"),
        ("Football", "Scores", "Football/Scores"),
        ("Football", "/Scores", "Football//Scores"),
        ("/Football", "Scores", "/Football/Scores"),
        # "present if the first character is not a blank or null"
        ("Football", " Scores", "Football"),
        ("", "", ""),
    ],
)
def test_parts_of_a_topic_string_are_combined(of_object, given_string, whole):
    assert combined(of_object, given_string) == whole


@table(
    ("pattern", "topic", "matches"),
    [
        # "Topic-based wildcard scheme" (q005020)
        ("IBM/+/Results", "IBM/Software/Results", True),
        ("IBM/+/Results", "IBM/Results", False),
        ("IBM/+/Results", "IBM/Software/UK/Results", False),
        ("USA/Alaska/#", "USA/Alaska", True),
        ("USA/Alaska/#", "USA/Alaska/Juneau", True),
        ("USA/Alaska/#", "USA/Alabama", False),
        ("#/Results", "IBM/Software/Results", True),
        ("#/Results", "Results", True),
        ("#", "any/thing/at/all", True),
        ("USA/#/Juneau", "USA/Juneau", True),
        ("USA/#/Juneau", "USA/Alaska/Sitka/Juneau", True),
        ("#/+", "USA", True),
        ("USA/Ala+", "USA/Alaska", False),
        ("USA/Ala+", "USA/Ala+", True),
        ("USA/*", "USA/Alaska", False),
        ("Football", "/Football", False),
        ("+/Football", "/Football", True),
        ("USA", "usa", False),
        ("#", "$SYS/MQ/INFO", False),
        ("$SYS/MQ/#", "$SYS/MQ/INFO", True),
    ],
)
def test_topic_based_wildcards(pattern, topic, matches):
    assert matcher(pattern, TOPIC)(topic) is matches


@table(
    ("pattern", "topic", "matches"),
    [
        ("IBM/*ware/Results", "IBM/Software/Results", True),
        ("IBM/*ware/Results", "IBM/Software/UK/ware/Results", True),
        ("IBM/*ware/Results", "IBM/Services/Results", False),
        ("*", "any/thing", True),
        ("a?c", "a/c", True),
        ("a?c", "ac", False),
        ("a%*c", "a*c", True),
        ("a%*c", "abc", False),
        ("100%%", "100%", True),
        ("a/+/c", "a/b/c", False),
        ("grün?", "grüne", True),
        ("a.c", "abc", False),
        ("*ab*ab?*b", "aabab.b", True),
        ("*ab*ab?*b", "aabab.", False),
        ("**a*a", "aa", True),
        # Each of these asterisks could stand for any number of the letters.
        ("*a" * 100 + "*b", "a" * 10_000, False),
    ],
)
def test_character_wildcards(pattern, topic, matches):
    assert matcher(pattern, CHARACTER)(topic) is matches


@table(("pattern", "formed"), [("a%*", True), ("a%%", True), ("a%b", False), ("a%", False), ("", True)])
def test_the_escape_character_stands_before_what_it_escapes(pattern, formed):
    assert is_well_formed(pattern, CHARACTER) is formed
    assert is_well_formed(pattern, TOPIC)


@table(
    ("pattern", "topic_based", "character_based"),
    [
        ("a/b", False, False),
        ("a/+", True, False),
        ("a+/b", False, False),
        ("#", True, False),
        ("a*", False, True),
        ("a%*", False, False),
    ],
)
def test_what_has_wildcards(pattern, topic_based, character_based):
    assert (has_wildcards(pattern, TOPIC), has_wildcards(pattern, CHARACTER)) == (topic_based, character_based)


def naive(pattern: list[str], topic: list[str]) -> bool:
    """Try everything."""
    if not pattern:
        return not topic
    if pattern[0] == "#":
        return any(naive(pattern[1:], topic[at:]) for at in range(len(topic) + 1))
    return bool(topic) and pattern[0] in ("+", topic[0]) and naive(pattern[1:], topic[1:])


@given(
    pattern=st.lists(st.sampled_from(["a", "b", "", "+", "#"]), min_size=1, max_size=6),
    topic=st.lists(st.sampled_from(["a", "b", "", "c"]), min_size=1, max_size=6),
)
@example(pattern=["#", "a", "#", "a"], topic=["a", "b", "a"])
def test_topic_based_wildcards_mean_what_trying_everything_finds(pattern, topic):
    assert matcher("/".join(pattern), TOPIC)("/".join(topic)) is naive(pattern, topic)


@given(pattern=st.text("ab/*?.", max_size=8), topic=st.text("ab/.", max_size=8))
def test_character_wildcards_mean_what_a_shell_s_do(pattern, topic):
    assert matcher(pattern, CHARACTER)(topic) is fnmatch.fnmatchcase(topic, pattern)


@given(raw=st.binary(max_size=40))
def test_any_bytes_come_back_as_they_were(raw):
    assert bytes_of(text_of(raw)) == raw
