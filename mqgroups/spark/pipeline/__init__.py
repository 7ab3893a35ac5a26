"""A pipeline: Spark reads message groups from a queue, checks and transforms them, and writes Parquet, another queue, or both.

    source queue ─► groups ─┬─► rows of the groups that pass ─► transform ─┬─► Parquet, a folder for each micro-batch
                            │                                              └─► groups on the outgoing queue
                            └─► groups that fail a check, with the reason ─► quarantine: a queue or a folder
                                                                             records of all micro-batches ─► report

    cli/pipeline ─► run ─► micro_batch ─► rows ─► body         a message as a row
                     │         │          └─► verdicts         the checks of a group
                     │         ├─► transform, outputs, folders
                     │         └─► records ─► report
                     └─► config               inspection       the queues and waiting groups, without Spark

Each group is in the outputs once, or in quarantine once, however often the driver, an executor or the queue manager fails.
``micro_batch.py`` explains how, step by step. ``body`` and ``verdicts`` are pure functions that do not need Spark.
"""
