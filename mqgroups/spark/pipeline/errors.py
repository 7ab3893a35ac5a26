"""Errors of the pipeline besides those of the source and the sink, below the package's errors by who has to act.

ConfigurationError
 └─ PipelineConfigError     a key of CONFIG.toml is unknown, missing, or has an invalid value
ApplicationError
 └─ TransformFailed         the SQL or the function of the pipeline failed
EnvironmentFailure
 └─ QueryFailed             Spark ended the query
"""

from __future__ import annotations

from mqgroups.errors import ApplicationError, ConfigurationError, EnvironmentFailure


class PipelineConfigError(ConfigurationError):
    """A pipeline's configuration is not valid.

    Attributes:
        file: the configuration file.
        key: dotted name of the key, as in ``source.queue``; empty if the error concerns the whole file.
    """

    def __init__(self, file: str, key: str, problem: str) -> None:
        super().__init__(f"{file}: {f'{key}: ' if key else ''}{problem}")
        self.file = file
        self.key = key


class TransformFailed(ApplicationError):
    """The transform of a pipeline raised an error, or its result is not usable. No group is lost: correct it and run again."""


class QueryFailed(EnvironmentFailure):
    """Spark ended the query; the message gives the cause, as far as it can be found in Spark's text."""
