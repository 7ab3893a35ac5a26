"""The C library with the MQI: marshals every call to the queue manager and decides nothing. ``build.py`` compiles it."""
