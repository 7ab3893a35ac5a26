"""What makes no sense together is refused by name, before there is any binding."""

from __future__ import annotations

import re

import pytest

import mqgroups
import mqgroups.queue_manager
from embedded_tests.tables import table
from mqgroups import errors
from mqgroups.mqi import constants as mq
from mqgroups.settings import Connecting

CHANNEL = {"channel": "C", "conn_name": "h(1414)"}
TLS = {"cipher_spec": "ANY_TLS12", "key_repository": "/k"}
USER = {"user": "u", "password": "s3cret"}


@pytest.fixture(autouse=True)
def no_binding(request, monkeypatch):
    if request.node.get_closest_marker("embedded") is None:
        monkeypatch.setattr(mqgroups.queue_manager, "load_binding", None)


@table(
    ("given", "sentence"),
    [
        ({"channel": "C"}, "channel and conn_name belong together"),
        ({"conn_name": "h(1)"}, "channel and conn_name belong together"),
        (
            {**CHANNEL, "ccdt_url": "file:///c"},
            "ccdt_url and channel: the channel definition table defines the channels",
        ),
        ({**CHANNEL, **USER, "token": "s3cret"}, "token and user: a token identifies its user"),
        ({**CHANNEL, "token": "s3cret", "password": "s3cret"}, "token and user"),
        ({**CHANNEL, "password": "s3cret"}, "password without user"),
        ({**CHANNEL, "user": "u"}, "user without password"),
        ({**CHANNEL, "key_repository": "/k"}, "key_repository without cipher_spec: the connection would not use TLS"),
        ({**CHANNEL, "certificate_label": "l"}, "certificate_label without cipher_spec"),
        ({**CHANNEL, "peer_name": "CN=x"}, "peer_name without cipher_spec"),
        (
            {**CHANNEL, "cipher_spec": "ANY_TLS12", "key_repository_password": "s3cret"},
            "key_repository_password without key_repository",
        ),
        ({"cipher_spec": "ANY_TLS12"}, "cipher_spec without channel"),
        ({"ccdt_url": "file:///c", "peer_name": "CN=x"}, "peer_name without channel"),
        ({**CHANNEL, **TLS, "peer_name": ""}, "peer_name is empty"),
        ({**CHANNEL, "cipher_spec": "X" * 33}, "cipher_spec has 33 bytes; the maximum is 32"),
        ({**CHANNEL, **TLS, "certificate_label": "\u00e4" * 33}, "certificate_label has 66 bytes; the maximum is 64"),
        ({**CHANNEL, **TLS, "key_repository": "/" * 257}, "key_repository has 257 bytes; the maximum is 256"),
        ({**CHANNEL, **TLS, "peer_name": "CN" * 513}, "peer_name has 1026 bytes; the maximum is 1024"),
        ({"channel": "C" * 21, "conn_name": "h"}, "channel has 21 bytes; the maximum is 20"),
        ({"channel": "C", "conn_name": "h" * 265}, "conn_name has 265 bytes; the maximum is 264"),
        ({"channel": "C", "conn_name": "h(1)\n"}, "conn_name 'h(1)\\n' has a character that it cannot have"),
        # As Python reads an environment variable that is not in UTF-8.
        ({**CHANNEL, "user": "\udce9"}, "user '\\udce9' has a character that it cannot have"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(given, sentence):
    with pytest.raises(errors.ConfigurationError, match=re.escape(sentence)) as refused:
        mqgroups.connect("QM1", **given)
    assert "s3cret" not in str(refused.value)


def test_a_value_may_have_any_character_that_text_has():
    # A no-break space and a private character, as in the name of a directory.
    Connecting("QM1", "C", "h(1414)", cipher_spec="ANY_TLS12", key_repository="/etc/mq\u00a0keys/\ue000")


@pytest.mark.parametrize("name", ["QM\0", "QM\u00e9"])
def test_a_name_that_no_queue_manager_has_is_refused(name):
    with pytest.raises(errors.ConfigurationError, match=r"q_mgr_name .* has a character that it cannot have"):
        mqgroups.connect(name)


@table(
    ("name", "given"),
    [
        ("*QM1", CHANNEL),
        ("*", {"ccdt_url": "file:///c"}),
        ("", {}),
        (" ", {}),
        ("", CHANNEL),
        ("", {"channel": "C", "conn_name": "h1(1414),h2(1414)"}),
        ("", {"ccdt_url": "file:///c"}),
    ],
)
def test_whichever_queue_manager_is_refused_because_groups_are_on_one(name, given):
    with pytest.raises(errors.ConfigurationError, match="may connect to different queue managers"):
        mqgroups.connect(name, **given)


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("given", "reason"),
    [({}, mq.MQRC_KEY_REPOSITORY_ERROR), ({"key_repository": "/k"}, mq.MQRC_SSL_INITIALIZATION_ERROR)],
)
def test_the_embedded_queue_manager_refuses_tls_that_it_does_not_have(owner, monkeypatch, given, reason):
    monkeypatch.delenv("MQSSLKEYR", raising=False)
    with pytest.raises(errors.MQIError) as refused:
        owner.connect(cipher_spec="ANY_TLS12_OR_HIGHER", **given)
    assert refused.value.reason == reason


@pytest.mark.embedded
def test_a_key_repository_of_the_environment_counts(owner, monkeypatch):
    monkeypatch.setenv("MQSSLKEYR", "/k")
    with pytest.raises(errors.MQIError, match=r"2393 MQRC_SSL_INITIALIZATION_ERROR\. TLS could not be set up"):
        owner.connect(cipher_spec="ANY_TLS12_OR_HIGHER")


@pytest.mark.embedded
def test_the_embedded_queue_manager_lets_nobody_in_by_a_token(owner, binding, monkeypatch):
    if binding.__name__ != "ibmmq":
        pytest.skip("pymqi refuses it earlier: it has no field for it")
    with pytest.raises(errors.NotAuthorised) as refused:
        owner.connect(user=None, password=None, token="s3cret")
    assert "s3cret" not in str(refused.value)
