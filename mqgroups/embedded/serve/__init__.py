"""The process: the server with its connections, starting it, controlling it, letting things go wrong on purpose."""
