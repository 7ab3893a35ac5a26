"""The process of a queue manager: the server with its connections, and how to start it, control it and inject faults."""
