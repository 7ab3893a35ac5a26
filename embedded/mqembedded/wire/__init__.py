"""The wire format: the table of verbs, frames, and IBM MQ's structures and numbers."""
