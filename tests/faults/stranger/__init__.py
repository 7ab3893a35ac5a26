"""The campaign on a queue manager that nobody here controls: faults in the client and on the line, none in the queue manager.

``injector.c`` stands between the binding and the MQ client library and does harm at a counted call. ``proxy.py`` is the line to
the queue manager: it cuts connections, or all of them. ``injector.py`` arms the first, ``queue_manager.py`` puts both together.
"""
