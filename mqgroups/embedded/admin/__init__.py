"""Administration: MQSC command files, PCF commands and the command server that answers them.

Breadth: nothing beneath imports this room. It is wired in ``serve/``, and could be taken away without touching ``calls/``."""
