"""MQSUB and MQSUBRQ.

A name identifies a subscription. A subscription has at most one handle. An MQSUB that resumes a subscription returns the
subscription's attributes in the MQSD. ``subscription.py`` has subscriptions, ``retained.py`` has retained publications.

Source: IBM MQ, "MQSUB", "Options (MQLONG) for MQSD" and the other fields of MQSD, "MQSUBRQ", "Rules for validating MQI options",
reason codes 2428, 2429, 2432, 2434, 2436, 2509, 2510, 2512, 2515, 2522. Unverified: MQSO_RESUME with another topic fails with
2510, as MQSO_ALTER does; MQSO_RESUME with a handle of another queue fails with 2019; the order of the checks.
"""

from __future__ import annotations

import dataclasses
import struct
import time

from mqembedded import constants as mq
from mqembedded.answer import Answer, Failed
from mqembedded.calls.opening import at_most_one, check_handles_left, open_queue
from mqembedded.connection import Connection
from mqembedded.messages.handle import INPUT, Handle
from mqembedded.messages.queue import Queue
from mqembedded.objects.others import CatalogueError
from mqembedded.pubsub.opening import OpenSubscription
from mqembedded.pubsub.permission import check_resume, check_subscribe
from mqembedded.pubsub.retained import send_retained
from mqembedded.pubsub.subscription import Subscription, SubscriptionAttributes, Subscriptions
from mqembedded.pubsub.topic import full_topic_string, topic_at
from mqembedded.pubsub.topic_string import Wildcards, bytes_of, is_well_formed, text_of
from mqembedded.queue_manager import MAX_PRIORITY, QueueManager
from mqembedded.wire import pcf_constants as pcf
from mqembedded.wire.object_descriptors import ObjectDescriptor, SubscriptionDescriptor
from mqembedded.wire.structures import StructureError, name_field, version_of

_ACTIONS = mq.MQSO_CREATE | mq.MQSO_RESUME | mq.MQSO_ALTER
_WILDCARDS = mq.MQSO_WILDCARD_CHAR | mq.MQSO_WILDCARD_TOPIC
_USERS = mq.MQSO_ANY_USERID | mq.MQSO_FIXED_USERID
_READ_AHEAD = mq.MQSO_NO_READ_AHEAD | mq.MQSO_READ_AHEAD
_NOT_YET = mq.MQSO_ALTERNATE_USER_AUTHORITY
# The options that a subscription keeps from its creation.
_LASTING = (
    mq.MQSO_DURABLE
    | mq.MQSO_GROUP_SUB
    | mq.MQSO_MANAGED
    | mq.MQSO_SET_IDENTITY_CONTEXT
    | mq.MQSO_PUBLICATIONS_ON_REQUEST
    | mq.MQSO_SET_CORREL_ID
    | mq.MQSO_SCOPE_QMGR
    | _WILDCARDS
    | _USERS
)
_KNOWN = (
    _ACTIONS
    | _LASTING
    | _READ_AHEAD
    | _NOT_YET
    | mq.MQSO_NEW_PUBLICATIONS_ONLY
    | mq.MQSO_FAIL_IF_QUIESCING
    | mq.MQSO_NO_MULTICAST
)
_OPENED = mq.MQOO_INPUT_AS_Q_DEF | mq.MQOO_BROWSE
_HIGHEST_LEVEL = 9


def subscribe(
    q_mgr: QueueManager,
    connection: Connection,
    sd_raw: bytes,
    hobj: int,
    object_string: bytes,
    sub_name: bytes,
    sub_user_data: bytes,
) -> Answer:
    """Carry out MQSUB: create, alter or resume a subscription."""
    try:
        sd = SubscriptionDescriptor(sd_raw)
    except StructureError as error:
        raise Failed(mq.MQRC_SD_ERROR) from error
    _check_options(sd.options)
    q_mgr.fail_if_quiescing(connection, sd.options & mq.MQSO_FAIL_IF_QUIESCING)
    _check_fields(sd, object_string, sub_name, sub_user_data)
    with q_mgr.lock:
        check_handles_left(q_mgr, connection, 2)
        asked = _Asked(q_mgr, connection, sd, hobj, object_string, sub_name, sub_user_data)
        try:
            return asked.carry_out()
        except CatalogueError as error:
            raise Failed(error.reason) from error


