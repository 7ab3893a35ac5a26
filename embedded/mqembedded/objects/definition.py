"""A queue object that has no messages: a model queue, an alias queue, or the definition of a remote queue."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from mqembedded.objects.attributes import Value


@dataclass(frozen=True, slots=True)
class Definition:
    """A model, alias or remote queue, which has only attributes."""

    name: str
    type: int
    values: dict[int, Value]
    created: time.struct_time = field(default_factory=time.localtime)
