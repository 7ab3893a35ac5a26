"""The C library with the MQI. It passes every call to the queue manager and decides nothing. ``build.py`` compiles it."""
