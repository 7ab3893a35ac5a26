"""What crosses the wire: the table of verbs, frames, IBM MQ's structures, and its numbers. Nothing here knows a queue manager."""
