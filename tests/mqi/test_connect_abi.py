"""What reaches the client library: the structures that pymqi and ibmmq hand to MQCONNX, read by a C function in its place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from embedded_tests.tables import table
from mqembedded.libmqm.build import build
from mqgroups.mqi._c_layer import program_name
from mqgroups.mqi.constants import MQCNO_CLIENT_BINDING, MQCNO_NO_CONV_SHARING

PROGRAM = """
import sys, mqgroups
sys.argv = ['/opt/app/orders.py']
from mqgroups import Secret
try:
    mqgroups.connect({arguments})
except mqgroups.errors.MQGroupsError as error:
    print(f"{{type(error).__name__}}: {{error}}", file=sys.stderr)
"""
CHANNEL = '"QM1", "APP.SVRCONN", "mq.example.com(1414)"'
TLS = (
    'cipher_spec="ANY_TLS12_OR_HIGHER", key_repository="/etc/mq/keys", certificate_label="app", peer_name="CN=QM1,O=*"'
)


@pytest.fixture(scope="module")
def spy(tmp_path_factory):
    library = tmp_path_factory.mktemp("spy") / "spy.so"
    source = Path(__file__).with_name("spy.c")
    subprocess.run(
        ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", str(source), "-o", str(library)],
        check=True,
    )
    return library


@pytest.fixture
def told(spy, binding):
    """A function that connects, and returns what the C function was given (None if it was not called) and the error."""

    def run(arguments: str, **environment: str):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(arguments=arguments)],
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": os.pathsep.join(sys.path),
                "MQGROUPS_LIBMQM": str(build()),
                "MQGROUPS_MQI": binding.__name__,
                "LD_PRELOAD": str(spy),
                **environment,
            },
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout) if done.stdout else None, done.stderr

    return run


def only(name: str, binding) -> None:
    if binding.__name__ != name:
        pytest.skip(f"the bindings differ here, and this is how {name} does it")


def test_tls_and_the_user_are_in_mqcd_mqsco_and_mqcsp(told):
    given, error = told(f'{CHANNEL}, user="app", password="pw", {TLS}')
    assert "2059" in error
    assert given["cno"] >= 5
    assert given["cd"] >= 7
    assert given["sco"] >= 5
    tested_below = {"cno", "options", "appl_name", "cd", "heartbeat_interval", "sharing_conversations", "sco", "csp"}
    assert {name: value for name, value in given.items() if name not in tested_below} == {
        "q_mgr_name": "QM1",
        "channel": "APP.SVRCONN",
        "conn_name": "mq.example.com(1414)",
        "cipher_spec": "ANY_TLS12_OR_HIGHER",
        "peer_name": "CN=QM1,O=*",
        "key_repository": "/etc/mq/keys",
        "crypto_hardware": "",
        "fips_required": 0,
        "certificate_label": "app",
        "authentication": 1,
        "user": "app",
        "password": "pw",
    }


def test_without_tls_nothing_of_it_is_said(told):
    given, _ = told(CHANNEL)
    assert not given.get("cipher_spec")
    assert not given.get("key_repository")
    assert "peer_name" not in given
    assert not given.get("user")


def test_the_channel_decides_about_heartbeats(told):
    # The larger interval counts, unless one is 0 ("HeartbeatInterval"). Without SharingConversations, a field from version 9
    # on, only a waiting MQGET has heartbeats.
    given, _ = told(CHANNEL)
    assert (given["cd"], given["heartbeat_interval"], given["sharing_conversations"]) == (11, 1, 10)


def test_with_a_channel_the_connection_is_a_clients_and_has_a_socket_of_its_own(told, binding):
    # libmqm_r tries local bindings first, whatever the channel
    given, _ = told(CHANNEL)
    assert (
        given["options"] & (MQCNO_CLIENT_BINDING | MQCNO_NO_CONV_SHARING)
        == MQCNO_CLIENT_BINDING | MQCNO_NO_CONV_SHARING
    )
    given, _ = told('"QM1"')
    assert not given["options"] & MQCNO_CLIENT_BINDING
    if binding.__name__ == "ibmmq":
        given, _ = told('"QM1", ccdt_url="file:///etc/mq/ccdt.json"')
        assert given["options"] & MQCNO_CLIENT_BINDING


def test_ibmmq_names_the_program(told, binding):
    only("ibmmq", binding)
    given, _ = told(CHANNEL)
    assert given["appl_name"].rstrip() == "orders.py"


@table(
    ("script", "name"),
    [
        ("/opt/app/orders.py", b"orders.py"),
        ("/usr/lib/python3/orders/__main__.py", b"orders"),
        ("a-name-that-is-longer-than-the-field.py", b"a-name-that-is-longer-than-t"),
        ("-c", b""),
        ("", b""),
    ],
)
def test_a_script_or_a_package_has_a_name(script, name):
    assert program_name([script]).rstrip() == name


@table(
    ("arguments", "environment", "required"),
    [
        ("", {}, 0),
        ("", {"MQSSLFIPS": "YES"}, 1),
        (", fips=True", {}, 1),
        (", fips=False", {"MQSSLFIPS": "YES"}, 0),
    ],
)
def test_an_mqsco_does_not_switch_fips_off(told, arguments, environment, required):
    # FipsRequired comes before MQSSLFIPS
    given, _ = told(f"{CHANNEL}, {TLS}{arguments}", **environment)
    assert given["fips_required"] == required


def test_the_key_repository_of_the_environment_is_not_lost(told, binding):
    # An MQSCO makes the client ignore MQSSLKEYR and MQSSLCRYP ("MQSCO"); pymqi always passes one, ibmmq here for the label.
    given, _ = told(
        f'{CHANNEL}, cipher_spec="ANY_TLS12_OR_HIGHER", certificate_label="app"',
        MQSSLKEYR="/etc/mq/of-the-site",
        MQSSLCRYP="GSK_PKCS11=/usr/lib/driver.so;label;pin;",
    )
    assert given["key_repository"] == "/etc/mq/of-the-site"
    assert given["crypto_hardware"] == "GSK_PKCS11=/usr/lib/driver.so;label;pin;"


def test_secrets_come_from_files_and_variables(told, tmp_path):
    path = tmp_path / "password"
    path.write_text("p\u00e4ss w0rd\n", encoding="utf-8")
    given, _ = told(f'{CHANNEL}, user="app", password=Secret.from_file({str(path)!r})')
    assert given["password"] == "p\u00e4ss w0rd"
    given, _ = told(f'{CHANNEL}, user="app", password=Secret.from_variable("PW")', PW="from here")
    assert given["password"] == "from here"


def test_ibmmq_passes_a_token_on(told, binding):
    only("ibmmq", binding)
    given, _ = told(f'{CHANNEL}, token="head.body.signature"')
    assert (given["csp"], given["authentication"], given["token"]) == (3, 2, "head.body.signature")
    assert "user" not in given


def test_ibmmq_passes_the_password_of_the_key_repository_on(told, binding):
    only("ibmmq", binding)
    given, _ = told(f'{CHANNEL}, {TLS}, key_repository_password="open sesame"')
    assert given["sco"] >= 6
    assert given["key_repository_password"] == "open sesame"


def test_ibmmq_passes_a_ccdt_url_on(told, binding):
    only("ibmmq", binding)
    url = "file:///etc/mq/ccdt.json"
    given, _ = told(f'"QM1", ccdt_url="{url}", key_repository="/etc/mq/keys"')
    assert given["cno"] >= 6
    assert (given["ccdt_url"], given["key_repository"]) == (url, "/etc/mq/keys")
    assert "cd" not in given


def test_pymqi_says_what_it_cannot_pass_on_before_anything_is_connected(told, binding):
    only("pymqi", binding)
    for arguments, problem in (
        (f'{CHANNEL}, token="t"', "cannot pass on token: it does not have MQCSP.Token. Use ibmmq"),
        (
            f'{CHANNEL}, {TLS}, key_repository_password="p"',
            "MQSCO.KeyRepoPassword. Use ibmmq (MQGROUPS_MQI=ibmmq), or set MQKEYRPWD",
        ),
        ('"QM1", ccdt_url="file:///x"', "cannot pass on ccdt_url: it does not have MQCNO.CCDTUrl. Use ibmmq"),
    ):
        given, error = told(arguments)
        assert given is None
        assert error.startswith("ConfigurationError: pymqi ")
        assert problem in error
