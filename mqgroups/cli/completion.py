"""The command ``mqgroups completion``: completes commands, options and profiles in bash, zsh and fish."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from mqgroups.cli.directories import of_this_user

_PROGRAM = "mqgroups"
# Where each shell finds the completion of a program, below the home directory or the XDG directory in its variable.
_PLACES = {
    "bash": ("XDG_DATA_HOME", ".local/share", f"bash-completion/completions/{_PROGRAM}"),
    "zsh": ("XDG_DATA_HOME", ".local/share", f"zsh/site-functions/_{_PROGRAM}"),
    "fish": ("XDG_CONFIG_HOME", ".config", f"fish/completions/{_PROGRAM}.fish"),
}
_THEN = {
    "bash": "New shells complete it, if the package bash-completion is installed",
    "zsh": "New shells complete it, if ~/.zshrc has, before compinit: fpath+=({directory})",
    "fish": "New shells complete it",
}


def _shell(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str:
    """Return the shell; by default the user's."""
    shell = value or Path(os.environ.get("SHELL", "")).name
    if shell not in _PLACES:
        raise click.BadParameter(f"{shell or 'no shell'} is not one of {', '.join(_PLACES)}")
    return shell


@click.command()
@click.argument("shell", required=False, callback=_shell, metavar="[bash|zsh|fish]")
@click.option("--install", is_flag=True, help="Write it to the file where the shell looks for it, for this user.")
@click.pass_context
def completion(context: click.Context, shell: str, install: bool) -> None:
    """Print the completion of a shell, by default of $SHELL, or install it for this user.

    \b
        mqgroups completion --install
        source <(mqgroups completion bash)       for this shell only
    """
    kind = get_completion_class(shell)
    assert kind is not None
    made = kind(context.find_root().command, {}, _PROGRAM, f"_{_PROGRAM.upper()}_COMPLETE")
    # ``source`` would run bash to find its version.
    text = made.source_template % made.source_vars()
    if not install:
        click.echo(text)
        return
    variable, default, name = _PLACES[shell]
    path = of_this_user(variable, default) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")
    click.echo(f"{path} written. {_THEN[shell].format(directory=path.parent)}.")
