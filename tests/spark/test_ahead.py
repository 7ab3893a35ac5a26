"""What a thread does while nobody calls the source."""

from __future__ import annotations

import itertools
import pickle
import threading

from mqgroups.errors import GroupUsage
from mqgroups.spark.ahead import Ahead


def test_it_goes_on_until_it_is_ended():
    begun = threading.Event()

    def steps():
        for _ in itertools.count():
            begun.set()
            yield

    ahead = Ahead()
    for _ in range(2):
        begun.clear()
        ahead.begin(steps())
        assert begun.wait(60)
        ahead.end()
        assert "mqgroups-ahead" not in [thread.name for thread in threading.enumerate()]
    ahead.end()
    pickle.dumps(ahead)


def test_an_error_is_left_to_the_next_call(caplog):
    def steps():
        yield
        done.set()
        raise GroupUsage("not now")

    ahead = Ahead()
    done = threading.Event()
    with caplog.at_level("DEBUG", "mqgroups.spark"):
        ahead.begin(steps())
        assert done.wait(60)
        ahead.end()
    assert "not now" in caplog.text
