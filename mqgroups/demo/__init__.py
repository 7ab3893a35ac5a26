"""The demo, ``mqgroups demo``: sends a table of flights as message groups, and meanwhile kills its programs and queue manager.

    run.py          starts and kills the queue manager, the producer and the consumer, and compares the result with the table
    supervisor.py   kills programs, and restarts them until they are done
    producer.py     a program that puts flights to queue FLIGHTS, one group for each day
    consumer.py     a program that gets groups from queue FLIGHTS into files, one file for each group
    program.py      the common parts of both programs
    source.py       reads the table; flights.csv.zip in this folder has a week of the table
    compare.py      compares the table with the messages that arrived

The producer and the consumer are ordinary applications of mqgroups, and are independent of each other. They print lines of
progress for the supervisor. They also run on IBM MQ.
"""
