"""The MQI verbs for queues, messages and properties.

A verb is a function of the queue manager, the connection and the request's fields. It returns an ``Answer`` or raises ``Failed``.
"""
