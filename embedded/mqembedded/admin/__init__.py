"""Administration: MQSC command files, PCF commands and the command server that answers them.

This room can be taken away: no room beneath imports it. ``serve/`` wires it in, and ``calls/`` would not change without it."""
