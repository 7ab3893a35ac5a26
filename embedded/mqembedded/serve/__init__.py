"""The process of a queue manager: the server with its connections, and code to start and control the server and inject faults."""
