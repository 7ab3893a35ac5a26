"""Checks a message before an application gets it: it may end an abandoned group, be poison, or belong to a rest that is moved."""

from __future__ import annotations

from mqgroups.core.model import GROUP_ID_LENGTH
from mqgroups.core.poison import PROOF, Suspect, Treatment, treatment
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

        What its sender may have caused comes behind the look at the backout count, or is poison itself: nothing stops a consumer
        for ever that is to move poison.

        Raises:
            GroupAbandoned: it ends a group that its producer has given up. That is committed.
            GroupQuarantined: it and the rest of the group were moved to the backout queue.
            PoisonMessage: it cannot be processed, and is not moved by the consumer's policy.
            CcsidUnknown: the consumer has a codec, and there is no code page for the message's text.
            MQGroupsError: a call failed.
        """
        getter = self._getter
        if getter.owner.unit.note.quarantine:
            raise self._quarantined(message)
        result = message.abandoned_with
        failure = self._decoded(message) if result is None else None
        if self._is_suspected(message) and not self._is_kept(message):
            return False
        if result is not None:
            raise self._abandoned(message, result, message.abandoned_because)
        if failure is not None:
            raise failure
        return True

    def _is_suspected(self, message: Message) -> bool:
        backout = self._getter.aside.backout
        return backout is not None and backout.suspects(message.backout_count)

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
            tries=getter.tries,
            call_failed=getter.call_failed,
        )
        if how is Treatment.PROCESS_ALONE:
            getter.process_alone()
            return True
        if how is Treatment.ISOLATE:
            if not getter.can_isolate:
                # If it fails, the messages before it fail with it, and in the end each of them is processed alone.
                return True
            self._suspect(message)
            return False
        raise self._poison(message)

    def _decoded(self, message: Message) -> Exception | None:
        """Decode a message; returns another error of the codec than ValueError, which says nothing about the message.

        Raises PoisonMessage or GroupQuarantined if it is invalid; CcsidUnknown.
        """
        reason, decode = message.not_got_because, self._getter.decode
        if decode is not None and not reason:
            try:
                message.decode(decode)
            except CcsidUnknown as error:
                # The sender chose it. So it is waited for a code page only as often as for a program that fails.
                if not (self._getter.moves_poison and self._is_suspected(message)):
                    self._commit_those_before()
                    queue, number = self._getter.settings.queue, message.msg_seq_number
                    raise CcsidUnknown(error.ccsid, queue, message.group_id, number) from None
                reason = f"there is no code page for CCSID {error.ccsid} here"
            except NotDecoded as error:
                reason = str(error)
            except ValueError as error:
                # Its text may show the data.
                reason = type(error).__name__
            except Exception as error:
                return error
            if reason and not self._getter.moves_poison:
                self._commit_those_before()
        if reason:
            raise self._poison(message, reason)
        return None

    def _suspect(self, message: Message, tries: int = 0) -> None:
        """Back out a message that has failed alone so often, and note it as the suspect, with its count after that."""
        getter, count = self._getter, message.backout_count + 1 - tries
        getter.isolate(Suspect(message.group_id, message.msg_seq_number, count, message.msg_id))
        getter.tries = tries

    def _commit_those_before(self) -> None:
        """Commit the messages before one that is not decoded, so that they do not come again with it."""
        getter, owner = self._getter, self._getter.owner
        if owner.unit.messages and getter.can_isolate:
            getter.isolate(owner.unit.note.suspect)

    def _poison(self, message: Message, reason: str = "") -> PoisonMessage | GroupQuarantined:
        """Treat a poison message by the consumer's policy; returns the error to raise.

        ``reason``: why it cannot be decoded. Then it is poison whatever its backout count is.
        """
        getter, backout = self._getter, self._getter.aside.backout
        queue, number, count = getter.settings.queue, message.msg_seq_number, message.backout_count
        threshold, target = (backout.threshold, backout.name) if backout is not None else (0, "")
        getter.owner.telemetry.poison(number, count, target if self._getter.moves_poison else "")
        if self._getter.moves_poison:
            return self._quarantined(message, reason)
        if not reason and getter.can_isolate:
            # The next start gets it once more, alone: the program may have been corrected by then, or what it needs is back.
            self._suspect(message, PROOF - 1)
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
            if getter.work.due() or message.not_got_because:
                getter.syncpoint()
            message = getter.take()
        error = GroupQuarantined(getter.settings.queue, self._key[:GROUP_ID_LENGTH], first, backout.name, reason)
        getter.end_group(quarantined=error)
        return error
