"""A demo: a table of flights is sent as message groups, while the programs and the queue manager are killed.

    python -m examples.flights              January 2013: 27,004 flights, a group for each of 31 days
    python -m examples.flights --all        the year: 336,776 flights
    python -m examples.flights --short      three days

    __main__.py     starts the queue manager, producer and consumer, kills them, and compares the result
    supervisor.py   kills and restarts processes until they are done
    producer.py     a program: puts flights to queue FLIGHTS, one group for each day
    consumer.py     a program: gets groups from queue FLIGHTS into files, one file for each group
    source.py       the table
    compare.py      compares the messages that arrived with the table

Producer and consumer are ordinary applications of mqgroups. They are independent of each other, and only print lines
of progress for the supervisor. They also run on IBM MQ.
"""
