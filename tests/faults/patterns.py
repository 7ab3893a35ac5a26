"""The patterns of the campaign by name, and the programs that they stand for."""

from __future__ import annotations

from typing import TypeAlias

from tests.faults.abandon_program import AbandonProgram
from tests.faults.aio_programs import AioGetProgram, AioPipeProgram, AioPutProgram
from tests.faults.batch_program import BatchProgram
from tests.faults.cluster_programs import (
    ClusterGetProgram,
    ClusterPutOnOpenProgram,
    ClusterPutProgram,
    RemotePutProgram,
)
from tests.faults.dressed_programs import DressedGetProgram, DressedPipeProgram, DressedPutProgram
from tests.faults.files_program import FilesProgram, SentProgram
from tests.faults.named_program import NamedProgram
from tests.faults.operated_programs import MovedProgram, RebuiltGetProgram, RebuiltPutProgram
from tests.faults.pattern import Pattern
from tests.faults.poison_program import QuarantinedProgram
from tests.faults.programs import GetProgram, PipeProgram, PutProgram
from tests.faults.stalled_program import StalledProgram
from tests.faults.strangers_program import StrangersProgram

AnyProgram: TypeAlias = PutProgram | GetProgram | BatchProgram
PROGRAMS: dict[str, type[AnyProgram]] = {
    "put": PutProgram,
    "get": GetProgram,
    "pipe": PipeProgram,
    "batch": BatchProgram,
    "named": NamedProgram,
    "aio-put": AioPutProgram,
    "aio-get": AioGetProgram,
    "aio-pipe": AioPipeProgram,
    "files": FilesProgram,
    "sent": SentProgram,
    "rebuilt-put": RebuiltPutProgram,
    "rebuilt-get": RebuiltGetProgram,
    "moved": MovedProgram,
    "quarantined": QuarantinedProgram,
    "strangers": StrangersProgram,
    "stalled": StalledProgram,
    "dressed-put": DressedPutProgram,
    "dressed-get": DressedGetProgram,
    "dressed-pipe": DressedPipeProgram,
    "abandon": AbandonProgram,
    "cluster-put": ClusterPutProgram,
    "cluster-put-on-open": ClusterPutOnOpenProgram,
    "remote-put": RemotePutProgram,
    "cluster-get": ClusterGetProgram,
}
CLUSTER_ROLES = tuple(role for role, program in PROGRAMS.items() if program.at)
# Thin layers over producers, consumers and pipes, and the phases that disturb what is the layer's own.
THIN_ROLES = {
    **dict.fromkeys(("aio-put", "aio-get", "aio-pipe"), ("cancellations",)),
    **dict.fromkeys(("files", "sent"), ("single", "single_kills", "zombies", "refusals")),
    **dict.fromkeys(("rebuilt-put", "rebuilt-get", "moved"), ("single", "single_kills", "refusals")),
}
# Of these no group is interrupted if nothing goes wrong.
CLUSTER_PUT_ROLES = ("cluster-put", "cluster-put-on-open")


def _patterns() -> list[Pattern]:
    kept = (("classic", 100), ("classic", 2), ("segmented", 2))
    of_one_side = [
        Pattern(role, status, segmented, 3 if segmented or every == 100 else 5, every)
        for role in ("put", "get")
        for status, every in kept
        for segmented in (False, True)
    ]
    pipes = [Pattern("pipe", status, False, 3 if every == 100 else 5, every) for status, every in kept]
    # Its consumer gets messages whole, whatever they lie in.
    whole = [Pattern("pipe", "classic", True, 3, 2, backwards=backwards) for backwards in (False, True)]
    return [*of_one_side, *pipes, *whole, Pattern("get", "classic", True, 5, 2, backwards=True)]


def _batch_patterns() -> list[Pattern]:
    """Return those of a batch of groups, whose attempts share a status queue; its records are never segments."""
    return [Pattern("batch", "classic", False, 5, every, groups=2) for every in (100, 2)]


