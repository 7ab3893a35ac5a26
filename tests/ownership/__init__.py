"""The shipped ownership protocol on a model of a queue manager, with every interleaving explored up to a bound.

    queue_manager.py   what a queue manager may do: calls, units of work, and what follows a lost connection, in any order
    programs.py        programs that run the library's protocol (``mqgroups/core/protocol.py``), and make its calls of the model
    bodies.py          status records as the small bodies of the model's messages; where a program stands, as a value
    explorer.py        every interleaving of programs, faults and the queue manager; what has to hold in each state
    safeties.py        the protocol with a patch that takes a safety out of its source
    scenarios.py       who starts, and with how many faults; which patches go wrong, and how

The model of the queue manager imports nothing of the library. What has to hold is asked of its queues: of a status record only
the group and position in it are read.

    python -m tests.ownership                  all scenarios with their number of states; --large for larger bounds
    python -m tests.ownership --without anchor prints the shortest sequence of calls that goes wrong

The bound is the number of starts and of faults. A fault is a program killed, a connection dropped before its program knows,
the answer of a call lost, or a call interrupted; what the queue manager does after it, and when, is no fault and is explored in
full. Not here: connections that the application uses too (``unit_begun``), batches, and records of other users.
"""
