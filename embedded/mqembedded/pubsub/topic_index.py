"""An index of subscriptions by topic string, which finds those of a publication without looking at the others.

A topic string without wildcards is looked up in a dictionary. With topic-based wildcards, its levels up to the first ``#`` are
a path in a tree. With character wildcards, it is looked up by the text before the first wildcard. The index may find too many
subscriptions, never too few; ``Subscription.matches`` decides.

Pure. Not here: the meaning of wildcards (``topic_string.py``).
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
    """A level of the tree. Topic strings in ``here`` end at it; those in ``below`` continue with ``#``."""

    __slots__ = ("below", "here", "next")

    def __init__(self) -> None:
        self.here: dict[T, None] = {}
        self.below: dict[T, None] = {}
        self.next: dict[str, _Level[T]] = {}

    def __bool__(self) -> bool:
        return bool(self.here or self.below or self.next)


class TopicIndex(Generic[T]):
    """Values by topic string; several values may have the same one."""

    def __init__(self) -> None:
        self._plain: dict[str, dict[T, None]] = {}
        self._root: _Level[T] = _Level()
        self._by_beginning: dict[str, dict[T, None]] = {}
        # The number of different beginnings of each length.
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
        """Yield the values whose topic strings may match this topic, each once."""
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
            # The name of a level in the topic may itself be "+".
            reached = [at.next[name] for at in reached for name in {level, "+"} if name in at.next]
        for at in reached:
            yield from at.below
            yield from at.here


def _levels(topic_string: str) -> tuple[list[str], bool]:
    """Return the levels before the first ``#``, and whether these are all levels."""
    levels = topic_string.split(SEPARATOR)
    if "#" not in levels:
        return levels, True
    return levels[: levels.index("#")], False


def _discard(found: dict[str, dict[T, None]], key: str, one: T) -> None:
    del found[key][one]
    if not found[key]:
        del found[key]
