"""What is wrong on the queues when a query is done, as the independent reader sees them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.faults.reader import Seen, wrong_with_group

_HIGH_WATER_MARK = "high-water mark"


def wrong_with_output(seen: Sequence[Seen], expected: Mapping[str, Sequence[bytes]]) -> list[str]:
    """Say what keeps the output queue from having each expected group once, whole and in order, and nothing else."""
    groups: dict[bytes, list[Seen]] = {}
    for message in seen:
        groups.setdefault(message.group_id, []).append(message)
    wrong = []
    found: Counter[str] = Counter()
    for group_id, messages in groups.items():
        key = messages[0].data.decode().partition(":")[0]
        found[key] += 1
        if key not in expected:
            wrong.append(f"group {group_id.hex()}: key {key!r} was never put")
        elif trouble := wrong_with_group(messages, expected[key]):
            wrong.append(f"group {group_id.hex()} of key {key}: {trouble}")
    wrong += [f"key {key}: {found[key]} groups" for key in sorted(expected) if found[key] != 1]
    return wrong


def wrong_with_status(seen: Sequence[Seen]) -> list[str]:
    """Say what is on the status queue besides one high-water mark."""
    kinds = Counter(json.loads(message.data)["checkpoint"]["json"]["kind"] for message in seen)
    return [] if kinds == {_HIGH_WATER_MARK: 1} else [f"on the status queue: {dict(kinds)}"]


def wrong_with_manifests(seen: Iterable[Seen], checkpoint: Path) -> list[str]:
    """Say what is on the source's status queue besides the manifests, or their marks, that the checkpoint's last offset names.

    A driver that died before the first offset was logged leaves a manifest of a source that nobody knows.
    """
    if not list((checkpoint / "offsets").glob("[0-9]*")):
        return ["the checkpoint has no offset"]
    last = json.loads(_last_log(checkpoint / "offsets").read_text().splitlines()[-1])
    named = {last["manifest"], *last["pending"]}
    source = bytes.fromhex(last["source"])
    there = {json.loads(message.data)["manifest"] for message in seen if message.correl_id == source}
    return (
        []
        if there == named
        else [f"on the source's status queue: {sorted(there)}, the checkpoint names {sorted(named)}"]
    )


def _last_log(folder: Path) -> Path:
    return max(folder.glob("[0-9]*"), key=lambda file: int(file.name))
