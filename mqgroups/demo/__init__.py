"""The demo, ``mqgroups demo``: a table of flights is sent as message groups, while the programs and the queue manager are killed.

    run.py          starts the queue manager, producer and consumer, kills them, and compares the result
    supervisor.py   kills and restarts processes until they are done
    producer.py     a program: puts flights to queue FLIGHTS, one group for each day
    consumer.py     a program: gets groups from queue FLIGHTS into files, one file for each group
    program.py      what both programs share
    source.py       the table; flights.csv.zip beside it has a week of it
    compare.py      compares the messages that arrived with the table

Producer and consumer are ordinary applications of mqgroups. They are independent of each other, and only print lines
of progress for the supervisor. They also run on IBM MQ.
"""
