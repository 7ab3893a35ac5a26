"""Definitions: attributes of queues and of everything else, objects that are no queues, authority records."""
