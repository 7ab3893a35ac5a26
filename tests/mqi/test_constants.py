"""Every name and number is IBM's: compared with the constants of both bindings, which need no client library for it."""

from __future__ import annotations

import sys

from embedded_tests.tables import table
from embedded_tests.test_constants import binding_constants, differing
from mqgroups.mqi import constants as mq

NAMES = sorted(name for name in vars(mq) if name.startswith("MQ"))


@table("package", ["pymqi", "ibmmq"])
def test_every_constant_is_the_binding_s(package):
    assert differing(mq, package) == {}


def test_every_reason_code_has_one_name():
    codes = [getattr(mq, name) for name in NAMES if name.startswith("MQRC_")]
    assert len(codes) == len(set(codes))


@table(
    ("reason", "name"),
    [(0, "MQRC_NONE"), (2033, "MQRC_NO_MSG_AVAILABLE"), (2053, "MQRC_Q_FULL"), (999_999, "MQRC_999999")],
)
def test_reason_name(reason, name):
    assert mq.reason_name(reason) == name


@table("package", ["pymqi", "ibmmq"])
def test_the_binding_has_the_names_of_other_reason_codes(monkeypatch, package):
    cmqc = binding_constants(package, "_CMQC_linux_x64.py", "CMQC.py")
    monkeypatch.setitem(sys.modules, f"{package}.CMQC", cmqc)
    assert cmqc.MQRC_TRIGGER_TYPE_ERROR not in [getattr(mq, name) for name in NAMES]
    assert mq.reason_name(cmqc.MQRC_TRIGGER_TYPE_ERROR) == "MQRC_TRIGGER_TYPE_ERROR"


def test_native_encoding_is_this_machine_s():
    expected = 0x222 if sys.byteorder == "little" else 0x111
    assert expected == mq.MQENC_NATIVE
