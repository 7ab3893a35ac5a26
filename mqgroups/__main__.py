"""``python -m mqgroups``: the same as the command ``mqgroups``."""

from mqgroups.cli.main import main

if __name__ == "__main__":
    main()
