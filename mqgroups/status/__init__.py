"""Units of work, and the status record that ends each of them.

units_of_work.py  begins, commits, backs out, and finds out the outcome of a commit that had no answer
checkpoint.py     removes a checkpoint from a record
owner.py          one name's side of the units of work: where its group stands, and its record
known.py          what an owner knows of its record, and the commit under way
open_unit.py      counts and notes of the open unit of work
keeper.py         the interface for keeping a status record
queue.py          one owner's status queue: its record is replaced in each unit of work, its anchor stays
opening.py        opens a status queue, or makes it, and checks it
records.py        the messages on a status queue as records, and the errors for messages that cannot be used
hooks.py          the values and functions that tell an application about recovery
"""
