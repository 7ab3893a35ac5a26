"""Consumers: the classes and functions that get message groups.

consumer.py       GroupConsumer: what an application makes and iterates over
group.py          IncomingGroup: the messages of one group
iteration.py      the iterator over groups, and over the messages of a group
message_check.py  checks a message before the application gets it
getter.py         gets each message, commits, and gets uncommitted messages again
cursor.py         the position on the queue, and the MQGETs that move it
backout_queue.py  BOTHRESH and BOQNAME of the queue
aside.py          puts messages to the backout queue
rest.py           finds the rest of a group that cannot be completed
repetition.py     logs that a group repeats the one before it
starting.py       opens a consumer's queue, and checks its settings
"""
