"""Code pages: the Python codec for each CCSID.

Tests compare these tables with glibc's. ``calls/conversion.py`` converts messages for MQGMO_CONVERT.

Source: IBM's Character Data Representation Architecture. ``_NAMES`` has the pages that have a different name in Python.
``_EBCDIC`` has EBCDIC pages that Python lacks. The codec of any other CCSID is Python's ``cp<CCSID>``, so an application can add
a page with ``codecs.register``. Tables for EBCDIC with double-byte characters (930, 939, 1390, 1399, 935, 1388, 933, 1364, 937,
1371) are missing, because each has some ten thousand characters in no regular order.

This module does not use the PyPI package ebcdic (pure Python, maintained), so that common pages do not depend on an optional
package. ebcdic also decodes X'15' as a line feed, lacks 1153 to 1158, and has no double-byte pages either. If an application
imports ebcdic, the package's other pages (290, 420, 833, 838, 1097) work here, too.
"""

from __future__ import annotations

import codecs
from functools import cache
from typing import Any

UTF_8 = 1208
# The byte order is that of MQMD.Encoding, except that 1202 is always little-endian.
UTF_16 = frozenset({1200, 13488, 17584})
_UTF_16_LE = 1202
# A comment says where a codec differs from IBM's page.
_NAMES = {
    UTF_8: "utf-8",
    _UTF_16_LE: "utf-16-le",
    367: "ascii",
    813: "iso8859-7",
    819: "latin-1",
    878: "koi8-r",
    912: "iso8859-2",
    913: "iso8859-3",
    914: "iso8859-4",
    915: "iso8859-5",
    916: "iso8859-8",
    920: "iso8859-9",
    921: "iso8859-13",
    923: "iso8859-15",
    # IBM's 5C and 7E are yen and overline, and 81 5C, 60, 61, 7C are a different dash, tilde, parallel and minus. In 932, for
    # which Python has its own codec, some fifty kanji are also swapped with their older forms.
    943: "cp932",
    954: "euc-jp",
    970: "euc-kr",
    1089: "iso8859-6",
    1168: "koi8-u",
    1275: "mac-roman",
    # Big5 with Hong Kong's characters. 950 itself is cp950, without IBM's own characters from F6 on.
    1375: "big5hkscs",
    5471: "big5hkscs",
    # In some versions 5C is the won sign, as in 949.
    1363: "cp949",
    # Without IBM's characters beyond GB 2312.
    1381: "gb2312",
    1383: "gb2312",
    # Without the euro at 80.
    1386: "gbk",
    1392: "gb18030",
    5488: "gb18030",
    4909: "iso8859-7",
    # Without IBM's characters in the user-defined rows.
    5050: "euc-jp",
    33722: "euc-jp",
    # Windows' pages with the euro, as Python has them under their old numbers.
    **{5346 + number: f"cp{1250 + number}" for number in range(9)},
}
# Each entry names a base page (in this table or in Python), and the differences: two hexadecimal digits for the byte, then its
# character. In glibc, 278 and 871 each have two characters swapped. Python's 273 has a different macron.
_EBCDIC: dict[int, tuple[int | str, str]] = {
    273: ("cp273", "bc¯"),
    277: (500, "47} 4a# 5a¤ 5bÅ 67$ 6aø 70¦ 7bÆ 7cØ 80@ 9c{ 9e[ 9f] a1ü c0æ d0å dc~"),
    278: (277, "43{ 4a§ 51` 63# 6aö 70ø 71\\ 79é 7bÄ 7cÖ 80Ø 9cæ 9eÆ b5[ c0ä cc¦ e0É ec@"),
    280: (500, "44{ 48\\ 4a° 51] 54} 58~ 5aé 6aò 79ù 7b£ 7c§ 90[ a1ì b1# b5@ c0à cd¦ d0è dd` e0ç"),
    284: (500, "49¦ 4f| 5f¬ 69# 6añ 7bÑ a1¨ ba^ bb! bd~"),
    285: (37, "4a$ 5b£ a1¯ b0¢ b1[ ba^ bc~"),
    297: (280, "44@ 51{ 58ì 5a§ 6aù 79µ 7cà a0` a1¨ b5] bd~ c0é cdò dd¦"),
    871: (500, "4aÞ 5aÆ 5fÖ 79ð 7cÐ 8c` 8e{ 9c} 9e] a1ö ac@ ae[ be\\ c0þ cc~ d0æ e0´ ec^"),
    1047: (37, "5f^ ad[ b0¬ baÝ bb¨ bd]"),
    1141: (273, "9f€"),
    1142: (277, "5a€"),
    1143: (278, "5a€"),
    1144: (280, "9f€"),
    1145: (284, "9f€"),
    1146: (285, "9f€"),
    1147: (297, "9f€"),
    1148: (500, "9f€"),
    1149: (871, "9f€"),
    870: (
        500,
        (
            "44ţ 46ă 47č 49ć 52ę 54ů 57ľ 58ĺ 64˝ 66Ă 67Č 69Ć 6a| 70ˇ 72Ę 74Ů 77Ľ 78Ĺ 80˘ 8aś 8bň 8cđ 8eř 8fş "
            "9ał 9bń 9cš 9e˛ a0ą aaŚ abŇ acĐ aeŘ afŞ b0˙ b1Ą b2ż b3Ţ b4Ż b6ž b7ź b8Ž b9Ź baŁ bbŃ bcŠ cdŕ cfő "
            "daĚ dbű ddť dfě eaď edŔ efŐ faĎ fbŰ fdŤ"
        ),
    ),
    1153: (870, "9f€"),
    1025: (
        870,
        (
            "42ђ 43ѓ 44ё 45є 46ѕ 47і 48ї 49ј 51љ 52њ 53ћ 54ќ 55ў 56џ 57Ъ 58№ 59Ђ 62Ѓ 63Ё 64Є 65Ѕ 66І 67Ї 68Ј "
            "69Љ 70Њ 71Ћ 72Ќ 73\xad 74Ў 75Џ 76ю 77а 78б 80ц 8aд 8bе 8cф 8dг 8eх 8fи 90й 9aк 9bл 9cм 9dн 9eо "
            "9fп a0я aaр abс acт adу aeж afв b0ь b1ы b2з b3ш b4э b5щ b6ч b7ъ b8Ю b9А baБ bbЦ bcД bdЕ beФ bfГ "
            "caХ cbИ ccЙ cdК ceЛ cfМ daН dbО dcП ddЯ deР dfС e1§ eaТ ebУ ecЖ edВ eeЬ efЫ faЗ fbШ fcЭ fdЩ feЧ"
        ),
    ),
    1154: (1025, "e1€"),
    1123: (1025, "43ґ 62Ґ"),
    1158: (1123, "e1€"),
    1155: (1026, "9f€"),
    1112: (
        37,
        (
            "42š 44ą 45į 46ū 48ē 49ž 52ę 53ė 54č 55ų 56„ 57“ 58ģ 62Š 64Ą 65Į 66Ū 68Ē 69Ž 72Ę 73Ė 74Č 75Ų 76Ī "
            "77Ļ 78Ģ 8cā 8dż 8eń 9aŖ 9bŗ 9dķ aa” abź acĀ adŻ aeŃ b2ī bcŹ bdĶ beļ cbō cdņ dbć ddł deś df’ ebŌ "
            "edŅ fbĆ fdŁ feŚ"
        ),
    ),
    1156: (1112, "9f€"),
    1122: (278, "8cš 8ež acŠ aeŽ"),
    1157: (1122, "5a€"),
}


