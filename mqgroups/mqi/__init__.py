"""The edge to MQ: one binding, chosen once, spoken to at its C layer.

    constants.py    IBM's names and numbers
    structures.py   MQMD, MQPMO, MQGMO and MQOD, packed from templates
    message.py      a message that was got, read field by field when asked
    properties.py   message properties as they are put
    rfh2.py, property_folders.py    and as they come, in front of the data
    abc.py          what a binding must offer
    binding.py      which one it is
    _pymqi.py, _ibmmq.py, _c_layer.py   the two bindings there are

``MQGROUPS_MQI`` chooses between ``pymqi`` (default) and ``ibmmq``; without it, ibmmq is used where pymqi is not
installed at all. ``MQGROUPS_LIBMQM`` names a directory laid out as IBM's client is (``lib64/libmqic_r.so``); the
library in it is loaded before the binding, which then needs no LD_LIBRARY_PATH. ``mqgroups embedded exec`` sets it.
"""
