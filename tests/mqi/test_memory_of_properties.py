"""The memory and the time that the properties of a message take, whatever somebody has written into its MQRFH2 headers."""

from __future__ import annotations

import struct
import tracemalloc

import pytest

from mqgroups.mqi import constants as mq
from mqgroups.mqi import rfh2
from mqgroups.mqi.property_folders import values
from mqgroups.spark.rows import taken_off
from mqgroups.telemetry.context import in_folders
from tests.mqi.test_rfh2 import header, md

# More than the message has.
_MOST_BYTES = 64 << 20
_BYTES = 1_000_000


def nested(group_names: int, elements: int, folder: str = "usr") -> str:
    """A folder with 250 groups in one another, whose names have so many characters, and so many elements in the last one."""
    name, inner = "g" * (group_names // 250), "".join(f"<e{number}/>" for number in range(elements))
    return f"<{folder} content='properties'>{f'<{name}>' * 250}{inner}{f'</{name}>' * 250}</{folder}>"


_FOLDERS = [nested(2_000, 300, f"f{number}") for number in range(_BYTES // 8_000)]
_EMPTY = header() + bytes(4 * 5_000_000)
HOSTILE = {
    "names of groups in each name": header(nested(_BYTES // 4, _BYTES // 25)),
    "such names in many folders": header(*_FOLDERS),
    "such names in many headers": b"".join(
        header(folder, order=">", format_=mq.MQFMT_RF_HEADER_2) for folder in _FOLDERS
    ),
    "the name of a folder": header(
        f"<{'f' * 2_000} content='properties'>{''.join(f'<e{n}/>' for n in range(_BYTES // 10))}</{'f' * 2_000}>"
    ),
    "one name many times": header(f"<usr>{'<e/>' * (_BYTES // 4)}</usr>"),
    "many attributes": header(
        f"<usr><e{''.join(f' a{number}=``' for number in range(_BYTES // 12))}/></usr>".replace("`", "'")
    ),
    "many folders": _EMPTY[:8] + struct.pack("<i", len(_EMPTY)) + _EMPTY[12:],
}


def look_at(data: bytes) -> None:
    encoding = mq.MQENC_REVERSED if data[4] else mq.MQENC_NORMAL
    taken_off(data, encoding, 1208)
    found = rfh2.without_properties(md(encoding), data)
    if found is not None:
        values(found[2].folders)
        in_folders(found[2].folders)


@pytest.fixture
def traced():
    tracemalloc.start()
    yield tracemalloc.get_traced_memory
    tracemalloc.stop()


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in HOSTILE.items()])
def test_properties_take_little_memory_whatever_is_in_front_of_the_data(data, traced):
    look_at(data)
    assert traced()[1] < _MOST_BYTES


def test_long_headers_are_not_remembered(traced):
    for number in range(16):
        look_at(header(f"<usr><traceparent>{number}</traceparent><a>{'a' * _BYTES}</a></usr>"))
    assert traced()[0] < _BYTES
