"""A pipeline on real data: delays by day and carrier from groups of flights, one for each day, while its driver is killed.

    python -m examples.pipeline             January 2013: 27,004 flights in 31 groups, and some invalid groups
    python -m examples.pipeline --short     three days
    python -m examples.pipeline --cluster   on a cluster of Spark, with executors, a worker and the queue manager killed too

    flights.toml    the pipeline                        delays.sql    its transform
    __main__.py     starts the queue manager, feeds the queue, runs the pipeline, compares the result
    feed.py         the groups: valid ones, and invalid ones made from other days
    driver.py       runs the pipeline's process, and kills it
    cluster.py      starts a master and workers of Spark as processes
    disturbance.py  what else is killed on a cluster, and when
    delays.py       the same statistics from the table, in plain Python
    compare.py      compares queues and files with these statistics

You can also run ``flights.toml`` by itself, on a queue that ``feed.py`` or another program has filled.
"""
