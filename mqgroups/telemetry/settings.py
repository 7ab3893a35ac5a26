"""The application's choices: which spans are made, and whether messages carry trace context."""

from __future__ import annotations

from dataclasses import dataclass

from mqgroups.errors import ConfigurationError

EACH_UNIT_OF_WORK, EACH_MESSAGE, OFF = "unit of work", "message", "off"


@dataclass(frozen=True, slots=True)
class TelemetrySettings:
    """``trace`` and ``propagate`` of ``mqgroups.connect``, which documents them.

    Raises:
        ConfigurationError: ``trace`` is not one of the three values.
    """

    trace: str = EACH_UNIT_OF_WORK
    propagate: bool = False

    def __post_init__(self) -> None:
        if self.trace not in (EACH_UNIT_OF_WORK, EACH_MESSAGE, OFF):
            raise ConfigurationError(
                f"trace must be {EACH_UNIT_OF_WORK!r}, {EACH_MESSAGE!r} or {OFF!r}, got {self.trace!r}"
            )


DEFAULT = TelemetrySettings()
