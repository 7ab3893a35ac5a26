"""Attributes of queues and of other objects, the objects other than queues, and authority records."""
