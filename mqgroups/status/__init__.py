"""Units of work, and the status record that is put at the end of each unit of work.

units_of_work.py  begins and ends units of work; recovers after a lost connection, an unanswered commit or an interruption
performer.py      makes the calls of the protocol (``core/protocol.py``)
owner.py          one name's part of the units of work: the position in a group, and the next status record
keeper.py         the interface of the objects that keep a status record
queue.py          one owner's status queue: each unit of work replaces the record, but not the anchor
opening.py        opens a status queue, or makes it, and checks it
records.py        the messages on a status queue as records, and the errors for messages that cannot be used
writer.py         the name and version of this package, which each status record contains
hooks.py          the functions that tell an application about recovery and progress, and the values that they get
"""
