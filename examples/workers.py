"""Handle message groups with several workers: processes, each with a consumer of its own.

    mqembedded exec -- python workers.py

The program puts ten groups, starts four workers, and stops them when all groups are handled.
"""

import os
import threading
import time

import mqgroups


def connect() -> mqgroups.QueueManager:
    return mqgroups.connect("QM1", "DEV.APP.SVRCONN", os.environ["MQGROUPS_CONN_NAME"])


def open_orders(q_mgr: mqgroups.QueueManager, /, *, name: str, wait_s: float) -> mqgroups.GroupConsumer:
    return q_mgr.group_consumer("ORDERS", name=name, wait_s=wait_s, commit_every=100)


def handle(group: mqgroups.IncomingGroup) -> None:
    orders = [message.text for message in group]
    # One write: the lines of several processes do not mix.
    print(f"{orders[0]} to {orders[-1]}\n", end="", flush=True)


def main() -> None:
    with connect() as q_mgr, q_mgr.group_producer("ORDERS", name="ORDERS.LOADER") as producer:
        for name in producer.remaining([f"orders from {first}" for first in range(0, 1000, 100)]):
            with producer.group(name) as group:
                first = int(name.split()[-1])
                for number in range(first + group.resume_from, first + 100):
                    group.put(f"order {number}")
    workers = mqgroups.Workers(handle, connect=connect, open=open_orders, name="ORDERS.SINK", workers=4)

    def stop_when_done() -> None:
        while sum(worker.groups for worker in workers.status()) < 10:
            time.sleep(0.1)
        workers.stop()

    threading.Thread(target=stop_when_done, daemon=True).start()
    with mqgroups.stop_on_signals(workers):
        workers.run()


if __name__ == "__main__":
    main()
