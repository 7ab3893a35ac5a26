"""The decisions of the operators' functions, as pure functions like those of ``core/``: they get values and return values.

    inspection.py    the groups on a queue, as browsing shows them
    judgement.py     the state of a group, from its messages, its owners' records and the running programs
    remedies.py      how to correct this state, as lines to carry out
    owner_state.py   the state of an owner, from its status queue
    salvage.py       how to rebuild a lost status record
    findings.py      what is wrong with an installation, and how to correct it
    mqsc_text.py     reading MQSC as text
    definitions.py   the definitions that an installation needs

The modules import only the standard library, ``core/`` and each other.
"""
