"""Codecs: an application's values as message data, and back.

    group.put(mqgroups.codecs.json.encode({"order": 815}))
    qmgr.group_consumer("ORDERS", name="SINK", codec=mqgroups.codecs.json)        message.value == {"order": 815}

``text`` and ``json`` are here. Any other object with ``decode`` is a codec, too (``mqgroups.settings.Codec``).
"""

from __future__ import annotations

import json as _json
from typing import Any

from mqgroups.errors import MessageRefused, NotDecoded


class Text:
    """``str``, by the message's CCSID. ``group.put`` takes ``str`` as it is."""

    def decode(self, data: str | bytes) -> str:
        """Return text. Data without format MQSTR must be UTF-8, perhaps with a byte order mark, else raises NotDecoded."""
        if isinstance(data, str):
            return data
        try:
            return data.decode().removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            at = error.start
        raise NotDecoded(f"the byte at position {at} is not UTF-8")


class JSON:
    """JSON values as text, as JSON defines them: no NaN, and keys become ``str``. A message without data is ``None``."""

    def encode(self, value: Any) -> str:
        """Return JSON text; raises MessageRefused for a value that JSON does not have."""
        try:
            return _json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            why = str(error)
        raise MessageRefused(f"codecs.json cannot encode the value: {why}")

    def decode(self, data: str | bytes) -> Any:
        """Return the value; raises NotDecoded if the data is not JSON."""
        if not data:
            # For example the message that ends a pipe's group if nothing more is put.
            return None
        try:
            return _json.loads(text.decode(data), parse_constant=_refuse)
        except _json.JSONDecodeError as error:
            why = f"{error.msg} at position {error.pos}"
        except (ValueError, RecursionError) as error:
            why = str(error)
        raise NotDecoded(f"it is not JSON: {why}")


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not defined in JSON")


text = Text()
json = JSON()

__all__ = ["json", "text"]
