"""A demo: message groups with flights go over a cluster of three queue managers, while programs and queue managers are killed.

    python -m examples.cluster              January 2013: 27,004 flights, a group for each day, airport and airline
    python -m examples.cluster --short      three days

    QM1  producer EWR, instance of CLUSTER.ORDERS, consumers SINK.1 and SINK.2 ┐
    QM2  producer JFK, instance, consumers SINK.1 and SINK.2                   ├ channels between each two
    QM3  producer LGA, instance, consumers SINK.1 and SINK.2                   ┘

    __main__.py     starts the cluster and the programs, and compares the result
    disturbance.py  the disturbances, and when they happen
    report.py       the tables
    producer.py     a program: puts the flights of an airport to queue CLUSTER.ORDERS, from one queue manager
    consumer.py     a program: gets whole groups from the instance at one queue manager into a file
    airports.py     the table of flights, divided into groups
    compare.py      compares the messages that arrived with the table

Producers and consumers are ordinary applications of mqgroups, and also run on the containers of ``docker/cluster``.
"""
