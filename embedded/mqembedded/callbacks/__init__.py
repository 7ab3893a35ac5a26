"""Asynchronous consumption: MQCB, MQCTL, and the choice of the next callback.

No package of a lower layer imports this package. ``serve/`` adds this package's verbs to the verb table."""
