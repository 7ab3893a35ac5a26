"""Which subscriptions a publication may be for, found without a look at all of them.

IBM MQ, topics "Topic-based wildcard scheme" (q005020), "Wildcard schemes" (q005010).
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from embedded_tests.tables import table
from mqembedded.pubsub.topic_index import TopicIndex
from mqembedded.pubsub.topic_string import Wildcards, is_well_formed, matcher

levels = st.sampled_from(["a", "b", "", "+", "#", "a*", "?", "*", "%*", "$SYS", "MQ"])
topic_strings = st.lists(levels, min_size=1, max_size=4).map("/".join)
subscriptions = st.tuples(topic_strings, st.sampled_from(Wildcards)).filter(lambda each: is_well_formed(*each))
topics = st.lists(st.sampled_from(["a", "b", "", "+", "ab", "*", "$SYS", "MQ"]), min_size=1, max_size=4).map("/".join)


@given(st.lists(subscriptions, max_size=8), topics, st.data())
def test_every_subscription_that_matches_is_among_the_candidates(subscriptions, topic, data):
    index: TopicIndex[int] = TopicIndex()
    there = dict(enumerate(subscriptions))
    for number, (string, wildcards) in there.items():
        index.add(string, wildcards, number)
    for number in data.draw(st.lists(st.sampled_from(sorted(there)), unique=True)) if there else []:
        string, wildcards = there.pop(number)
        index.remove(string, wildcards, number)
    found = list(index.candidates(topic))
    assert len(found) == len(set(found))
    assert set(found) <= set(there)
    assert {number for number, each in there.items() if matcher(*each)(topic)} <= set(found)


@table(
    ("string", "wildcards"),
    [
        ("orders/{}", Wildcards.TOPIC),
        ("orders/{}/+", Wildcards.TOPIC),
        ("orders/{}/#", Wildcards.TOPIC),
        ("orders/{}/*", Wildcards.CHARACTER),
        ("orders/{}%%", Wildcards.CHARACTER),
    ],
)
def test_subscriptions_to_other_topics_are_not_looked_at(string, wildcards):
    index: TopicIndex[int] = TopicIndex()
    for number in range(1000, 2000):
        index.add(string.format(number), wildcards, number)
    assert list(index.candidates("orders/1234/new")) in ([], [1234])
    assert list(index.candidates(string.format(1234))) == [1234]
    for number in range(1000, 2000):
        index.remove(string.format(number), wildcards, number)
    assert not list(index.candidates(string.format(1234)))
