"""Builds the C library: generates ``verbs.h`` from the verb table, compiles the library, and caches it by content.

A wheel for Linux contains the library (``built/`` beside this file, made by ``hatch_build.py``), so users need no compiler. If
the wheel's library was compiled from other sources, this module compiles the library into the cache.

The result is a directory with the layout of IBM's client. So the unmodified pymqi builds with it (``MQ_FILE_PATH=<directory>
pip install pymqi``), and IBM's ibmmq runs with it::

    inc/cmqc.h cmqxc.h cmqcfc.h cmqbc.h                 the headers for both bindings, so no SDK is needed
    lib64/libmqic_r.so                                  the code
    lib64/libmqm_r.so libmqic.so libmqm.so              a jump to libmqic_r for each verb, because copied code would have
                                                        its own table of connections; only MQCONN and MQCONNX differ, in
                                                        libmqm_r and libmqm (connecting.c)

On macOS the names end in .dylib. The macOS library has been compiled and linked by Zig on Linux, but never run.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from mqembedded.cache import cache, check_own, make_directory
from mqembedded.wire.verbs import (
    BY_NAME,
    CALLERS_OWN,
    POSTED,
    STRUCTURE_FIELDS,
    STRUCTURE_LENGTHS,
    VERBS,
    Field,
    Verb,
    table_digest,
)

_SOURCES = Path(__file__).parent
# The directory of the library in a wheel, and the file in it with the digest of the library's sources.
_PACKAGED = _SOURCES / "built"
_DIGEST = "digest"
_FLAGS = "-std=c11 -D_GNU_SOURCE -O2 -fPIC -shared -fvisibility=hidden -Wall -Wextra -Werror -pthread".split()
# If the checks of replies and of the caller's memory miss an overflow, these flags end the program. Some compilers define the
# macro themselves, so it is undefined first.
_FLAGS += "-fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2".split()
if sys.platform == "darwin":
    SUFFIX, _NAMED, _BESIDE = "dylib", "-Wl,-install_name,@rpath/", "-Wl,-rpath,@loader_path"
else:
    SUFFIX, _NAMED, _BESIDE = "so", "-Wl,-soname,", "-Wl,-rpath,$ORIGIN"
    # -Bsymbolic lets the library's forwarders call its own verbs, even if another build of the library is loaded already. On
    # macOS this is always so. relro makes the loader's tables read-only.
    _FLAGS += ["-Wl,-Bsymbolic", "-Wl,-z,relro,-z,now"]
# The names by which the dynamic loader knows the libraries. Both bindings use these names.
CLIENT_LIBRARY = f"libmqic_r.{SUFFIX}"
SERVER_LIBRARY = f"libmqm_r.{SUFFIX}"
# Further names of IBM's client and server libraries that programs are linked to. The last two are for unthreaded programs.
_OTHER_NAMES = (SERVER_LIBRARY, f"libmqic.{SUFFIX}", f"libmqm.{SUFFIX}")
# The verbs in the code have this prefix. In every library, a function with the plain name jumps to the function with the prefix.
_PREFIX = "mqembedded_"
_SERVER_PREFIX = "mqembedded_server_"
_SERVER_LIBRARIES = (SERVER_LIBRARY, f"libmqm.{SUFFIX}")
_DIFFER_IN_SERVER_LIBRARIES = ("MQCONN", "MQCONNX")


class BuildError(RuntimeError):
    """The library cannot be compiled. The message names what is missing, or contains the compiler's output."""


