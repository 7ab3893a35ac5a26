"""How a message is put.

producer.py     GroupProducer: what an application makes
group.py        OutgoingGroup: what ``with producer.group() as group`` returns; it holds one message back
payload.py      the payloads that an application may put (bytes, text, streams), and how they are cut into segments
putter.py       puts each message, commits, and re-puts whatever was not committed
descriptors.py  the MQMD and MQPMO of each message
destination.py  the queue that messages go to; keeps a group on one instance of a cluster queue
"""