def _named_patterns() -> list[Pattern]:
    """Return those of groups that are known by their names alone: in one unit of work each, in several, and asynchronous."""
    return [
        Pattern("named", "classic", False, 3, 100, groups=2),
        Pattern("named", "classic", False, 5, 2, groups=2),
        Pattern("named", "segmented", False, 5, 3, groups=2, put_response="async"),
    ]


def _thin_patterns() -> list[Pattern]:
    """Return one of each thin layer. Between two groups of files the first one's is put in place, or in the archive."""
    return [Pattern(role, "classic", False, 5, 2, groups=2 if role in ("files", "sent") else 1) for role in THIN_ROLES]


def _poison_patterns() -> list[Pattern]:
    """Return those whose good group is behind two that have poison, or behind what partners put that are not mqgroups."""
    return [Pattern(role, "classic", False, 5, 2) for role in ("quarantined", "strangers")]


def _stalled_patterns() -> list[Pattern]:
    """Return those whose good group is behind two that cannot be completed; the rest takes one unit of work, or several."""
    return [Pattern("stalled", "classic", False, 5, 100), Pattern("stalled", "classic", True, 5, 2)]


def _dressed_patterns() -> list[Pattern]:
    """Return those that use everything at once."""
    return [
        Pattern("dressed-put", "classic", True, 3, 2, put_response="async"),
        Pattern("dressed-put", "classic", True, 3, 2),
        Pattern("dressed-get", "classic", True, 5, 2, backwards=True),
        Pattern("dressed-pipe", "segmented", True, 5, 2, put_response="async"),
    ]


def _abandon_patterns() -> list[Pattern]:
    """Return those whose group is abandoned, one in the middle of a message."""
    return [Pattern("abandon", "classic", False, 5, 2), Pattern("abandon", "segmented", True, 3, 2)]


def _cluster_patterns() -> list[Pattern]:
    """Return those of clusters: a group for each instance, each in two units of work or more."""
    return [
        Pattern("cluster-put", "classic", False, 3, 2, groups=3),
        Pattern("cluster-put", "classic", True, 2, 2, groups=3),
        Pattern("cluster-put", "segmented", False, 3, 2, groups=3),
        Pattern("cluster-put-on-open", "classic", False, 3, 2, groups=2),
        Pattern("remote-put", "classic", False, 3, 2, groups=2),
        Pattern("cluster-get", "classic", False, 5, 2, groups=3),
        Pattern("cluster-get", "segmented", False, 5, 2, groups=3),
    ]


def _asynchronous_patterns() -> list[Pattern]:
    """Return those whose puts are not all answered: the first of each group and the last of each unit of work are."""
    plain = [
        Pattern("put", "classic", False, 4, 100, put_response="async"),
        Pattern("put", "classic", False, 7, 3, put_response="async"),
        Pattern("put", "classic", True, 3, 3, put_response="async"),
        Pattern("put", "segmented", False, 7, 3, put_response="async"),
        Pattern("pipe", "classic", False, 4, 100, put_response="async"),
        Pattern("pipe", "segmented", False, 7, 4, put_response="async"),
    ]
    batch = Pattern("batch", "classic", False, 5, 4, groups=2, put_response="async")
    cluster = Pattern("cluster-put", "classic", False, 5, 4, groups=3, put_response="async")
    return [*plain, batch, cluster]


PATTERNS = {
    pattern.name: pattern
    for pattern in (
        *_patterns(),
        *_batch_patterns(),
        *_named_patterns(),
        *_thin_patterns(),
        *_poison_patterns(),
        *_stalled_patterns(),
        *_dressed_patterns(),
        *_abandon_patterns(),
        *_cluster_patterns(),
        *_asynchronous_patterns(),
    )
}
# The three ways to use the library at one queue manager, in all their forms.
PLAIN_ROLES = ("put", "get", "pipe")
DRESSED_ROLES = tuple(f"dressed-{role}" for role in PLAIN_ROLES)
