"""Calls the MQI through the C functions of a Python binding, pymqi or ibmmq, which is chosen once for each process.

    constants.py    IBM's names and numbers
    structures.py   packs and reads MQMD, MQPMO, MQGMO, MQOD and MQSTS
    message.py      a message from MQGET
    properties.py   checks message properties before they are put
    rfh2.py, property_folders.py    remove and read the message properties in front of a message's data
    text.py         decodes and encodes text by its CCSID
    pcf.py          PCF commands and responses
    secret.py       passwords and tokens
    abc.py          the interface of a binding
    binding.py      chooses the binding
    _pymqi.py, _ibmmq.py, _c_layer.py   the two bindings

``MQGROUPS_MQI`` chooses ``pymqi`` or ``ibmmq``. If it is not set, pymqi is used, or ibmmq if only ibmmq is installed.
``MQGROUPS_LIBMQM`` names a directory with the layout of IBM's client (``lib64/libmqic_r.so``). The client library there is loaded
before the binding, which then needs no LD_LIBRARY_PATH. ``mqembedded exec`` sets this variable.
"""
