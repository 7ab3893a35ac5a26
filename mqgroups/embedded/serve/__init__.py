"""The process: the server with its connections, starting it, controlling it, and injecting faults."""
