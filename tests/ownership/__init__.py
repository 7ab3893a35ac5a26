"""A model of how instances of one name share a status queue, with every interleaving explored up to a bound.

It is written from the protocol, not from the library: neither imports anything of the other, so each can show the other wrong.

    queue_manager.py   what a queue manager may do: calls, units of work, and what follows a lost connection, in any order
    owners.py          the protocol: an owner's calls from its start to its end, with a switch for each of its safeties
    explorer.py        every interleaving of owners, faults and the queue manager; what has to hold in each state
    scenarios.py       who starts, and with how many faults
    replay.py          runs a trace of calls against the library on an embedded queue manager

    python -m tests.ownership                  all scenarios with their number of states; --large for larger bounds
    python -m tests.ownership --without anchor prints the shortest sequence of calls that goes wrong

The bound is the number of starts and of faults. A fault is a program killed, a connection dropped before its program knows,
or the answer of a call lost; what the queue manager does after it, and when, is no fault and is explored in full.
"""
