"""The command-line interface: the command ``mqembedded``."""
