"""Folders of message properties, read: names, types, and what cannot be read.

Data types: IBM MQ, "NameValueData". Names: "Mapping from property names to MQRFH2 folder and element names" and "MQRFH2 folder
restrictions".
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded_tests.tables import table
from mqembedded import constants as mq
from mqembedded.properties.folders import folders_of
from mqembedded.properties.sets import Property
from mqgroups.mqi.property_folders import elements, holds_properties, values, weight


@table(
    ("element", "value"),
    [
        ("<p>text</p>", "text"),
        ("<p dt='string'>7</p>", "7"),
        ("<p>  </p>", "  "),
        ("<p/>", ""),
        ("<p></p>", ""),
        ("<p dt='i1'>-128</p>", -128),
        ("<p dt='i1'>128</p>", "128"),
        ("<p dt='i2'>32767</p>", 32767),
        ("<p dt='i4'>+7</p>", 7),
        ('<p dt="int">7</p>', 7),
        ("<p dt='i4'>2147483648</p>", "2147483648"),
        ("<p dt='i8'>1099511627781</p>", 2**40 + 5),
        ("<p dt='i8'>9223372036854775808</p>", "9223372036854775808"),
        ("<p dt='i4'>1_0</p>", "1_0"),
        ("<p dt='i4'>seven</p>", "seven"),
        ("<p dt='i4'>" + "9" * 5000 + "</p>", "9" * 5000),
        ("<p dt='r8'>0.1</p>", 0.1),
        ("<p dt='r8'>1e-3</p>", 0.001),
        ("<p dt='r8'>1_0</p>", "1_0"),
        ("<p dt='r8'>many</p>", "many"),
        ("<p dt='r4'>0.1</p>", 0.10000000149011612),
        ("<p dt='r4'>1e39</p>", "1e39"),
        ("<p dt='boolean'>1</p>", True),
        ("<p dt='boolean'>FALSE</p>", False),
        ("<p dt='boolean'>2</p>", "2"),
        ("<p dt='bin.hex'>00fF</p>", b"\0\xff"),
        ("<p dt='bin.hex'></p>", b""),
        ("<p dt='bin.hex'>0</p>", "0"),
        ("<p dt='bin.hex'>00 FF</p>", "00 FF"),
        ("<p xsi:nil='true'></p>", None),
        ("<p xsi:nil='true'/>", None),
        ("<p xsi:nil='false'>a</p>", "a"),
        ("<p dt='of.another.time'>a</p>", "a"),
        ("<p>&lt;&amp;&gt;&quot;&apos;&#65;&#x42;</p>", "<&>\"'AB"),
        ("<p>&nosuch;&#0;&#xD800;&#x110000;&</p>", "&nosuch;&#0;&#xD800;&#x110000;&"),
        ("<p>a &gt; b > c</p>", "a > b > c"),
    ],
)
def test_a_value_is_of_the_type_that_is_said(element, value):
    found = values([f"<usr>{element}</usr>"])
    assert found == {"p": value}
    assert type(found["p"]) is type(value)


def test_names_say_folder_and_groups_but_for_usr():
    found = values(
        [
            "<usr><colour>green</colour></usr>",
            "<jms><Dst>queue:///Q</Dst></jms>",
            "<shop content='properties'> <basket> <id>1</id><id$>2</id$> </basket> <open>3</open></shop>",
        ]
    )
    assert list(found.items()) == [
        ("colour", "green"),
        ("jms.Dst", "queue:///Q"),
        ("shop.basket.id", "1"),
        ("shop.basket.id$", "2"),
        ("shop.open", "3"),
    ]


def test_of_a_name_that_comes_twice_the_first_counts():
    assert values(["<usr><a>1</a><a>2</a></usr>", "<usr><a>3</a></usr>"]) == {"a": "1"}


def test_properties_cannot_be_changed():
    found: Any = values(["<usr><a>1</a></usr>"])
    with pytest.raises(TypeError):
        found["a"] = "2"


# A name of 4095 characters (MQ_MAX_PROPERTY_NAME_LENGTH), and one of 4096.
@table(("characters", "can_be_read"), [(4086, True), (4087, False)])
def test_a_folder_with_a_name_that_is_too_long_cannot_be_read(characters, can_be_read):
    group = "g" * characters
    assert (weight(f"<mq_usr><{group}><a/></{group}></mq_usr>") is not None) is can_be_read


names = st.from_regex(r"[A-Za-z_$][A-Za-z0-9_$]{0,8}", fullmatch=True)
text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
kinds = {
    mq.MQTYPE_BOOLEAN: st.booleans(),
    mq.MQTYPE_BYTE_STRING: st.binary(max_size=20),
    mq.MQTYPE_INT8: st.integers(-(2**7), 2**7 - 1),
    mq.MQTYPE_INT16: st.integers(-(2**15), 2**15 - 1),
    mq.MQTYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    mq.MQTYPE_INT64: st.integers(-(2**63), 2**63 - 1),
    mq.MQTYPE_FLOAT32: st.floats(width=32, allow_nan=False, allow_infinity=False),
    mq.MQTYPE_FLOAT64: st.floats(allow_nan=False, allow_infinity=False),
    mq.MQTYPE_STRING: text,
    mq.MQTYPE_NULL: st.none(),
}
typed = st.sampled_from(sorted(kinds)).flatmap(lambda kind: st.tuples(st.just(kind), kinds[kind]))


@given(properties=st.dictionaries(names, typed, max_size=5), folder=st.sampled_from(["usr", "mq_usr", "shop"]))
def test_what_a_queue_manager_writes_is_read(properties, folder):
    written = folders_of(Property((folder, name), kind, value) for name, (kind, value) in properties.items())
    assert all(map(holds_properties, written))
    front = "" if folder == "usr" else folder + "."
    found = values(written)
    assert found == {front + name: value for name, (_, value) in properties.items()}
    assert [type(value) for value in found.values()] == [type(value) for _, value in properties.values()]


@given(folder=st.text("<>/ab='\" .&;\0", max_size=40))
def test_any_text_is_a_folder_or_is_not(folder):
    for whole in (folder, f"<usr>{folder}</usr>"):
        try:
            found = list(elements(whole))
        except ValueError:
            assert weight(whole) is None
        else:
            assert sum(len(element.name) for element in found) <= (weight(whole) or 0)
            assert set(values([whole])) == {element.name for element in found}
