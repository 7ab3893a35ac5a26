"""Traces, metrics and log fields of producers and consumers. Only the OpenTelemetry API is needed.

    events.py                the events that a producer or consumer reports
    owner.py                 the spans and metrics of a producer or consumer
    message_span.py          the spans of messages
    repair.py                the span of an operator's repair
    metrics.py, lag.py       the instruments
    context.py               W3C trace context as message properties
    place.py, logs.py        name, identifier and address of a queue manager; the fields of every log record
    child_process.py         the environment variables with which a child process sends telemetry
    settings.py              the application's choices
    guard.py                 keeps errors of telemetry away from the application
    forgotten.py             warns of objects that were not closed
    tracebacks.py            removes this package's frames from tracebacks
    semantic_conventions.py  the names of attributes, operations and metrics

Without a provider the API's spans and instruments do nothing. No span, metric or log record contains message data or a password.
"""
