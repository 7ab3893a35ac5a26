"""Checks a message before an application gets it: it may end an abandoned group, be poison, or belong to a rest that is moved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mqgroups.core.model import GROUP_ID_LENGTH
from mqgroups.core.poison import Suspect, Treatment, treatment
from mqgroups.errors import CcsidUnknown, GroupAbandoned, GroupQuarantined, NotDecoded, PoisonMessage
from mqgroups.get.getter import Getter
from mqgroups.mqi.message import Message


class MessageCheck:
    """The check of the messages of one group."""

    def __init__(self, getter: Getter, key: bytes) -> None:
        """``key``: the group's."""
        self._getter = getter
        self._key = key

    def __call__(self, message: Message) -> bool:
        """Return whether the application gets the message; if not, it was backed out, and is got again.

        Raises:
            GroupAbandoned: it ends a group that its producer has given up. That is committed.
            GroupQuarantined: it and the rest of the group were moved to the backout queue.
            PoisonMessage: it cannot be processed, and is not moved by the consumer's policy.
            CcsidUnknown: the consumer has a codec, and there is no code page for the message's text.
            MQGroupsError: a call failed.
        """
        getter, owner = self._getter, self._getter.owner
        backout, decode = getter.aside.backout, getter.decode
        if (result := message.abandoned_with) is not None:
            raise self._abandoned(message, result, message.abandoned_because)
        if owner.unit.note.quarantine:
            raise self._quarantined(message)
        if reason := message.not_joined_because:
            raise self._poison(message, reason)
        if decode is not None and (reason := self._why_not_decoded(message, decode)):
            if not self._can_be_moved:
                self._commit_those_before()
            raise self._poison(message, reason)
        return not backout or not backout.suspects(message.backout_count) or self._is_kept(message)

    def _abandoned(self, message: Message, result: int, reason: str) -> GroupAbandoned:
        """Commit the message that abandons the group; returns the error to raise."""
        getter = self._getter
        messages = getter.cursor.position.msg_seq_number - 1
        abandoned = GroupAbandoned(
            getter.settings.queue, self._key[:GROUP_ID_LENGTH], messages, result, reason, self._key
        )
        getter.owner.telemetry.abandoned(result)
        if getter.settings.on_abandon is not None:
            getter.settings.on_abandon(abandoned)
        getter.owner.count(len(message.data))
        getter.end_group(abandoned=abandoned)
        return abandoned

    def _is_kept(self, message: Message) -> bool:
        """Treat a message that was backed out too often; returns whether the application gets it."""
        getter, owner, backout = self._getter, self._getter.owner, self._getter.aside.backout
        assert backout is not None
        how = treatment(
            message.group_id,
            message.msg_seq_number,
            message.msg_id,
            message.backout_count,
            threshold=backout.threshold,
            suspect=owner.unit.note.suspect,
            connection_lost=getter.lost_suspect,
        )
        if how is Treatment.PROCESS_ALONE:
            getter.process_alone()
            return True
        if how is Treatment.ISOLATE:
            if not getter.can_isolate:
                # If it fails, the messages before it fail with it, and in the end each of them is processed alone.
                return True
            getter.isolate(_suspected(message))
            return False
        if message.is_text_of_unknown_ccsid:
            # A property of this installation: the message stays, whatever ``poison`` says, and the application gets its error.
            getter.process_alone()
            return True
        raise self._poison(message)

    def _why_not_decoded(self, message: Message, decode: Callable[[Any], Any]) -> str:
        """Decode a message; returns the reason if its data is invalid, else an empty text. Raises CcsidUnknown."""
        try:
            message.decode(decode)
        except CcsidUnknown as error:
            self._commit_those_before()
            queue = self._getter.settings.queue
            raise CcsidUnknown(error.ccsid, queue, message.group_id, message.msg_seq_number) from None
        except NotDecoded as error:
            return str(error)
        except ValueError as error:
            # Its text may show the data.
            return type(error).__name__
        return ""

    def _commit_those_before(self) -> None:
        """Commit the messages before one that is not decoded, so that they do not come again with it."""
        getter, owner = self._getter, self._getter.owner
        if owner.unit.messages and getter.can_isolate:
            getter.isolate(owner.unit.note.suspect)

    @property
    def _can_be_moved(self) -> bool:
        getter = self._getter
        backout = getter.aside.backout
        return backout is not None and backout.threshold > 0 and getter.settings.poison == "quarantine"

    def _poison(self, message: Message, reason: str = "") -> PoisonMessage | GroupQuarantined:
        """Treat a poison message by the consumer's policy; returns the error to raise.

        ``reason``: why it cannot be decoded. Then it is poison whatever its backout count is.
        """
        getter, backout = self._getter, self._getter.aside.backout
        queue, number, count = getter.settings.queue, message.msg_seq_number, message.backout_count
        threshold, target = (backout.threshold, backout.name) if backout is not None else (0, "")
        getter.owner.telemetry.poison(number, count, target if self._can_be_moved else "")
        if self._can_be_moved:
            return self._quarantined(message, reason)
        if not reason and getter.can_isolate:
            # The next start gets it once more, alone: the program may have been corrected by then, or what it needs is back.
            getter.isolate(_suspected(message))
        left = getter.was_loop_left
        return PoisonMessage(queue, message.group_id, number, count, threshold, reason, loop_left=left)

    def _quarantined(self, message: Message, reason: str = "") -> GroupQuarantined:
        """Move the rest of the group to the backout queue; returns the error to raise."""
        getter, backout = self._getter, self._getter.aside.backout
        assert backout is not None
        first = message.msg_seq_number
        getter.owner.telemetry.quarantined(first, backout.name)
        while True:
            getter.owner.set_quarantine()
            getter.move(message)
            if message.is_last:
                break
            if getter.work.due() or message.not_joined_because:
                getter.syncpoint()
            message = getter.take()
        error = GroupQuarantined(getter.settings.queue, self._key[:GROUP_ID_LENGTH], first, backout.name, reason)
        getter.end_group(quarantined=error)
        return error


def _suspected(message: Message) -> Suspect:
    """Return a message as the suspect of the next record, before which it is backed out once more."""
    return Suspect(message.group_id, message.msg_seq_number, message.backout_count + 1, message.msg_id)
