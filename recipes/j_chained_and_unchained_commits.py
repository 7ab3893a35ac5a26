"""Chained and unchained commits of Hitachi TP1/Message Queue, and what they are here.

Hitachi's manual (TP1/Message Queue, 10.3.2) has the same pattern as IBM's topic q026290, in OpenTP1's transactions:

    dc_trn_begin()              begins a transaction
    dc_trn_chained_commit()     commits it and begins the next one at once: between the units of work of a group
    dc_trn_unchained_commit()   commits it and begins none: after the last unit of work of a group

The MQI has no call that begins a unit of work (MQBEGIN is for global ones): the first call with SYNCPOINT after MQCMIT does.
So MQCMIT is both; what makes the difference is whether the queue handle is in a group, and whether StatusInfo is left:

    TP1/Message Queue                  MQI                                       mqgroups
    dc_trn_begin()                     first MQPUT or MQGET with SYNCPOINT       first group.put(); the first message
    ... dc_trn_chained_commit()        MQPUT StatusInfo, MQCMIT                  the syncpoint that ``every`` takes
    ... dc_trn_unchained_commit()      MQGET StatusInfo, MQCMIT                  the end of the group
    dc_trn_chained_rollback()          MQBACK, and go on in the group            an exception inside the ``with`` block,
                                                                                 then producer.group() again
    dc_trn_unchained_rollback()        MQBACK                                    the same, and nothing after it
    the program dies                   MQBACK by the queue manager               the same, and producer.group() next time

Two things are different. With mqgroups a record stays on the status queue after the last commit of a group, marked
completed, until the producer or consumer is closed: so a commit whose reply was lost can be told from one that never was.
And in Hitachi's restart example the first put repeats the recorded number, as in IBM's: see d_restart_put.py.

This program puts nine orders in units of work of three, stops in the middle of the second one, goes on, gets them in units
of work of four, and says which commit is which.
"""

import os
import sys

import mqgroups

QUEUE, NAME = sys.argv[1:] or ["RECIPES.ORDERS", "RECIPES.J"]
ORDERS = [f"order {number}" for number in range(1, 10)]


class Stop(Exception):
    """The application does not want this unit of work."""


def put(producer: mqgroups.GroupProducer, stop_at: int = 0) -> None:
    """Put the group, or what is missing of it; the checkpoint of the last commit shows when there was one."""
    with producer.group() as group:
        print("begin after", group.resume_from)
        for number, order in enumerate(ORDERS[group.resume_from :], group.resume_from + 1):
            committed = producer.checkpoint
            if number == stop_at:
                raise Stop
            group.set_checkpoint(number)
            group.put(order)
            if producer.checkpoint != committed:
                print("chained commit: put up to", producer.checkpoint)
    # The last message says that it is the last, so it is put when the block ends, and committed with the group.
    print("unchained commit: put up to", producer.checkpoint)


with mqgroups.connect(
    os.environ.get("MQGROUPS_Q_MGR_NAME", "QM1"),
    "DEV.APP.SVRCONN",
    os.environ.get("MQGROUPS_CONN_NAME", "localhost(1414)"),
    user=os.environ.get("MQ_USER"),
    password=os.environ.get("MQ_PASSWORD"),
) as q_mgr:
    with q_mgr.group_producer(QUEUE, name=NAME, commit_every=3) as producer:
        try:
            put(producer, stop_at=6)
        except Stop:
            print("rollback to", producer.checkpoint)
        put(producer)

    with q_mgr.group_consumer(QUEUE, name=NAME, commit_every=4, wait_s=0) as consumer:
        got: list[mqgroups.Message] = []

        @consumer.before_commit
        def say_which(_: mqgroups.IncomingGroup) -> None:
            kind = "unchained" if got[-1].is_last else "chained"
            print(f"{kind} commit: got up to", got[-1].msg_seq_number)

        for group in consumer:
            for message in group:
                got.append(message)
