"""A connection to a queue manager, and the MQI calls on it. Modules above this package do not call the MQI.

connection.py       MQOPEN, MQCMIT, MQBACK; one unit of work; reconnects when the connection is lost
queue.py            MQPUT, MQGET, MQINQ and MQCLOSE of an open queue
connecting.py       MQCONNX, with retries
tls_identity.py     one TLS identity in a process; warnings of MQCONNX
handle.py           a connection handle, disconnected when nothing refers to it any longer
turn.py             one caller at a time, and whether the last one was interrupted
retry.py            how long and after which reason codes to retry
rules.py            which settings of MQCONNX may be combined
wrapping.py         which calls are refused on an application's own QueueManager object while it is wrapped
forwarding.py       moves messages to another queue unchanged
inquiry.py          inquires the queue behind an alias
message_handles.py  message handles that carry trace context
authorities.py      the authorities that a call needs, for errors with 2035
"""
