"""A connection to a queue manager, and the MQI calls on it. Modules above this package do not call the MQI.

connection.py       a connection: MQCMIT, MQBACK, its one unit of work; reconnects, and recovers after an interruption
open_objects.py     MQOPEN, MQCLOSE; what is open
queue.py            MQPUT, MQGET and MQINQ of an open queue
connecting.py       MQCONNX, with retries
tls_identity.py     one TLS identity in a process; warnings of MQCONNX
handle.py           a connection handle, disconnected when nothing refers to it any longer
interruptions.py    exceptions that come between any two instructions; one caller at a time
retry.py            how long and after which reason codes to retry
rules.py            which settings of MQCONNX may be combined
wrapping.py         which calls are refused on an application's own QueueManager object while it is wrapped
forwarding.py       moves messages to another queue as they are, without reports
unanswered.py       MQSTAT: what became of asynchronous puts
authorities.py      the authorities that a call needs, for errors with 2035
"""