def _check_options(options: int) -> None:
    """Raise Failed with MQRC_OPTIONS_ERROR for a combination that MQSUB refuses (IBM MQ, "Rules for validating MQI options")."""
    if (
        options & ~_KNOWN
        or not options & _ACTIONS
        or not at_most_one(options, mq.MQSO_ALTER | mq.MQSO_RESUME)
        or (options & mq.MQSO_GROUP_SUB and options & mq.MQSO_MANAGED)
        or (options & mq.MQSO_GROUP_SUB and not options & mq.MQSO_SET_CORREL_ID)
        or not at_most_one(options, _USERS)
        or not at_most_one(options, mq.MQSO_NEW_PUBLICATIONS_ONLY | mq.MQSO_PUBLICATIONS_ON_REQUEST)
        or (options & mq.MQSO_NEW_PUBLICATIONS_ONLY and not options & mq.MQSO_CREATE)
        or not at_most_one(options, _WILDCARDS)
        or not at_most_one(options, _READ_AHEAD)
    ):
        raise Failed(mq.MQRC_OPTIONS_ERROR)
    if options & _NOT_YET:
        raise Failed(mq.MQRC_FUNCTION_NOT_SUPPORTED)


def _check_fields(sd: SubscriptionDescriptor, object_string: bytes, sub_name: bytes, sub_user_data: bytes) -> None:
    """Raise Failed if a field of MQSD has a value that is never allowed."""
    if not sd.object_string.is_well_formed(object_string):
        raise Failed(mq.MQRC_OBJECT_STRING_ERROR)
    # Only a subscription with a name can be resumed.
    named = sd.options & (mq.MQSO_DURABLE | mq.MQSO_RESUME | mq.MQSO_ALTER)
    if not sd.sub_name.is_well_formed(sub_name) or (named and not sub_name):
        raise Failed(mq.MQRC_SUB_NAME_ERROR)
    if not sd.sub_user_data.is_well_formed(sub_user_data):
        raise Failed(mq.MQRC_SUB_USER_DATA_ERROR)
    selects = sd.selection_string
    if (selects.pointer or selects.offset) and selects.length:
        raise Failed(mq.MQRC_FUNCTION_NOT_SUPPORTED)
    if sd.expiry <= 0 and sd.expiry != mq.MQEI_UNLIMITED:
        raise Failed(mq.MQRC_EXPIRY_ERROR)
    if not mq.MQPRI_PRIORITY_AS_PUBLISHED <= sd.pub_priority <= MAX_PRIORITY or sd.pub_priority == -2:
        raise Failed(mq.MQRC_PRIORITY_ERROR)
    if not 0 <= sd.level <= _HIGHEST_LEVEL:
        # IBM does not document the reason code for a level above 9, so it is unverified.
        raise Failed(mq.MQRC_SD_ERROR)


