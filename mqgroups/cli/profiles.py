"""Named profiles of connections: ``~/.config/mqgroups/config.toml``, and the option --profile.

    default_profile = "test"

    [profiles.test]
    q_mgr = "QM1"
    conn_name = "localhost(1414)"

    [profiles.production]
    q_mgr = "PROD1"
    ccdt_url = "file:///etc/mq/ccdt.json"
    user = "night"
    password_file = "/run/secrets/night"

A profile has the names of the connection options. It has no passwords: it says in which file or variable they are. With
--profile, environment variables of the connection are ignored, so that none of them leads to another queue manager; only the
password of a profile's user may be in MQGROUPS_PASSWORD, if the profile does not say where it is. With the default profile, they
come first.

Password and token are one setting, whether in a file or in a variable: the first source that has any of them (the command line,
then the environment, then the profile) replaces those of the others.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

_CHOSEN = "mqgroups.profile"
_SECRETS = ("password", "token", "key_repository_password")
# Secrets that are one setting: what the user proves itself with, and the password of the key repository.
_PROOF = ("password", "token")
_TOGETHER = (_PROOF, ("key_repository_password",))
# Where a secret is; these may come from the environment, too.
_WHERE = frozenset(f"{name}_{where}" for name in _SECRETS for where in ("file", "env"))
KEYS = frozenset(
    "q_mgr conn_name channel ccdt_url user cipher_spec key_repository certificate_label peer_name".split()
) | _WHERE  # fmt: skip


def config_file() -> Path:
    """Return the path of the configuration file, whether it exists or not."""
    directory = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(directory) / "mqgroups" / "config.toml"


def read_profiles(path: Path) -> tuple[str | None, dict[str, dict[str, Any]]]:
    """Return the name of the default profile, and the profiles; none if there is no file.

    Raises:
        UsageError: the file cannot be read, or has something that it may not have.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None, {}
    except (OSError, ValueError) as error:
        raise click.UsageError(f"{path} cannot be read: {error}") from error
    profiles = content.pop("profiles", {})
    default = content.pop("default_profile", None)
    if content or not isinstance(profiles, dict) or not all(isinstance(each, dict) for each in profiles.values()):
        raise click.UsageError(
            f"{path} may have default_profile and [profiles.NAME], got {', '.join(content) or 'profiles'}"
        )
    for name, values in profiles.items():
        _check(f"{path}, profile {name}", values)
    if default is not None and default not in profiles:
        raise click.UsageError(f"{path}: default_profile {default!r} is not a profile of this file")
    return default, profiles


def _check(where: str, values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        if key in _SECRETS:
            raise click.UsageError(
                f"{where}: {key} may not be in this file, because it would be copied and read with it. Put it into a file that "
                f'only you can read, and name that file: {key}_file = "..."; or name a variable: {key}_env'
            )
        if key not in KEYS:
            raise click.UsageError(f"{where}: {key} is not known. It may have {', '.join(sorted(KEYS))}")
        if not isinstance(value, str) or not value:
            raise click.UsageError(f"{where}: {key} must be a text in quotes, got {value!r}")


def _choose(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if context.resilient_parsing:
        return
    path = config_file()
    default, profiles = read_profiles(path)
    name = value or default
    if name is None:
        return
    if name not in profiles:
        known = f"has {', '.join(profiles)}" if profiles else "has none, or does not exist"
        raise click.BadParameter(f"{name!r} is not a profile: {path} {known}", context, parameter)
    values = {("q_mgr_name" if key == "q_mgr" else key): value for key, value in profiles[name].items()}
    context.default_map = {**(context.default_map or {}), **values}
    if context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE:
        context.meta[_CHOSEN] = True


def _names(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    try:
        names = read_profiles(config_file())[1]
    except click.UsageError:
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


profile_option = click.option(
    "--profile",
    envvar="MQGROUPS_PROFILE",
    show_envvar=True,
    metavar="NAME",
    is_eager=True,
    expose_value=False,
    callback=_choose,
    shell_complete=_names,
    help="A profile of ~/.config/mqgroups/config.toml, for the options below.",
)


class ConnectionOption(click.Option):
    """An option of a connection: its environment variable is ignored with --profile on the command line."""

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """As ``Option``."""
        return None if _CHOSEN in ctx.meta else super().resolve_envvar_value(ctx)

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        """As ``Option``; but of secrets that are one setting, only what the first source has."""
        value, source = super().consume_value(ctx, opts)
        if self.name == "user":
            first, secrets = _first_source(ctx, opts, _PROOF)
            # A token that replaces the profile's password replaces its user as well.
            replaced = source is ParameterSource.DEFAULT_MAP and first is not source and secrets == {"token"}
            return (None, ParameterSource.DEFAULT) if replaced else (value, source)
        for together in _TOGETHER:
            if any(self.name in _options(secret) for secret in together):
                first, _ = _first_source(ctx, opts, together)
                if source is not first:
                    # The environment may have the secret in the variable that is the default of the option.
                    replaced = first not in (None, ParameterSource.ENVIRONMENT)
                    ignored = _CHOSEN in ctx.meta and self.name == "token_env"
                    return None if replaced or ignored else self.default, ParameterSource.DEFAULT
        return value, source

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """As ``Option``; what is missing may also be in a profile."""
        try:
            return super().process_value(ctx, value)
        except click.MissingParameter as error:
            raise click.MissingParameter(f"Or name a profile of {config_file()} with --profile.", ctx, self) from error


def _options(secret: str) -> tuple[str, str]:
    return f"{secret}_file", f"{secret}_env"


def _first_source(
    ctx: click.Context, given: Mapping[str, Any], together: Sequence[str]
) -> tuple[ParameterSource | None, set[str]]:
    """Return the first source that has any of these secrets, and which; ``given`` are the options of the command line."""
    profile, environment = ctx.default_map or {}, {} if _CHOSEN in ctx.meta else os.environ
    user = given.get("user") or environment.get("MQGROUPS_USER")
    in_command_line = {secret for secret in together if any(given.get(name) for name in _options(secret))}
    # A password without a user is not used, unless it was asked for by name.
    variables = {secret for secret in together if secret != "password" or user or profile.get("user")}
    in_environment = {
        secret
        for secret in together
        if environment.get(f"MQGROUPS_{secret.upper()}_FILE")
        or (secret in variables and environment.get(f"MQGROUPS_{secret.upper()}"))
    }
    # The secret of a profile proves its user, and no other one.
    is_other = bool(user and profile.get("user") not in (None, user))
    in_profile = {
        secret
        for secret in together
        if any(name in profile for name in _options(secret)) and not (is_other and secret in _PROOF)
    }
    places = (
        (ParameterSource.COMMANDLINE, in_command_line),
        (ParameterSource.ENVIRONMENT, in_environment),
        (ParameterSource.DEFAULT_MAP, in_profile),
    )
    return next(((source, secrets) for source, secrets in places if secrets), (None, set()))
