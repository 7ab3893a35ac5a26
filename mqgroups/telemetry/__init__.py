"""Traces, metrics and log fields of producers and consumers. Only the OpenTelemetry API is needed.

    events.py                the events that a producer or consumer reports
    owner.py, message_span.py, repair.py    the spans and metrics of producers and consumers, of messages, of repairs
    metrics.py, lag.py       the instruments
    context.py               W3C trace context as message properties
    place.py                 name, identifier and address of a queue manager
    logs.py                  the fields of every log record
    child_process.py         the environment of a child process
    settings.py              the application's choices
    guard.py                 keeps errors of telemetry away from the application
    forgotten.py, tracebacks.py    a warning of objects that were not closed; tracebacks without this package's frames
    semantic_conventions.py  the names of attributes, operations and metrics

Without a provider the API's spans and instruments do nothing. No span, metric or log record has a payload or a password.
"""
