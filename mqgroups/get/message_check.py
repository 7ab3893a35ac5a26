"""Checks whether a message is for the application, ends an abandoned group, is poison, or belongs to a group that is moved."""

from __future__ import annotations

from dataclasses import replace

from mqgroups.core.poison import PROOF, Suspect, Treatment, treatment
from mqgroups.errors import CcsidUnknown, GroupAbandoned, GroupQuarantined, NotDecoded, PoisonMessage
from mqgroups.get.getter import Getter
from mqgroups.mqi.message import Message


def is_for_application(getter: Getter, key: bytes, message: Message) -> bool:
    """Return whether the application gets the message. If not, the message was backed out, and the caller must get it again.

    If the sender may have caused an error, the message counts as poison, or this function checks the backout count before it
    raises the error. So one message cannot stop a consumer for ever if the consumer moves poison. ``key``: the group's key.

    Raises:
        GroupAbandoned: the message ends a group that its producer has abandoned. The group's end is committed.
        GroupQuarantined: the message and the rest of the group were moved to the backout queue.
        PoisonMessage: the message cannot be processed, and the consumer's policy does not move it.
        CcsidUnknown: the consumer has a codec, and there is no code page for the message's text.
        MQGroupsError: a call failed.
    """
    if getter.owner.unit.note.quarantine:
        raise _quarantined(getter, message)
    result = message._abandoned_with
    failure = _decoded(getter, message) if result is None else None
    if _is_suspected(getter, message) and not _is_kept(getter, message):
        return False
    if result is not None:
        raise _abandoned(getter, key, message, result, message._abandoned_because)
    if failure is not None:
        raise failure
    return True


def _is_suspected(getter: Getter, message: Message) -> bool:
    backout = getter.aside.backout
    return backout is not None and backout.suspects(message.backout_count)


def _abandoned(getter: Getter, key: bytes, message: Message, result: int, reason: str) -> GroupAbandoned:
    """Commit the end of the group that ``message`` abandons. Return the error to raise."""
    messages = getter.cursor.position.msg_seq_number - 1
    abandoned = GroupAbandoned(getter.settings.queue, message.group_id, messages, result, reason, key)
    getter.owner.telemetry.abandoned(result)
    if getter.settings.on_abandon is not None:
        getter.settings.on_abandon(abandoned)
    getter.owner.count(len(message.data))
    getter.end_group(abandoned=abandoned)
    return abandoned


def _is_kept(getter: Getter, message: Message) -> bool:
    """Decide what to do with a message that was backed out too often. Return whether the application gets the message."""
    owner, backout = getter.owner, getter.aside.backout
    assert backout is not None
    how = treatment(
        message.group_id,
        message.msg_seq_number,
        message.msg_id,
        message.backout_count,
        threshold=backout.threshold,
        suspect=owner.unit.note.suspect,
        tries=getter.trial.tries,
        call_failed=getter.trial.call_failed,
    )
    if how is Treatment.PROCESS_ALONE:
        getter.process_alone()
        return True
    if how is Treatment.ISOLATE:
        if not getter.can_isolate:
            # If the message fails, those before it fail with it, and in the end each of them is processed alone.
            return True
        _suspect(getter, message)
        return False
    raise _poison(getter, message)


def _decoded(getter: Getter, message: Message) -> Exception | None:
    """Decode a message. Return the codec's error or ``None``. After a ValueError, the message counts as invalid.

    Raises PoisonMessage or GroupQuarantined if the message is invalid; CcsidUnknown if there is no code page for its text.
    """
    reason, codec = message._not_got_because, getter.settings.codec
    if codec is not None and not reason:
        try:
            message._decode(codec.decode)
        except CcsidUnknown as error:
            # The sender chose the CCSID. So the missing code page stops the consumer only as often as a failing program.
            if not (getter.moves_poison and _is_suspected(getter, message)):
                _commit_those_before(getter)
                queue, number = getter.settings.queue, message.msg_seq_number
                raise CcsidUnknown(error.ccsid, queue, message.group_id, number) from None
            reason = f"there is no code page for CCSID {error.ccsid} here"
        except NotDecoded as error:
            reason = str(error)
        except ValueError as error:
            # The text of a ValueError may show the data.
            reason = type(error).__name__
        except Exception as error:
            return error
        if reason and not getter.moves_poison:
            _commit_those_before(getter)
    if reason:
        raise _poison(getter, message, reason)
    return None


def _suspect(getter: Getter, message: Message, tries: int = 0) -> None:
    """Back out a message, and record it as the suspect.

    ``tries``: how often the message has failed in its own unit of work. The recorded backout count excludes these failures.
    """
    count = message.backout_count + 1 - tries
    getter.isolate(Suspect(message.group_id, message.msg_seq_number, count, message.msg_id))
    getter.trial = replace(getter.trial, tries=tries)


def _commit_those_before(getter: Getter) -> None:
    """Commit the messages that precede an undecodable message, so that only the undecodable message is delivered again."""
    owner = getter.owner
    if owner.unit.messages and getter.can_isolate:
        getter.isolate(owner.unit.note.suspect)


def _poison(getter: Getter, message: Message, reason: str = "") -> PoisonMessage | GroupQuarantined:
    """Apply the consumer's policy to a poison message. Return the error to raise.

    ``reason``: why the message cannot be decoded, or empty. An undecodable message is poison whatever its backout count is.
    """
    backout = getter.aside.backout
    queue, number, count = getter.settings.queue, message.msg_seq_number, message.backout_count
    threshold, target = (backout.threshold, backout.name) if backout is not None else (0, "")
    getter.owner.telemetry.poison(number, count, target if getter.moves_poison else "")
    if getter.moves_poison:
        return _quarantined(getter, message, reason)
    if not reason and getter.can_isolate:
        # The next start gets the message once more, alone, because the program may have been corrected by then.
        _suspect(getter, message, PROOF - 1)
    left = getter.was_loop_left
    return PoisonMessage(queue, message.group_id, number, count, threshold, reason, loop_left=left)


def _quarantined(getter: Getter, message: Message, reason: str = "") -> GroupQuarantined:
    """Move the message and the rest of the group to the backout queue. Return the error to raise."""
    backout = getter.aside.backout
    assert backout is not None
    first = message.msg_seq_number
    getter.owner.telemetry.quarantined(first, backout.name)
    while True:
        getter.owner.set_quarantine()
        getter.move(message)
        if message.is_last:
            break
        if getter.work.due() or message._not_got_because:
            getter.syncpoint()
        message = getter.take()
    error = GroupQuarantined(getter.settings.queue, message.group_id, first, backout.name, reason)
    getter.end_group(quarantined=error)
    return error
