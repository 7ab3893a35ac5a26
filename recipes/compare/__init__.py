"""Compare ways to put a message group: the same job, the same faults at every MQI call, and a reader that counts the messages.

    python -m recipes.compare            all faults; writes docs/explanation/why.md and docs/_static/compare.svg
    python -m recipes.compare --short    some of them, and only the table

    campaign.py     the faults, a supervisor that restarts programs, the counts, and what the job costs undisturbed
    worker.py       runs one of the programs in a separate process
    pseudo_code.py retried_calls.py faststream_publish.py faststream_subscriber.py group_producer.py       the programs
    reader.py       plain pymqi: which messages are there, missing, or doubled
    report.py       the tables and the picture

It runs on the embedded queue manager, because faults at exact calls are possible there.
"""
