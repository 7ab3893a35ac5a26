"""What to do, decided without doing it: values in, values out.

    model.py         MQ's words as enums: message flags, match options, group status, persistence
    group.py         where a group stands, and how the next message of it is put or got
    unit_of_work.py  when a unit of work has to end
    status.py        the status record, as a value and as bytes
    status_chain.py  how status records and anchors are on their queue, and how the next record is put
    restart.py       what a status record means for the one who starts, and after a commit without an answer
    poison.py        which message makes its consumer fail
    claim.py         who may put which group of a batch
    inspection.py    what there is of each group on a queue
    salvage.py       where a group was interrupted whose record is lost
    cluster.py       groups that are split over the instances of a cluster queue

Nothing here speaks MQI, reads a clock, draws a random number or logs, and nothing here imports anything but the
standard library and this package. The putter and the getter ask for a plan, perform it, and keep the
new position only when the call succeeded.
"""
