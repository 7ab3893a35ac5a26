"""A password or a token. It is read each time a connection is made, so that a renewed secret is used.

    mqgroups.connect(..., user="app", password=Secret.from_file("/run/secrets/mqAppPassword"))
    mqgroups.connect(..., token=Secret.from_variable("MQ_TOKEN"))

The repr of a ``Secret`` and its errors do not show the value. Local variables in a traceback do not show it either, because this
package turns an application's value into a ``Secret`` first, and raises errors only in functions that do not have the value.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from mqgroups.errors import ConfigurationError
from mqgroups.printable import even_half_made

# The arguments of ``connect`` that are secrets.
SECRETS = ("password", "token", "key_repository_password")


def hide_secrets(arguments: dict[str, Any]) -> None:
    """Replace each secret among the arguments of ``connect`` with a ``Secret``, so that local variables do not show it."""
    arguments.update((name, Secret.of(arguments[name])) for name in SECRETS if name in arguments)


def check_secret(what: str, secret: Secret) -> None:
    """Raise ConfigurationError if the application's value is not a str."""
    if secret.given is not None and not isinstance(secret.given, str):
        raise ConfigurationError(f"{what} must be a str or a Secret, got a value of type {type(secret.given).__name__}")


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A secret. It has a value, or the name of the file or environment variable that holds the value."""

    given: str | None = None
    """The value itself."""
    file: Path | None = None
    """The file that holds the value."""
    variable: str | None = None
    """The environment variable that holds the value."""

    @classmethod
    def of(cls, value: object) -> Secret | None:
        """Return a secret with the application's value. This method does not check the value; ``check_secret`` does."""
        return value if value is None or isinstance(value, Secret) else cls(cast("str", value))

    @classmethod
    def from_file(cls, path: str | Path) -> Secret:
        """Return a secret that is in a UTF-8 file. A byte order mark, and a newline at the end, are ignored."""
        return cls(file=Path(path))

    @classmethod
    def from_variable(cls, name: str) -> Secret:
        """Return a secret that is in an environment variable. A newline at the end is ignored."""
        return cls(variable=name)

    def read(self, what: str) -> str:
        """Read and return the secret. ``what`` is its name in errors.

        Raises ConfigurationError if the file cannot be read, the variable is not set, or the secret is empty or not valid text.
        """
        value, problem = self._found()
        if problem:
            raise ConfigurationError(f"{what}: {problem}")
        return value

    def _found(self) -> tuple[str, str]:
        """Return the secret and an empty text, or an empty text and the problem. A Python error would show the secret."""
        try:
            if self.file is not None:
                value = _without_line_end(self.file.read_text(encoding="utf-8-sig"))
            elif self.variable is not None:
                value = _without_line_end(os.environ[self.variable])
            else:
                value = self.given or ""
            value.encode()
        except OSError as error:
            return "", f"file {self.file} cannot be read: {error.strerror}"
        except KeyError:
            return "", f"environment variable {self.variable} is not set; set it for this process"
        except UnicodeError:
            return "", f"file {self.file} is not in UTF-8" if self.file else f"{self!r} is not valid text"
        return value, "" if value else f"{self!r} is empty; it must hold the secret"

    @even_half_made
    def __repr__(self) -> str:
        if self.file is not None:
            return f"<Secret in file {self.file}>"
        return f"<Secret in environment variable {self.variable}>" if self.variable is not None else "<Secret>"


def _without_line_end(text: str) -> str:
    """Return a secret without the line end, LF or CR LF, that editors and ``echo`` write after it."""
    return text.removesuffix("\n").removesuffix("\r")
