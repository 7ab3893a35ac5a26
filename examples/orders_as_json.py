"""Put and get objects instead of bytes: a codec of your own, made of `mqgroups.codecs.json`.

    mqembedded exec -- python orders_as_json.py

A message that is no order is poison: the program ends with PoisonMessage, which says what is wrong with the message.
"""

import os
from dataclasses import asdict, dataclass

import mqgroups
from mqgroups import codecs
from mqgroups.errors import NotDecoded


@dataclass(frozen=True)
class Order:
    number: int
    customer: str
    pieces: int


class Orders:
    """The codec: `decode` returns what `message.value` is."""

    def decode(self, data: str | bytes) -> Order:
        try:
            return Order(**codecs.json.decode(data))
        except TypeError:
            # The text is in logs and errors, so it does not show the data.
            raise NotDecoded(f"it is not an order: {', '.join(Order.__annotations__)}") from None


def load(q_mgr: mqgroups.QueueManager, orders: list[Order]) -> None:
    with (
        q_mgr.group_producer("ORDERS", name="orders.loader") as producer,
        producer.group(name="orders of today") as group,
    ):
        for order in orders[group.resume_from :]:
            group.put(codecs.json.encode(asdict(order)))


def drain(q_mgr: mqgroups.QueueManager) -> None:
    with q_mgr.group_consumer("ORDERS", name="orders.sink", codec=Orders(), wait_s=0) as consumer:
        for group in consumer:
            pieces = 0
            for message in group:
                order: Order = message.value
                pieces += order.pieces
            print(f"{group.name}: {pieces} pieces")


if __name__ == "__main__":
    with mqgroups.connect(
        os.environ.get("MQGROUPS_Q_MGR_NAME", "QM1"),
        "DEV.APP.SVRCONN",
        os.environ.get("MQGROUPS_CONN_NAME", "localhost(1414)"),
        user=os.environ.get("MQGROUPS_USER"),
        password=os.environ.get("MQGROUPS_PASSWORD"),
    ) as connected:
        load(connected, [Order(number, f"customer {number % 7}", number % 5) for number in range(1, 501)])
        drain(connected)
