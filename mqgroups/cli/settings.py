"""Options of commands that are made of settings (``mqgroups.setting``): name, values, default and help are those of the field."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, get_args, get_origin

import click

from mqgroups.cli.options import Decorator, combined
from mqgroups.setting import Field, Settings, settings_of


def setting_options(settings: type[Settings], *names: str) -> Decorator:
    """Return a decorator that adds an option for each of these fields; the command's argument has the field's name."""
    known = {each.name: each for each in settings_of(settings)}
    return combined([_option(known[name]) for name in names])


def _option(field: Field) -> Decorator:
    more: dict[str, Any] = {"show_default": True}
    if field.kind is bool:
        more = {"is_flag": True}
    elif field.choices:
        more["type"] = click.Choice(field.choices)
    elif field.kind is float:
        more |= {"type": click.FloatRange(0), "metavar": "SECONDS"}
    elif int in get_args(field.kind):
        more |= {"type": click.IntRange(1), "metavar": "NUMBER"}
    elif get_origin(field.kind) is Collection:
        more = {"multiple": True, "metavar": field.name.rpartition("_")[2].removesuffix("s").upper()}
    else:
        more["metavar"] = "NAME"
    # --group-wait for group_wait_s; and --record-user for record_users, each of which is given by itself.
    flag = f"--{re.sub('_s$' if not more.get('multiple') else 's$', '', field.name).replace('_', '-')}"
    text = field.first_sentence
    return click.option(flag, field.name, default=field.default, help=text[:1].upper() + text[1:], **more)