def code_page(ccsid: int, *, little_endian: bool) -> codecs.CodecInfo | None:
    """Return Python's codec for a CCSID, or None if Python has no such codec.

    ``little_endian`` matters only for UTF-16. It is the byte order that MQMD.Encoding gives for binary integers.
    """
    if ccsid in UTF_16:
        return _python("utf-16-le" if little_endian else "utf-16-be")
    name = _NAMES.get(ccsid)
    if name is not None:
        return _python(name)
    if ccsid in _EBCDIC:
        return _made(ccsid)
    return _python(f"cp{ccsid:03d}") if ccsid > 0 else None


def _python(name: str) -> codecs.CodecInfo | None:
    try:
        return codecs.lookup(name)
    except LookupError:
        return None


@cache
def _made(ccsid: int) -> codecs.CodecInfo:
    table = _table(ccsid)
    back = codecs.charmap_build(table)

    def decode(data: Any, errors: str = "strict") -> tuple[str, int]:
        return codecs.charmap_decode(data, errors, table)

    def encode(text: str, errors: str = "strict") -> tuple[bytes, int]:
        return codecs.charmap_encode(text, errors, back)

    return codecs.CodecInfo(encode, decode, name=f"cp{ccsid}")


def _table(page: int | str) -> str:
    """Return the 256 characters that a page has for the bytes 0 to 255."""
    if page not in _EBCDIC:
        name = page if isinstance(page, str) else f"cp{page:03d}"
        return bytes(range(256)).decode(name)
    base, differences = _EBCDIC[page]
    characters = list(_table(base))
    for each in differences.split(" "):
        characters[int(each[:2], 16)] = each[2:]
    return "".join(characters)
