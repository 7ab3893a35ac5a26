"""Consumers: getting the messages of groups.

consumer.py       GroupConsumer: what an application makes and iterates over
group.py          IncomingGroup: checks each message before the application gets it
getter.py         begins units of work, commits, and gets again whatever was not committed
cursor.py         the position on the queue, and the MQGETs that move it
backout_queue.py  the queue for messages that cannot be processed
rest.py           what is left on the queue of a group that cannot be completed
"""
