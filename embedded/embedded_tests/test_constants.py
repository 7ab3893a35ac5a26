"""Every name and number is IBM's: compared with the constants of both bindings, which need no client library for it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from embedded_tests.tables import table
from mqembedded import constants as mq

NAMES = sorted(name for name in vars(mq) if name.startswith("MQ"))
# ibmmq keeps this one in CMQXC; and there a name can only be missing, not different.
NOT_IN_IBMMQ_CMQC = {"MQXPT_TCP"}


def binding_constants(package: str, *files: str) -> ModuleType:
    """The package's CMQC, loaded by path: importing the package itself would want the MQ client library."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"{package} is not installed")
    folder = Path(found.submodule_search_locations[0])
    path = next(folder / file for file in files if (folder / file).exists())
    spec = importlib.util.spec_from_file_location(f"_{package}_constants", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def differing(constants: ModuleType, package: str) -> dict[str, tuple[object, object]]:
    """Return the constants that the binding has otherwise: our value, and the binding's."""
    binding = binding_constants(package, "_CMQC_linux_x64.py", "CMQC.py")
    missing = NOT_IN_IBMMQ_CMQC if package == "ibmmq" else set()
    return {
        name: (value, getattr(binding, name, None))
        for name, value in vars(constants).items()
        if name.startswith("MQ") and name not in missing and value != getattr(binding, name, None)
    }


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


def test_native_encoding_is_this_machine_s():
    expected = 0x222 if sys.byteorder == "little" else 0x111
    assert expected == mq.MQENC_NATIVE
