"""The verbs of the MQI about queues, messages and their properties. Each is a function of the queue manager, the connection and
the fields of the request; it returns an ``Answer`` or raises ``Failed``."""
