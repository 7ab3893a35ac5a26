"""A pipeline of message groups: from a queue, checked and transformed by Spark, to Parquet and to another queue.

    source queue ─► groups ─┬─► rows of the groups that pass ─► transform ─┬─► Parquet, a folder for each micro-batch
                            │                                              └─► groups on the outgoing queue
                            └─► groups that fail a check, with the reason ─► quarantine: a queue or a folder
                                                                             records of all micro-batches ─► report

    cli/pipeline ─► run ─► micro_batch ─► rows ─► body         a message as a row
                     │         │          └─► verdicts         what is wrong with a group
                     │         ├─► transform, outputs, folders
                     │         └─► records ─► report, plot
                     └─► config               inspection       what there is, without Spark

Each group is in the outputs once, or in quarantine once, however often the driver, an executor or the queue manager dies:
``micro_batch.py`` tells how, point by point. ``body`` and ``verdicts`` decide, without Spark.
"""
