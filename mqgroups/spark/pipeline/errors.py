"""Errors of the pipeline, below those of the package by who has to act.

ConfigurationError
 └─ PipelineConfigError     a key of CONFIG.toml is unknown, missing, or has a value it cannot have
ApplicationError
 └─ TransformFailed         the SQL or the function of the pipeline failed
StatusError
 ├─ CheckpointForeign       the micro-batches on record are of another checkpoint
 └─ RecordsUnreadable       the pipeline's own record of its micro-batches is not one of this version
EnvironmentFailure
 └─ QueryFailed             Spark ended the query
"""

from __future__ import annotations

from mqgroups.errors import ApplicationError, ConfigurationError, EnvironmentFailure, StatusError


class PipelineConfigError(ConfigurationError):
    """A pipeline's configuration cannot be used.

    Attributes:
        file: the configuration.
        key: dotted name of the key, as in ``source.queue``; empty if it is about the whole file.
    """

    def __init__(self, file: str, key: str, problem: str) -> None:
        super().__init__(f"{file}: {f'{key}: ' if key else ''}{problem}")
        self.file = file
        self.key = key


class TransformFailed(ApplicationError):
    """The transform of a pipeline raised, or returned no DataFrame. Nothing of its batch is lost: correct it, run again."""


class CheckpointForeign(StatusError):
    """The micro-batches on record were not done from this checkpoint."""


class RecordsUnreadable(StatusError):
    """A line of the pipeline's record of batches is none of this version's."""


class QueryFailed(EnvironmentFailure):
    """Spark ended the query; the message is the cause, as far as it can be found in what Spark says."""
