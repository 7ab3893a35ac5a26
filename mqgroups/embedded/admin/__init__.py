"""Administration: MQSC command files, PCF commands and the command server that answers them.

Breadth: no room beneath imports this one. ``serve/`` wires it, and ``calls/`` would not change without it."""
