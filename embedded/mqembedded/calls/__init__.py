"""The MQI verbs for queues, messages and properties.

Each verb is a function of the queue manager, the connection and the fields of the request, and returns an ``Answer`` or raises
``Failed``.
"""
