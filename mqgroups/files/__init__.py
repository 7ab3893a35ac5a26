"""Makes files from message groups, and message groups from files.

sink.py         ``FileSink``: makes a file from each group, exactly once
description.py  the properties of a group that describe its file; reads those of IBM MQ Managed File Transfer, too
sending.py      makes a group from each file, exactly once
receiving.py    makes the file that was sent from each group, or puts it in quarantine with the reason
"""
