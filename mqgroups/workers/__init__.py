"""Several consumers or pipes at once: workers, each with a name, a status queue and a connection of its own, under a supervisor.

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

The workers are named ``ORDERS.SINK.1`` to ``ORDERS.SINK.4``. Each group goes whole to one of them. All that is promised for one
consumer or pipe is promised for each worker, because a worker is nothing else: a loop over groups that calls the handler.

    supervisor.py    Workers: starts workers, starts them again, stops them
    run.py           one start of a worker, in a process or in a thread
    worker.py        what a worker does: its groups, and the rest of groups that a name without a worker has left
    health.py        whether workers are alive and ready, and their figures, as pages
    status.py        what is known of a worker from outside
"""

from mqgroups.workers.status import WorkerStatus
from mqgroups.workers.supervisor import Workers

__all__ = ["WorkerStatus", "Workers"]
