"""Random puts, gets, commits and backouts, compared step by step with a model of the tables.

The model is written from IBM MQ's texts ("Logical and physical ordering", Tables 1 and 2; "GMOPT", Tables 16 and 17; MQBACK
usage note 4), apart from the queue manager's code. Where the texts leave an answer open, the model permits several: which of
two reasons is told when both apply (only 2242 before 2241 is documented), whether a call without logical order that stays in
the group but not in its order is "consistent", and what a message is whose flags do not go with its place.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from embedded_tests.fix_mqi import OK, Connection, failed, warning
from mqembedded import constants as mq

MIG, LAST_MIG, SEG, LAST_SEG = mq.MQMF_MSG_IN_GROUP, mq.MQMF_LAST_MSG_IN_GROUP, mq.MQMF_SEGMENT, mq.MQMF_LAST_SEGMENT
GIVEN = [b"given 1".ljust(24), b"given 2".ljust(24)]
OPEN_OPTIONS = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT | mq.MQOO_INQUIRE


# --- the model


class Physical:
    """A physical message on the queue; ``holder`` is the connection in whose unit of work it was put or got."""

    def __init__(self, place, flags, data, persistent, putter):
        self.place = place
        self.flags = flags | (MIG if flags & LAST_MIG else 0) | (SEG if flags & LAST_SEG else 0)
        self.data = data
        self.persistent = persistent
        self.putter = putter
        self.getter = None
        self.backouts = 0

    @property
    def available(self):
        return self.putter is None and self.getter is None


class Information:
    """The group and segment information of one handle and direction: of the last message put or got."""

    def __init__(self, message=None, logical_order=False, in_uow=False):
        self.logical_order, self.in_uow = logical_order, in_uow
        self.group = self.message = False
        if message is not None:
            (self.id, self.seq, self.offset), self.flags = message.place, message.flags
            self.length, self.persistent = len(message.data), message.persistent
            self.message = bool(self.flags & SEG) and not self.flags & LAST_SEG
            ended = bool(self.flags & LAST_MIG) and not self.message
            self.group = bool(self.flags & MIG) and not ended

    @property
    def unterminated(self):
        return self.group or self.message

    def next_place(self):
        """Tables 1 and 16: what comes next in logical order."""
        if self.message:
            return self.id, self.seq, self.offset + self.length
        return self.id, self.seq + 1, 0

    def what_is_left(self):
        return mq.MQRC_INCOMPLETE_MSG if self.message else mq.MQRC_INCOMPLETE_GROUP


class Handle:
    """An object handle of the model beside the real one."""

    def __init__(self, connection, real):
        self.connection, self.real = connection, real
        self.kept = {"put": Information(), "get": Information()}


class Unit:
    """A connection: its unit of work restores what its handles knew before."""

    def __init__(self, real):
        self.real = real
        self.before: dict[tuple[Handle, str], Information] = {}


def kept_after(handle, direction, information, syncpoint):
    """Replace what a handle keeps, and note what MQBACK restores: changes made outside syncpoint stay."""
    before = handle.connection.before
    if syncpoint:
        before.setdefault((handle, direction), handle.kept[direction])
    else:
        before.pop((handle, direction), None)
    handle.kept[direction] = information


def put_reasons(kept, flags, persistent, syncpoint):
    """Table 1: why a put in logical order does not go on with what the handle keeps; all that apply."""
    if not kept.unterminated:
        return set()
    if kept.message and (
        not flags & (SEG | LAST_SEG)
        or (flags & LAST_MIG) != (kept.flags & LAST_MIG)
        or (flags & (MIG | LAST_MIG) and not kept.group)
    ):
        return {mq.MQRC_INCOMPLETE_MSG} | other_reasons(kept, persistent, syncpoint)
    reasons = other_reasons(kept, persistent, syncpoint)
    if kept.group and not flags & (MIG | LAST_MIG):
        reasons.add(mq.MQRC_INCOMPLETE_GROUP)
    return reasons


def other_reasons(kept, persistent, syncpoint):
    reasons = set()
    if persistent is not None and persistent != kept.persistent:
        reasons.add(mq.MQRC_INCONSISTENT_PERSISTENCE)
    if syncpoint != kept.in_uow:
        reasons.add(mq.MQRC_INCONSISTENT_UOW)
    return reasons


def permitted_without_logical_order(kept, message, persistent, syncpoint):
    """Tables 2 and 17, the lines "without": OK or a warning, depending on the previous call."""
    if not kept.logical_order or not kept.unterminated:
        return {OK}
    if message.place == kept.next_place() and bool(message.flags & MIG) == kept.group:
        reasons = other_reasons(kept, persistent, syncpoint)
        if kept.message and (message.flags ^ kept.flags) & LAST_MIG:
            return {OK} | {warning(reason) for reason in reasons | {mq.MQRC_INCOMPLETE_MSG}}
        return {warning(reason) for reason in reasons} or {OK}
    reasons = {kept.what_is_left()} | other_reasons(kept, persistent, syncpoint)
    permitted = {warning(reason) for reason in reasons}
    if message.place[0] == kept.id:
        # It stays in the group, though not in its order: the texts do not say whether that is consistent.
        permitted |= {OK, warning(mq.MQRC_INCOMPLETE_GROUP)}
    return permitted


def permitted_in_logical_order(kept, found):
    """Table 16 finds by identifier, number and offset alone; flags that do not go with them are left open there."""
    if bool(found.flags & MIG) == kept.group and not (kept.message and not found.flags & SEG):
        return {OK}
    return {OK, failed(mq.MQRC_INCOMPLETE_GROUP), failed(mq.MQRC_INCOMPLETE_MSG)}


# --- the machine


class QueueMachine(RuleBasedStateMachine):
    """Two connections with two handles each, on one queue; the test's fixtures are class attributes."""

    connections: tuple[Connection, ...]
    observer: Connection
    queue: str

    @initialize()
    def start(self):
        self.messages = []
        self.ids = [mq.MQGI_NONE, *GIVEN]
        self.count = 0
        self.units = [Unit(real) for real in self.connections]
        self.handles = [Handle(unit, unit.real.open(self.queue, OPEN_OPTIONS)) for unit in self.units for _ in range(2)]

    def available(self):
        return [message for message in self.messages if message.available]

    @rule(
        which=st.integers(0, 3),
        logical_order=st.booleans(),
        syncpoint=st.booleans(),
        persistent=st.sampled_from([False, False, False, True]),
        group_flags=st.sampled_from([0, MIG, MIG, LAST_MIG]),
        segment_flags=st.sampled_from([0, 0, SEG, LAST_SEG]),
        allowed=st.sampled_from([0, 0, 0, mq.MQMF_SEGMENTATION_ALLOWED]),
        identifier=st.integers(0, 9),
        seq=st.integers(1, 3),
        offset=st.sampled_from([0, 0, 2, 3]),
        length=st.sampled_from([1, 2, 3]),
        continues=st.booleans(),
    )
    def put(self, which, logical_order, syncpoint, persistent, group_flags, segment_flags, allowed, identifier, seq,
            offset, length, continues):  # fmt: skip
        handle = self.handles[which]
        kept = handle.kept["put"]
        flags = group_flags | segment_flags | allowed
        given = self.ids[identifier % len(self.ids)], seq, offset
        if continues and kept.unterminated:
            given = kept.next_place()
        self.count += 1
        data = b"%d" % (self.count % 10**length)
        data = data.ljust(length, b".")
        # What the texts say it will be.
        in_group, is_segment = bool(flags & (MIG | LAST_MIG)), bool(flags & (SEG | LAST_SEG))
        has_id = in_group or is_segment or bool(allowed)
        new = b"new"
        if logical_order:
            reasons = put_reasons(kept, flags, persistent, syncpoint)
            permitted = {failed(reason) for reason in reasons} or {OK}
            place = kept.next_place() if kept.unterminated else (new if has_id else mq.MQGI_NONE, 1, 0)
        else:
            group_id = (given[0] if given[0] != mq.MQGI_NONE else new) if has_id else mq.MQGI_NONE
            place = (group_id, given[1] if in_group else 1, given[2] if is_segment else 0)
            message = Physical(place, flags, data, persistent, None)
            permitted = permitted_without_logical_order(kept, message, persistent, syncpoint)
        # What it is.
        options = (mq.MQPMO_LOGICAL_ORDER if logical_order else 0) | (mq.MQPMO_SYNCPOINT if syncpoint else 0)
        fields = {"GroupId": given[0], "MsgSeqNumber": given[1], "Offset": given[2], "Persistence": int(persistent)}
        answer = handle.real.put(data, options, MsgFlags=flags, **fields)
        assert answer.code in permitted
        if answer.code.comp == 2:
            return
        if place[0] == new:
            assert answer.md.GroupId not in self.ids
            self.ids.append(answer.md.GroupId)
            place = (answer.md.GroupId, *place[1:])
        assert answer.place == place
        message = Physical(place, flags, data, persistent, handle.connection if syncpoint else None)
        self.messages.append(message)
        kept_after(handle, "put", Information(message, logical_order, syncpoint), syncpoint)

    @rule(
        which=st.integers(0, 3),
        logical_order=st.booleans(),
        syncpoint=st.booleans(),
        match=st.sampled_from(
            [0, 0, 0, mq.MQMO_MATCH_GROUP_ID, mq.MQMO_MATCH_GROUP_ID | mq.MQMO_MATCH_MSG_SEQ_NUMBER, 7 << 2]
        ),
        identifier=st.integers(0, 9),
        seq=st.integers(1, 3),
        offset=st.sampled_from([0, 2, 3]),
    )
    def get(self, which, logical_order, syncpoint, match, identifier, seq, offset):
        handle = self.handles[which]
        kept = handle.kept["get"]
        match &= mq.MQMO_MATCH_GROUP_ID | mq.MQMO_MATCH_MSG_SEQ_NUMBER | mq.MQMO_MATCH_OFFSET
        if logical_order and not kept.unterminated:
            match &= mq.MQMO_MATCH_GROUP_ID  # the text gives no meaning to the others there
        wanted = self.ids[identifier % len(self.ids)], seq, offset
        selected = [
            wanted[0] if match & mq.MQMO_MATCH_GROUP_ID and wanted[0] != mq.MQGI_NONE else None,
            seq if match & mq.MQMO_MATCH_MSG_SEQ_NUMBER else None,
            offset if match & mq.MQMO_MATCH_OFFSET else None,
        ]
        # What the texts say it will be.
        in_current = logical_order and kept.unterminated
        if in_current:
            looked_for = kept.next_place()
        elif logical_order:
            looked_for = selected[0], 1, 0
        else:
            looked_for = tuple(selected)
        found = next(
            (
                message
                for message in self.available()
                if all(value in (None, own) for value, own in zip(looked_for, message.place, strict=True))
            ),
            None,
        )
        nothing = {failed(mq.MQRC_NO_MSG_AVAILABLE)}
        refusals = set()
        if in_current:
            if syncpoint != kept.in_uow:
                refusals.add(failed(mq.MQRC_INCONSISTENT_UOW))
            if any(value not in (None, own) for value, own in zip(selected, looked_for, strict=True)):
                refusals.add(failed(mq.MQRC_MATCH_OPTIONS_ERROR))
        if refusals:
            permitted = refusals | (nothing if found is None else set())
        elif found is None:
            permitted = nothing
        elif in_current:
            permitted = permitted_in_logical_order(kept, found)
        elif logical_order:
            permitted = {OK}
        else:
            permitted = permitted_without_logical_order(kept, found, None, syncpoint)
        # What it is.
        options = (mq.MQGMO_LOGICAL_ORDER if logical_order else 0) | (mq.MQGMO_SYNCPOINT if syncpoint else 0)
        fields = {"GroupId": wanted[0], "MsgSeqNumber": seq, "Offset": offset}
        answer = handle.real.get(options, match=match, **fields)
        assert answer.code in permitted
        if answer.code.comp == 2:
            return
        assert found is not None
        self.got(handle, found, answer, logical_order, syncpoint)

    @precondition(lambda self: self.available())
    @rule(which=st.integers(0, 3), number=st.integers(0, 99), syncpoint=st.booleans())
    def get_by_token(self, which, number, syncpoint):
        """The token picks any message there is, wherever it stands."""
        handle = self.handles[which]
        number %= len(self.available())
        found = self.available()[number]
        source = self.observer.open(self.queue, mq.MQOO_BROWSE)
        gmo = source.mqi.gmo(Version=3, Options=mq.MQGMO_BROWSE_NEXT | mq.MQGMO_NO_PROPERTIES)
        for _ in range(number + 1):
            token = source.get(gmo=gmo).gmo.MsgToken
        assert source.close() == OK
        options = mq.MQGMO_NO_PROPERTIES | (mq.MQGMO_SYNCPOINT if syncpoint else mq.MQGMO_NO_SYNCPOINT)
        gmo = source.mqi.gmo(Version=3, Options=options, MatchOptions=mq.MQMO_MATCH_MSG_TOKEN, MsgToken=token)
        answer = handle.real.get(gmo=gmo)
        assert answer.code in permitted_without_logical_order(handle.kept["get"], found, None, syncpoint)
        self.got(handle, found, answer, False, syncpoint)

    def got(self, handle, found, answer, logical_order, syncpoint):
        """A message was returned, which has to be the one that was found in the model."""
        assert (answer.place, answer.data, answer.md.MsgFlags) == (found.place, found.data, found.flags)
        assert (answer.md.BackoutCount, answer.md.Persistence) == (found.backouts, int(found.persistent))
        group = "L" if found.flags & LAST_MIG else "G" if found.flags & MIG else " "
        segment = "L" if found.flags & LAST_SEG else "S" if found.flags & SEG else " "
        assert answer.status[:2] == group + segment
        if syncpoint:
            found.getter = handle.connection
        else:
            self.messages.remove(found)
        kept_after(handle, "get", Information(found, logical_order, syncpoint), syncpoint)

    @rule(which=st.integers(0, 1))
    def commit(self, which):
        unit = self.units[which]
        assert unit.real.commit() == OK
        self.messages = [message for message in self.messages if message.getter is not unit]
        for message in self.messages:
            if message.putter is unit:
                message.putter = None
        unit.before.clear()

    @rule(which=st.integers(0, 1))
    def back_out(self, which):
        unit = self.units[which]
        assert unit.real.back_out() == OK
        self.messages = [message for message in self.messages if message.putter is not unit]
        for message in self.messages:
            if message.getter is unit:
                message.getter = None
                message.backouts += 1
        for (handle, direction), kept in unit.before.items():
            handle.kept[direction] = kept
        unit.before.clear()

    @precondition(lambda self: self.count > 5)
    @rule(which=st.integers(0, 3))
    def close_and_open(self, which):
        handle = self.handles[which]
        reasons = {kept.what_is_left() for kept in handle.kept.values() if kept.logical_order and kept.unterminated}
        assert handle.real.close() in ({warning(reason) for reason in reasons} or {OK})
        for direction in handle.kept:
            handle.connection.before.pop((handle, direction), None)
        self.handles[which] = Handle(handle.connection, handle.connection.real.open(self.queue, OPEN_OPTIONS))

    @rule()
    def browse_and_count(self):
        """The physical order, to somebody else; and CURDEPTH, with what is put in units of work, without what is got in them."""
        expected = [(message.place, message.data, message.backouts) for message in self.available()]
        found = [(answer.place, answer.data, answer.md.BackoutCount) for answer in self.observer.browse(self.queue)]
        assert found == expected
        depth = sum(message.getter is None for message in self.messages)
        assert self.handles[0].real.inquire(mq.MQIA_CURRENT_Q_DEPTH) == (OK, depth)

    def teardown(self):
        if hasattr(self, "units"):
            self.browse_and_count()
            for which in range(2):
                self.back_out(which)
            self.browse_and_count()
            for handle in self.handles:
                handle.real.close()
        source = self.observer.open(self.queue, mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE)
        source.all()
        source.close()


@pytest.mark.slow
def test_any_sequence_of_calls_does_what_the_tables_say(connect, queue):
    class Machine(QueueMachine):
        pass

    Machine.connections = (connect(), connect())
    Machine.observer = connect()
    Machine.queue = queue
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=int(os.environ.get("MQEMBEDDED_EXAMPLES", "25")),
            stateful_step_count=60,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
