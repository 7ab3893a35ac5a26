"""Modes of producers, consumers and operators' functions: a word that is none is an error to mypy, and when the program runs.

mypy checks this file too. It reports a ``type: ignore`` that ignores nothing, so each of them below is an error that an
application would be shown.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, get_args

import pytest

import mqgroups
from mqgroups import operate
from mqgroups.core import modes
from mqgroups.errors import ConfigurationError, GroupUsage, MessageRefused
from mqgroups.operate.rules.salvage import DOUBTS

# A setting, and a call that gives it a word that is none.
WRONG_MODES: list[tuple[str, Callable[[mqgroups.QueueManager], object]]] = [
    ("layout", lambda it: it.group_producer("Q", name="N", status_layout="segments")),  # type: ignore[arg-type]  # "segmented"
    ("layout", lambda it: it.group_consumer("Q", name="N", status_layout="Classic")),  # type: ignore[arg-type]  # "classic"
    ("bind", lambda it: it.group_producer("Q", name="N", bind="groups")),  # type: ignore[arg-type]  # "group"
    ("poison", lambda it: it.group_consumer("Q", name="N", poison="Halt")),  # type: ignore[arg-type]  # "halt"
    ("poison", lambda it: it.group_pipe("Q", "R", name="N", poison="Halt")),  # type: ignore[arg-type]  # "halt"
    ("trace", lambda _: mqgroups.connect("QM1", trace="messages")),  # type: ignore[arg-type]  # "message"
    ("role", lambda it: operate.inspect_owner(it, "N", "producer")),  # type: ignore[arg-type]  # "put"
    ("role", lambda it: list(operate.examine(it, name="N", role="producer"))),  # type: ignore[arg-type]  # "put"
    ("names", lambda it: operate.find_owners(it, names="ORDERS.LOADER")),  # a str is a collection to mypy
    ("accept", lambda it: operate.move_group(it, "Q", bytes(24), accept=["in use"])),  # type: ignore[list-item]  # "in-use"
]


def test_a_mode_that_is_no_word_of_its_setting_is_refused_before_anything_is_done(owner):
    for setting, wrong in WRONG_MODES:
        with pytest.raises(ConfigurationError, match=r"must be .*'|must be a collection of") as refused:
            wrong(owner.qmgr)
        assert setting in str(refused.value)
    assert owner.on_queue() == []


def test_each_word_of_a_mode_is_accepted_and_shown_where_another_one_is_refused():
    every: tuple[Any, ...] = (
        modes.StatusLayout,
        modes.Bind,
        modes.Unprocessed,
        modes.Trace,
        modes.RoleName,
    )
    for mode in every:
        words = get_args(mode)
        assert all(modes.problem("setting", word, mode) is None for word in words)
        problem = modes.problem("setting", "nonsense", mode) or ""
        assert all(repr(word) in problem for word in words)
        assert problem.endswith(f"or {words[-1]!r}, got 'nonsense'")


def test_a_setting_that_is_true_or_false_is_nothing_else(owner):
    for flag, given in itertools.product(("stream", "complete_groups_only"), ("no", 1, None)):
        settings: dict[str, Any] = {flag: given}
        with pytest.raises(ConfigurationError, match=f"{flag} must be True or False, got {given!r}"):
            owner.consumer(**settings)
    with pytest.raises(ConfigurationError, match="propagate must be True or False, got 'false'"):
        owner.connect(propagate="false")


def test_last_is_true_or_false_and_a_groups_name_is_text(owner):
    text: Any = "no"
    with owner.producer() as producer:
        with pytest.raises(MessageRefused, match="the name of a group must be a str, got 5"):
            producer.group(name=5)
        with pytest.raises(GroupUsage, match="last must be True, False or None, got 'no'"), producer.group() as group:
            group.put(b"0", last=text)
        with pytest.raises(ConfigurationError, match=r"the result of an abandoned group is 0 to .*, got '5'"):
            producer.group().abandon("5")
    assert owner.on_queue() == []


async def coroutine_function(_: object) -> None:
    """What nobody would await."""


def test_a_hook_that_cannot_be_called_and_a_coroutine_function_that_would_never_run_are_refused(owner):
    for hook in ("on_resume", "on_in_doubt", "on_progress", "on_abandon"):
        for wrong, said in (
            ("print", "a function, got 'print'"),
            (coroutine_function, "a plain function, got .*, a cor"),
        ):
            hooks: dict[str, Any] = {hook: wrong}
            with pytest.raises(ConfigurationError, match=f"{hook} must be {said}"):
                owner.consumer(**hooks)


def test_a_coroutine_function_as_before_commit_is_refused_by_the_consumer_and_by_the_group(owner):
    owner.put_group([b"one"])
    with owner.consumer() as consumer:
        with pytest.raises(ConfigurationError, match="before_commit must be a plain function"):
            consumer.before_commit(coroutine_function)
        group = next(iter(consumer))
        with pytest.raises(ConfigurationError, match="before_commit must be a plain function"):
            group.before_commit(coroutine_function)


def test_a_codec_without_decode_is_refused(owner):
    codec: Any = "json"
    with pytest.raises(ConfigurationError, match=r"codec must have decode.*got 'json'"):
        owner.qmgr.group_consumer("Q", name="N", codec=codec)


# What os.environ.get and argparse give if nobody looked: None and text.
NAMES = (None, 5, b"A")
NUMBERS: tuple[Any, ...] = ("10", b"1", True, [], -1)


WRONG = {
    **dict.fromkeys(("queue", "name", "status_model"), NAMES),
    "status_queue": NAMES[1:],
    **dict.fromkeys(("owner_wait_s", "full_wait_s"), (None, *NUMBERS)),
    **dict.fromkeys(("segment_bytes", "priority", "commit_every"), (2.5, *NUMBERS)),
    "persistence": (None, 2, "PERSISTENT"),
    # A user is what UserIdentifier can hold: 12 characters.
    "record_users": (None, 5, "ops", [5], [""], ["an operator"], ["thirteen.long"]),
}


def test_a_setting_of_a_wrong_type_is_refused_by_its_name(owner):
    for setting, wrong in ((setting, wrong) for setting, each in WRONG.items() for wrong in each):
        given: dict[str, Any] = {"queue": "Q", "name": "N", setting: wrong}
        with pytest.raises(ConfigurationError, match=setting):
            owner.qmgr.group_producer(**given)
    of_consumers = {
        "group_wait_s": WRONG["owner_wait_s"],
        "max_message_length": WRONG["segment_bytes"],
        "convert": (None, "1208", 0, -1, 65535, 37.0),
    }
    for setting, each in of_consumers.items():
        for wrong in each:
            with pytest.raises(ConfigurationError, match=setting):
                owner.qmgr.group_consumer(**{"queue": "Q", "name": "N", setting: wrong})


def test_an_argument_of_connect_of_a_wrong_type_is_refused_by_its_name():
    for setting in ("q_mgr_name", "channel", "conn_name", "user", "connect_wait_s", "password"):
        given: dict[str, Any] = {"q_mgr_name": "QM1", setting: ["secret"]}
        with pytest.raises(ConfigurationError, match=f"{setting}.* must be ") as refused:
            mqgroups.connect(**given)
        assert setting != "password" or "secret" not in str(refused.value)


def test_what_an_operator_may_accept_are_the_doubts_of_the_core():
    assert {doubt.value for doubt in DOUBTS} == set(get_args(modes.Accept))


def test_a_checkpoint_is_bytes_or_json_to_mypy_too(owner):
    def put(group: mqgroups.OutgoingGroup) -> None:
        group.set_checkpoint({"line": 17, "files": ["a", None, 2.5, True]})
        group.set_checkpoint(b"\0")
        group.set_checkpoint({"at": {1, 2}})  # type: ignore[dict-item]  # a set is no JSON

    with (
        owner.producer() as producer,
        pytest.raises(GroupUsage, match="must be bytes or a JSON value"),
        producer.group() as group,
    ):
        put(group)
