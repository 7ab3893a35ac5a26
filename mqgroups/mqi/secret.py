"""A password or a token, read each time a connection is made, so that a renewed one is used.

    mqgroups.connect(..., user="app", password=Secret.from_file("/run/secrets/mqAppPassword"))
    mqgroups.connect(..., token=Secret.from_variable("MQ_TOKEN"))

Neither its repr nor its errors show the secret.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from mqgroups.errors import ConfigurationError


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A secret: a value, or the file or environment variable that holds it."""

    given: str | None = None
    file: Path | None = None
    variable: str | None = None

    @classmethod
    def of(cls, value: str | Secret | None) -> Secret | None:
        """Return a secret for an argument of the application; raises ConfigurationError if it cannot be one."""
        if value is not None and not isinstance(value, str | Secret):
            raise ConfigurationError(
                f"a password or token must be a str or a Secret, got a value of type {type(value).__name__}"
            )
        return cls(value) if isinstance(value, str) else value

    @classmethod
    def from_file(cls, path: str | Path) -> Secret:
        """Return a secret that is in a file, in UTF-8; a newline at its end is ignored."""
        return cls(file=Path(path))

    @classmethod
    def from_variable(cls, name: str) -> Secret:
        """Return a secret that is in an environment variable."""
        return cls(variable=name)

    def read(self, what: str) -> str:
        """Return the secret; errors call it ``what``.

        Raises:
            ConfigurationError: the file cannot be read, the variable is not set, or the secret is empty.
        """
        value = self.given
        if self.file is not None:
            try:
                value = self.file.read_text(encoding="utf-8").removesuffix("\n")
            except OSError as error:
                raise ConfigurationError(f"{what}: file {self.file} cannot be read: {error.strerror}") from error
            except UnicodeDecodeError:
                # The cause is suppressed, because it contains the file's content.
                raise ConfigurationError(f"{what}: file {self.file} is not in UTF-8") from None
        elif self.variable is not None:
            value = os.environ.get(self.variable)
            if value is None:
                raise ConfigurationError(
                    f"{what}: environment variable {self.variable} is not set; set it for this process"
                )
        if not value:
            raise ConfigurationError(f"{what}: {self!r} is empty; it must hold the secret")
        return value

    def __repr__(self) -> str:
        if self.file is not None:
            return f"<Secret in file {self.file}>"
        return f"<Secret in environment variable {self.variable}>" if self.variable is not None else "<Secret>"
