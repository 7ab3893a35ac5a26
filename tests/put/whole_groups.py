"""What the tests of producers put, to its end, and how they know it on a queue."""

from __future__ import annotations

from collections import defaultdict

from embedded_tests.fix_mqi import wait_until
from mqgroups.mqi import constants as mq

THIS = [b"%d" % number for number in range(7)]


class Crash(Exception):
    """The application's own trouble."""


def is_whole_group(found, payloads):
    """Whether messages on a queue are one whole group with this data."""
    return (
        [message.data for message in found] == list(payloads)
        and [message.msg_seq_number for message in found] == list(range(1, len(payloads) + 1))
        and len({message.group_id for message in found}) == 1
        and found[0].group_id != mq.MQGI_NONE
        and [message.is_last for message in found] == [False] * (len(payloads) - 1) + [True]
    )


def put_rest(producer, payloads=THIS):
    """Put what is left of a group; returns after how many messages it was resumed."""
    with producer.group() as group:
        for data in payloads[group.resume_from :]:
            group.put(data)
    return group.resume_from


def is_put_whole(cluster, queue, payloads, at):
    """Wait until a group of these messages is whole at one of these instances."""

    def is_there():
        for name in at:
            groups = defaultdict(list)
            for answer in cluster.browse(name, queue):
                groups[answer.place[0]].append((answer.place[1], answer.data))
            if any(sorted(group) == list(enumerate(payloads, 1)) for group in groups.values()):
                return True
        return False

    wait_until(is_there)
    return True
