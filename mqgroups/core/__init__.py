"""Decisions as pure functions: values in, values out.

    model.py         MQ's terms as enums: message flags, match options, group status, persistence
    group.py         the position in a group, and how to put or get its next message
    unit_of_work.py  when a unit of work must end
    status.py        the status record, as a value and as bytes
    status_chain.py  how status records are stored on their queue
    restart.py       what a status record tells an owner that starts
    poison.py        which message makes its consumer fail
    claim.py         groups of a batch on a shared status queue
    inspection.py    the groups on a queue, as browsing shows them
    cluster.py       groups that are split over instances of a cluster queue
    salvage.py       how to rebuild a lost status record

No function here calls the MQI, reads a clock, draws a random number or logs. The modules import only the standard library and
each other. Their callers ask for a plan, perform it, and keep the new position only if the call succeeded.
"""
