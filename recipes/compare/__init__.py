"""Four ways to put a message group, the same faults at every MQI call, and a reader that counts what is on the queue.

    python -m recipes.compare            all faults; writes the figures into recipes/why.md
    python -m recipes.compare --short    a few of them, for the table alone

    campaign.py     which faults, a supervisor that restarts programs, the count
    worker.py       a program: one of the four, in a process of its own
    pseudo_code.py retried_calls.py faststream_programs.py group_producer.py       the four
    reader.py       raw pymqi: what is there, what is missing, what is there twice
    report.py       the tables

It runs on the embedded queue manager, because faults at exact calls are possible there.
"""
