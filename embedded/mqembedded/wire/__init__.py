"""The wire format: the table of verbs, frames, IBM MQ's structures and its numbers. Not here: queue managers."""
