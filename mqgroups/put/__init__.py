"""How a message is put.

producer.py     GroupProducer, what an application makes
group.py        OutgoingGroup, what ``with producer.group() as group`` gives; it holds one message back
payload.py      what an application may put: bytes, text, streams; and how a payload is cut into segments
putter.py       puts each message, commits, and re-puts whatever was not committed
destination.py  the queue it goes to; keeps a group on one instance of a cluster queue
"""
