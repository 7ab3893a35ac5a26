"""Spark queries that are killed at each point of their protocol, and continued from their checkpoint until they are done.

points.py     the points, and how one says where to kill and whom
watched.py    the data source ``ibmmq`` with a watch on its MQI calls; runs in Spark's processes
cases.py      what is drawn from a seed: queries, starts, kills
driver.py     the query, a program of its own: groups from a queue, rows to other groups, groups to a queue
campaign.py   ``make faults OF=spark``: starts, kills, counts, prints; ``look.py`` says what is wrong on the queues
"""
