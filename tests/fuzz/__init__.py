"""Fuzzing of the C library: a server that answers what it likes, and a program that makes every call.

    python -m tests.fuzz --seconds 600 --seed 7
    python -m tests.fuzz.messages --seconds 600 --seed 7            hostile messages, and all that reads them; see there

``calls.c`` is the program, linked with the library, both built with AddressSanitizer and UndefinedBehaviorSanitizer. It looks at
what came back as a program would: every byte that it was told of must have come from the server, every pointer in its
structures must be its own. ``hostile_server.py`` answers: often well, otherwise with anything. Each call has a deadline.
"""
