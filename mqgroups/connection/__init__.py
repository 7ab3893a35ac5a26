"""A connection to a queue manager, and what is called on it. The MQI is called here and nowhere above.

connection.py       MQOPEN, MQCMIT, MQBACK; one unit of work; made again when it is lost
queue.py            MQPUT, MQGET, MQINQ and MQCLOSE of a queue that is open
connecting.py       MQCONNX, tried again
handle.py           a connection handle, disconnected when nothing refers to it any more
turn.py             one caller at a time, and whether the last one was interrupted
retry.py            how long and after which reason codes to try again
rules.py            which settings of MQCONNX go together
wrapping.py         what an application's own QueueManager object may not do meanwhile
forwarding.py       messages put as they were got
message_handles.py  message handles that carry trace context
authorities.py      what a call needs that was refused with 2035
"""
