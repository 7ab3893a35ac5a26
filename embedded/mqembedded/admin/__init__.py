"""Administration: MQSC command files, PCF commands and the command server that answers them.

No room beneath imports this one. ``serve/`` wires it in."""
