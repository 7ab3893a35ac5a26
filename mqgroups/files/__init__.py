"""Message groups as files.

sink.py         ``FileSink``: each group becomes a file, exactly once
description.py  what the properties of a group say of its file; those of IBM MQ Managed File Transfer, too
sending.py      each file becomes a group, exactly once
receiving.py    each group becomes the file that was sent, or goes to quarantine with the reason
"""
