"""Chooses the binding, once for each process, and reports which package or library is not installed.

The docstring of the package ``mqgroups.mqi`` describes how the binding is chosen.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from functools import cache
from pathlib import Path

from mqgroups.errors import BindingMissing, ConfigurationError
from mqgroups.mqi._ibmmq import IbmmqBinding
from mqgroups.mqi._pymqi import PymqiBinding
from mqgroups.mqi.abc import Binding, ConnectedQueueManager

_BINDINGS: dict[str, type[PymqiBinding] | type[IbmmqBinding]] = {"pymqi": PymqiBinding, "ibmmq": IbmmqBinding}
# The bindings' C modules. An ImportError that names a C module means that the client library is missing, not the binding. Both
# packages hide the loader's own message.
_C_MODULES = ("pymqe", "ibmmqc")
# The client library that each binding is linked with.
_SUFFIX = "dylib" if sys.platform == "darwin" else "so"
_CLIENT_LIBRARIES = {"pymqi": f"libmqic_r.{_SUFFIX}", "ibmmq": f"libmqm_r.{_SUFFIX}"}
# Where IBM installs its client and its server. The dynamic loader looks there only if the machine is configured for it.
_INSTALLATION = Path("/opt/mqm")


def load_binding() -> Binding:
    """Return the binding that this process uses.

    Raises:
        ConfigurationError: MQGROUPS_MQI is neither pymqi nor ibmmq.
        BindingMissing: the binding, or the MQ client library that the binding needs, is not installed.
    """
    chosen = os.environ.get("MQGROUPS_MQI", "")
    if chosen and chosen not in _BINDINGS:
        raise ConfigurationError(f"MQGROUPS_MQI is {chosen!r}; it must be 'pymqi' or 'ibmmq'")
    if not chosen:
        chosen = "ibmmq" if not _installed("pymqi") and _installed("ibmmq") else "pymqi"
    return _load(chosen)


def binding_of(q_mgr: ConnectedQueueManager) -> Binding:
    """Return the binding that a connected QueueManager object belongs to; raises ConfigurationError for any other object."""
    for name in _BINDINGS:
        package = sys.modules.get(name)
        if package is not None and isinstance(q_mgr, package.QueueManager):
            return _load(name)
    kind = f"{type(q_mgr).__module__}.{type(q_mgr).__qualname__}"
    raise ConfigurationError(f"expected a pymqi.QueueManager or an ibmmq.QueueManager, got a {kind}")


@cache
def _load(name: str) -> Binding:
    directory = os.environ.get("MQGROUPS_LIBMQM")
    if directory:
        _load_client_library(Path(directory))
    try:
        try:
            return _BINDINGS[name]()
        except ImportError as error:
            if not (_is_about_the_client(error) and _loads_client_of_installation(name)):
                raise
            return _BINDINGS[name]()
    except ImportError as error:
        if not _installed(name):
            others = [other for other in _BINDINGS if _installed(other)]
            problem = f"{name} is not installed" if others else "neither pymqi nor ibmmq is installed"
            cure = f"set MQGROUPS_MQI={others[0]}, or run" if others else "run"
            raise BindingMissing(name, f"{problem}: {cure} `pip install {name if others else 'ibmmq'}`") from None
        if _is_about_the_client(error):
            # pymqi tries another module's name after the first error. Only the first error has the loader's message.
            raise BindingMissing(
                name,
                f"{name} cannot load the IBM MQ client library ({error.__context__ or error}): install IBM's redistributable "
                "client, and name its lib64 in LD_LIBRARY_PATH. Without IBM MQ: `mqembedded exec -- ...` runs a program on an "
                "embedded queue manager (package mqembedded)",
            ) from None
        raise BindingMissing(name, f"importing {name} failed: {error}") from error


def _is_about_the_client(error: ImportError) -> bool:
    return error.name in _C_MODULES or any(module in str(error) for module in _C_MODULES)


def _loads_client_of_installation(name: str) -> bool:
    try:
        ctypes.CDLL(str(_INSTALLATION / "lib64" / _CLIENT_LIBRARIES[name]))
    except OSError:
        return False
    return True


def _load_client_library(directory: Path) -> None:
    # The library is loaded before the binding, so that the dynamic loader uses it for the binding's dependency of the same name.
    # RTLD_GLOBAL is not used, because both bindings would then call the first library, and the two libraries connect differently.
    for library in _CLIENT_LIBRARIES.values():
        path = directory / "lib64" / library
        try:
            ctypes.CDLL(str(path))
        except OSError as error:
            raise BindingMissing(
                "libmqm", f"MQGROUPS_LIBMQM is {str(directory)!r}, but {path} cannot be loaded: {error}"
            ) from None


def _installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None
