"""A pipeline on real data, ``pipeline.py``, while everything is killed that it runs on; and the comparison of its results.

python -m examples.pipeline             January 2013: 27,004 flights in 31 groups, and some bad groups; the driver is killed
python -m examples.pipeline --short     three days
python -m examples.pipeline --cluster   on a cluster of Spark, with executors, a worker and the queue manager killed too

pipeline.py     the program: it knows nothing of the rest
__main__.py     starts the queue manager, feeds the queue, runs the program, compares its results
feed.py         the groups: good ones, and bad ones made of other days
kills.py        runs the program, and kills it and what it runs on
cluster.py      starts a master and workers of Spark as processes
compare.py      what the results should be, counted from the table without MQ and Spark, and what is different
"""
