"""Asynchronous consumption: MQCB, MQCTL, and the choice of the next callback.

No room beneath imports this one. ``serve/`` wires it in."""
