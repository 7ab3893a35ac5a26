"""Publish/subscribe: topics, subscriptions, publications and their copies, MQSUB and MQSUBRQ.

No room beneath imports this one. ``serve/`` wires it in."""
