"""Compare four ways to put a message group: the same faults at every MQI call, and a reader that counts the messages.

    python -m recipes.compare            all faults; writes the figures into recipes/why.md
    python -m recipes.compare --short    some of them, and only the table

    campaign.py     the faults, a supervisor that restarts programs, the counts
    worker.py       runs one of the programs in a separate process
    pseudo_code.py retried_calls.py faststream_programs.py group_producer.py       the four ways
    reader.py       plain pymqi: which messages are there, missing, or doubled
    report.py       the tables

It runs on the embedded queue manager, because faults at exact calls are possible there.
"""
