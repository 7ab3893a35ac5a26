"""A password or a token, and where to read it: whenever a connection is made, so that one that is renewed is found.

    mqgroups.connect(..., user="app", password=Secret.from_file("/run/secrets/mqAppPassword"))
    mqgroups.connect(..., token=Secret.from_variable("MQ_TOKEN"))

Its repr, and what it raises, do not show what it says.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from mqgroups.errors import ConfigurationError


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A secret that is given, or that a file or an environment variable holds."""

    given: str | None = None
    file: Path | None = None
    variable: str | None = None

    @classmethod
    def of(cls, value: str | Secret | None) -> Secret | None:
        """Return a secret for what an application gives."""
        return cls(value) if isinstance(value, str) else value

    @classmethod
    def from_file(cls, path: str | Path) -> Secret:
        """Return a secret that a file holds, in UTF-8; a newline at its end is none of it."""
        return cls(file=Path(path))

    @classmethod
    def from_variable(cls, name: str) -> Secret:
        """Return a secret that an environment variable holds."""
        return cls(variable=name)

    def read(self, what: str) -> str:
        """Return the secret; ``what`` is what it is called in an error.

        Raises:
            ConfigurationError: the file cannot be read, the variable is not set, or there is nothing in it.
        """
        value = self.given
        if self.file is not None:
            try:
                value = self.file.read_text(encoding="utf-8").removesuffix("\n")
            except OSError as error:
                raise ConfigurationError(f"{what}: file {self.file} cannot be read: {error.strerror}") from error
            except UnicodeDecodeError:
                # Not as the cause: it carries what the file holds.
                raise ConfigurationError(f"{what}: file {self.file} is not in UTF-8") from None
        elif self.variable is not None:
            value = os.environ.get(self.variable)
            if value is None:
                raise ConfigurationError(f"{what}: there is no environment variable {self.variable} in this process")
        if not value:
            raise ConfigurationError(f"{what}: {self!r} is empty")
        return value

    def __repr__(self) -> str:
        if self.file is not None:
            return f"<Secret in file {self.file}>"
        return f"<Secret in environment variable {self.variable}>" if self.variable is not None else "<Secret>"
