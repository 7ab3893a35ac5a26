"""Queues and what is on them: messages, groups, waiting calls, marks, handles, units of work, and transmission queues."""