class _Asked:
    """An MQSUB call. Callers hold the queue manager's lock."""

    def __init__(
        self,
        q_mgr: QueueManager,
        connection: Connection,
        sd: SubscriptionDescriptor,
        hobj: int,
        object_string: bytes,
        sub_name: bytes,
        sub_user_data: bytes,
    ) -> None:
        self.q_mgr, self.connection, self.sd, self.hobj = q_mgr, connection, sd, hobj
        self.subscriptions = q_mgr.parts.get(Subscriptions)
        self.object_string = text_of(object_string, sd.object_string.ccsid)
        self.name = text_of(sub_name, sd.sub_name.ccsid)
        self.user_data = text_of(sub_user_data, sd.sub_user_data.ccsid)

    def carry_out(self) -> Answer:
        options = self.sd.options
        existing = self.subscriptions.named(self.name)
        if existing is None:
            if not options & mq.MQSO_CREATE:
                raise Failed(mq.MQRC_NO_SUBSCRIPTION)
            return self._create()
        if not options & (mq.MQSO_RESUME | mq.MQSO_ALTER):
            raise Failed(mq.MQRC_SUB_ALREADY_EXISTS)
        if existing.connection_id is not None:
            raise Failed(mq.MQRC_SUBSCRIPTION_IN_USE)
        attributes = existing.attributes
        if not attributes.is_(mq.MQSO_ANY_USERID) and attributes.user != self.connection.user:
            raise Failed(mq.MQRC_IDENTITY_MISMATCH)
        if (self.sd.object_name or self.object_string) and self._topic_string() != attributes.topic_string:
            raise Failed(mq.MQRC_TOPIC_NOT_ALTERABLE)
        return self._alter(existing) if options & mq.MQSO_ALTER else self._resume(existing)

    def _topic_string(self) -> str:
        whole = full_topic_string(self.q_mgr.catalogue.objects, self.sd.object_name, self.object_string)
        wildcards = Wildcards.CHARACTER if self.sd.options & mq.MQSO_WILDCARD_CHAR else Wildcards.TOPIC
        if not is_well_formed(whole, wildcards):
            raise Failed(mq.MQRC_TOPIC_STRING_ERROR)
        return whole

    def _create(self) -> Answer:
        sd, options = self.sd, self.sd.options
        topic_string = self._topic_string()
        topic = topic_at(self.q_mgr.catalogue.objects, topic_string)
        durable = bool(options & mq.MQSO_DURABLE)
        if topic.values[mq.MQIA_INHIBIT_SUB] == pcf.MQTA_SUB_INHIBITED:
            raise Failed(mq.MQRC_SUB_INHIBITED)
        if durable and topic.values[mq.MQIA_DURABLE_SUB] == pcf.MQSUB_DURABLE_INHIBITED:
            raise Failed(mq.MQRC_DURABILITY_NOT_ALLOWED)
        self._require_sub(topic_string, "")
        if options & mq.MQSO_MANAGED:
            model = mq.MQCA_MODEL_DURABLE_Q if durable else mq.MQCA_MODEL_NON_DURABLE_Q
            queue = self.subscriptions.managed_queue(str(topic.values[model]), durable=durable)
        else:
            queue = self._provided(durable=durable)
            self._require_sub(topic_string, queue.name)
        sub_id = self.subscriptions.new_id()
        lasting = options & _LASTING
        sets_context = bool(options & mq.MQSO_SET_IDENTITY_CONTEXT)
        attributes = SubscriptionAttributes(
            self.name,
            sub_id,
            topic_string,
            lasting if lasting & _USERS else lasting | mq.MQSO_FIXED_USERID,
            queue.name,
            sd.sub_correl_id if options & mq.MQSO_SET_CORREL_ID else sub_id,
            self.connection.user,
            topic_name=sd.object_name,
            user_data=self.user_data,
            expiry=sd.expiry,
            expires_at_s=expires_at_s(sd.expiry),
            pub_priority=sd.pub_priority,
            accounting_token=sd.accounting_token if sets_context else bytes(32),
            appl_identity_data=sd.appl_identity_data if sets_context else "",
            level=sd.level,
        )
        made = self.subscriptions.add(attributes)
        try:
            if not options & (mq.MQSO_NEW_PUBLICATIONS_ONLY | mq.MQSO_PUBLICATIONS_ON_REQUEST):
                send_retained(self.q_mgr, made)
        except Failed:
            self.subscriptions.remove(made)
            raise
        hobj, hsub = self._opened(made, queue if options & mq.MQSO_MANAGED else None)
        raw, resolved = sd.answered(attributes.correl_id, bytes_of(topic_string))
        return mq.MQCC_OK, mq.MQRC_NONE, [hobj, hsub, raw, b"", resolved]

    def _require_sub(self, topic_string: str, queue: str) -> None:
        sets_identity = bool(self.sd.options & mq.MQSO_SET_IDENTITY_CONTEXT)
        check_subscribe(self.q_mgr, self.connection, topic_string, queue, sets_identity=sets_identity)

    def _provided(self, *, durable: bool) -> Queue:
        """Return the queue whose handle the application has given. Raises Failed."""
        handle = self.connection.handles.get(self.hobj)
        if handle is None or handle.queue is None or not handle.options & (INPUT | mq.MQOO_BROWSE):
            raise Failed(mq.MQRC_HOBJ_ERROR)
        if handle.queue.deleted:
            raise Failed(mq.MQRC_Q_DELETED)
        if durable and handle.queue.definition_type == mq.MQQDT_TEMPORARY_DYNAMIC:
            raise Failed(mq.MQRC_INVALID_DESTINATION)
        return handle.queue

    def _alter(self, existing: Subscription) -> Answer:
        sd, options, attributes = self.sd, self.sd.options, existing.attributes
        if attributes.is_(mq.MQSO_DURABLE) != bool(options & mq.MQSO_DURABLE):
            raise Failed(mq.MQRC_DURABILITY_NOT_ALTERABLE)
        if options & _WILDCARDS and attributes.is_(mq.MQSO_WILDCARD_CHAR) != bool(options & mq.MQSO_WILDCARD_CHAR):
            raise Failed(mq.MQRC_TOPIC_NOT_ALTERABLE)
        if attributes.is_(mq.MQSO_GROUP_SUB) != bool(options & mq.MQSO_GROUP_SUB):
            raise Failed(mq.MQRC_GROUPING_NOT_ALTERABLE)
        if attributes.level != sd.level:
            raise Failed(mq.MQRC_SUBLEVEL_NOT_ALTERABLE)
        self._require_sub(attributes.topic_string, "")
        queue_name = attributes.queue
        if self.hobj != mq.MQHO_NONE and not attributes.is_(mq.MQSO_MANAGED):
            queue_name = self._provided(durable=attributes.is_(mq.MQSO_DURABLE)).name
            self._require_sub(attributes.topic_string, queue_name)
        correl_id = sd.sub_correl_id if options & mq.MQSO_SET_CORREL_ID else attributes.correl_id
        if attributes.is_(mq.MQSO_GROUP_SUB) and (queue_name, correl_id) != (attributes.queue, attributes.correl_id):
            raise Failed(mq.MQRC_GROUPING_NOT_ALTERABLE)
        alterable = mq.MQSO_PUBLICATIONS_ON_REQUEST | mq.MQSO_SET_CORREL_ID | mq.MQSO_SET_IDENTITY_CONTEXT
        lasting = (attributes.options & ~alterable) | (options & alterable)
        if options & _USERS:
            lasting = (lasting & ~_USERS) | (options & _USERS)
        sets_context = bool(options & mq.MQSO_SET_IDENTITY_CONTEXT)
        altered = dataclasses.replace(
            attributes,
            options=lasting,
            queue=queue_name,
            correl_id=correl_id,
            user=self.connection.user,
            user_data=self.user_data,
            expiry=sd.expiry,
            expires_at_s=expires_at_s(sd.expiry),
            pub_priority=sd.pub_priority,
            accounting_token=sd.accounting_token if sets_context else bytes(32),
            appl_identity_data=sd.appl_identity_data if sets_context else "",
        )
        queue = self._destination(queue_name)
        self.subscriptions.change(existing, altered)
        return self._reopened(existing, queue)

    def _resume(self, existing: Subscription) -> Answer:
        attributes = existing.attributes
        check_resume(self.q_mgr, self.connection, attributes.topic_string)
        queue = self._destination(attributes.queue)
        if attributes.user != self.connection.user:
            self.subscriptions.change(existing, dataclasses.replace(attributes, user=self.connection.user))
        return self._reopened(existing, queue)

    def _destination(self, name: str) -> Queue | None:
        """Return the queue to open for the application, or None if the application has given a handle. Raises Failed."""
        if self.hobj == mq.MQHO_NONE or self.sd.options & mq.MQSO_MANAGED:
            try:
                return self.q_mgr.catalogue.resolve(name)[0]
            except CatalogueError as error:
                raise Failed(mq.MQRC_INVALID_DESTINATION) from error
        if self._provided(durable=False).name != name:
            raise Failed(mq.MQRC_HOBJ_ERROR)
        return None

    def _reopened(self, existing: Subscription, queue: Queue | None) -> Answer:
        attributes = existing.attributes
        hobj, hsub = self._opened(existing, queue)
        user_data = bytes_of(attributes.user_data)
        topic_string = bytes_of(attributes.topic_string)
        raw = self.sd.resumed(
            attributes.options,
            attributes.topic_name,
            attributes.expiry,
            user_data,
            attributes.pub_priority,
            attributes.accounting_token,
            attributes.appl_identity_data,
            attributes.level,
        )
        raw, resolved = SubscriptionDescriptor(raw).answered(attributes.correl_id, topic_string)
        return mq.MQCC_OK, mq.MQRC_NONE, [hobj, hsub, raw, user_data[: self.sd.sub_user_data.room], resolved]

    def _opened(self, subscription: Subscription, queue: Queue | None) -> tuple[int, int]:
        """Open the subscription, and ``queue`` if it is given. Return the handles of the queue and of the subscription."""
        hobj = self.hobj
        if queue is not None:
            od = ObjectDescriptor(
                struct.pack("<4sii48s", b"OD  ", 1, mq.MQOT_Q, name_field(queue.name)).ljust(168, b"\0")
            )
            handle, _ = open_queue(self.q_mgr, self.connection, od, _OPENED | mq.MQOO_INQUIRE)
            hobj = handle.hobj
            self.connection.handles[hobj] = handle
        handle = Handle(self.q_mgr.new_handle_number(), 0, subscription=OpenSubscription(self.q_mgr, subscription))
        self.connection.handles[handle.hobj] = handle
        subscription.connection_id = self.connection.connection_id
        return hobj, handle.hobj


