"""The edge to MQ: the MQI through the C functions of one Python binding, chosen once for each process.

    constants.py    IBM's names and numbers
    structures.py   MQMD, MQPMO, MQGMO and MQOD, packed from templates
    message.py      a message that was got; fields are read when asked for
    properties.py   message properties, as they are put
    rfh2.py, property_folders.py    message properties, as they arrive in front of the data
    pcf.py          PCF commands and responses
    secret.py       passwords and tokens
    abc.py          the interface of a binding
    binding.py      chooses the binding
    _pymqi.py, _ibmmq.py, _c_layer.py   the two bindings

``MQGROUPS_MQI`` chooses ``pymqi`` or ``ibmmq``. If it is not set, pymqi is used, or ibmmq if only that is installed.
``MQGROUPS_LIBMQM`` names a directory with the layout of IBM's client (``lib64/libmqic_r.so``). The library in it is loaded before
the binding, which then needs no LD_LIBRARY_PATH. ``mqembedded exec`` sets it.
"""
