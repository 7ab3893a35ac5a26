"""An API exit, as those for tracing are, adds a property to each message that is put: to status records too."""

from __future__ import annotations

import pytest

from mqembedded import Fault

pytestmark = pytest.mark.embedded
THIS = [b"%d" % number for number in range(7)]
PROPERTY = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}


@pytest.fixture
def exited(own_queue_manager, make_owner):
    """An owner at a queue manager with such an exit."""
    return make_owner(own_queue_manager(readings={"api exit": "adds a property"}), "ORDERS")


@pytest.mark.parametrize("layout", ["classic", "segmented"])
def test_records_are_read_as_they_were_put(exited, layout):
    exited.interrupt_put(THIS[:5])
    with exited.producer(status_layout=layout) as producer, producer.group() as group:
        assert group.resume_from == 4
        exited.put_all(group, THIS[4:])
    with exited.consumer(status_layout=layout) as consumer:
        group = next(iter(consumer))
        assert next(iter(group)).properties == PROPERTY
    with exited.consumer(status_layout=layout) as consumer:
        assert [[message.data for message in group] for group in consumer] == [THIS]


def test_a_commit_whose_answer_is_lost_has_its_verdict(exited):
    with exited.producer(exited.connect(reconnect_wait_s=10)) as producer, producer.group() as group:
        exited.target.arm(Fault("drop", "after", verb="MQCMIT"))
        exited.put_all(group, THIS)
    assert exited.target.faults_fired() == 1
    with exited.consumer() as consumer:
        assert [[message.data for message in group] for group in consumer] == [THIS]
