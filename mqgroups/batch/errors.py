"""Errors of batches: for a batch that must not be put as it is, and for a group that another attempt has taken over."""

from __future__ import annotations

from typing import Literal, TypeAlias

from mqgroups.errors import ApplicationError, OwnershipLost

BatchProblem: TypeAlias = Literal["other-messages", "two-partitions", "another-query", "second-write"]


class BatchRefused(ApplicationError):
    """A batch would put messages twice, or mix two versions of a group. The refused call has put nothing.

    Attributes:
        because: ``"other-messages"`` if the repeated batch gives a group other messages than the committed ones;
            ``"two-partitions"`` if two partitions of one execution have messages for the same group; ``"another-query"`` if a
            query with another checkpoint has written the batch; ``"second-write"`` if the same run of the query has completed
            another batch with this name and number.
    """

    def __init__(self, message: str, because: BatchProblem) -> None:
        super().__init__(message)
        self.because = because


def other_messages(name: str, group_id: bytes, committed: int, given: str) -> BatchRefused:
    """Return the error for a repeated batch that gives a group other messages than the committed ones.

    Args:
        name: sink, batch and key of the group.
        group_id: the GroupId of the committed messages, 24 bytes.
        committed: how many messages of the group are committed.
        given: a clause about the messages that the batch gives now.
    """
    return BatchRefused(
        f"group {name}: {committed} messages are committed, with GroupId {group_id.hex()}, and {given}. A repeated "
        "batch must give each group the same messages in the same order: no random values, no current time, no "
        "undefined order. Nothing was put. Make the batch give the same messages as before, and run it again. Only if it cannot, "
        "move the whole groups from the queue, or consumers get them twice, and give the batch another status queue, which has "
        "no record of the groups",
        "other-messages",
    )


def second_write(sink: str, queue: str, batch: int) -> BatchRefused:
    """Return the error for a batch whose name and number the same run of a query has already used for another batch."""
    return BatchRefused(
        f"batch {batch} of txnAppId {sink} to queue {queue} was completed by another write of this run of the query, so this "
        "write would be taken for a repetition. Not all of it is put. Use another name for each write of a foreachBatch: the "
        "query's id with -1, -2 as txnAppId. If this write is only a retry, let the query fail, and start it again",
        "second-write",
    )


def another_attempt(name: str, status_queue: str, found: tuple[str, int], expected: tuple[str, int]) -> OwnershipLost:
    """Return the error for a group that another attempt has taken over. The arguments are the error's attributes."""
    seen = f"attempt {found[0]} (claim {found[1]})" if found[1] else "an attempt that is committing now"
    return OwnershipLost(
        f"group {name} has been taken over by {seen}, as status queue {status_queue} shows; this is attempt {expected[0]} (claim "
        f"{expected[1]}). The scheduler replaced this attempt, or it lost its connection. Its uncommitted work is backed out. "
        "End this attempt; the other one continues from the last commit",
        "another-attempt",
        name=name,
        status_queue=status_queue,
        found=found,
        expected=expected,
    )
