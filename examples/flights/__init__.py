"""A demo: a table of flights goes through message groups while everything that takes part is killed.

    python -m examples.flights              January 2013: 27,004 flights, a group for each of 31 days
    python -m examples.flights --all        the year: 336,776 flights
    python -m examples.flights --short      three days

    __main__.py     starts the queue manager, producer and consumer, kills them, and draws up the balance
    supervisor.py   processes that are killed and started again until they are done
    producer.py     a program: flights to queue FLIGHTS, one group a day
    consumer.py     a program: queue FLIGHTS to files, one file a group
    source.py       the table
    compare.py      what arrived against the table

Producer and consumer are applications of mqgroups like any other and know nothing of each other or of being watched, but for
the lines of progress they print. They run as well on IBM MQ.
"""
