"""The form in which MQGET delivers properties. MQGET's options, the queue's PROPCTL and the message handle decide about it.

A message has two kinds of properties. Properties from a message handle are stored apart from its data, as the variable part of an
MQRFH2. Properties in MQRFH2 headers that the application put in front of the data stay there. A delivery moves all properties to
the handle or to an MQRFH2, or leaves them out. The headers of the data then lose their property folders, and headers that have
no other folders are removed. If the delivery needs no change, the data is returned as it was put.

``rfh2.py`` reads and writes MQRFH2 headers. Message handles are in ``message_handle.py``.

Source: IBM MQ, "PropertyControl", "PROPCTL queue options", "MQGMO options", "MsgHandle". Unverified: properties of the handle and
of headers are delivered in a single header, the handle's properties first; the handle is ignored with
MQGMO_PROPERTIES_COMPATIBILITY; a header that the queue manager makes has CCSID 1208 and native encoding.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from mqembedded import constants as mq
from mqembedded.code_pages import UTF_8
from mqembedded.properties import rfh2
from mqembedded.properties.folders import (
    folders_of,
    looks_like_properties,
    parse_folder,
    properties_of,
    property_folders,
)
from mqembedded.properties.names import PropertyError
from mqembedded.properties.sets import Property, PropertySet
from mqembedded.wire.structures import blank_padded

_DESCRIBES = struct.Struct("<ii8s")
_DESCRIBES_OFFSET = 24


class Delivery(enum.Enum):
    """The form in which a message's properties are delivered."""

    IN_HANDLE = "in handle"
    IN_RFH2 = "in an MQRFH2"
    IF_COMPATIBLE = "in an MQRFH2 if JMS programs know one of them, else discarded"
    DISCARDED = "discarded"
    AS_PUT = "headers of the data as they were put, the others discarded"
    OTHERS_IN_HANDLE = "headers of the data as they were put, the others in the handle"


_BY_OPTION = {
    mq.MQGMO_PROPERTIES_IN_HANDLE: Delivery.IN_HANDLE,
    mq.MQGMO_NO_PROPERTIES: Delivery.DISCARDED,
    mq.MQGMO_PROPERTIES_FORCE_MQRFH2: Delivery.IN_RFH2,
    mq.MQGMO_PROPERTIES_COMPATIBILITY: Delivery.IF_COMPATIBLE,
}
PROPERTY_OPTIONS = 0
for _option in _BY_OPTION:
    PROPERTY_OPTIONS |= _option
_BY_PROPCTL = {
    # The delivery without and with a message handle.
    mq.MQPROP_COMPATIBILITY: (Delivery.IF_COMPATIBLE, Delivery.IN_HANDLE),
    mq.MQPROP_NONE: (Delivery.DISCARDED, Delivery.IN_HANDLE),
    mq.MQPROP_ALL: (Delivery.IN_RFH2, Delivery.IN_HANDLE),
    mq.MQPROP_FORCE_MQRFH2: (Delivery.IN_RFH2, Delivery.IN_RFH2),
    mq.MQPROP_V6COMPAT: (Delivery.AS_PUT, Delivery.OTHERS_IN_HANDLE),
}


def delivery(options: int, property_control: int, *, has_handle: bool) -> Delivery:
    """Return the form that MQGET's options ask for. If no option asks for a form, the queue's PROPCTL decides."""
    chosen = _BY_OPTION.get(options & PROPERTY_OPTIONS)
    return chosen if chosen is not None else _BY_PROPCTL[property_control][has_handle]


def describes(md: bytes) -> tuple[int, int, bytes]:
    """Return a packed descriptor's Encoding, CodedCharSetId and Format (padded with blanks), which describe the data."""
    encoding, ccsid, format_ = _DESCRIBES.unpack_from(md, _DESCRIBES_OFFSET)
    return encoding, ccsid, blank_padded(format_, 8)


def _describing(md: bytes, encoding: int, ccsid: int, format_: bytes) -> bytes:
    end = _DESCRIBES_OFFSET + _DESCRIBES.size
    return md[:_DESCRIBES_OFFSET] + _DESCRIBES.pack(encoding, ccsid, format_) + md[end:]


