"""Units of work, and the status record that ends each of them.

units_of_work.py  begins, commits, backs out, and finds out what became of a commit without an answer
owner.py          one name's side of them: what is known of its record
open_unit.py      what is not committed yet
keeper.py         what units of work need of the place where a record is kept
queue.py          a status queue of an owner's own: its record and anchor, replaced in each unit of work
opening.py        opens a status queue, or makes it, and checks it
records.py        the messages on a status queue as records, and the errors for those that cannot be used
hooks.py          what an application is told about recovery
"""
