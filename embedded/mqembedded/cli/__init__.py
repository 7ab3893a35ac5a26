"""The command ``mqembedded``."""
