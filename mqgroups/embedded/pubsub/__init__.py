"""Publish/subscribe: topics, subscriptions, publications and their copies, MQSUB and MQSUBRQ.

Breadth: nothing beneath imports this room. It is wired in ``serve/``, and could be taken away without touching ``calls/``."""
