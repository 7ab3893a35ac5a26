"""Publish/subscribe: topics, subscriptions, publications and their copies, MQSUB and MQSUBRQ.

Breadth: no room beneath imports this one. ``serve/`` wires it, and ``calls/`` would not change without it."""
