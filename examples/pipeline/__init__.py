"""A pipeline on real data: flights, a group a day, to delays by day and carrier; its driver is killed on the way.

    python -m examples.pipeline             January 2013: 27,004 flights in 31 groups, and some that are bad
    python -m examples.pipeline --short     three days

    flights.toml    the pipeline                        delays.sql    its transform
    __main__.py     starts the queue manager, feeds the queue, runs the pipeline, draws up the balance
    feed.py         the groups: good ones, and bad ones made of other days
    driver.py       the pipeline's process, and its SIGKILL
    delays.py       the same statistics from the table, in plain Python
    compare.py      what there is on queues and in files against that

``flights.toml`` runs as well by itself, on a queue that ``feed.py`` or anybody has filled.
"""
