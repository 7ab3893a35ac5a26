"""Which queue manager spans, log records and one metric mean."""

from __future__ import annotations

from embedded_tests.tables import table
from mqgroups.telemetry.place import Place


@table(
    ("conn_name", "address", "port"),
    [
        ("mq.example.com(1414)", "mq.example.com", 1414),
        (" 10.1.2.3(1515) ", "10.1.2.3", 1515),
        ("fe80::1(1414)", "fe80::1", 1414),
        # IBM MQ's default.
        ("mq.example.com", "mq.example.com", 1414),
        # It is not known which of them answered; or a table, MQSERVER or local bindings say where to go.
        ("one(1414),two(1414)", "", 0),
        ("one, two", "", 0),
        ("host(port)", "", 0),
        ("", "", 0),
        (None, "", 0),
    ],
)
def test_one_address_is_the_servers(conn_name, address, port):
    place = Place.of("QM1", "QM1_2026", conn_name)
    assert (place.server_address, place.server_port) == (address, port)
    known = {"server.address": address, "server.port": port} if address else {}
    named = {"messaging.ibmmq.queue_manager.name": "QM1", "messaging.ibmmq.queue_manager.id": "QM1_2026"}
    assert place.attributes == {**named, **known}
    assert place.fields == {**named, "server.address": address, "server.port": port}
