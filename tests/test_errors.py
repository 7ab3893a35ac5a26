"""Errors: the class a code becomes, what their messages say, and that they travel."""

from __future__ import annotations

import pickle

from embedded_tests.tables import table
from mqgroups import errors
from mqgroups.batch.errors import another_attempt
from mqgroups.connection import authorities, retry
from mqgroups.mqi import constants as mq
from mqgroups.mqi import reasons
from mqgroups.spark.errors import QueueReserved

SAMPLES = [
    errors.ConfigurationError("every must be more than 0"),
    errors.StatusQueueUnusable("a message", status_queue="S", because="foreign", field="name", found="a", expected="b"),
    errors.GroupIncomplete("a message", status_queue="S", group_id=bytes(24), found=3, expected=2),
    errors.BindingMissing("pymqi", "the Python package pymqi is not installed"),
    errors.CcsidUnknown(930, "ORDERS", bytes(24), 7),
    errors.Stopped("get N", "ORDERS", bytes(23) + b"1", 7),
    errors.GroupStalled("ORDERS", bytes(24), 7, 300.0, 8192),
    errors.QueueManagerChanged("a message", because="split", found="QM3", expected="QM2"),
    another_attempt("S/0/K", "SHARED", ("b" * 32, 2), ("a" * 32, 1)),
    errors.MessagesTaken("ORDERS", bytes(24), 7),
    errors.GroupAbandoned("ORDERS", bytes(24), 4, 7, "because"),
    errors.PoisonMessage("ORDERS", bytes(24), 4, 7, 3),
    errors.GroupQuarantined("ORDERS", bytes(24), 4, "ORDERS.BACKOUT"),
    errors.mqi_error("MQPUT", "queue ORDERS", mq.MQCC_FAILED, mq.MQRC_Q_FULL),
    errors.mqi_error("MQCMIT", "queue manager QM1", mq.MQCC_FAILED, mq.MQRC_CONNECTION_BROKEN),
]


def test_somebody_elses_words_are_one_line_of_an_error_and_stay_as_they_are_in_its_attributes():
    words = "no\x1b]0;room\n2026-01-01 ERROR forged \u202e" + "x" * 1_000_000
    for error in (
        errors.GroupAbandoned("ORDERS", bytes(24), 3, 7, words),
        errors.PoisonMessage("ORDERS", bytes(24), 7, 0, 0, words),
        errors.GroupQuarantined("ORDERS", bytes(24), 7, "BACKOUT", words),
    ):
        assert error.reason == words
        assert "no?]0;room?2026-01-01 ERROR forged ?xxx" in str(error)
        # The remedy is behind these words.
        assert str(error).endswith(("continue with the next group", "with BOTHRESH and BOQNAME", "for the next group"))
        assert str(error).isprintable()
        assert len(str(error)) < 2_000
    stopped = errors.mqi_error("MQPUT", "queue ORDERS", mq.MQCC_FAILED, mq.MQRC_Q_FULL)
    stopped.context = words
    for other in (errors.NotDecoded(words), another_attempt(words, "S", (words, 2), ("a", 1)), stopped):
        assert str(other).isprintable()
        assert len(str(other)) <= 10_000


@table("error", SAMPLES)
def test_an_error_pickles_with_all_it_holds(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), again.args, again.__dict__) == (str(error), error.args, error.__dict__)


@table(
    ("verb", "comp", "reason", "cls"),
    [
        ("MQCONNX", 2, 2059, errors.ConnectionBroken),
        ("MQCONNX", 2, 2538, errors.ConnectionBroken),
        ("MQCONNX", 2, 2058, errors.MQIError),
        ("MQOPEN", 2, 2035, errors.NotAuthorised),
        ("MQOPEN", 2, 2085, errors.QueueMissing),
        ("MQPUT", 2, 2053, errors.QueueUnavailable),
        ("MQPUT", 2, 2051, errors.QueueUnavailable),
        ("MQGET", 2, 2016, errors.QueueUnavailable),
        ("MQPUT", 2, 2030, errors.MessageTooLong),
        ("MQPUT", 2, 2031, errors.MessageTooLong),
        ("MQPUT", 2, 2010, errors.MessageTooLong),
        ("MQPUT", 2, 2024, errors.MQIError),
        ("MQPUT", 2, 2009, errors.ConnectionBroken),
        ("MQPUT", 1, 2241, errors.MQIError),
        ("MQCMIT", 2, 2009, errors.CommitOutcomeUnknown),
        ("MQCMIT", 2, 2162, errors.CommitOutcomeUnknown),
        ("MQCMIT", 2, 2203, errors.CommitOutcomeUnknown),
        ("MQCMIT", 2, 2549, errors.CommitOutcomeUnknown),
        ("MQCMIT", 1, 2003, errors.MQIError),
        ("MQCMIT", 2, 2018, errors.ConnectionBroken),
    ],
)
def test_a_code_becomes_the_class_a_caller_can_react_to(verb, comp, reason, cls):
    error = errors.mqi_error(verb, "queue ORDERS", comp, reason)
    assert type(error) is cls
    assert (error.verb, error.object_name, error.comp, error.reason) == (verb, "queue ORDERS", comp, reason)


