"""Put a message group across several units of work, and get it.

    mqembedded exec -- python quickstart.py

On IBM MQ, set MQGROUPS_Q_MGR_NAME, MQGROUPS_CONN_NAME and MQGROUPS_PASSWORD, with the queues of docker/20-mqgroups.mqsc.
If it is killed, the next run puts what is missing, and nothing twice (on the embedded queue manager, add --data DIR
after exec, so that messages are kept).
"""

import os

import mqgroups

ROWS = [f"order {number}" for number in range(1, 1001)]


def load(q_mgr: mqgroups.QueueManager) -> None:
    with q_mgr.group_producer("ORDERS", name="orders.loader", commit_every=100) as producer:
        with producer.group("orders 1 to 1000") as group:  # what is put under a name is put once
            for row in ROWS[group.resume_from :]:  # 0 on a fresh start, 700 after a crash there
                group.put(row)  # every 100 messages: status record and commit


def drain(q_mgr: mqgroups.QueueManager) -> None:
    with q_mgr.group_consumer("ORDERS", name="orders.sink", commit_every=100, wait_s=0) as consumer:
        for group in consumer:  # the interrupted group first, from where it was
            for message in group:
                print(message.msg_seq_number, message.text)


password = os.environ.get("MQGROUPS_PASSWORD")
with mqgroups.connect(
    os.environ.get("MQGROUPS_Q_MGR_NAME", "QM1"),
    "DEV.APP.SVRCONN",
    os.environ.get("MQGROUPS_CONN_NAME", "localhost(1414)"),
    user="app" if password else None,
    password=password,
) as connected:
    load(connected)
    drain(connected)
