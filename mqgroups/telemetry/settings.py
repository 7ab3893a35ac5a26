"""The application's choices: which spans are made, and whether messages carry trace context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mqgroups.core import modes
from mqgroups.core.modes import Trace
from mqgroups.errors import ConfigurationError

EACH_UNIT_OF_WORK: Final = "unit of work"
EACH_MESSAGE: Final = "message"
OFF: Final = "off"


@dataclass(frozen=True, slots=True)
class TelemetrySettings:
    """The settings ``trace`` and ``propagate`` of ``mqgroups.connect``. Raises ConfigurationError for an unknown ``trace``."""

    trace: Trace = EACH_UNIT_OF_WORK
    propagate: bool = False

    def __post_init__(self) -> None:
        problem = modes.problem("trace", self.trace, Trace)
        if problem is not None:
            raise ConfigurationError(problem)


DEFAULT = TelemetrySettings()
