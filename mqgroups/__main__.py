"""The command ``mqgroups``, also as ``python -m mqgroups``. Only this command needs the extra ``cli``."""

from __future__ import annotations

import importlib.util
import sys

_NEEDED = ("click", "rich")


def main() -> None:
    """Run the command. If a package is missing, exit with a message that names it."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        extras = "ibmmq,demo" if sys.argv[1:2] == ["demo"] else "cli"
        sys.exit(f"mqgroups: the command needs {' and '.join(missing)}: pip install 'mqgroups[{extras}]'")
    from mqgroups.cli.main import main as command

    command()


if __name__ == "__main__":
    main()
