"""Queues and their messages: groups, indexes, waiting calls, marks, handles, units of work, and transmission queues."""
