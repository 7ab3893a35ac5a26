"""Code pages: bytes that other programs put, in literals, and the C library's own tables as a second opinion."""

from __future__ import annotations

import shutil
import subprocess

import pytest

import mqembedded.code_pages
import mqgroups.code_pages

# The 52 CCSIDs of a report, and more. No text: there is no table for it.
SAMPLES: dict[int, tuple[str, str]] = {
    37: ("Hello [x]!", "c88593939640baa7bb5a"),
    500: ("Hello [x]!", "c885939396404aa75a4f"),
    1140: ("5 €", "f5409f"),
    273: ("Größe ¯", "c7996aa18540bc"),
    1141: ("Größe €", "c7996aa185409f"),
    1047: ("[a] ^", "ad81bd405f"),
    1148: ("5 €", "f5409f"),
    297: ("élève", "c093d0a585"),
    277: ("Ågå", "5b87d0"),
    1142: ("Ågå €", "5b87d0405a"),
    278: ("Åäö É \\", "5bc06a40e04071"),
    1143: ("€ É", "5a40e0"),
    280: ("è [ù]", "d040907951"),
    1144: ("5 €", "f5409f"),
    284: ("ñ Ñ", "6a407b"),
    1145: ("ñ €", "6a409f"),
    1147: ("élève €", "c093d0a585409f"),
    285: ("£5 ¯", "5bf540a1"),
    1146: ("£5 €", "5bf5409f"),
    871: ("Þ þ ð", "4a40c04079"),
    1149: ("Þ €", "4a409f"),
    870: ("abc ż", "81828340b2"),
    1153: ("abc €", "818283409f"),
    1025: ("abc да", "818283408a77"),
    1154: ("да €", "8a7740e1"),
    1123: ("Ґґ", "6243"),
    1158: ("ґ €", "4340e1"),
    1112: ("ąė", "4453"),
    1156: ("ą €", "44409f"),
    1122: ("šž", "8c8e"),
    1157: ("š €", "8c405a"),
    1026: ("abc ş", "818283406a"),
    1155: ("ş €", "6a409f"),
    875: ("αβ", "8a8b"),
    424: ("אב", "4142"),
    943: ("日本", "93fa967b"),
    932: ("日本", "93fa967b"),
    939: ("", "0e456245660f"),
    930: ("", "0e456245660f"),
    1390: ("", "0e456245660f"),
    1399: ("", "0e456245660f"),
    5050: ("日本", "c6fccbdc"),
    33722: ("日本", "c6fccbdc"),
    954: ("日本", "c6fccbdc"),
    1381: ("你好", "c4e3bac3"),
    1383: ("你好", "c4e3bac3"),
    1386: ("你好", "c4e3bac3"),
    1392: ("你好", "c4e3bac3"),
    5488: ("你好", "c4e3bac3"),
    935: ("", "818283"),
    950: ("你好", "a741a66e"),
    970: ("한국", "c7d1b1b9"),
    949: ("한국", "c7d1b1b9"),
    1363: ("한국", "c7d1b1b9"),
    813: ("αβγ", "e1e2e3"),
    916: ("שלום", "f9ece5ed"),
    862: ("שלום", "998c858d"),
    920: ("ığş", "fdf0fe"),
    914: ("ā", "e0"),
    921: ("ą", "e0"),
    1089: ("\u0627", "c7"),
    5348: ("5 €", "352080"),
    1252: ("5 €", "352080"),
    858: ("5 €", "3520d5"),
    878: ("да", "c4c1"),
    1168: ("дї", "c4a7"),
    1200: ("你好", "604f7d59"),
    1202: ("你好", "604f7d59"),
    13488: ("你好", "604f7d59"),
    17584: ("你好", "604f7d59"),
    1208: ("你好", "e4bda0e5a5bd"),
    5472: ("", "616263"),
    65535: ("", "00"),
    0: ("", "61"),
    -3: ("", "61"),
}


@pytest.fixture(params=[mqgroups.code_pages, mqembedded.code_pages], ids=["mqgroups", "mqembedded"])
def code_page(request):
    """The function of each distribution, which has a table of its own."""
    return request.param.code_page


def test_text_is_read_and_written_in_each_ccsid_or_there_is_no_page(code_page):
    for ccsid, (text, raw) in SAMPLES.items():
        page = code_page(ccsid, little_endian=True)
        if not text:
            assert page is None, ccsid
            continue
        assert page is not None, ccsid
        data = bytes.fromhex(raw)
        assert (ccsid, page.decode(data)[0], page.encode(text)[0]) == (ccsid, text, data)


# What the C library has otherwise than IBM: two characters exchanged (278, 871), another overline and another dot.
_OTHERWISE = {278: {0x71, 0xE0}, 871: {0x4A, 0xC0}, 285: {0xA1}, 870: {0xB0}}
_PAGES = """37 273 277 278 280 284 285 297 500 871 1047 1140 1141 1142 1143 1144 1145 1146 1147 1148 1149 870 1153 1025 1154
1123 1158 1155 1112 1156 1122 1157 813 912 916 1089 437 850 858"""


@pytest.mark.skipif(shutil.which("iconv") is None, reason="there is no iconv")
def test_the_c_library_has_the_same_pages(code_page):
    every_byte = bytes(range(256))
    for ccsid in map(int, _PAGES.split()):
        page = code_page(ccsid, little_endian=True)
        assert page is not None
        command = ["iconv", "-c", "-f", f"IBM{ccsid:03d}", "-t", "UTF-16LE"]
        answer = subprocess.run(command, input=every_byte, capture_output=True, check=False)
        if not answer.stdout:
            continue  # the C library may have fewer of them
        theirs, ours = answer.stdout.decode("utf-16-le"), page.decode(every_byte, "ignore")[0]
        assert len(theirs) == len(ours), ccsid
        different = {at for at, (one, other) in enumerate(zip(ours, theirs, strict=True)) if one != other}
        assert (ccsid, different) == (ccsid, _OTHERWISE.get(ccsid, set()))
