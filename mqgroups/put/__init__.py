"""Producers: the classes and functions that put message groups.

producer.py     GroupProducer: what an application makes
group.py        OutgoingGroup: what ``with producer.group() as group`` returns; it holds one message back
payload.py      the payloads that an application can put (bytes, text, streams), and how they are cut into segments
putter.py       puts each message, commits, and puts uncommitted messages again after a failure
answers.py      which puts are asynchronous, and whether they succeeded
descriptors.py  the MQMD and MQPMO of each message
properties.py   the properties of a group, which are put with its first message
destination.py  the queue that messages go to; keeps a group on one instance of a cluster queue
"""
