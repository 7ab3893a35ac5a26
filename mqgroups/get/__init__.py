"""Consumers: the classes and functions that get message groups.

consumer.py       GroupConsumer: the object that an application makes and iterates over
group.py          IncomingGroup: the messages of one group
iteration.py      the iterator over groups, and over the messages of a group
message_check.py  checks a message before the application gets it
getter.py         gets each message, commits, and gets uncommitted messages again
cursor.py         the position in a group, and the MQGETs that move this position
backout_queue.py  reads BOTHRESH and BOQNAME of the queue
aside.py          puts messages to the backout queue
rest.py           finds and gets the rest of a group that cannot be completed
repetition.py     logs a warning if a group repeats the previous group
starting.py       opens a consumer's queue, and checks its settings
"""
