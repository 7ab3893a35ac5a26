"""Groups of a batch, put by many short-lived attempts that share a status queue (``core.claim``).

producer.py         BatchProducer, one attempt at one part of a batch
claimed_records.py  one group's status record, claimed by the attempt
shared_queue.py     the status queue that they share
completion.py       the end of a batch: its records are removed
"""
