"""Publish/subscribe: topics, subscriptions, publications and their copies, MQSUB and MQSUBRQ.

This room can be taken away: no room beneath imports it. ``serve/`` wires it in, and ``calls/`` would not change without it."""
