"""Units of work, and the status record that ends each unit of work.

units_of_work.py  begins, commits and backs out; recovers after a lost connection, a commit without an answer, or an interruption
performer.py      makes the calls of the protocol (``core/protocol.py``)
owner.py          one name's part of the units of work: its position in a group, and its record
keeper.py         the interface for keeping a status record
queue.py          one owner's status queue: its record is replaced in each unit of work, its anchor stays
opening.py        opens a status queue, or makes it, and checks it
records.py        the messages on a status queue as records, and the errors for messages that cannot be used
writer.py         the name of this package and its version, for records
hooks.py          the functions that tell an application about recovery and progress, and the values that they get
"""