def expires_at_s(expiry: int) -> float | None:
    """Return the time, as in ``time.time()``, that is this many tenths of a second from now; None for MQEI_UNLIMITED."""
    return None if expiry == mq.MQEI_UNLIMITED else time.time() + expiry / 10


def request(q_mgr: QueueManager, connection: Connection, hsub: int, action: int, sro_raw: bytes) -> Answer:
    """Carry out MQSUBRQ: send retained publications to a subscription that gets them only on request."""
    options = 0
    if sro_raw:
        try:
            version_of(sro_raw, b"SRO ", "MQSRO")
        except StructureError as error:
            raise Failed(mq.MQRC_SRO_ERROR) from error
        (options,) = struct.unpack_from("<i", sro_raw, 8)
    if options & ~mq.MQSRO_FAIL_IF_QUIESCING:
        raise Failed(mq.MQRC_OPTIONS_ERROR)
    q_mgr.fail_if_quiescing(connection, options & mq.MQSRO_FAIL_IF_QUIESCING)
    if action != mq.MQSR_ACTION_PUBLICATION:
        raise Failed(mq.MQRC_ACTION_ERROR)
    with q_mgr.lock:
        opened = connection.handle(hsub).subscription
        if not isinstance(opened, OpenSubscription):
            raise Failed(mq.MQRC_HOBJ_ERROR)
        subscription = opened.subscription
        if q_mgr.parts.get(Subscriptions).identified(subscription.attributes.sub_id) is None:
            raise Failed(mq.MQRC_INVALID_SUBSCRIPTION)
        if not subscription.attributes.is_(mq.MQSO_PUBLICATIONS_ON_REQUEST):
            # IBM documents that the option cannot be used, but not the reason code, so it is unverified.
            raise Failed(mq.MQRC_OPTIONS_ERROR)
        sent = send_retained(q_mgr, subscription)
    if not sent:
        raise Failed(mq.MQRC_NO_RETAINED_MSG)
    return mq.MQCC_OK, mq.MQRC_NONE, [sro_raw[:12] + struct.pack("<i", sent) if sro_raw else b""]
