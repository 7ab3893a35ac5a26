"""Makes files from message groups, and message groups from files.

sink.py         ``FileSink``: makes a file from each group, exactly once
description.py  the properties of a group that describe its file; also reads the properties of IBM MQ Managed File Transfer
sending.py      makes a group from each file, exactly once
receiving.py    makes a file from each group; a file that is not as it was sent goes to quarantine, with the reason
"""
