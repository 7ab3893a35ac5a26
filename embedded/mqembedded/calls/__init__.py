"""The MQI verbs for queues, messages and properties.

A verb's function takes the queue manager, the connection and the request's fields. It returns an ``Answer`` or raises ``Failed``.
"""