def test_a_message_states_the_facts_then_the_remedy_then_where_the_group_stands():
    error = errors.mqi_error("MQPUT", "queue ORDERS", mq.MQCC_FAILED, mq.MQRC_Q_FULL)
    error.context = "Message 5 is the last of the group that is known to be committed"
    assert str(error) == (
        "MQPUT for queue ORDERS failed: reason 2053 MQRC_Q_FULL. Raise its MAXDEPTH, or, "
        "unless it is a status queue, start its readers. "
        "Message 5 is the last of the group that is known to be committed"
    )


@table(
    ("reason", "says"),
    [
        (2001, "ALTER QALIAS"),
        (2010, "channel, and of the queue manager if it is less, or"),
        (2030, "MAXMSGL of the queue, or"),
        (2031, "MAXMSGL of the queue manager, or"),
        (2080, "max_message_length of the consumer; or make it with stream=True"),
        (2082, "ALTER QALIAS"),
        (2218, "MAXMSGL of the channel to the queue manager that has the queue, at both ends, or"),
        (2277, "A value of the channel is not valid"),
        (2417, "name a queue"),
        (2539, "do not agree on the channel"),
    ],
)
def test_the_remedy_of_a_reason_says_what_counts_for_it(reason, says):
    assert says in str(errors.mqi_error("MQOPEN", "queue ORDERS", mq.MQCC_FAILED, reason))


def test_every_error_is_in_the_tree_the_docstring_draws():
    assert errors.__doc__ is not None
    classes = {
        name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, BaseException)
    }
    assert all(name in errors.__doc__ for name in classes)


@table(
    ("reason", "clears_up"),
    [
        *((reason, True) for reason in (2003, 2009, 2016, 2025, 2042, 2051, 2053, 2056, 2059, 2071, 2102, 2161, 2162)),
        *((reason, True) for reason in (2189, 2192, 2202, 2203, 2268, 2270, 2537, 2538, 2543, 2549, 2019, 2041, 2052)),
        # A wrong password, no queue or no way to it, too long, no such channel or queue manager, a certificate.
        *((reason, False) for reason in (2010, 2018, 2030, 2031, 2035, 2058, 2063, 2082, 2085, 2087, 2218, 2277, 2393)),
        *((reason, False) for reason in (2397, 2398, 2399, 2539, 2540, 2080, 2024, 2195)),
    ],
)
def test_a_program_is_started_again_only_after_what_clears_up_by_itself(reason, clears_up):
    assert errors.mqi_error("MQPUT", "queue ORDERS", mq.MQCC_FAILED, reason).clears_up is clears_up


def test_what_the_library_waits_for_clears_up_but_for_objects_that_may_be_missing():
    waited_for = retry.CONNECT_LATER | retry.REDO_LATER | retry.NO_ROOM
    assert waited_for - reasons.CLEARS_UP == {2082, 2085, 2087}


@table(
    "error",
    [
        errors.CommitOutcomeUnknown("MQCMIT", "queue manager QM1", mq.MQCC_FAILED, mq.MQRC_NONE),
        errors.OwnershipLost("m", "taken-over", name="N", status_queue="S", found=("b", 2), expected=("a", 1)),
        *(each for each in SAMPLES if isinstance(each, (errors.Stopped, errors.MessagesTaken))),
        *(each for each in SAMPLES if isinstance(each, (errors.GroupAbandoned, errors.GroupQuarantined))),
        QueueReserved("ORDERS", 5),
    ],
)
def test_a_program_is_started_again_if_nothing_is_to_be_mended(error):
    assert error.clears_up
    assert pickle.loads(pickle.dumps(error)).clears_up


@table(
    "error",
    [
        *(each for each in SAMPLES if isinstance(each, (errors.StatusError, errors.ApplicationError))),
        *(each for each in SAMPLES if isinstance(each, (errors.BindingMissing, errors.CcsidUnknown))),
        *(each for each in SAMPLES if isinstance(each, (errors.PoisonMessage, errors.GroupStalled))),
        # A restored record, and an attempt at a batch that another one has replaced: starting again could double messages.
        errors.OwnershipLost("m", "restored", name="N", status_queue="S", found=("b", 2), expected=("a", 1)),
        another_attempt("S/0/K", "SHARED", ("b" * 32, 2), ("a" * 32, 1)),
    ],
)
def test_a_program_is_not_started_again_if_somebody_has_to_act(error):
    assert not error.clears_up
    assert not pickle.loads(pickle.dumps(error)).clears_up


def test_the_profile_for_a_generated_name_is_the_name_as_it_was_asked_for():
    """An asterisk matches characters within a qualifier; two stand between dots (IBM MQ, "Using OAM generic profiles")."""
    for makes in ("MQGROUPS.REPLY.*", "MQGROUPS.PUT.X*"):
        said = authorities.to_open("MODEL", mq.MQOO_INPUT_EXCLUSIVE, makes=makes)
        assert f"own name is checked too: SET AUTHREC PROFILE('{makes}') OBJTYPE(QUEUE)" in said
