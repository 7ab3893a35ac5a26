"""Where the options of a connection come from: the command line, a profile of ``~/.config/mqgroups/config.toml``, or variables.

    default_profile = "production"

    [profiles.production]
    q_mgr = "PROD1"
    ccdt_url = "file:///etc/mq/ccdt.json"
    user = "night"
    password_file = "/run/secrets/night"

A profile has the names of the connection options. It has no passwords: it says in which file or variable they are.

One connection, one source, and nothing of another one. It is the command line, if that has an option of a connection; else the
profile that --profile or MQGROUPS_PROFILE names; else the environment, if it names a queue manager or an address; else the
default profile; else the environment. An empty name asks for no profile. A password goes only to the address that it was given
with.
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

from mqgroups.cli.console import complain
from mqgroups.mqi.abc import ConnectArguments
from mqgroups.mqi.secret import SECRETS
from mqgroups.setting import settings_of

# In ``Context.meta``: the values of the source.
_SOURCE = "mqgroups.connection"
_PLACE = ("q_mgr_name", "conn_name", "ccdt_url")
# Variables of the MQ client that lead to an address (IBM MQ, "IBM MQ environment variables").
_OF_CLIENT = ("MQSERVER", "MQCCDTURL", "MQCHLLIB", "MQCHLTAB")
# A secret of the environment that is used only with the setting that it belongs to.
_ONLY_WITH = {"password": "user", "key_repository_password": "key_repository"}
# Settings of a connection that commands do not have: MQSSLFIPS says it.
NO_OPTIONS = frozenset({"fips"})
KEYS = frozenset(
    {"q_mgr"} | {each.name for each in settings_of(ConnectArguments)} - {"q_mgr_name"} - {*SECRETS} - NO_OPTIONS
) | {f"{name}_{where}" for name in SECRETS for where in ("file", "env")}


def config_file() -> Path:
    """Return the path of the configuration file, whether it exists or not."""
    try:
        return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "mqgroups" / "config.toml"
    except RuntimeError:
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


class _ProfileOption(click.Option):
    """--profile: it is processed before the options of a connection, and finds their source."""

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        value, args = super().handle_parse_result(ctx, opts, args)
        if not ctx.resilient_parsing:
            ctx.meta[_SOURCE] = self._source(ctx, opts, opts.get("profile", os.environ.get("MQGROUPS_PROFILE")))
        return value, args

    def _source(self, ctx: click.Context, opts: Mapping[str, Any], named: str | None) -> Mapping[str, str]:
        """Return the values of the source, and say which it is if another one could be expected."""
        options = [each for each in ctx.command.params if isinstance(each, ConnectionOption)]
        given = {each.name: opts[each.name] for each in options if each.name in opts}
        environment, variables = _of_environment(options)
        path = config_file()
        default, profiles = read_profiles(path)
        of_client = [each for each in _OF_CLIENT if os.environ.get(each)]
        if given:
            option = next(each.opts[0] for each in options if each.name in given)
            if opts.get("profile"):
                raise click.UsageError(f"--profile and {option} cannot be combined: a connection has one source", ctx)
            name = default if named is None else named
            others = [f"profile {name!r}"] if name else []
            _say(f"the command line has {option}, so it", [*variables, *others, *_beside(given, of_client)])
            return given
        if not named and (named == "" or default is None or any(name in environment for name in _PLACE)):
            others = [] if named == "" or default is None else [f"default_profile {default!r}"]
            _say("the environment", [*others, *_beside(environment, of_client)])
            return environment
        name = named or default
        if name is None or name not in profiles:
            known = f"has {', '.join(profiles)}" if profiles else "has none, or does not exist"
            raise click.BadParameter(f"{name!r} is not a profile: {path} {known}", ctx, self)
        found = {("q_mgr_name" if key == "q_mgr" else key): value for key, value in profiles[name].items()}
        if of_client and not _has_address(found):
            if any(key.startswith(("user", "password", "token")) for key in found):
                raise click.UsageError(
                    f"profile {name!r} has no conn_name and no ccdt_url, and {of_client[0]} leads to an address that its user or "
                    f"token may not belong to. Give the profile an address, or remove {of_client[0]}",
                    ctx,
                )
            complain(f"profile {name!r} has no address, so {of_client[0]} says where to connect")
        elif not opts.get("profile"):
            _say(f"profile {name!r}", [*variables, *_beside(found, of_client)])
        return found


def _of_environment(options: Sequence[ConnectionOption]) -> tuple[dict[str, str], list[str]]:
    """Return what the variables of the options say, and their names."""
    named = ((each.name or "", str(each.envvar)) for each in options if each.envvar)
    variables = {name: variable for name, variable in named if os.environ.get(variable)}
    found = {name: os.environ[variable] for name, variable in variables.items()}
    for secret in SECRETS:
        variable = variable_of(secret)
        is_wanted = _ONLY_WITH.get(secret) is None or _ONLY_WITH[secret] in found
        if is_wanted and f"{secret}_file" not in found and os.environ.get(variable):
            found[f"{secret}_env"] = variables[f"{secret}_env"] = variable
    return found, list(variables.values())


def variable_of(secret: str) -> str:
    """Return the environment variable that holds a secret, if the environment is the source."""
    return f"MQGROUPS_{secret.upper()}"


def _has_address(values: Mapping[str, str]) -> bool:
    return bool(values.get("conn_name") or values.get("ccdt_url"))


def _beside(values: Mapping[str, str], of_client: Sequence[str]) -> list[str]:
    """Return the variables of the MQ client that an address of the source replaces, but for an MQSERVER with the same address."""
    same = "MQSERVER" if os.environ.get("MQSERVER", "").endswith(f"/{values.get('conn_name')}") else ""
    return [each for each in of_client if each != same and _has_address(values)]


def _say(source: str, unused: Sequence[str]) -> None:
    if unused:
        complain(f"{source} says how to connect; not used: {', '.join(unused)}")


def _names(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    try:
        names = read_profiles(config_file())[1]
    except click.UsageError:
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


profile_option = click.option(
    "--profile",
    cls=_ProfileOption,
    envvar="MQGROUPS_PROFILE",
    show_envvar=True,
    metavar="NAME",
    is_eager=True,
    expose_value=False,
    shell_complete=_names,
    help="A profile of ~/.config/mqgroups/config.toml, instead of the options below; '' uses no profile.",
)


class ConnectionOption(click.Option):
    """An option of a connection: its value is that of the one source, or its default."""

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        source = ctx.meta.get(_SOURCE)
        if source is None:
            return super().consume_value(ctx, opts)
        if self.name in source:
            return source[self.name], ParameterSource.COMMANDLINE
        return self.get_default(ctx), ParameterSource.DEFAULT

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """As ``Option``; what is missing may also be in a profile."""
        try:
            return super().process_value(ctx, value)
        except click.MissingParameter as error:
            raise click.MissingParameter(f"Or name a profile of {config_file()} with --profile.", ctx, self) from error
