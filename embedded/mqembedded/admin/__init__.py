"""Administration: MQSC command files, PCF commands and the command server that answers them.

No package of a lower layer imports this package. ``serve/`` starts the command server."""