def build(target: Path | None = None, *, extra_flags: Sequence[str] = ()) -> Path:
    """Compile the library, if there is no current build yet, and return its directory.

    Args:
        target: the directory to put the library in; by default the wheel's library is used, or a directory of the cache
            (``mqembedded/cache.py``) whose name contains a digest of all sources, the compiler and its flags.
        extra_flags: more compiler flags, for example for a sanitizer.

    Raises:
        BuildError: there is no C compiler, the compiler failed, or the directory cannot be written to.
        CacheRefused: there is no directory for the cache, or another user could have written to it.
    """
    header = verbs_header()
    if target is None and not extra_flags and _is_packaged(header):
        return _PACKAGED
    compiler = _compiler()
    cached = target is None
    if target is None:
        target = cache() / f"libmqm-{_digest(compiler, header, extra_flags)}"
        if (target / "lib64" / SERVER_LIBRARY).exists():
            for path in (target, target / "lib64", *sorted((target / "lib64").iterdir())):
                check_own(path)
            return target
    # The build is made in a temporary directory and renamed, so that another process sees the whole build or none.
    try:
        make_directory(target.parent, 0o755)
        temporary = tempfile.TemporaryDirectory(dir=target.parent, prefix=".libmqm-")
    except OSError as error:
        remedy = "name another directory" + " in MQEMBEDDED_CACHE" * cached
        raise BuildError(f"{target.parent} cannot be written to ({error.strerror}): {remedy}") from error
    with temporary as name:
        made = Path(name, "made")
        shutil.copytree(_SOURCES / "inc", made / "inc")
        (made / "lib64").mkdir()
        generated = Path(name, "generated")
        generated.mkdir()
        (generated / "verbs.h").write_text(header)
        _compile(compiler, made, generated, extra_flags)
        (made / _DIGEST).write_text(_digest_of_sources(header))
        for path in (made, *made.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        _move(made, target, replaces=not cached)
    return target


def load(directory: Path) -> None:
    """Load the library into this process, for bindings that are imported later.

    The loader finds a loaded library by its name, so the bindings need no ``LD_LIBRARY_PATH``. Each binding calls the library
    that it is linked with, because RTLD_GLOBAL is not set. With RTLD_GLOBAL, they would all call the first loaded library.
    """
    for name in (CLIENT_LIBRARY, SERVER_LIBRARY):
        ctypes.CDLL(str(directory / "lib64" / name))


def _compiler() -> list[str]:
    wanted = shlex.split(os.environ.get("CC", ""))
    for command in [wanted] if wanted else [["cc"], ["gcc"], ["clang"]]:
        if shutil.which(command[0]):
            return command
    raise BuildError(
        "no C compiler was found (looked for $CC, cc, gcc, clang); the embedded queue manager's client library has to be "
        "compiled once. On Debian and Ubuntu: apt-get install gcc libc6-dev"
    )


def _is_packaged(header: str) -> bool:
    try:
        return (_PACKAGED / _DIGEST).read_text() == _digest_of_sources(header)
    except OSError:
        return False


def _digest(compiler: list[str], header: str, extra_flags: Sequence[str]) -> str:
    version = subprocess.run([*compiler, "--version"], capture_output=True, check=False).stdout
    content = _digest_of_sources(header).encode() + version + shlex.join([*compiler, *_FLAGS, *extra_flags]).encode()
    return hashlib.sha256(content).hexdigest()[:16]


def _digest_of_sources(header: str) -> str:
    content = hashlib.sha256(header.encode() + _forwarder(_declared_verbs(), of_server=True).encode())
    for path in sorted([*_SOURCES.glob("*.[ch]"), *_SOURCES.glob("inc/*.h")]):
        content.update(path.name.encode() + b"\0" + path.read_bytes())
    return content.hexdigest()


def _compile(compiler: list[str], made: Path, generated: Path, extra_flags: Sequence[str]) -> None:
    sources = [str(path) for path in sorted(_SOURCES.glob("*.c"))]
    includes = [f"-I{made / 'inc'}", f"-I{generated}", f"-I{_SOURCES}"]
    lib = made / "lib64"
    common = [*compiler, *_FLAGS, *extra_flags, *includes]
    verbs = _declared_verbs()
    forwarder, of_server = generated / "forwarder.c", generated / "of_server.c"
    forwarder.write_text(_forwarder(verbs))
    of_server.write_text(_forwarder(verbs, of_server=True))
    # Without the prefix, the loader could bind a verb to the forwarder of another library that is already loaded.
    prefixed = [f"-D{name}={_PREFIX}{name}" for name in verbs]
    client = str(lib / CLIENT_LIBRARY)
    # The compiler's temporary files go here, too, because the cache is perhaps the only directory that this user can write to.
    environment = {**os.environ, "TMPDIR": str(generated)}
    _run([*common, *prefixed, f"{_NAMED}{CLIENT_LIBRARY}", *sources, str(forwarder), "-o", client], environment)
    for other in _OTHER_NAMES:
        linked = [f"{_NAMED}{other}", client, _BESIDE]
        source = of_server if other in _SERVER_LIBRARIES else forwarder
        _run([*common, str(source), *linked, "-o", str(lib / other)], environment)


def _declared_verbs() -> dict[str, str]:
    """Return the parameters of each verb as ``cmqc.h`` declares them."""
    header = (_SOURCES / "inc" / "cmqc.h").read_text()
    return dict(re.findall(r"^void (MQ\w+)\(([^)]*)\);", header, re.MULTILINE))


def _forwarder(verbs: dict[str, str], *, of_server: bool = False) -> str:
    lines = [*(f"#undef {name}" for name in verbs), "#include <cmqc.h>", ""]
    for name, parameters in verbs.items():
        arguments = ", ".join(parameter.split()[-1] for parameter in parameters.split(","))
        prefix = _SERVER_PREFIX if of_server and name in _DIFFER_IN_SERVER_LIBRARIES else _PREFIX
        lines += [
            f"void {prefix}{name}({parameters});",
            f'__attribute__((visibility("default"))) void {name}({parameters}) {{ {prefix}{name}({arguments}); }}',
            "",
        ]
    return "\n".join(lines)


def _run(command: list[str], environment: Mapping[str, str]) -> None:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"the C library does not compile: {shlex.join(command)}\n{done.stderr.strip()}")


