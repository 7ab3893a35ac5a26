"""Asynchronous consumption: MQCB, MQCTL, and the choice of the next callback.

This room can be taken away: no room beneath imports it. ``serve/`` wires it in, and ``calls/`` would not change without it."""
