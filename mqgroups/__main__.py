"""The command ``mqgroups``, also as ``python -m mqgroups``. Applications do not need what it is made with (extra ``cli``)."""

from __future__ import annotations

import importlib.util
import sys

_NEEDED = ("click", "rich")


def main() -> None:
    """Run the command, or say in one sentence what has to be installed for it."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        sys.exit(f"mqgroups: the command needs {' and '.join(missing)}: pip install 'mqgroups[cli]'")
    from mqgroups.cli.main import main as command

    command()


if __name__ == "__main__":
    main()