def _move(made: Path, target: Path, *, replaces: bool) -> None:
    """Rename a finished build to its final name. If the cache already has a build with this name, keep that build."""
    if target.exists() and not (target / "lib64" / SERVER_LIBRARY).exists() and any(target.iterdir()):
        raise BuildError(f"{target} exists and has other content; give an empty or a new directory")
    try:
        made.rename(target)
    except OSError:
        if not (target / "lib64" / SERVER_LIBRARY).exists():
            raise
        if replaces:
            target.rename(made.parent / "old")
            made.rename(target)


# --- verbs.h


def verbs_header() -> str:
    """Return the text of ``verbs.h``: for every verb, a typed function that calls it and a structure for its answer."""
    parts = [
        "/* Generated from wire/verbs.py by build.py; not to be edited. */",
        "#ifndef MQEMBEDDED_VERBS_H",
        "#define MQEMBEDDED_VERBS_H",
        "",
        "#include <string.h>",
        "",
        '#include "wire.h"',
        "",
        f'#define TABLE_DIGEST "{table_digest()}"',
        f"#define WAKE_CODE {BY_NAME['WAKE'].code}",
        f"#define HEARTBEAT_CODE {BY_NAME['HEARTBEAT'].code}",
        "",
        *(_length_function(name, lengths) for name, lengths in STRUCTURE_LENGTHS.items()),
        *(_write_function(name) for name in sorted({STRUCTURE_FIELDS[field] for field in _answered_structures()})),
        *(_call_function(verb) for verb in VERBS if verb.name not in ("CONTROL", "CHANNEL", "WAKE", "HEARTBEAT")),
        "#endif",
    ]
    return "\n".join(parts) + "\n"


_STRUC_IDS = {"MQSTS": "STAT"}


def _length_function(name: str, lengths: dict[int, int]) -> str:
    # Every structure starts with its StrucId (usually its name without MQ) and its Version. If the StrucId is wrong, the length
    # is unknown, and only as many bytes as the shortest version has are read.
    struc_id = _STRUC_IDS.get(name, name.removeprefix("MQ")).ljust(4)
    cases = "".join(f"    case {version}: return {length};\n" for version, length in lengths.items())
    exact = "".join(f"    case {version}: return answered.length == {length};\n" for version, length in lengths.items())
    return (
        f"static inline bool is_{name}(struct blob answered) {{\n    int32_t version;\n"
        f'    if (answered.length < 8 || memcmp(answered.data, "{struc_id}", 4) != 0) {{\n        return false;\n    }}\n'
        "    memcpy(&version, (const uint8_t *)answered.data + 4, sizeof version);\n"
        f"    switch (version) {{\n{exact}    default: return false;\n    }}\n}}\n\n"
        f"static inline uint32_t length_of_{name}(const void *structure) {{\n    int32_t version = 1;\n"
        f'    if (memcmp(structure, "{struc_id}", 4) == 0) {{\n'
        "        memcpy(&version, (const uint8_t *)structure + 4, sizeof version);\n    }\n"
        f"    switch (version) {{\n{cases}    default: return {lengths[1]};\n    }}\n}}\n"
    )


