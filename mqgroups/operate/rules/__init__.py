"""Operators' decisions as pure functions, as those of ``core/``: values in, values out.

    inspection.py    the groups on a queue, as browsing shows them
    judgement.py     what is the matter with a group, from its messages, its owners' records and who is at work
    remedies.py      what mends that, as lines to carry out
    owner_state.py   the state of an owner, from its status queue
    salvage.py       how to rebuild a lost status record
    findings.py      what is wrong with an installation, and what mends it
    mqsc_text.py     MQSC, read as text
    definitions.py   the definitions that an installation needs

The modules import only the standard library, ``core/`` and each other.
"""
