"""The groups of the tests of consumers, and how they are processed."""

from __future__ import annotations

THIS = [b"%d" % number for number in range(7)]
THAT = [b"that %d" % number for number in range(3)]


class Crash(Exception):
    """The application's own trouble."""


def process(group):
    """Process what is left of a group; return the data."""
    return [message.data for message in group]
