"""How a message is got.

consumer.py       GroupConsumer, what an application makes and iterates over
group.py          IncomingGroup: each message is looked at before the application sees it
getter.py         begins units of work, commits, and gets again whatever was not committed
cursor.py         the place on the queue, and the MQGETs that move it
backout_queue.py  where messages go that cannot be processed
unreachable.py    a warning for groups on the queue that logical order never shows
"""
