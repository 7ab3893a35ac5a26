"""Publish/subscribe: topics, subscriptions, publications and their copies, MQSUB and MQSUBRQ.

No package of a lower layer imports this package. ``serve/`` adds the verbs of this package to the verb table."""
