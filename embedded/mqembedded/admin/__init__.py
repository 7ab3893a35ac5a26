"""Administration: MQSC command files, PCF commands, and the command server, which answers PCF commands.

No package of a lower layer imports this package. ``serve/`` starts the command server."""
