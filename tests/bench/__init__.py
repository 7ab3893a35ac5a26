"""Benchmarks: ratios measured in one run, never asserted. ``make bench`` runs them.

questions.py    the table: each figure answers a question
client.py starting.py latency.py growth.py tracing.py spark.py     the parts: ``measure(run)`` returns figures by name
loops.py        the library, and what it is compared with
documents.py    what is written into documents
"""
