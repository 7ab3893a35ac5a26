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

A profile has the names of the connection options. It has no passwords: it says in which file or variable they are.

One connection, one source. It is the profile that --profile or MQGROUPS_PROFILE names; else the environment, if that names a
queue manager or an address; else the default profile; else the environment. The other sources are ignored. ``--profile ''`` asks
for none. The command line comes first for each option, but it never sends the user, password or token of the source to another
address: if it names one, they are not used. Nor are those of a profile without an address, if a variable of the MQ client has one
(``MQSERVER``).

User, password and token are one setting: the command line's token replaces user and password of the source, and its user another
one's password.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from mqgroups.cli.console import complain
from mqgroups.cli.directories import of_this_user
from mqgroups.mqi.secret import SECRETS

# In ``Context.meta``: the values of the profile that is the source; and whether something was said.
_PROFILE, _SAID = "mqgroups.profile", "mqgroups.profile.said"
# Who connects, and the setting that each option is a part of.
_IDENTITY = frozenset({"user", "password", "token"})
_SETTINGS = {"user": "user", **{f"{name}_{where}": name for name in SECRETS for where in ("file", "env")}}
_WHERE = frozenset(_SETTINGS) - {"user"}
# What names a queue manager or an address: options, and variables of the MQ client (IBM MQ, "IBM MQ environment variables").
_PLACE = ("q_mgr_name", "conn_name", "ccdt_url")
_OF_CLIENT = ("MQSERVER", "MQCCDTURL", "MQCHLLIB", "MQCHLTAB")
KEYS = frozenset(
    "q_mgr conn_name channel ccdt_url user cipher_spec key_repository certificate_label peer_name".split()
) | _WHERE  # fmt: skip


def config_file() -> Path:
    """Return the path of the configuration file, whether it exists or not."""
    try:
        return of_this_user("XDG_CONFIG_HOME", ".config") / "mqgroups" / "config.toml"
    except click.UsageError:
        # A user without a home directory, as in many containers, has no profiles.
        return Path(os.devnull)


def read_profiles(path: Path) -> tuple[str | None, dict[str, dict[str, Any]]]:
    """Return the name of the default profile, and the profiles; none if there is no file.

    Raises:
        UsageError: the file cannot be read, or has something that it may not have.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        # HOME may be another user's, or no directory.
        if isinstance(error, FileNotFoundError | NotADirectoryError) or not os.access(path.parent, os.X_OK):
            return None, {}
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
        if key in SECRETS:
            raise click.UsageError(
                f"{where}: {key} may not be in this file, because it would be copied and read with it. Put it into a file that "
                f'only you can read, and name that file: {key}_file = "..."; or name a variable: {key}_env'
            )
        if key not in KEYS:
            raise click.UsageError(f"{where}: {key} is not known. It may have {', '.join(sorted(KEYS))}")
        if not isinstance(value, str) or not value:
            raise click.UsageError(f"{where}: {key} must be a text in quotes, got {value!r}")


def _choose(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Make a profile the source of the connection, if one is named, or the environment names no place."""
    if context.resilient_parsing:
        return
    path = config_file()
    default, profiles = read_profiles(path)
    in_environment = [
        f"MQGROUPS_{key.upper()}" for key in (*_PLACE, *sorted({*KEYS, *SECRETS} - {"q_mgr"})) if _variable(key)
    ]
    name = value
    if value is None and default is not None:
        if any(map(_variable, _PLACE)):
            complain(
                f"{in_environment[0]} is set, so the environment says how to connect, and not default_profile {default!r}"
            )
        else:
            name = default
            if in_environment:
                complain(f"default_profile {default!r} says how to connect, so {in_environment[0]} is not used")
    if not name:
        return
    if name not in profiles:
        known = f"has {', '.join(profiles)}" if profiles else "has none, or does not exist"
        raise click.BadParameter(f"{name!r} is not a profile: {path} {known}", context, parameter)
    values = {("q_mgr_name" if key == "q_mgr" else key): value for key, value in profiles[name].items()}
    context.default_map = {**(context.default_map or {}), **values}
    context.meta[_PROFILE] = values


def _variable(name: str) -> str | None:
    """Return the variable of an option, if it is set."""
    return os.environ.get(f"MQGROUPS_{name.upper()}")


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
    help="A profile of ~/.config/mqgroups/config.toml, for the options below; '' uses no profile.",
)


class ConnectionOption(click.Option):
    """An option of a connection: its environment variable is ignored if a profile is the source."""

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """As ``Option``."""
        return None if _PROFILE in ctx.meta else super().resolve_envvar_value(ctx)

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        """As ``Option``; but of user, password and token, only what belongs to the place that is connected to."""
        value, source = super().consume_value(ctx, opts)
        setting = _SETTINGS.get(self.name or "")
        if setting is None or source is ParameterSource.COMMANDLINE:
            return value, source
        # The variables that are the defaults of options belong to the environment.
        of_environment = source is ParameterSource.DEFAULT and _PROFILE in ctx.meta
        return (None, source) if of_environment or setting not in _used(ctx, opts) else (value, source)

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """As ``Option``; what is missing may also be in a profile."""
        try:
            return super().process_value(ctx, value)
        except click.MissingParameter as error:
            raise click.MissingParameter(f"Or name a profile of {config_file()} with --profile.", ctx, self) from error


def _used(ctx: click.Context, given: Mapping[str, Any]) -> frozenset[str]:
    """Return which settings of the source are used; ``given`` are the options of the command line."""
    profile: Mapping[str, Any] | None = ctx.meta.get(_PROFILE)
    by_command_line = {setting for option, setting in _SETTINGS.items() if given.get(option)}
    used = {*_SETTINGS.values()} - by_command_line
    user = _variable("user") if profile is None else profile.get("user")
    if "token" in by_command_line:
        used -= {"user", "password"}
    elif by_command_line & _IDENTITY:
        used -= {"token"}
    if "user" in by_command_line and user not in (None, given["user"]):
        used -= {"password"}
    if where := _leads_elsewhere(profile, given):
        has = _IDENTITY & {setting for option, setting in _SETTINGS.items() if profile and option in profile}
        has |= _IDENTITY & {setting for setting in _IDENTITY if profile is None and _variable(setting)}
        if has & used and not ctx.meta.get(_SAID):
            ctx.meta[_SAID] = True
            of = "the environment" if profile is None else "the profile"
            complain(f"{' and '.join(sorted(has & used))} of {of} not used, because {where} leads elsewhere")
        used -= _IDENTITY
    return frozenset(used)


def _leads_elsewhere(profile: Mapping[str, Any] | None, given: Mapping[str, Any]) -> str:
    """Return the option or variable that leads to another place than the source does; empty if none does."""
    places = {name: _variable(name) if profile is None else profile.get(name) for name in _PLACE}
    of_client = [name for name in _OF_CLIENT if os.environ.get(name)]
    if profile is None and not any(places.values()) and not of_client:
        # User and password of the environment are for whatever the command line names.
        return ""
    if given.get("q_mgr_name") and places["q_mgr_name"] not in (None, given["q_mgr_name"]):
        return "--q-mgr"
    for name, option in (("conn_name", "--conn-name"), ("ccdt_url", "--ccdt-url")):
        if given.get(name) and given[name] != places[name]:
            return option
    named = places["conn_name"] or places["ccdt_url"] or given.get("conn_name") or given.get("ccdt_url")
    return of_client[0] if profile is not None and of_client and not named else ""
