"""Definitions: attributes of queues and other objects, objects other than queues, authority records."""