def kept(properties: Iterable[Property]) -> bytes:
    """Return properties in the form in which they are stored. ``read`` reads this form."""
    return rfh2.variable_part(folders_of(properties))


def read(variable: bytes) -> list[Property]:
    """Return the properties from the stored form that ``kept`` makes."""
    folders = map(parse_folder, rfh2.read_variable_part(variable))
    return [one for folder in folders for one in properties_of(folder)]


@dataclass(frozen=True, slots=True)
class Presented:
    """The place where the properties of a delivered message go: an MQRFH2 in front of the data, the handle, or nowhere."""

    in_header: PropertySet | None = None
    in_handle: PropertySet | None = None

    def with_header(self, md: bytes, data: bytes, form: rfh2.Form = rfh2.NATIVE) -> tuple[bytes, bytes]:
        """Return descriptor and data, with an MQRFH2 in front if ``in_header`` is set. Any conversion of the data comes first."""
        if self.in_header is None:
            return md, data
        header = rfh2.packed(kept(self.in_header), *describes(md), form=form)
        return _describing(md, *form, mq.MQFMT_RF_HEADER_2), header + data


_AS_IT_IS = Presented()


def present(md: bytes, data: bytes, variable: bytes, how: Delivery) -> tuple[bytes, bytes, Presented]:
    """Return descriptor, data without the properties that are delivered elsewhere, and the place where these properties go.

    Args:
        md: the message's version 2 descriptor.
        data: the message's data, with the headers in front of it.
        variable: the properties that are stored apart from the data, in the form that ``kept`` returns.
        how: the form in which the properties are delivered.
    """
    encoding, _, format_ = describes(md)
    if not variable and format_ != mq.MQFMT_RF_HEADER_2:
        return md, data, _AS_IT_IS
    if how is Delivery.AS_PUT:
        return md, data, _AS_IT_IS
    apart = read(variable)
    if how is Delivery.OTHERS_IN_HANDLE:
        return md, data, Presented(in_handle=PropertySet(apart))
    try:
        headers, body = rfh2.split(data, encoding, format_)
        folders = (folder for header in headers for folder in header.folders)
        found = [one for _, properties in property_folders(folders) for one in properties]
    except PropertyError:
        # MQPUT has not checked these headers, because their description was different then, as after an MQMDE. They count as
        # data.
        headers, body, found = [], data, []
    names = {one.path for one in apart}
    everything = PropertySet([*apart, *(one for one in found if one.path not in names)])
    if how is Delivery.IF_COMPATIBLE:
        how = Delivery.IN_RFH2 if everything.is_compatible() else Delivery.DISCARDED
    if how is Delivery.IN_RFH2 and not apart:
        return md, data, _AS_IT_IS
    if any(looks_like_properties(folder) for header in headers for folder in header.folders):
        md, data = _without_properties(md, headers, body)
    if how is Delivery.IN_RFH2:
        return md, data, Presented(in_header=everything)
    return md, data, Presented(in_handle=everything) if how is Delivery.IN_HANDLE else _AS_IT_IS


def _without_properties(md: bytes, headers: list[rfh2.Header], body: bytes) -> tuple[bytes, bytes]:
    """Return descriptor and data without the headers' property folders, and without headers that have no other folders.

    All remaining headers are written again, in this machine's encoding, and each describes the data after it.
    """
    _, ccsid, _ = describes(md)
    last = headers[-1]
    # Each header describes the next header, so the last header is written first.
    described = (last.encoding, _inherited(headers, ccsid), last.format)
    pieces = [body]
    for header in reversed(headers):
        others = [folder for folder in header.folders if not looks_like_properties(folder)]
        if others or not header.folders:
            pieces.append(rfh2.packed(rfh2.variable_part(others), *described, header.flags))
            described = (mq.MQENC_NATIVE, UTF_8, mq.MQFMT_RF_HEADER_2)
    return _describing(md, *described), b"".join(reversed(pieces))


def _inherited(headers: list[rfh2.Header], ccsid: int) -> int:
    """Return the CCSID of the data after the headers. MQCCSI_INHERIT in a header means the CCSID in the previous header."""
    for header in headers:
        ccsid = ccsid if header.coded_char_set_id == mq.MQCCSI_INHERIT else header.coded_char_set_id
    return ccsid
