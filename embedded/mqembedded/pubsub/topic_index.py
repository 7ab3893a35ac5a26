"""An index of subscriptions by topic string. It finds a publication's subscriptions without testing every subscription.

Topic strings without wildcards are in a dictionary. Topic strings with topic-based wildcards are in a tree, under their levels
before the first ``#``. Topic strings with character wildcards are found by their text before the first wildcard. The index can
find too many subscriptions, but never too few. ``Subscription.matches`` decides which of them match.

``topic_string.py`` interprets wildcards.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Generic, TypeVar

from mqembedded.pubsub.topic_string import SEPARATOR, Wildcards, has_wildcards

T = TypeVar("T")
_SPECIAL = re.compile(r"[*?%]")


class _Level(Generic[T]):
    """A level of the tree. The topic strings of ``here`` end with it. In the topic strings of ``below``, ``#`` follows it."""

    __slots__ = ("below", "here", "next")

    def __init__(self) -> None:
        self.here: dict[T, None] = {}
        self.below: dict[T, None] = {}
        self.next: dict[str, _Level[T]] = {}

    def __bool__(self) -> bool:
        return bool(self.here or self.below or self.next)


class TopicIndex(Generic[T]):
    """An index of values by topic string. Several values can have the same topic string."""

    def __init__(self) -> None:
        self._plain: dict[str, dict[T, None]] = {}
        self._root: _Level[T] = _Level()
        self._by_beginning: dict[str, dict[T, None]] = {}
        # How many different beginnings have each length.
        self._lengths: Counter[int] = Counter()

    def add(self, topic_string: str, wildcards: Wildcards, one: T) -> None:
        """Add a value with this topic string."""
        if wildcards is Wildcards.CHARACTER and _SPECIAL.search(topic_string):
            beginning = _SPECIAL.split(topic_string, 1)[0]
            self._lengths[len(beginning)] += beginning not in self._by_beginning
            self._by_beginning.setdefault(beginning, {})[one] = None
        elif has_wildcards(topic_string, wildcards):
            levels, ends = _levels(topic_string)
            at = self._root
            for level in levels:
                at = at.next.setdefault(level, _Level())
            (at.here if ends else at.below)[one] = None
        else:
            self._plain.setdefault(topic_string, {})[one] = None

    def remove(self, topic_string: str, wildcards: Wildcards, one: T) -> None:
        """Remove a value that was added with this topic string."""
        if wildcards is Wildcards.CHARACTER and _SPECIAL.search(topic_string):
            beginning = _SPECIAL.split(topic_string, 1)[0]
            _discard(self._by_beginning, beginning, one)
            self._lengths[len(beginning)] -= beginning not in self._by_beginning
        elif has_wildcards(topic_string, wildcards):
            levels, ends = _levels(topic_string)
            path = [self._root]
            for level in levels:
                path.append(path[-1].next[level])
            del (path[-1].here if ends else path[-1].below)[one]
            while levels and not path.pop():
                del path[-1].next[levels.pop()]
        else:
            _discard(self._plain, topic_string, one)

    def candidates(self, topic_string: str) -> Iterator[T]:
        """Yield the values whose topic strings can match this topic. No value is yielded twice."""
        yield from self._plain.get(topic_string, ())
        if self._root:
            yield from dict.fromkeys(self._in_tree(topic_string.split(SEPARATOR)))
        for length, beginnings in self._lengths.items():
            if beginnings and length <= len(topic_string):
                yield from self._by_beginning.get(topic_string[:length], ())

    def _in_tree(self, levels: list[str]) -> Iterator[T]:
        reached = [self._root]
        for level in levels:
            for at in reached:
                yield from at.below
            # A level in the topic can itself have the name "+".
            reached = [at.next[name] for at in reached for name in {level, "+"} if name in at.next]
        for at in reached:
            yield from at.below
            yield from at.here


def _levels(topic_string: str) -> tuple[list[str], bool]:
    """Return a topic string's levels before the first ``#``, and whether the topic string has no ``#``."""
    levels = topic_string.split(SEPARATOR)
    if "#" not in levels:
        return levels, True
    return levels[: levels.index("#")], False


def _discard(found: dict[str, dict[T, None]], key: str, one: T) -> None:
    del found[key][one]
    if not found[key]:
        del found[key]
