"""Asynchronous consumption: MQCB, MQCTL, and the choice of the next callback.

Breadth: no room beneath imports this one. ``serve/`` wires it, and ``calls/`` would not change without it."""
