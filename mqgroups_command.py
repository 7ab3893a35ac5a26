"""The entry point of the command ``mqgroups``, beside the package because importing that takes most of its start.

Until the command catches Ctrl-C (``mqgroups/cli/main.py``), Ctrl-C ends the process at once, without a traceback.
"""

from __future__ import annotations

import signal


def main() -> None:
    """Run the command."""
    # In the background of a shell it is ignored, and stays so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from mqgroups.__main__ import main as command

    command()
