"""Codecs convert values of an application to message data, and message data to values.

    group.put(mqgroups.codecs.json.encode({"order": 815}))
    qmgr.group_consumer("ORDERS", name="SINK", codec=mqgroups.codecs.json)        message.value == {"order": 815}

``text`` and ``json`` are here. Any other object with ``decode`` is a codec, too (``mqgroups.settings.Codec``).
"""

from __future__ import annotations

import json as _json
from typing import Any

from mqgroups.errors import MessageRefused, NotDecoded


class Text:
    """The codec for text. It decodes data to ``str`` by the message's CCSID. Putting ``str`` needs no codec."""

    def decode(self, data: str | bytes) -> str:
        """Return ``str`` as it is, and ``bytes`` as UTF-8 without a byte order mark; raises NotDecoded if they are not UTF-8."""
        if isinstance(data, str):
            return data
        try:
            return data.decode().removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            at = error.start
        raise NotDecoded(f"the byte at position {at} is not UTF-8")


class JSON:
    """The codec for JSON, without NaN. Keys become ``str``. A message without data is decoded to ``None``."""

    def encode(self, value: Any) -> str:
        """Return JSON text; raises MessageRefused for a value that JSON cannot represent."""
        try:
            return _json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            why = str(error)
        raise MessageRefused(f"codecs.json cannot encode the value: {why}")

    def decode(self, data: str | bytes) -> Any:
        """Return the value; raises NotDecoded if the data is not JSON."""
        if not data:
            # For example the empty message that ends the outgoing group of a pipe.
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
