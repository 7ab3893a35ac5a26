"""The demo, ``mqgroups demo``: sends a table of flights as message groups, and kills programs and queue manager meanwhile.

    run.py          starts the queue manager, producer and consumer, kills them, and compares the result
    supervisor.py   kills and restarts processes until they are done
    producer.py     a program that puts flights to queue FLIGHTS, one group for each day
    consumer.py     a program that gets groups from queue FLIGHTS into files, one file for each group
    program.py      the common parts of both programs
    source.py       reads the table; flights.csv.zip in this folder has a week of the table
    compare.py      compares the messages that arrived with the table

Producer and consumer are ordinary applications of mqgroups. They are independent of each other, and only print lines
of progress for the supervisor. They also run on IBM MQ.
"""
