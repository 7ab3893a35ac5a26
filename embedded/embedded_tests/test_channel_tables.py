"""Client channel definition tables: which table counts, which of its definitions, and what is refused.

Expected values are those of the topics that ``libmqm/channel_table.c`` names.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import re
import struct
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from embedded_tests.fix_mqi import OK, Code, failed
from embedded_tests.peer import Caller, Peer, well_behaved
from embedded_tests.tables import table
from mqembedded import constants as c
from mqembedded import libmqm
from mqembedded.libmqm.build import verbs_header

pytestmark = pytest.mark.embedded

LIBMQM = Path(libmqm.__file__).parent
CHANNEL = "DEV.APP.SVRCONN"
DEAD = "127.0.0.1(1)"
NO_DEFINITION = failed(c.MQRC_Q_MGR_NAME_ERROR)
URL_ERROR = failed(c.MQRC_CCDT_URL_ERROR)
NOT_SUPPORTED = failed(c.MQRC_FUNCTION_NOT_SUPPORTED)


@pytest.fixture(autouse=True)
def client(monkeypatch, tmp_path):
    """The directory of a client for which nothing is defined: it is the working, the data and the home directory."""
    for variable in ("MQSERVER", "MQCCDTURL", "MQCHLLIB", "MQCHLTAB", "MQCLNTCF", "MQSSLKEYR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)
    for variable in ("MQ_OVERRIDE_DATA_PATH", "HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def other(module_queue_manager):
    return module_queue_manager("", "QM2")


def definition(conn_name, q_mgr_name=None, name=CHANNEL, **management):
    """One element of the array ``channel``; ``conn_name`` is host(port), or several."""
    connections = [one.rstrip(")").split("(") for one in conn_name.split(",")]
    made = {
        "name": name,
        "type": "clientConnection",
        "clientConnection": {"connection": [{"host": host, "port": int(port)} for host, port in connections]},
    }
    if q_mgr_name is not None:
        made["clientConnection"]["queueManager"] = q_mgr_name
    return made | ({"connectionManagement": management} if management else {})


def write(path, *definitions):
    path.write_text(json.dumps({"channel": definitions}))
    return f"file://{path}"


def reached(mqi, name, url=None):
    """Connect, and return the name of the queue manager that answered, or the code."""
    q_mgr = mqi.package.QueueManager(None, disconnect_on_exit=False)
    options = c.MQCNO_HANDLE_SHARE_BLOCK | c.MQCNO_CLIENT_BINDING
    given = {"opts": options}
    if url is not None:
        given = {"cno": mqi.package.CNO(Options=options, Version=6, CCDTUrl=url.encode())}
    try:
        q_mgr.connect_with_options(name, **given)
    except mqi.package.MQMIError as error:
        return Code(error.comp, error.reason)
    found = q_mgr.inquire(c.MQCA_Q_MGR_NAME)
    q_mgr.disconnect()
    return (found.decode() if isinstance(found, bytes) else found).strip()


# --- which table counts

# Where a channel or a table can be given, in the order of topic q016735.
PLACES = (
    "MQCNO",
    "MQSERVER",
    "ServerConnectionParms",
    "MQCCDTURL",
    "MQCHLLIB",
    "ChannelDefinitionDirectory",
    "AMQCLCHL.TAB",
)


def give(place, conn_name, monkeypatch):
    """Give a channel at this place; returns the URL if it is for MQCNO."""
    directory = Path.cwd() / f"at-{place}"
    directory.mkdir()
    url = write(directory / "ccdt.json", definition(conn_name, "QM1"))
    variables, attributes = {}, {}
    match place:
        case "MQSERVER":
            variables = {"MQSERVER": f"{CHANNEL}/TCP/{conn_name}"}
        case "ServerConnectionParms":
            attributes = {"ServerConnectionParms": f"{CHANNEL}/TCP/{conn_name}"}
        case "MQCCDTURL":
            variables = {"MQCCDTURL": url}
        case "MQCHLLIB":
            variables = {"MQCHLLIB": str(directory), "MQCHLTAB": "ccdt.json"}
        case "ChannelDefinitionDirectory":
            attributes = {"ChannelDefinitionDirectory": f"file://{directory}", "ChannelDefinitionFile": "ccdt.json"}
        case "AMQCLCHL.TAB":
            write(directory / place, definition(conn_name, "QM1"))
            variables = {"MQ_OVERRIDE_DATA_PATH": str(directory)}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with Path("mqclient.ini").open("a") as ini:
        ini.writelines(f"CHANNELS:\n  {name} = {value}  \nTCP:\n" for name, value in attributes.items())
    return url if place == "MQCNO" else None


@table("place", PLACES)
def test_a_place_leads_to_the_queue_manager_before_those_behind_it(mqi, mq, tmp_path, place):
    if place == "MQCNO" and mqi.name != "ibmmq":
        return  # pymqi has no field for it
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(tmp_path)
        url = give(place, mq.conn_name, monkeypatch)
        for behind in PLACES[PLACES.index(place) + 1 :]:
            give(behind, DEAD, monkeypatch)
        assert reached(mqi, "QM1", url) == "QM1"


def test_a_channel_of_mqcno_comes_before_every_table(mqi, mq, client, monkeypatch):
    monkeypatch.setenv("MQCCDTURL", write(client / "ccdt.json", definition(DEAD, "QM1")))
    code, connection = mqi.connect("QM1", CHANNEL, mq.conn_name)
    assert code == OK
    connection.disconnect()


def test_an_empty_variable_counts_as_none(mqi, mq, client, monkeypatch):
    for variable in ("MQSERVER", "MQCCDTURL", "MQCHLLIB", "MQCHLTAB"):
        monkeypatch.setenv(variable, "")
    write(client / "AMQCLCHL.TAB", definition(mq.conn_name, "QM1"))
    assert reached(mqi, "QM1") == "QM1"


def test_mqconn_reads_the_table_too(mqi, mq, client, monkeypatch):
    monkeypatch.setenv("MQCCDTURL", write(client / "ccdt.json", definition(mq.conn_name, "QM1")))
    q_mgr = mqi.package.QueueManager("QM1")
    q_mgr.disconnect()


def test_without_any_definition_there_is_no_queue_manager_and_nothing_to_blame(mqi, client, capfd):
    assert reached(mqi, "QM1") == NO_DEFINITION
    assert capfd.readouterr().err == ""


# --- which definitions count, and in which order


@table(
    ("name", "definitions", "expected"),
    [
        ("QM1", [("1", "QM1")], "QM1"),
        ("QM1", [("1", "QM1  ")], "QM1"),
        # Those of another queue manager are not used, nor are those without one.
        ("QM1", [("1", "QM2"), ("1", None), ("1", "qm1"), ("1", "*QM1"), ("1", "")], NO_DEFINITION),
        ("QM1", [], NO_DEFINITION),
        # Another queue manager answers: the next one is tried.
        ("QM1", [("2", "QM1"), ("1", "QM1")], "QM1"),
        ("QM1", [("2", "QM1")], NO_DEFINITION),
        # A group has any queue managers.
        ("*CORE", [("2", "CORE")], "QM2"),
        ("*CORE", [("dead", "CORE"), ("2", "CORE"), ("1", "CORE")], "QM2"),
        ("*QM1", [("2", "QM1")], "QM2"),
        ("CORE", [("2", "CORE")], NO_DEFINITION),
        ("*CORE", [("2", "OTHER"), ("2", "*CORE")], NO_DEFINITION),
        # The default group has the definitions without a name.
        ("", [("1", "QM1"), ("2", None)], "QM2"),
        ("*", [("1", "QM1"), ("2", "")], "QM2"),
        ("", [("1", "QM1")], NO_DEFINITION),
        # Several connections of one definition are tried in turn.
        ("QM1", [("dead,1", "QM1")], "QM1"),
        # None can be reached: the reason of the only one, or that of a group (q041290, q027570).
        ("QM1", [("dead", "QM1")], failed(c.MQRC_HOST_NOT_AVAILABLE)),
        ("*CORE", [("dead", "CORE")] * 2, failed(c.MQRC_Q_MGR_NOT_AVAILABLE)),
        ("QM1", [("dead", "QM1"), ("2", "QM1")], failed(c.MQRC_Q_MGR_NOT_AVAILABLE)),
        ("QM1", [("2", "QM1")] * 2, NO_DEFINITION),
    ],
)
def test_which_queue_manager_answers_to_a_name(mqi, mq, other, client, monkeypatch, name, definitions, expected):
    conn_names = {"1": mq.conn_name, "2": other.conn_name, "dead": DEAD}
    made = [definition(",".join(conn_names[one] for one in at.split(",")), named) for at, named in definitions]
    monkeypatch.setenv("MQCCDTURL", write(client / "ccdt.json", *made))
    assert reached(mqi, name) == expected


NAMES = ("DEV.ADMIN.SVRCONN", "DEV.APP.SVRCONN")


@table(
    ("name", "definitions", "expected"),
    [
        # By the name of the channel, and by their order for those of one name.
        ("*", [("1", NAMES[1], {}), ("2", NAMES[0], {})], {"QM2"}),
        ("*", [("2", NAMES[1], {}), ("1", NAMES[1], {})], {"QM2"}),
        # Without a weight first.
        ("*", [("2", NAMES[0], {"clientWeight": 99}), ("1", NAMES[1], {})], {"QM1"}),
        ("*", [(at, NAMES[0], {"clientWeight": 50, "affinity": "none"}) for at in "12"], {"QM1", "QM2"}),
    ],
)
def test_the_order_of_definitions(mqi, mq, other, client, monkeypatch, name, definitions, expected):
    conn_names, named = {"1": mq.conn_name, "2": other.conn_name}, name.strip("*")
    made = [definition(conn_names[at], named, channel, **more) for at, channel, more in definitions]
    monkeypatch.setenv("MQCCDTURL", write(client / "ccdt.json", *made))
    assert {reached(mqi, name) for _ in range(40)} == expected


@pytest.fixture
def peers():
    with contextlib.ExitStack() as stack:
        made = [Peer() for _ in range(3)]
        for one in made:
            stack.callback(one.close)
        yield made


def connected(library, name):
    """MQCONN; returns the codes. A connection that was made is ended."""
    caller = Caller.of(library, 0)
    codes = caller("MQCONN", ctypes.create_string_buffer(name, 49), ctypes.byref(caller.hconn))
    if codes == (0, 0):
        caller.disconnect()
    return codes


@pytest.fixture
def asked(peers):
    """The numbers of the peers that were asked to connect, in order; those in ``silent`` close the connection."""
    numbers: list[int] = []
    silent: set[int] = set()

    def answers(number):
        def answer(verb, serial, values):
            if verb.name == "MQCONNX":
                numbers.append(number)
            return None if number in silent else well_behaved(verb, serial, values)

        return answer

    for number, peer in enumerate(peers):
        peer.answer = answers(number)
    return numbers, silent


def of_peers(peers, *managements, q_mgr_name=None):
    return [
        definition(f"127.0.0.1({peer.port})", q_mgr_name, **management)
        for peer, management in zip(peers, managements, strict=True)
    ]


def test_weights_are_proportions_in_a_group_only(library, peers, asked, client, monkeypatch):
    # The example of topic q081750
    weighted = [{"clientWeight": weight, "affinity": "none"} for weight in (2, 4, 14)]
    monkeypatch.setenv("MQCCDTURL", write(client / "ccdt.json", *of_peers(peers, *weighted, q_mgr_name="CORE")))
    for _ in range(300):
        connected(library, b"*CORE")
    found = Counter(asked[0])
    assert 4 <= found[0] <= 56
    assert 25 <= found[1] <= 95
    assert found.total() == 300
    asked[0].clear()
    for _ in range(10):
        connected(library, b"CORE")
    assert asked[0] == [0] * 10


def test_a_preferred_definition_that_failed_goes_behind_until_the_table_is_changed(
    library, peers, asked, client, monkeypatch
):
    numbers, silent = asked
    made = of_peers(peers, *({"clientWeight": weight, "affinity": "preferred"} for weight in (1, 2, 3)))

    def order(*of_silent):
        numbers.clear()
        silent.clear()
        silent.update(of_silent)
        connected(library, b"*")
        return numbers[:]

    def change(time_ns):
        monkeypatch.setenv("MQCCDTURL", write(client / "ccdt.json", *made))
        os.utime(client / "ccdt.json", ns=(time_ns, time_ns))

    # Given the order that this host prefers
    change(1)
    first, second, third = order(0, 1, 2)
    change(2)
    # When the first one does not answer, then it goes behind
    assert [order(first) for _ in range(3)] == [[first, second], [second], [second]]
    # When the second one does not answer either, then it is the last one
    assert [order(first, second) for _ in range(2)] == [[second, third], [third]]
    assert order(second, third) == [third, first]
    # When the table is changed, then all is forgotten
    change(3)
    assert order() == [first]


# --- what a definition says


@table(
    ("more", "expected"),
    [
        ({}, {"max_msg_length": 4_194_304, "heartbeat": 300, "sharing": 10, "options": 0}),
        ({"general": {"maximumMessageLength": 1000}}, {"max_msg_length": 1000}),
        ({"general": {"maximumMessageLength": "1000"}}, {"max_msg_length": 4_194_304}),
        ({"connectionManagement": {"heartbeatInterval": 5, "sharingConversations": 0}}, {"heartbeat": 5, "sharing": 0}),
        ({"connectionManagement": {"heartInterval": 5}}, {"heartbeat": 5}),
        ({"connectionManagement": {"heartbeatInterval": 1_000_000}}, {"heartbeat": 300}),
        ({"connectionManagement": {"defaultReconnect": "yes"}}, {"options": c.MQCNO_RECONNECT}),
        ({"connectionManagement": {"defaultReconnect": "no"}}, {"options": 0}),
        # What does nothing here, or is unknown.
        ({"compression": {"header": ["system"]}, "exits": {}, "comment": [None, True, -1.5e3]}, {"options": 0}),
    ],
)
def test_attributes_of_a_definition(library, peer, client, monkeypatch, more, expected):
    seen: dict[str, object] = {}

    def answer(verb, serial, values):
        if verb.name == "MQCONNX":
            seen.update(zip((field.name for field in verb.request), values, strict=True))
        return well_behaved(verb, serial, values)

    peer.answer = answer
    monkeypatch.delenv("MQSERVER", raising=False)
    made = definition(f"127.0.0.1({peer.port})", "QM1") | more
    monkeypatch.setenv("MQCCDTURL", write(client / "ccdt.json", made))
    assert connected(library, b"QM1") == (0, 0)
    assert seen["channel_name"] == CHANNEL.encode()
    assert {name: seen[name] for name in expected} == expected


@table(
    ("asked", "default", "options"),
    [
        (c.MQCNO_RECONNECT_DISABLED, "yes", c.MQCNO_RECONNECT_DISABLED),
        (c.MQCNO_RECONNECT, "queueManager", c.MQCNO_RECONNECT),
        (c.MQCNO_RECONNECT, "disabled", c.MQCNO_RECONNECT_DISABLED),
        (0, "queueManager", c.MQCNO_RECONNECT_Q_MGR),
    ],
)
def test_a_default_reconnection_counts_unless_the_application_says_another(
    library, peer, client, monkeypatch, asked, default, options
):
    seen: list[object] = []

    def answer(verb, serial, values):
        seen.extend(value for field, value in zip(verb.request, values, strict=True) if field.name == "options")
        return well_behaved(verb, serial, values)

    peer.answer = answer
    monkeypatch.delenv("MQSERVER", raising=False)
    made = definition(f"127.0.0.1({peer.port})", "QM1", defaultReconnect=default)
    monkeypatch.setenv("MQCCDTURL", write(client / "ccdt.json", made))
    Caller(library, asked).disconnect()
    assert seen[0] == options


@table(
    ("cipher", "reason"),
    [("ANY_TLS12_OR_HIGHER", 2381), ("  ", 0), ("", 0), (None, 2381), ("X" * 33, 2381)],
)
def test_a_cipher_spec_is_refused_as_in_mqcd(mqi, mq, client, monkeypatch, cipher, reason):
    made = definition(mq.conn_name, "QM1") | {"transmissionSecurity": {"cipherSpecification": cipher}}
    monkeypatch.setenv("MQCCDTURL", write(client / "ccdt.json", made))
    monkeypatch.setenv("MQSSLKEYR", "")
    assert reached(mqi, "QM1") == (failed(reason) if reason else "QM1")
    monkeypatch.setenv("MQSSLKEYR", "/k")
    if mqi.name == "ibmmq":  # pymqi always passes an MQSCO, with which the variable does not count (q095520)
        assert reached(mqi, "QM1") == (failed(c.MQRC_SSL_INITIALIZATION_ERROR) if reason else "QM1")


# --- what is refused

NO_JSON = "is not in JSON, and the embedded queue manager's client reads only JSON tables"
DEEP = "[" * 40 + "]" * 40


@table(
    ("url", "code", "sentence"),
    [
        ("{}", URL_ERROR, "MQCCDTURL must be the URL of a channel definition table, file:///...; a path is none"),
        ("file://{}.not", URL_ERROR, "ccdt.json.not cannot be read: No such file or directory"),
        ("file:///", URL_ERROR, "the channel definition table / cannot be read: Is a directory"),
        ("file:///dev/zero", URL_ERROR, "/dev/zero cannot be read: File too large"),
        ("http://user:s3cret@host/ccdt.json", NOT_SUPPORTED, "by an http URL, but the embedded queue manager's client"),
        ("FTP://user:s3cret@host/ccdt.json", NOT_SUPPORTED, "by an FTP URL"),
    ],
)
def test_a_url_that_leads_to_no_table(mqi, mq, client, monkeypatch, capfd, url, code, sentence):
    write(client / "ccdt.json", definition(mq.conn_name, "QM1"))
    monkeypatch.setenv("MQCCDTURL", url.format(client / "ccdt.json"))
    assert reached(mqi, "QM1") == code
    written = capfd.readouterr().err
    assert sentence in written
    assert "s3cret" not in written
    assert written.startswith("mqembedded: ")
    assert written.count("\n") == 1


@table(
    ("content", "code", "sentence"),
    [
        (b"AMQR\0\0\0\1", NOT_SUPPORTED, NO_JSON),
        (b"", NOT_SUPPORTED, NO_JSON),
        (b" \n[]", NOT_SUPPORTED, NO_JSON),
        (b"{", URL_ERROR, "is not valid JSON: line 1"),
        (b'{\n"channel": [],\n\n;}', URL_ERROR, "is not valid JSON: line 4"),
        (b"{}{}", URL_ERROR, "is not valid JSON: line 1"),
        (b'{"channel": [\0]}', URL_ERROR, "is not valid JSON: line 1"),
        (b'{"channel": "\\u12"}', URL_ERROR, "is not valid JSON: line 1"),
        (f'{{"channel": {DEEP}}}'.encode(), URL_ERROR, "is not valid JSON: line 1"),
        # Valid, and without a definition.
        (b"{}", NO_DEFINITION, ""),
        (b'{"channel": {"name": "X"}}', NO_DEFINITION, ""),
        (b'{"channel": [[], null, 1, "x", {}, {"name": 1, "type": "clientConnection"}]}', NO_DEFINITION, ""),
        (b'{"channel": [{"name": "DEV.APP.SVRCONN", "clientConnection": {"queueManager": "QM1"}}]}', NO_DEFINITION, ""),
        (
            b'{"channel": [{"name": "X", "type": "clientConnection", "clientConnection": {"queueManager": 1}}]}',
            NO_DEFINITION,
            "",
        ),
    ],
)
def test_a_file_that_is_no_table(mqi, client, monkeypatch, capfd, content, code, sentence):
    (client / "ccdt.json").write_bytes(content)
    monkeypatch.setenv("MQCCDTURL", f"file://{client}/ccdt.json")
    assert reached(mqi, "QM1") == code
    written = capfd.readouterr().err
    assert sentence in written
    assert bool(written) == bool(sentence)


def test_a_binary_table_is_refused_by_the_fact_that_only_json_is_read(mqi, client, monkeypatch, capfd):
    (client / "AMQCLCHL.TAB").write_bytes(b"AMQR\0\0\0\1")
    assert reached(mqi, "QM1") == NOT_SUPPORTED
    monkeypatch.setenv("MQCHLLIB", str(client))
    assert reached(mqi, "QM1") == NOT_SUPPORTED
    assert capfd.readouterr().err.count(NO_JSON) == 2
    monkeypatch.setenv("MQCHLLIB", "http://user:s3cret@host")
    assert reached(mqi, "QM1") == NOT_SUPPORTED
    assert "s3cret" not in capfd.readouterr().err
    # One that is missing is a queue manager that is not known.
    monkeypatch.setenv("MQCHLLIB", str(client))
    monkeypatch.setenv("MQCHLTAB", "ccdt.json")
    assert reached(mqi, "QM1") == NO_DEFINITION
    assert "ccdt.json cannot be read: No such file or directory" in capfd.readouterr().err


@table(
    "connections",
    [
        [],
        None,
        {"host": "h", "port": 1},
        [{"port": 1414}],
        [{"host": "127.0.0.1", "port": "1414"}],
        [{"host": "127.0.0.1", "port": 0}],
        [{"host": "127.0.0.1", "port": 65536}],
        [{"host": "h" * 260, "port": 1414}],
        [{"host": "127.0.0.1(", "port": 1414}],
    ],
)
def test_connections_that_cannot_be_read(mqi, client, monkeypatch, connections):
    made = definition(DEAD, "QM1")
    made["clientConnection"]["connection"] = connections
    monkeypatch.setenv("MQCCDTURL", write(client / "ccdt.json", made))
    assert reached(mqi, "QM1") == failed(c.MQRC_CHANNEL_CONFIG_ERROR)


def test_the_fields_of_mqcno(library, peer, client, monkeypatch, capfd):
    url = write(client / "ccdt.json", definition(f"127.0.0.1({peer.port})", "QM1")).encode()
    monkeypatch.setenv("MQSERVER", f"{CHANNEL}/TCP/{DEAD}")
    text = ctypes.create_string_buffer(url + b"no more of it")

    def codes(pointer, offset, length, version=6):
        # The URL behind the structure, too
        cno = bytearray(struct.pack("<4sii", b"CNO ", version, 0).ljust(224, b"\0") + url)
        struct.pack_into("<Qii", cno, 200, pointer, offset, length)
        caller = Caller.of(library, 0)
        given = (ctypes.c_char * len(cno)).from_buffer(cno)
        found = caller("MQCONNX", ctypes.create_string_buffer(b"QM1", 49), given, ctypes.byref(caller.hconn))
        caller.disconnect()
        return found

    address = ctypes.addressof(text)
    assert codes(address, 0, len(url)) == (0, 0)
    assert codes(0, 224, len(url)) == (0, 0)
    # Below version 6 the fields are ignored, and MQSERVER counts.
    assert codes(address, 0, len(url), version=5) == (2, c.MQRC_HOST_NOT_AVAILABLE)
    assert capfd.readouterr().err == ""
    for fields in ((address, 224, len(url)), (address, 0, 0), (address, 0, -1), (address, 0, 1_000_000)):
        assert codes(*fields) == (2, c.MQRC_CCDT_URL_ERROR)
    assert capfd.readouterr().err.count("either CCDTUrlPtr or CCDTUrlOffset") == 4


# --- JSON, and what else a file can hold

# As IBM's documentation prints it, with its comma before a bracket (topic q132900).
OF_IBM = """
{
  "channel": [
    {
      "name": "SSL.SVRCONN",
      "clientConnection": {
        "connection": [
          {
            "host": "aztlan1.fyre.ibm.com",
            "port": 1419
          }
        ],
        "queueManager": "QM92TLS"
      },
      "transmissionSecurity":
      {
        "cipherSpecification": "TLS_AES_128_GCM_SHA256",
        "certificateLabel": "ibmwebspheremqadministrator",
      },
      "type": "clientConnection"
    }
  ]
}
"""


def test_an_example_of_ibm_is_read(mqi, client, monkeypatch):
    (client / "ccdt.json").write_text(OF_IBM)
    monkeypatch.setenv("MQCCDTURL", f"file:{client}/ccdt.json")
    assert reached(mqi, "QM92TLS") == failed(c.MQRC_KEY_REPOSITORY_ERROR)


def test_of_members_of_one_name_the_last_counts_and_escapes_are_read(mqi, mq, client, monkeypatch):
    host, port = mq.conn_name.rstrip(")").split("(")
    (client / "ccdt.json").write_text(
        '{"channel": 1, "chann\\u0065l": [{"name": "X", "name": "DEV\\u002eAPP.SVRCONN", "type": "clientConnection", '
        f'"clientConnection": {{"connection": [{{"host": "{host}", "port": {port}}}], "queueManager": "\\u0051M1"}}}}]}}'
    )
    monkeypatch.setenv("MQCCDTURL", f"file://{client}/ccdt.json")
    assert reached(mqi, "QM1") == "QM1"


READER = r"""
#include "channel_table.h"
#include "json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static size_t walk(struct json value) {
    char text[16];
    struct json rest = json_elements(value), element;
    size_t seen = json_text(value, text, sizeof text) ? strlen(text) : 0;
    seen += json_integer(value, 0, 99, 0) > 0;
    while (json_next(&rest, &element)) {
        seen += walk(element);
    }
    const char *names[] = {"channel", "name", "type", "clientConnection", "connection", "host", "port", "queueManager"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct json member = json_member(value, names[i]);
        seen += member.at < member.end ? walk(member) : 0;
    }
    return seen;
}
static void use(const char *path, const char *text, size_t length, const char *name) {
    FILE *file = fopen(path, "w");
    fwrite(text, 1, length, file);
    fclose(file);
    struct channel_table table;
    struct channel channel;
    if (channel_table_open(&table, NULL, name) == 0) {
        while (channel_table_next(&table, &channel)) {
            channel_table_failed(&table);
        }
        channel_table_close(&table);
    }
}
int main(int count, char **arguments) {
    unsigned length;
    while (count == 2 && fread(&length, sizeof length, 1, stdin) == 1) {
        char *text = malloc(length);
        struct json value;
        int line;
        if (text == NULL || fread(text, 1, length, stdin) != length) {
            return 2;
        }
        putchar(json_parse(text, length, &value, &line) && walk(value) < 1000000 ? '1' : '0');
        use(arguments[1], text, length, "QM1");
        use(arguments[1], text, length, "*QM1");
        free(text);
    }
    return 0;
}
"""


def is_json(text):
    """Whether Python takes it for JSON. It takes NaN, and what is nested deeper, too."""
    try:
        json.loads(text.decode("latin-1"), parse_constant=int)
    except ValueError:
        return False
    return True


def test_spoiled_tables_are_read_within_their_bounds_and_as_python_reads_them(tmp_path):
    # Given the reader alone, under sanitizers, with each text in memory of exactly its length
    (tmp_path / "reader.c").write_text(READER)
    (tmp_path / "verbs.h").write_text(verbs_header())
    sources = [tmp_path / "reader.c", *(LIBMQM / name for name in ("json.c", "channel_table.c", "configuration.c"))]
    flags = "-fsanitize=address,undefined -fno-sanitize-recover=all -g -std=c11 -D_GNU_SOURCE".split()
    flags += [f"-I{directory}" for directory in (LIBMQM, LIBMQM / "inc", tmp_path)]
    subprocess.run(["cc", *flags, *sources, "-o", tmp_path / "reader"], check=True)
    # When it reads a table in parts, and spoiled ones
    made = [definition("h(1)", "QM1", clientWeight=number, affinity="preferred") for number in (0, 1, 2)]
    whole = json.dumps({"channel": made, "more": [None, True, -1.5e3, 0, 'Q\u00e9"M']})
    rng = random.Random(1)
    many = [definition(",".join(["h" * 200 + "(1)"] * 9), "QM1")]
    texts = [json.dumps({"channel": many}).encode()]
    texts += [whole.encode()[:length] for length in range(1, len(whole) + 1)]
    for _ in range(3000):
        spoiled = bytearray(whole.encode())
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(spoiled))
            spoiled[at : at + rng.randint(0, 2)] = bytes(
                rng.choices(b'{}[]",:\\u0 19.eE-tn\0\x1f\xff', k=rng.randint(0, 2))
            )
        texts.append(bytes(spoiled))
    texts += [b"[" * 33 + b"]" * 33, b"[" * 200_000, b'{"a":' * 200_000, b"[1,]", b'{"a": 1,}', b"[,]", b"[1,,]"]
    asked = b"".join(struct.pack("<I", len(text)) + text for text in texts)
    path = tmp_path / "ccdt.json"
    environment = {**os.environ, "MQCCDTURL": f"file://{path}"}
    done = subprocess.run([tmp_path / "reader", path], input=asked, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    # Then it finds the same ones to be JSON, but for a comma before a bracket
    found = dict(zip(texts, done.stdout.decode(), strict=True))
    assert [found[text] for text in texts[-7:]] == ["0", "0", "0", "1", "1", "0", "0"]
    without = {text: re.sub(rb",(\s*[}\]])", rb"\1", text) for text in texts[:-7]}
    assert {text for text in without if (found[text] == "1") != is_json(without[text])} == set()
    assert Counter(found.values())["1"] > 100
