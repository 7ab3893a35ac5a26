"""The wire format: the table of verbs, frames, IBM MQ's structures and its numbers. Nothing here knows a queue manager."""
