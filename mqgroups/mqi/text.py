"""Decodes the text of messages by CCSID and Encoding, and encodes it.

Not here: the code pages (``code_pages.py``), and whether a message is text (``message.py``).
"""

from __future__ import annotations

from mqgroups.code_pages import LAST_CCSID, UTF_8, UTF_16, code_page
from mqgroups.errors import CcsidUnknown, MessageRefused, NotDecoded
from mqgroups.mqi import constants as mq

_REVERSED = mq.MQENC_REVERSED & 0xF
_MARK = "\ufeff"
_MARKS_OF_UTF_16 = {b"\xff\xfe": True, b"\xfe\xff": False}


def decoded(data: bytes, ccsid: int, encoding: int) -> str:
    """Decode text in this CCSID, and return it without a byte order mark, as IBM's classes for JMS do (APAR IT17612).

    In UTF-16 the mark also decides the byte order. In the wrong byte order the mark would be U+FFFE, which is not a character.

    Raises:
        CcsidUnknown: there is no code page for the CCSID.
        NotDecoded: the data is not text in this CCSID, or no code page can have this CCSID.
    """
    little_endian = encoding & 0xF == _REVERSED
    if ccsid in UTF_16:
        little_endian = _MARKS_OF_UTF_16.get(data[:2], little_endian)
    page = code_page(ccsid, little_endian=little_endian)
    if page is None:
        if 0 < ccsid <= LAST_CCSID:
            raise CcsidUnknown(ccsid)
        raise NotDecoded(f"no code page can have CCSID {ccsid}, because code pages have 1 to {LAST_CCSID}")
    try:
        return page.decode(data)[0].removeprefix(_MARK)
    except UnicodeDecodeError as error:
        # Not chained: UnicodeDecodeError holds the data.
        at = error.start
    raise NotDecoded(f"the byte at position {at} is not text in its CCSID, {ccsid} (Python's codec {page.name})")


def encoded(text: str, ccsid: int) -> bytes:
    """Encode text in this CCSID. UTF-16 is in the byte order of this machine.

    Raises MessageRefused if there is no code page for the CCSID, or the code page lacks a character of the text.
    """
    try:
        if ccsid == UTF_8:
            # Most texts are UTF-8. Looking up the code page would take longer than encoding them.
            return text.encode()
        page = code_page(ccsid, little_endian=mq.MQENC_NATIVE & 0xF == _REVERSED)
        if page is not None:
            return page.encode(text)[0]
    except UnicodeEncodeError as error:
        # Not chained: UnicodeEncodeError holds the payload.
        at = error.start
    else:
        raise MessageRefused(
            f"there is no code page for CCSID {ccsid} here. Put bytes in this CCSID, or text in another one"
        )
    if ccsid == UTF_8:
        raise MessageRefused(
            f"the text has half of a surrogate pair at position {at}, which UTF-8 cannot encode. Correct the text, or put bytes"
        )
    raise MessageRefused(
        f"the character at position {at} of the text is not in CCSID {ccsid}. Put the text without ccsid="
    )
