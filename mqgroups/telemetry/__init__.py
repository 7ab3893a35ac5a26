"""Traces, metrics and logs: what a producer or consumer lets be seen of its work. Only the OpenTelemetry API is needed.

    owner.py                 a producer's or consumer's telemetry: its spans, and what they have in common with metrics
    message_span.py          the spans of messages
    repair.py                the span of an operator's repair
    metrics.py               the instruments
    context.py               W3C trace context as message properties: what is written, what is read
    logs.py                  what every line of a log knows besides its text
    settings.py              what the application chooses
    guard.py                 whatever goes wrong in here stays in here
    semantic_conventions.py  all names

Without a provider the API makes spans and instruments of nothing. Nothing here sees a payload or a password.
"""
