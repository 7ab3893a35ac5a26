"""A connection to a queue manager, and the MQI calls on it. Modules above this package do not call the MQI.

connection.py       a connection: MQCMIT, MQBACK, its one unit of work; reconnects, and recovers after an interruption
open_objects.py     MQOPEN and MQCLOSE; the objects that are open
queue.py            MQPUT, MQGET and MQINQ of an open queue
connecting.py       MQCONNX, with retries
tls_identity.py     allows one TLS identity in a process; logs warnings of MQCONNX
handle.py           a connection handle, which is disconnected when nothing refers to it any longer
interruptions.py    notices exceptions that come between any two instructions; allows one caller at a time
retry.py            how long to retry, and after which reason codes
rules.py            which settings of MQCONNX can be combined
syncpoint.py        whether the application uses the same unit of work
wrapping.py         refuses calls on an application's own QueueManager object while it is wrapped
forwarding.py       moves messages to another queue as they are, without reports
unanswered.py       asks with MQSTAT whether asynchronous puts succeeded
authorities.py      names the authorities that a call needs, for errors with 2035
"""
