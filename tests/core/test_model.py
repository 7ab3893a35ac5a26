"""The core's enums have IBM's numbers."""

from __future__ import annotations

from embedded_tests.tables import table
from mqembedded import constants as mq
from mqgroups.core import model
from mqgroups.core.model import MatchOption, MsgFlag, Persistence


@table(
    ("member", "prefix"),
    [
        (member, prefix)
        for enum, prefix in (
            (MsgFlag, "MQMF_"),
            (MatchOption, "MQMO_"),
            (Persistence, "MQPER_"),
        )
        for member in enum
    ],
)
def test_an_enum_member_has_ibm_s_number(member, prefix):
    assert getattr(mq, prefix + member.name) == member


def test_no_group_id_is_mqgi_none():
    assert model.GROUP_ID_NONE == mq.MQGI_NONE
    assert model.GROUP_ID_LENGTH == mq.MQ_GROUP_ID_LENGTH
