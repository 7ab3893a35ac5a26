"""Traces, metrics and log fields of producers and consumers. Only the OpenTelemetry API is needed.

    owner.py                 the spans and metrics of a producer or consumer
    message_span.py          the spans of messages
    repair.py                the span of an operator's repair
    metrics.py, lag.py       the instruments
    context.py               W3C trace context as message properties
    logs.py                  the fields of every log record
    child_process.py         the environment of a process that is started
    settings.py              the application's choices
    guard.py                 keeps errors of telemetry away from the application
    semantic_conventions.py  all names

Without a provider the API's spans and instruments do nothing. Nothing here sees a payload or a password.
"""
