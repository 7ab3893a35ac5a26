"""Publish/subscribe: topics, subscriptions, publications and their copies, MQSUB and MQSUBRQ.

No package of a lower layer imports this package. ``serve/`` adds its verbs to the verb table."""
