"""Runs several consumers or pipes at the same time. Each is a supervised worker with its own name, status queue and connection.

    import functools
    import mqgroups

    def open_orders(q_mgr: mqgroups.QueueManager, *, name: str, wait_s: float) -> mqgroups.GroupConsumer:
        return q_mgr.group_consumer("ORDERS", name=name, wait_s=wait_s, commit_every=100)

    def handle(group: mqgroups.IncomingGroup) -> None:
        for message in group:
            ...

    if __name__ == "__main__":
        connect = functools.partial(mqgroups.connect, "QM1", "DEV.APP.SVRCONN", "localhost(1414)")
        workers = mqgroups.Workers(handle, connect=connect, open=open_orders, name="ORDERS.SINK", workers=4)
        with mqgroups.stop_on_signals(workers):
            workers.run()

The workers are named ``ORDERS.SINK.1`` to ``ORDERS.SINK.4``. All messages of a group go to one worker. A worker is one consumer
or pipe, and a loop that calls the handler for each group. So each worker has the guarantees of a consumer or pipe.

    supervisor.py    Workers: starts workers, starts them again, stops them
    run.py           one run of a worker, in a process or in a thread
    worker.py        handles a worker's own groups, and interrupted groups of names that have no worker any longer
    health.py        pages that show whether workers are alive and ready, and their metrics
    status.py        the state of a worker in shared memory
"""

from mqgroups.workers.status import WorkerStatus
from mqgroups.workers.supervisor import Workers

__all__ = ["WorkerStatus", "Workers"]
