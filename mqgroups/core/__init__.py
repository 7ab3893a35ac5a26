"""Decisions as pure functions: values in, values out.

    model.py         MQ's terms as enums: message flags, match options, group status, persistence
    group.py         the position in a group, and how to put or get its next message
    unit_of_work.py  when a unit of work must end
    status.py        the status record, as a value and as bytes
    status_chain.py  how status records and their anchors are stored on their queue, and how to put the next record
    restart.py       what a status record means for an owner that starts, or whose commit had no answer
    group_key.py     the identity of a group, and how to compare it with the previous group's
    poison.py        which message makes its consumer fail
    rest.py          what is left of a group whose next message does not arrive
    claim.py         which attempt may put which group of a batch

No function here calls the MQI, reads a clock, draws a random number or logs. The modules import only the standard library and
each other. The putter and the getter ask for a plan, perform it, and keep the new position only if the call succeeded.

Not here: rules that only operators' functions and commands use (``operate/rules/``).
"""
