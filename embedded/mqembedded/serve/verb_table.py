"""The functions that carry out the verbs. ``pubsub/`` and ``callbacks/`` extend some verbs of ``calls/`` and add more verbs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mqembedded.answer import Answer
from mqembedded.callbacks import consuming, dispatching
from mqembedded.calls import getting, inquiring, message_properties, put_response
from mqembedded.pubsub import opening, publishing, subscribing
from mqembedded.queue_manager import QueueManager

CARRIED_OUT_BY: Mapping[str, Callable[..., Answer]] = {
    "MQOPEN": opening.open_object,
    "MQCLOSE": consuming.close_object,
    "MQPUT": publishing.put,
    "MQPUT1": publishing.put1,
    "MQGET": getting.get,
    "MQCMIT": QueueManager.commit,
    "MQBACK": QueueManager.back_out,
    "MQSTAT": put_response.status,
    "MQINQ": inquiring.inquire,
    "MQSET": inquiring.set_attributes,
    "MQSUB": subscribing.subscribe,
    "MQSUBRQ": subscribing.request,
    "MQCB": consuming.manage,
    "MQCTL": consuming.control,
    "CALLBACK": dispatching.next_callback,
    "ASYNC_PUT": publishing.put_untold,
    "IDENTIFIERS": put_response.identifiers,
    "MQCRTMH": message_properties.create_handle,
    "MQDLTMH": message_properties.delete_handle,
    "MQSETMP": message_properties.set_property,
    "MQINQMP": message_properties.inquire_property,
    "MQDLTMP": message_properties.delete_property,
}
