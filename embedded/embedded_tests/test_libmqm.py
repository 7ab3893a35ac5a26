"""The C library alone: symbols, structures, handles, and a peer that misbehaves.

The peer (``peer.py``) is a thread of the test. What it does on purpose to hurt is in ``test_hostile_replies.py``.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import cast

import pytest

from embedded_tests.peer import Answers, Caller, Peer, well_behaved
from embedded_tests.tables import table
from mqembedded import EmbeddedQueueManager
from mqembedded import constants as mq
from mqembedded.libmqm.build import CLIENT_LIBRARY, SERVER_LIBRARY, build, load
from mqembedded.wire.frames import HEADER, encode_reply
from mqembedded.wire.verbs import STRUCTURE_LENGTHS, Verb

pytestmark = pytest.mark.embedded


LIBRARIES = (CLIENT_LIBRARY, SERVER_LIBRARY, "libmqic.so", "libmqm.so")


@table("module", ["pymqi.pymqe", "ibmmq.ibmmqc"])
def test_every_symbol_that_a_binding_imports_is_there(module: str) -> None:
    code = f"from mqembedded.libmqm.build import build, load; load(build()); import {module} as m; print(m.__file__)"
    file = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    if shutil.which("nm") is None:
        pytest.fail("nm is missing: apt-get install binutils")
    undefined = _symbols("--undefined-only", file)
    assert "MQPUT" in undefined
    for name in LIBRARIES:
        assert undefined <= _symbols("--defined-only", str(build() / "lib64" / name))


def test_nothing_is_exported_but_the_mqi_and_the_names_by_which_the_libraries_know_it() -> None:
    exported = _symbols("--defined-only", str(build() / "lib64" / CLIENT_LIBRARY), prefix="") - {"_init", "_fini"}
    verbs = {name for name in exported if name.startswith("MQ")}
    connecting = {f"mqembedded_server_{name}" for name in ("MQCONN", "MQCONNX")}
    assert exported == verbs | {f"mqembedded_{name}" for name in verbs} | connecting
    for name in LIBRARIES[1:]:
        assert _symbols("--defined-only", str(build() / "lib64" / name), prefix="") - {"_init", "_fini"} == verbs


def test_overflows_end_the_program_and_nothing_that_is_loaded_is_written_and_executed() -> None:
    """Stack protector, FORTIFY (glibc's), full RELRO; ``tools/distributions.sh`` looks at the wheels."""
    for name in LIBRARIES:
        shown = subprocess.run(
            ["readelf", "--wide", "--segments", "--dynamic", str(build() / "lib64" / name)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert "GNU_RELRO" in shown
        assert "BIND_NOW" in shown
        assert re.search(r"GNU_STACK .* RW +0", shown)
        assert not re.search(r"LOAD .* RWE|TEXTREL", shown)
    checks = _symbols("--undefined-only", str(build() / "lib64" / CLIENT_LIBRARY), prefix="__")
    assert {"__stack_chk_fail", "__memcpy_chk"} <= checks


def _symbols(which: str, file: str, prefix: str = "MQ") -> set[str]:
    lines = subprocess.run(["nm", "-D", which, file], capture_output=True, text=True, check=True).stdout.splitlines()
    return {name for line in lines if (name := line.split()[-1].partition("@")[0]).startswith(prefix)}


def test_all_libraries_have_one_table_of_connections(library: ctypes.CDLL, peer: Peer) -> None:
    # A process may have two of them, a binding's each: a handle from one must be known to the others.
    caller = Caller(library)
    for name in LIBRARIES:
        other = Caller.of(ctypes.CDLL(str(build() / "lib64" / name)), caller.hconn.value)
        assert other.commit() == (mq.MQCC_OK, mq.MQRC_NONE)
    caller.disconnect()


@table("name", LIBRARIES)
def test_a_program_links_with_one_library_alone_and_runs(peer: Peer, tmp_path: Path, name: str) -> None:
    source, program = tmp_path / "commits.c", tmp_path / "commits"
    source.write_text(
        "#include <cmqc.h>\n"
        "int main(void) {\n"
        '    char name[49] = "QM1";\n'
        "    MQHCONN hconn;\n"
        "    MQLONG comp, reason;\n"
        "    MQCONN(name, &hconn, &comp, &reason);\n"
        "    MQCMIT(hconn, &comp, &reason);\n"
        "    return (int)reason;\n"
        "}\n"
    )
    directory = build()
    lib, linked = directory / "lib64", name.removeprefix("lib").removesuffix(".so")
    command = ["cc", f"-I{directory / 'inc'}", str(source), "-o", str(program), f"-L{lib}", f"-l{linked}"]
    subprocess.run(command, check=True)
    assert subprocess.run([str(program)], env={**os.environ, "LD_LIBRARY_PATH": str(lib)}, check=False).returncode == 0


# What a reply may not change: pointers, offsets and room, and what goes in only (each structure's own topic).
UNTOUCHED = {
    "MQGMO": range(16, 24),
    "MQPMO": range(128, 160),
    "MQOD": [*range(168, 172), *range(184, 208), *range(344, 408)],
    "MQIMPO": range(32, 48),
    "MQSD": [*range(120, 184), *range(288, 312), *range(320, 336)],
    "MQSTS": [*range(224, 240), *range(248, 264)],
}
# Where a structure says how long a text is that came back.
LENGTHS_OF_TEXTS = {"od": [408], "sd": [184, 336], "sts": [240, 264], "impo": [48], "gmo": [96]}


def _filled(verb: Verb, serial: int, values: list[object]) -> bytes:
    """Answer with structures as long as those that came, every byte behind their Version 0xEE, but for lengths: 0."""
    by_name = dict(zip((field.name for field in verb.request), values, strict=True))
    reply: list[object] = []
    for field in verb.reply:
        came = by_name.get(field.name)
        if isinstance(came, bytes) and came:
            structure = bytearray(came[:8] + b"\xee" * (len(came) - 8))
            for at in LENGTHS_OF_TEXTS.get(field.name, []):
                structure[at : at + 4] = bytes(len(structure[at : at + 4]))
            reply.append(bytes(structure))
        elif field.name == "hobj" and came is not None:
            reply.append(came)
        else:
            reply.append(b"" if field.kind == "blob" else mq.MQTYPE_STRING if field.name == "type" else 0)
    return encode_reply(verb, serial, 0, 0, reply)


@table(
    ("name", "version"),
    [(name, version) for name in STRUCTURE_LENGTHS for version in STRUCTURE_LENGTHS[name]],
    anew=["caller"],
)
def test_structures_of_every_version_come_back_in_their_own_length(
    caller: Caller, peer: Peer, name: str, version: int
) -> None:
    # Given a buffer that is longer than its version says
    struc_id = b"STAT" if name == "MQSTS" else name[2:].encode().ljust(4)
    buffer = ctypes.create_string_buffer(struct.pack("<4si", struc_id, version) + b"\x11" * 600, 608)
    sent: list[object] = []

    def answer(verb: Verb, serial: int, values: list[object]) -> bytes:
        sent.extend(values)
        return _filled(verb, serial, values)

    peer.answer = answer
    # When a call passes it
    data, length, hobj = ctypes.create_string_buffer(8), ctypes.c_int32(), ctypes.c_int32()
    hmsg = ctypes.c_int64(101)
    if name == "MQOD":
        # The queue that is opened has no texts.
        ctypes.memset(ctypes.addressof(buffer) + 344, 0, 72 if version == 4 else 0)
        codes = caller("MQOPEN", caller.hconn, buffer, 16, ctypes.byref(hobj))
    elif name == "MQGMO":
        codes = caller("MQGET", caller.hconn, 101, None, buffer, 8, data, ctypes.byref(length))
    elif name == "MQPMO":
        codes = caller("MQPUT", caller.hconn, 101, None, buffer, 8, data)
    elif name in ("MQIMPO", "MQPD"):
        impo, pd = (buffer, None) if name == "MQIMPO" else (None, buffer)
        # A name that is asked for nowhere: the pointer and the lengths behind it are zero.
        ctypes.memset(ctypes.addressof(buffer) + 32, 0, 20 if name == "MQIMPO" else 0)
        codes = caller("MQINQMP", caller.hconn, hmsg, impo, None, pd, ctypes.byref(hobj), 8, data, ctypes.byref(length))
    elif name == "MQSMPO":
        codes = caller("MQSETMP", caller.hconn, hmsg, buffer, None, None, 4, 4, data)
    elif name == "MQDMPO":
        codes = caller("MQDLTMP", caller.hconn, hmsg, buffer, None)
    elif name == "MQSD":
        # No texts: what points at them is zero.
        for at, size in ((120, 72), (288, 24), (320, 24)):
            ctypes.memset(ctypes.addressof(buffer) + at, 0, size)
        codes = caller("MQSUB", caller.hconn, buffer, ctypes.byref(hobj), ctypes.byref(hobj))
    elif name == "MQSRO":
        codes = caller("MQSUBRQ", caller.hconn, 101, 1, buffer)
    elif name == "MQCBD":
        codes = caller("MQCB", caller.hconn, mq.MQOP_SUSPEND, buffer, 101, None, None)
    elif name == "MQCTLO":
        codes = caller("MQCTL", caller.hconn, mq.MQOP_STOP, buffer)
    elif name == "MQCMHO":
        codes = caller("MQCRTMH", caller.hconn, buffer, ctypes.byref(hmsg))
    elif name == "MQDMHO":
        codes = caller("MQDLTMH", caller.hconn, ctypes.byref(hmsg), buffer)
    elif name == "MQSTS":
        codes = caller("MQSTAT", caller.hconn, 0, buffer)
    else:
        codes = caller("MQPUT", caller.hconn, 101, buffer, None, 8, data)
    # Then exactly so many bytes of it were sent, and written
    assert codes == (0, 0)
    valid = STRUCTURE_LENGTHS[name][version]
    assert valid in [len(value) for value in sent if isinstance(value, bytes)]
    if name in ("MQCMHO", "MQDMHO", "MQSMPO", "MQDMPO", "MQCBD", "MQCTLO"):
        # These go in only.
        assert buffer.raw == struct.pack("<4si", struc_id, version) + b"\x11" * 600
    else:
        untouched = UNTOUCHED.get(name, ())
        lengths = {at + i for at in LENGTHS_OF_TEXTS.get(name[2:].lower(), []) for i in range(4)}
        for at in range(8, valid):
            if at in lengths:
                assert buffer.raw[at] == 0
            elif at not in untouched:
                assert buffer.raw[at] == 0xEE
            else:
                assert buffer.raw[at] in (0x11, 0)
        assert buffer.raw[:8] == struct.pack("<4si", struc_id, version)
        assert buffer.raw[valid:] == b"\x11" * (608 - valid)


@table("head", [struct.pack("<4si", b"MD  ", 77), struct.pack("<4si", b"GMO ", 2)], anew=["caller"])
def test_a_structure_of_unknown_version_or_another_name_is_sent_as_version_1(
    caller: Caller, peer: Peer, head: bytes
) -> None:
    # It says nothing about its own length: no more is read than the shortest has.
    seen = []

    def answer(verb: Verb, serial: int, values: list[object]) -> bytes:
        seen.append(values)
        return well_behaved(verb, serial, values)

    peer.answer = answer
    buffer = ctypes.create_string_buffer(head + b"\x11" * 400)
    assert caller("MQPUT", caller.hconn, 101, buffer, None, 0, None) == (0, 0)
    assert seen[0][1] == buffer.raw[:324]


def test_the_longest_message_of_ibm_mq_can_be_put(caller: Caller, peer: Peer) -> None:
    lengths = []

    def answer(verb: Verb, serial: int, values: list[object]) -> bytes:
        lengths.append(len(cast("bytes", values[-1])))
        return well_behaved(verb, serial, values)

    peer.answer = answer
    longest = 100 * 1024 * 1024
    data = ctypes.create_string_buffer(longest)
    assert caller("MQPUT", caller.hconn, 101, None, None, longest, data) == (0, 0)
    assert lengths == [longest]


@table(
    ("length", "reason"), [(-1, mq.MQRC_BUFFER_LENGTH_ERROR), (2**31 - 1, mq.MQRC_DATA_LENGTH_ERROR)], anew=["caller"]
)
def test_lengths_that_no_frame_can_carry_are_refused_and_the_connection_lives(
    caller: Caller, length: int, reason: int
) -> None:
    data = ctypes.create_string_buffer(1)
    assert caller("MQPUT", caller.hconn, 101, None, None, length, data) == (mq.MQCC_FAILED, reason)
    assert caller("MQPUT1", caller.hconn, None, None, None, length, data) == (mq.MQCC_FAILED, reason)
    assert caller.commit() == (0, 0)


def test_a_null_pointer_is_no_buffer(caller: Caller) -> None:
    # The queue manager would see an empty message, and take one off the queue for nothing.
    refused = (mq.MQCC_FAILED, mq.MQRC_BUFFER_ERROR)
    length = ctypes.c_int32(7)
    assert caller("MQPUT", caller.hconn, 101, None, None, 5, None) == refused
    assert caller("MQPUT1", caller.hconn, None, None, None, 5, None) == refused
    assert caller("MQGET", caller.hconn, 101, None, None, 5, None, ctypes.byref(length)) == refused
    assert length.value == 0


@table("verb", ["MQINQ", "MQSET"])
@table(
    ("count", "reason"),
    [(-1, mq.MQRC_SELECTOR_COUNT_ERROR), (257, mq.MQRC_SELECTOR_LIMIT_EXCEEDED), (2**31 - 1, 2066), (256, 0)],
    anew=["caller"],
)
def test_there_are_at_most_256_selectors(caller: Caller, verb: str, count: int, reason: int) -> None:
    selectors = (ctypes.c_int32 * 257)()
    codes = caller(verb, caller.hconn, 101, count, selectors, 0, None, 0, None)
    assert codes == (mq.MQCC_FAILED if reason else mq.MQCC_OK, reason)
    assert caller.commit() == (0, 0)


@table(
    ("integers", "characters", "reason"),
    [(-1, 0, mq.MQRC_INT_ATTR_COUNT_ERROR), (0, -1, mq.MQRC_CHAR_ATTR_LENGTH_ERROR)],
    anew=["caller"],
)
def test_mqset_refuses_negative_lengths(caller: Caller, integers: int, characters: int, reason: int) -> None:
    codes = caller("MQSET", caller.hconn, 101, 0, None, integers, None, characters, None)
    assert codes == (mq.MQCC_FAILED, reason)


BAD_REPLIES: dict[str, Answers] = {
    "the end": lambda *_: None,
    "half a header": lambda *_: b"\0\0\0",
    "a body cut short": lambda verb, serial, _: HEADER.pack(8, verb.code, serial) + b"\0" * 4,
    "another verb": lambda _verb, serial, _: HEADER.pack(8, 77, serial) + b"\0" * 8,
    "another serial": lambda verb, serial, _: HEADER.pack(8, verb.code, serial + 1) + b"\0" * 8,
    "no codes": lambda verb, serial, _: HEADER.pack(4, verb.code, serial) + b"\0" * 4,
    "too many fields": lambda verb, serial, _: HEADER.pack(12, verb.code, serial) + b"\0" * 12,
    "an absurd length": lambda verb, serial, _: HEADER.pack(2**32 - 1, verb.code, serial),
    "two replies": lambda verb, serial, _: (HEADER.pack(8, verb.code, serial) + b"\0" * 8) * 2,
}


@table("reply", list(BAD_REPLIES), anew=["caller"])
def test_a_reply_that_is_none_breaks_the_connection(caller: Caller, peer: Peer, reply: str) -> None:
    peer.answer, peer.closes_after_answer = BAD_REPLIES[reply], True
    broken = (mq.MQCC_FAILED, mq.MQRC_CONNECTION_BROKEN)
    assert caller.commit() == broken
    assert caller.commit() == broken
    assert caller.disconnect() == broken
    assert caller.hconn.value == mq.MQHC_UNUSABLE_HCONN


def test_unknown_handles_answer_2018(library: ctypes.CDLL, caller: Caller) -> None:
    known = caller.hconn
    for handle in (0, -1, 12345, known.value + 1):
        caller.hconn = ctypes.c_int32(handle)
        assert caller.commit() == (mq.MQCC_FAILED, mq.MQRC_HCONN_ERROR)
    caller.hconn = known
    assert caller.commit() == (0, 0)


def test_a_server_that_accepts_and_says_nothing_ends_mqconnx(
    impatient_library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a library whose limit for the handshake is a second, and a server that never answers
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("MQSERVER", f"CHANNEL/TCP/127.0.0.1({silent.getsockname()[1]})")
        # When an application connects, then it is told
        connected = Caller(ctypes.CDLL(str(impatient_library))).connected
    assert connected == (mq.MQCC_FAILED, mq.MQRC_CONNECTION_BROKEN)


def test_a_build_calls_its_own_code_also_where_another_one_is_loaded(impatient_library: Path, peer: Peer) -> None:
    load(build())
    silence = threading.Event()

    def answer(verb: Verb, serial: int, values: list[object]) -> bytes:
        silence.wait(3)  # the build that is loaded already waits longer
        return well_behaved(verb, serial, values)

    peer.answer = answer
    connected = Caller(ctypes.CDLL(str(impatient_library))).connected
    silence.set()
    assert connected == (mq.MQCC_FAILED, mq.MQRC_CONNECTION_BROKEN)


def test_the_limit_of_the_handshake_is_none_for_calls(impatient_library: Path, peer: Peer) -> None:
    caller = Caller(ctypes.CDLL(str(impatient_library)))
    silence = threading.Event()

    def answer(verb: Verb, serial: int, values: list[object]) -> bytes:
        silence.wait(1.2)
        return well_behaved(verb, serial, values)

    peer.answer = answer
    assert caller.commit() == (mq.MQCC_OK, mq.MQRC_NONE)
    silence.set()
    caller.disconnect()


def test_handles_are_never_given_out_twice(library: ctypes.CDLL, peer: Peer) -> None:
    handles = []
    for _ in range(3):
        made = Caller(library)
        handles.append(made.hconn.value)
        made.disconnect()
    assert len(set(handles)) == 3


def test_a_handle_is_useless_over_fork_and_the_parent_goes_on(caller: Caller) -> None:
    child = os.fork()
    if not child:
        os._exit(caller.commit() != (mq.MQCC_FAILED, mq.MQRC_ENVIRONMENT_ERROR))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert caller.commit() == (0, 0)


def test_the_death_of_a_process_is_seen_although_its_forked_child_lives(peer: Peer) -> None:
    # Given a process that is connected and has forked a child, which lives until its standard input ends
    code = (
        "import ctypes, os, signal, sys\n"
        f"library = ctypes.CDLL({str(build() / 'lib64' / CLIENT_LIBRARY)!r})\n"
        "hconn, comp, reason = ctypes.c_int32(), ctypes.c_int32(), ctypes.c_int32()\n"
        "library.MQCONN(b'QM1', *map(ctypes.byref, (hconn, comp, reason)))\n"
        "assert comp.value == 0, reason.value\n"
        "if os.fork():\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "sys.stdin.read()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    # When it is killed, then the peer sees the end of the connection while the child still lives
    assert process.wait() == -9
    assert peer.ended.wait(10)
    assert process.stdin is not None
    process.stdin.close()


def test_a_process_that_forks_while_it_connects_leaves_no_socket_to_its_child(peer: Peer) -> None:
    # Given a process with a thread inside MQCONN, waiting for the answer
    code = (
        "import ctypes, os, signal, sys, threading\n"
        f"library = ctypes.CDLL({str(build() / 'lib64' / CLIENT_LIBRARY)!r})\n"
        "arguments = [ctypes.byref(ctypes.c_int32()) for _ in range(3)]\n"
        "threading.Thread(target=lambda: library.MQCONN(b'QM1', *arguments), daemon=True).start()\n"
        "sys.stdin.buffer.raw.readline()\n"
        "if os.fork():\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "sys.stdin.read()\n"
    )
    asked, go_on = threading.Event(), threading.Event()

    def answer(verb: Verb, serial: int, values: list[object]) -> bytes:
        asked.set()
        go_on.wait(10)
        return well_behaved(verb, serial, values)

    peer.answer = answer
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, bufsize=0)
    assert process.stdin is not None
    assert asked.wait(10)
    # When it forks and is killed
    process.stdin.write(b"now\n")
    assert process.wait() == -9
    go_on.set()
    # Then the peer sees the end of the connection while the child still lives
    assert peer.ended.wait(10)
    process.stdin.close()


@table(
    ("options", "codes"),
    [(0, (2, 2018)), (mq.MQCNO_HANDLE_SHARE_NONE, (2, 2018)), (mq.MQCNO_HANDLE_SHARE_BLOCK, (0, 0))],
)
def test_other_threads_may_use_a_handle_only_if_it_is_shared(
    library: ctypes.CDLL, peer: Peer, options: int, codes: tuple[int, int]
) -> None:
    caller = Caller(library, options)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(caller.commit()))
    thread.start()
    thread.join()
    assert seen == [codes]
    assert caller.disconnect() == (0, 0)


def test_a_handle_shared_without_blocking_answers_2219_while_it_is_busy(library: ctypes.CDLL, peer: Peer) -> None:
    caller = Caller(library, mq.MQCNO_HANDLE_SHARE_NO_BLOCK)
    busy, go_on = threading.Event(), threading.Event()

    def answer(verb: Verb, serial: int, values: list[object]) -> bytes:
        busy.set()
        go_on.wait(10)
        return well_behaved(verb, serial, values)

    peer.answer = answer
    thread = threading.Thread(target=caller.commit)
    thread.start()
    assert busy.wait(10)
    in_progress, handle = (mq.MQCC_FAILED, mq.MQRC_CALL_IN_PROGRESS), caller.hconn.value
    assert caller.commit() == in_progress
    assert caller.disconnect() == in_progress
    assert caller.hconn.value == handle
    go_on.set()
    thread.join()
    assert caller.commit() == (0, 0)
    caller.disconnect()


def test_mqdisc_among_other_threads_calls_ends_the_handle_exactly_when_it_says_so(
    library: ctypes.CDLL, peer: Peer
) -> None:
    for _ in range(20):
        caller = Caller(library, mq.MQCNO_HANDLE_SHARE_NO_BLOCK)
        known, other = caller.hconn.value, Caller.of(library, caller.hconn.value)
        gone = threading.Event()

        def call_until_gone(other: Caller = other, gone: threading.Event = gone) -> None:
            while not gone.is_set():
                other.commit()

        thread = threading.Thread(target=call_until_gone)
        thread.start()
        while (codes := caller.disconnect()) == (mq.MQCC_FAILED, mq.MQRC_CALL_IN_PROGRESS):
            if caller.hconn.value != known:
                break
        gone.set()
        thread.join()
        assert (codes, caller.hconn.value) == ((0, 0), mq.MQHC_UNUSABLE_HCONN)


def test_a_disconnect_wakes_those_who_wait_for_their_turn_with_2018(library: ctypes.CDLL, peer: Peer) -> None:
    # Given a handle shared with blocking, MQDISC under way on it
    caller = Caller(library, mq.MQCNO_HANDLE_SHARE_BLOCK)
    other = Caller.of(library, caller.hconn.value)
    under_way, go_on = threading.Event(), threading.Event()

    def answer(verb: Verb, serial: int, values: list[object]) -> bytes:
        under_way.set()
        go_on.wait(10)
        return well_behaved(verb, serial, values)

    peer.answer = answer
    seen = []
    disconnecting = threading.Thread(target=lambda: seen.append(caller.disconnect()))
    disconnecting.start()
    assert under_way.wait(10)
    # When another thread calls, before it has ended or after
    waiting = threading.Thread(target=lambda: seen.append(other.commit()))
    waiting.start()
    go_on.set()
    disconnecting.join()
    waiting.join()
    # Then it is told that the handle is none
    assert sorted(seen) == [(0, 0), (mq.MQCC_FAILED, mq.MQRC_HCONN_ERROR)]


@table(
    ("address", "reason"),
    [
        ("127.0.0.1(1)", 2538),
        ("no.such.host.invalid(1414)", 2538),
        ("", 2058),
        ("127.0.0.1(", 2539),
        ("(1414)", 2539),
        ("127.0.0.1(1414", 2539),
        ("127.0.0.1(1414)x", 2539),
        ("127.0.0.1 1414", 2539),
        ("127.0.0.1(0)", 2539),
        # The resolver of glibc would take the number modulo 65536.
        ("127.0.0.1(66950)", 2539),
    ],
)
def test_addresses_that_lead_nowhere(
    library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch, address: str, reason: int
) -> None:
    monkeypatch.setenv("MQSERVER", f"CHANNEL/TCP/{address}")
    assert Caller(library).connected == (mq.MQCC_FAILED, reason)


@table(
    ("connection_name", "transport", "reason"),
    [
        ("127.0.0.1(1)", 2, mq.MQRC_HOST_NOT_AVAILABLE),
        ("127.0.0.1(1)", 1, mq.MQRC_CD_ERROR),
        ("", 2, mq.MQRC_CD_ERROR),
        ("127.0.0.1(", 2, mq.MQRC_CD_ERROR),
    ],
)
def test_a_channel_definition_that_cannot_be_read_answers_2277(
    library: ctypes.CDLL, connection_name: str, transport: int, reason: int
) -> None:
    cd = _channel_definition(connection_name, transport)
    assert _connect_by_cd(library, cd, user="") == (mq.MQCC_FAILED, reason)


def test_channel_and_credentials_come_from_the_structures(
    library: ctypes.CDLL, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MQSERVER")
    seen: dict[str, object] = {}

    def answer(verb: Verb, serial: int, values: list[object]) -> bytes:
        if verb.name != "MQCONNX":
            return well_behaved(verb, serial, values)
        seen.update(zip((field.name for field in verb.request), values, strict=True))
        return encode_reply(verb, serial, 0, 0, [b"\xc1" * 24, 0, 0])

    peer.answer = answer
    cd = _channel_definition(f"127.0.0.1({peer.port})", 2)
    assert _connect_by_cd(library, cd, user="app") == (0, 0)
    assert (seen["channel_name"], seen["max_msg_length"]) == (b"DEV.APP.SVRCONN", 123_456)
    assert (seen["user"], seen["password"], seen["q_mgr_name"]) == (b"app", b"secret", b"*QM1")


def _channel_definition(connection_name: str, transport: int) -> ctypes.Array[ctypes.c_char]:
    """MQCD Version 6, as long as the bindings pack it, with the fields that the library reads."""
    cd = bytearray(1988)
    struct.pack_into("<20sii", cd, 0, b"DEV.APP.SVRCONN".ljust(20), 6, 6)
    struct.pack_into("<i", cd, 28, transport)
    struct.pack_into("<i", cd, 844, 123_456)
    struct.pack_into("<264s", cd, 1024, connection_name.encode().ljust(264))
    return ctypes.create_string_buffer(bytes(cd), len(cd))


def _connect_by_cd(library: ctypes.CDLL, cd: ctypes.Array[ctypes.c_char], user: str) -> tuple[int, int]:
    """MQCONNX with MQCNO Version 5, MQCD by its pointer and the user's name and password by their offsets; then MQDISC.

    Checks that ConnectionId is what the peer gave, and that nothing else of MQCNO changed.
    """
    csp = bytearray(56 + 32)
    struct.pack_into("<4sii", csp, 0, b"CSP ", 1, 1 if user else 0)
    struct.pack_into("<ii", csp, 24, 56, len(user))
    struct.pack_into("<ii", csp, 48, 72, len("secret"))
    struct.pack_into("<16s6s", csp, 56, user.encode(), b"secret")
    csp_buffer = ctypes.create_string_buffer(bytes(csp), len(csp))
    cno = bytearray(200)
    struct.pack_into("<4sii", cno, 0, b"CNO ", 5, 0)
    struct.pack_into("<Q", cno, 16, ctypes.addressof(cd))
    struct.pack_into("<Q", cno, 192, ctypes.addressof(csp_buffer))
    cno_buffer = ctypes.create_string_buffer(bytes(cno) + b"\x11" * 56, 256)
    hconn, comp, reason = ctypes.c_int32(), ctypes.c_int32(), ctypes.c_int32()
    codes = (ctypes.byref(comp), ctypes.byref(reason))
    library.MQCONNX(ctypes.create_string_buffer(b"*QM1", 49), cno_buffer, ctypes.byref(hconn), *codes)
    answered = comp.value, reason.value
    cno[164:188] = (b"\xc1" if comp.value == 0 else b"\0") * 24
    assert cno_buffer.raw == bytes(cno) + b"\x11" * 56
    assert (hconn.value == mq.MQHC_UNUSABLE_HCONN) == (comp.value != 0)
    library.MQDISC(ctypes.byref(hconn), *codes)
    return answered


@table(
    ("structure", "at", "value", "reason"),
    [
        ("cno", 4, 0, mq.MQRC_CNO_ERROR),
        ("cno", 4, 99, mq.MQRC_CNO_ERROR),
        ("cno", 8, mq.MQCNO_HANDLE_SHARE_BLOCK | mq.MQCNO_HANDLE_SHARE_NO_BLOCK, mq.MQRC_OPTIONS_ERROR),
        ("cno", 8, 0x00020000, mq.MQRC_OPTIONS_ERROR),
        # ClientConnOffset, beside ClientConnPtr
        ("cno", 12, 200, 2278),
        ("cd", 20, 99, mq.MQRC_CD_ERROR),
        ("csp", 0, 0, mq.MQRC_CSP_ERROR),
        ("csp", 4, 99, mq.MQRC_CSP_ERROR),
        ("csp", 8, 77, mq.MQRC_CSP_ERROR),
        ("sco", 0, 0, 2380),
        ("sco", 4, 99, 2380),
        ("sco", 4, 7, mq.MQRC_NONE),
    ],
)
def test_what_is_not_valid_in_the_structures_of_mqconnx_is_refused(
    library: ctypes.CDLL, peer: Peer, structure: str, at: int, value: int, reason: int
) -> None:
    """q042000, q041170, q043080, q043070, q120520, q044080."""
    cd = _channel_definition(f"127.0.0.1({peer.port})", 2)
    parts = {"cno": bytearray(200), "cd": bytearray(cd.raw), "csp": bytearray(56), "sco": bytearray(632)}
    struct.pack_into("<4sii", parts["cno"], 0, b"CNO ", 5, 0)
    struct.pack_into("<4sii", parts["csp"], 0, b"CSP ", 1, 0)
    struct.pack_into("<4si", parts["sco"], 0, b"SCO ", 1)
    struct.pack_into("<i", parts[structure], at, value)
    buffers = {
        name: ctypes.create_string_buffer(bytes(part), len(part)) for name, part in parts.items() if name != "cno"
    }
    for name, place in (("cd", 16), ("sco", 152), ("csp", 192)):
        struct.pack_into("<Q", parts["cno"], place, ctypes.addressof(buffers[name]))
    cno = ctypes.create_string_buffer(bytes(parts["cno"]), 256)
    hconn, comp, found = ctypes.c_int32(), ctypes.c_int32(), ctypes.c_int32()
    library.MQCONNX(ctypes.create_string_buffer(b"*QM1", 49), cno, *map(ctypes.byref, (hconn, comp, found)))
    assert (found.value, comp.value) == (reason, 2 if reason else 0)
    library.MQDISC(*map(ctypes.byref, (hconn, comp, found)))


def test_connection_names_are_tried_in_turn(library: ctypes.CDLL, peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQSERVER", f"CHANNEL/TCP/127.0.0.1(1), 127.0.0.1 ( {peer.port} )")
    caller = Caller(library)
    assert caller.connected == (0, 0)
    caller.disconnect()


@table("sanitizers", ["address,undefined", "thread"])
def test_every_call_is_clean_under_the_sanitizers(tmp_path: Path, sanitizers: str) -> None:
    """AddressSanitizer (with leaks) and UndefinedBehaviorSanitizer, then ThreadSanitizer, on a real embedded queue manager."""
    flags = [f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all", "-g"]
    directory = build(extra_flags=flags)
    program = tmp_path / "every_call"
    source = Path(__file__).with_name("every_call.c")
    lib = directory / "lib64"
    command = ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread", *flags, f"-I{directory / 'inc'}"]
    command += [str(source), "-o", str(program), f"-L{lib}", "-lmqic_r", f"-Wl,-rpath,{lib}"]
    subprocess.run(command, check=True)
    mqsc = tmp_path / "every_call.mqsc"
    mqsc.write_text("DEFINE QLOCAL(EVERY.CALL)\nDEFINE QLOCAL(EVERY.CALLBACK)\n")
    with EmbeddedQueueManager("QM1", mqsc=[mqsc]) as qmgr:
        environment = {**os.environ, "MQSERVER": f"{qmgr.channel}/TCP/{qmgr.conn_name}"}
        done = subprocess.run([str(program)], env=environment, capture_output=True, text=True, check=False)
    # Each sanitizer ends the program with a code of its own if it finds anything. It may also remark on itself: LeakSanitizer
    # does when a thread ends while it stops all threads.
    assert done.returncode == 0, done.stderr
