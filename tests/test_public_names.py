"""The public names: where they say that they are, and that they come back from a pickle."""

from __future__ import annotations

import ast
import copy
import dataclasses
import enum
import itertools
import pickle
import re
import traceback
from pathlib import Path

import pytest

import mqgroups
from mqgroups import aio, operate, spark
from mqgroups.operate.rules.inspection import GroupInspection
from mqgroups.setting import Settings

ROOT = Path(__file__).parents[1]
PUBLIC = [(room, name) for room in (mqgroups, operate) for name in room.__all__ if callable(getattr(room, name))]
CLASSES = [
    (room, name)
    for room in (mqgroups, aio, operate, spark)
    for name in room.__all__
    if isinstance(thing := getattr(room, name), type) and not issubclass(thing, (enum.Enum, BaseException))
]


def test_what_a_room_shows_is_what_is_public():
    for room in (mqgroups, operate, aio):
        assert dir(room) == sorted(room.__all__)


# What an editor lists to whoever puts and gets groups. What a user does not need begins with an underscore.
SHOWN = {
    "QueueManager": "close group_consumer group_pipe group_producer platform q_mgr_identifier q_mgr_name usable",
    "GroupProducer": "checkpoint close delete_status_queue forget group remaining stop stopping",
    "OutgoingGroup": "abandon checkpoint is_complete name properties put resume_from resume_offset set_checkpoint",
    "GroupConsumer": "attach before_commit checkpoint close delete_status_queue forget stop stopping",
    "IncomingGroup": (
        "abandoned before_commit checkpoint ends group_id has_ended key name properties quarantined repeats "
        "resume_from set_checkpoint"
    ),
    "Message": (
        "backout_count ccsid chunks correl_id data encoding format group_id in_group is_last is_last_segment "
        "is_segment msg_flags msg_id msg_seq_number offset persistence priority properties put_appl_name "
        "put_time_utc reply_to_q reply_to_q_mgr text value"
    ),
    "GroupPipe": "close stop stopping",
    "PipedGroup": "put set_properties",
}
# Names of other public classes that no document and no example uses.
NOT_IN_DOCUMENTS = {
    "FileSink": "fail finish",
    "Progress": "group_ended total_bytes total_seconds",
    "Secret": "given variable",
    "WorkerStatus": "group_s quiet_s ready restarts running",
    "Workers": "is_live is_ready",
    "aio.AsyncGroupConsumer": "delete_status_queue",
    "aio.AsyncGroupProducer": "delete_status_queue",
    "operate.Browsed": "abandons dead_letter in_group msg_flags put_time",
    "operate.BrowsedInstance": "backout_queue may_be_read open_input open_output threshold unseen",
    "operate.GroupInspection": (
        "dead_letters first_put goes_on_after_last has_end has_head is_consistent is_doubled is_made_by "
        "last_msg_seq_number last_put made_by needs_producer persistences runs"
    ),
    "operate.GroupList": "inspections judge",
    "operate.GroupMove": "unseen",
    "operate.Holder": "appl_name process_id",
    "operate.Judgement": "around recorded_name",
    "operate.Salvage": "kept moved orphaned unreadable_to",
    "operate.SeenOwner": "behind has_group is_active is_shared may_have_a_group",
    "operate.SeenOwners": "is_listed of_queues unseen",
    "operate.StatusRecord": "is_needed mark",
}


def shown(thing):
    return {name for name in dir(thing) if not name.startswith("_")}


@pytest.mark.parametrize("name", SHOWN)
def test_a_class_shows_what_its_users_use(name):
    assert shown(getattr(mqgroups, name)) == set(SHOWN[name].split())


def test_whatever_else_public_classes_show_is_in_the_documents():
    documents = list(ROOT.glob("*.md"))
    for folder in ("docs", "examples", "recipes"):
        documents += [each for each in ROOT.joinpath(folder).rglob("*") if each.suffix in (".md", ".py")]
    text = "\n".join(each.read_text(encoding="utf-8") for each in documents)
    used = set(re.findall(r"[.`](\w+)", text)) | set(re.findall(r"(\w+)=", text))
    missing = {}
    for room, name in CLASSES:
        path = name if room is mqgroups else f"{room.__name__.removeprefix('mqgroups.')}.{name}"
        thing = getattr(room, name)
        if path not in SHOWN and (names := shown(thing) - used - set(dir(int)) - set(dir(tuple))):
            missing[path] = names
    assert missing == {path: set(names.split()) for path, names in NOT_IN_DOCUMENTS.items()}


def test_an_editor_shows_what_each_field_of_a_value_is():
    # An editor shows the string below a field. Fields of the MQMD and these need none.
    clear = {"Finding.severity", "Judgement.around", "Judgement.cause", "SeenOwner.state"}
    of_mqmd = "group_id msg_seq_number offset msg_flags persistence backout_count put_appl_name user msg_id"
    clear |= {f"Browsed.{name}" for name in of_mqmd.split()}
    public: dict[str, type] = {name: getattr(room, name) for room, name in CLASSES}
    values = {name for name, cls in public.items() if dataclasses.is_dataclass(cls) and not issubclass(cls, Settings)}
    trees = [ast.parse(file.read_text()) for file in Path(mqgroups.__file__).parent.rglob("*.py")]
    without = set()
    for made in (
        each for tree in trees for each in tree.body if isinstance(each, ast.ClassDef) and each.name in values
    ):
        for field, below in itertools.pairwise([*made.body, ast.Pass()]):
            if isinstance(field, ast.AnnAssign) and not (name := ast.unparse(field.target)).startswith("_"):
                text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
                without |= set() if text else {f"{made.name}.{name}"}
    assert without == clear


def test_the_end_of_a_group_is_its_block_and_no_close_that_would_leave_its_last_message_out(owner):
    with owner.producer() as producer, producer.group() as group:
        assert not hasattr(group, "close")
        group.put(b"0")


VALUES = (
    mqgroups.Every(messages=3, seconds=2.5),
    mqgroups.Persistence.NOT_PERSISTENT,
    mqgroups.MsgFlag.SEGMENT | mqgroups.MsgFlag.LAST_SEGMENT,
    mqgroups.Resumed("put", "N", "Q", bytes(24), 3, 0, {"row": 3}, 1, 2),
    operate.SeenOwner("get", "N", "MQGROUPS.GET.N", operate.OwnerState.INTERRUPTED),
    operate.Salvage("put", "N", "MQGROUPS.PUT.N", GroupInspection(bytes(24)), None, unreadable=1),
    operate.BrowsedInstance("QM1", "Q"),
)


def test_a_class_or_function_is_found_where_it_says_that_it_is():
    for room, name in PUBLIC:
        thing = getattr(room, name)
        says = "mqgroups.errors" if name == "MQGroupsError" else room.__name__
        assert (thing.__module__, thing.__qualname__) == (says, name)
        assert pickle.loads(pickle.dumps(thing)) is thing, name


def test_a_value_comes_back_from_a_pickle_and_a_copy():
    for value in VALUES:
        for again in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
            assert (type(again), again) == (type(value), value)


def test_a_class_has_its_public_path_in_its_representation_and_errors_in_tracebacks():
    assert repr(mqgroups.GroupProducer) == "<class 'mqgroups.GroupProducer'>"
    assert repr(operate.Salvage) == "<class 'mqgroups.operate.Salvage'>"
    (line,) = traceback.format_exception_only(mqgroups.errors.EmptyGroup("nothing"))
    assert line == "mqgroups.errors.EmptyGroup: nothing\n"
