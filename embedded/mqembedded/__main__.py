"""The command ``mqembedded``, which can also be started with ``python -m mqembedded``."""

from mqembedded.cli.main import main

if __name__ == "__main__":
    main(prog_name="mqembedded")