def _answered_structures() -> set[str]:
    """Return the names of the structures that replies contain."""
    return {field.name for verb in VERBS for field in verb.reply if field.name in STRUCTURE_FIELDS}


_HEADER_LENGTH = 8


def _write_function(name: str) -> str:
    # Copies all bytes of a reply, except the bytes that belong to the caller.
    longest = max(STRUCTURE_LENGTHS[name].values())
    at = _HEADER_LENGTH
    lines = []
    for start, length in (*CALLERS_OWN.get(name, ()), (longest, 0)):
        if start > at:
            lines.append(f"    write_part(structure, answered, {at}, {start - at});\n")
        at = start + length
    return f"static inline void write_back_{name}(void *structure, struct blob answered) {{\n{''.join(lines)}}}\n"


_C_TYPES = {"i32": "int32_t", "i64": "int64_t", "blob": "struct blob"}


def _declaration(field: Field) -> str:
    return f"{_C_TYPES[field.kind]} {field.name}"


def _sends(verb: Verb) -> str:
    numbers = [
        f"    request_i32(&request, (int32_t){field.name}.length);\n"
        if field.kind == "blob"
        else f"    request_{field.kind}(&request, {field.name});\n"
        for field in verb.request
    ]
    blobs = [f"    request_blob(&request, {field.name});\n" for field in verb.request if field.kind == "blob"]
    return "".join(numbers + blobs)


def _reads(verb: Verb) -> str:
    numbers = [
        f"    uint32_t length_of_{field.name} = (uint32_t)reply_i32(&reply);\n"
        if field.kind == "blob"
        else f"    answer->{field.name} = reply_{field.kind}(&reply);\n"
        for field in verb.reply
    ]
    blobs = [
        f"    answer->{field.name} = reply_blob(&reply, length_of_{field.name});\n"
        for field in verb.reply
        if field.kind == "blob"
    ]
    return "".join(numbers + blobs)


def _post_function(verb: Verb, parameters: Sequence[str]) -> str:
    return (
        f"static inline bool post_{verb.name}({', '.join(parameters)}) {{\n"
        "    struct request request;\n    request_begin(&request);\n"
        f"{_sends(verb)}"
        f"    return wire_post(wire, {verb.code}, &request);\n}}\n"
    )


def _call_function(verb: Verb) -> str:
    parameters = ["struct wire *wire", *map(_declaration, verb.request), "int32_t *comp", "int32_t *reason"]
    text = ""
    if verb.reply:
        members = "".join(f"    {_declaration(field)};\n" for field in verb.reply)
        text += f"struct answer_{verb.name} {{\n{members}}};\n\n"
        parameters.append(f"struct answer_{verb.name} *answer")
    if verb.name in POSTED:
        return _post_function(verb, parameters[:-2])
    asked = {field.name for field in verb.request}
    checks = "".join(
        f" && is_answer_to({field.name}, answer->{field.name})"
        for field in verb.reply
        if field.name in STRUCTURE_FIELDS and field.name in asked
    )
    return (
        f"{text}static inline bool call_{verb.name}({', '.join(parameters)}) {{\n"
        "    struct request request;\n    struct reply reply;\n    request_begin(&request);\n"
        f"{_sends(verb)}"
        f"    if (!wire_call(wire, {verb.code}, &request, &reply)) {{\n        return false;\n    }}\n"
        "    *comp = reply_i32(&reply);\n    *reason = reply_i32(&reply);\n"
        f"{_reads(verb)}"
        f"    return reply_is_whole(&reply, *comp){checks};\n}}\n"
    )
