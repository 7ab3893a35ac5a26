"""What to do, decided without doing it: values in, values out.

    model.py         MQ's words as enums: message flags, match options, group status, persistence
    group.py         where a group stands, and how the next message of it is put or got
    unit_of_work.py  when a unit of work has to end
    status.py        the status record, as a value and as bytes
    restart.py       what a status record means for the one who starts

Nothing here speaks MQI, reads a clock, draws a random number or logs, and nothing here imports anything but the
standard library and this package. Drivers (``producer.py``, ``consumer.py``) ask for a plan, perform it, and keep the
new position only when the call succeeded.
"""
