"""A connection to a queue manager, and the MQI calls on it. Modules above this package do not call the MQI.

connection.py       a connection: commits or backs out its unit of work, reconnects, and recovers after an interruption
open_objects.py     MQOPEN and MQCLOSE; the objects that are open
queue.py            MQPUT, MQGET and MQINQ of an open queue
connecting.py       MQCONNX, with retries
tls_identity.py     allows one TLS identity in a process; logs warnings of MQCONNX
handle.py           a connection handle, which is disconnected when nothing refers to it any longer
interruptions.py    notices exceptions that can come anywhere, such as KeyboardInterrupt; allows one caller at a time
retry.py            how long to retry, and after which reason codes
rules.py            which settings of MQCONNX can be combined
syncpoint.py        the rules if the application uses the same unit of work, and if it does not
wrapping.py         makes an application's own QueueManager object refuse to end a unit of work of this package
forwarding.py       moves messages to another queue, unchanged except for requests for reports
unanswered.py       calls MQSTAT to find out whether asynchronous puts succeeded
authorities.py      writes the part of an error with 2035 that names the missing authorities
"""
