"""Batches: many short-lived attempts put the groups of a batch, and share a status queue (``core.claim``).

producer.py         BatchProducer: one attempt at one part of a batch
claimed_records.py  one group's status record, which an attempt claims
shared_queue.py     the status queue that the attempts share
completion.py       the end of a batch: puts its high-water mark, and removes its records
errors.py           the refusal of a batch that would put messages twice
"""
