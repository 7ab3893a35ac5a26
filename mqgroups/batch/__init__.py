"""Groups of a batch, put by many short-lived attempts that share a status queue (``core.claim``).

producer.py         BatchProducer: one attempt at one part of a batch
claimed_records.py  one group's status record, claimed by an attempt
shared_queue.py     the status queue that the attempts share
completion.py       the end of a batch: puts its mark, removes its records
errors.py           the refusal of a batch that would double groups
"""
