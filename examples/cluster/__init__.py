"""A demo: flights go through message groups over a cluster of three queue managers while everything that takes part is killed.

    python -m examples.cluster              January 2013: 27,004 flights, a group for each day, airport and airline
    python -m examples.cluster --short      three days

    QM1  producer EWR, instance of CLUSTER.ORDERS, consumers SINK.1 and SINK.2 ┐
    QM2  producer JFK, instance, consumers SINK.1 and SINK.2                   ├ channels between each two
    QM3  producer LGA, instance, consumers SINK.1 and SINK.2                   ┘

    __main__.py     starts the cluster and the programs, and draws up the balance
    disturbance.py  what goes wrong, and when
    report.py       the tables
    producer.py     a program: the flights of an airport to queue CLUSTER.ORDERS, from one queue manager
    consumer.py     a program: whole groups from the instance at one queue manager to a file
    airports.py     the table of flights, cut into groups
    compare.py      what arrived, and where, against the table

Producers and consumers are applications of mqgroups like any other, and run as well on the containers of ``docker/cluster``.
"""
