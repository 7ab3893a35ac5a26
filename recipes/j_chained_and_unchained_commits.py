"""Chained and unchained commits of Hitachi TP1/Message Queue, and their equivalents in the MQI and mqgroups.

Hitachi's manual (TP1/Message Queue, 10.3.2) describes the same pattern as IBM's topic q026290, with OpenTP1's transactions:

    dc_trn_begin()              begins a transaction
    dc_trn_chained_commit()     commits it and begins the next one at once: between the units of work of a group
    dc_trn_unchained_commit()   commits it and begins none: after the last unit of work of a group

The MQI has no call that begins a unit of work (MQBEGIN is for global ones): the first call with SYNCPOINT after
MQCMIT begins it. So MQCMIT corresponds to both commits; they differ in whether the queue handle is in a group, and
whether StatusInfo is left:

    TP1/Message Queue                  MQI                                       mqgroups
    dc_trn_begin()                     first MQPUT or MQGET with SYNCPOINT       first group.put(); the first message
    ... dc_trn_chained_commit()        MQPUT StatusInfo, MQCMIT                  the syncpoint at ``commit_every``
    ... dc_trn_unchained_commit()      MQGET StatusInfo, MQCMIT                  the end of the group
    dc_trn_chained_rollback()          MQBACK, and continue the group            an exception inside the ``with`` block,
                                                                                 then producer.group() again
    dc_trn_unchained_rollback()        MQBACK                                    an exception inside the ``with`` block
    the program dies                   MQBACK by the queue manager               producer.group() after the restart

There are two differences. With mqgroups a record, marked completed, stays on the status queue after the last commit
of a group, until the producer or consumer is closed. So if the reply of a commit is lost, its outcome can be found
out. And in Hitachi's restart example the first put repeats the recorded number, as in IBM's: see d_restart_put.py.

This program puts nine orders in units of work of three, stops in the middle of the second one, resumes, gets the
orders in units of work of four, and prints which commit is which.
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
