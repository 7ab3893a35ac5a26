"""Secrets: read where they are, when they are needed, and shown nowhere."""

from __future__ import annotations

import pickle
import traceback

import pytest

from embedded_tests.tables import table
from mqgroups import Secret
from mqgroups.errors import ConfigurationError


def test_a_secret_is_read_again_each_time(tmp_path):
    path = tmp_path / "token"
    secret = Secret.from_file(path)
    path.write_text("first\n")
    assert secret.read("token") == "first"
    path.write_text("second")
    assert secret.read("token") == "second"


@table(
    ("content", "secret"),
    [
        (b" p\xc3\xa4ss \n\n", " p\u00e4ss \n"),
        (b"secret\n", "secret"),
        (b"secret\r\n", "secret"),
        # What editors of Windows write.
        (b"\xef\xbb\xbfsecret\r\n", "secret"),
    ],
)
def test_only_the_line_end_and_a_byte_order_mark_are_none_of_it(tmp_path, monkeypatch, content, secret):
    path = tmp_path / "password"
    path.write_bytes(content)
    assert Secret.from_file(path).read("password") == secret
    monkeypatch.setenv("PW", content.decode("utf-8-sig"))
    assert Secret.from_variable("PW").read("password") == secret


def test_a_text_is_a_secret_and_a_secret_stays_one():
    given = Secret.of("s3cret")
    assert given is not None
    assert given.read("password") == "s3cret"
    assert Secret.of(given) is given
    assert Secret.of(None) is None


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, r"token: file .*f cannot be read: No such file or directory"),
        (b"", r"token: <Secret in file .*f> is empty"),
        (b"\n", "is empty"),
        (b"s3cret\xff", r"token: file .*f is not in UTF-8"),
    ],
)
def test_a_file_that_holds_none_is_told_without_what_it_holds(tmp_path, content, problem):
    path = tmp_path / "f"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=problem) as refused:
        Secret.from_file(path).read("token")
    assert "s3cret" not in "".join(traceback.format_exception(refused.value))
    assert not isinstance(refused.value.__cause__, UnicodeDecodeError)


@pytest.mark.parametrize(("value", "problem"), [(None, "environment variable MQ_TOKEN is not set"), ("", "is empty")])
def test_a_variable_that_holds_none_is_told(monkeypatch, value, problem):
    monkeypatch.delenv("MQ_TOKEN", raising=False)
    if value is not None:
        monkeypatch.setenv("MQ_TOKEN", value)
    with pytest.raises(ConfigurationError, match=problem):
        Secret.from_variable("MQ_TOKEN").read("token")


def test_its_repr_says_where_it_is_and_not_what():
    assert repr(Secret("s3cret")) == f"{Secret('s3cret')}" == "<Secret>"
    assert repr(Secret.from_file("/run/secrets/pw")) == "<Secret in file /run/secrets/pw>"
    assert repr(Secret.from_variable("PW")) == "<Secret in environment variable PW>"


def test_it_travels():
    assert pickle.loads(pickle.dumps(Secret("s3cret"))).read("password") == "s3cret"
