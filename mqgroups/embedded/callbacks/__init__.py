"""Asynchronous consumption: MQCB, MQCTL, and which callback is next.

Breadth: nothing beneath imports this room. It is wired in ``serve/``, and could be taken away without touching ``calls/``."""
