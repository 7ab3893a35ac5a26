#!/usr/bin/env bash
# Has twine and check-wheel-contents look at what dist/ holds, installs it into empty environments, as a user would, and runs it: on
# each Python that this machine has, the wheels without a compiler and the source distributions with one. `make distributions` makes
# dist/.
#
#   PYTHONS   the interpreters, python3.11 to python3.14 unless told; those that are missing are named and left out
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHONS=${PYTHONS:-python3.11 python3.12 python3.13 python3.14}
# twine as in the action that publishes (.github/workflows/release.yml).
CHECKERS=(twine==6.1.0 packaging==24.2 check-wheel-contents==0.6.3)
EXTRAS=demo,testing
# ibmmq has wheels for x86-64 only; elsewhere it is compiled against the package's own headers (docs/how-to/installing.md).
[[ $(uname -m) != x86_64 ]] || EXTRAS=ibmmq,$EXTRAS
ROOT=$PWD

say() { printf 'release-check: %s\n' "$*"; }
fail() {
    printf 'release-check: %s\n' "$@" >&2
    exit 1
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

wheels="$(echo dist/mqembedded-*-manylinux_*_"$(uname -m)".whl) $(echo dist/mqgroups-*.whl)"
sdists="$(echo dist/mqembedded-*.tar.gz) $(echo dist/mqgroups-*.tar.gz)"
for file in $wheels $sdists; do
    [[ -f $file ]] || fail "dist/ lacks $file: make distributions"
done

# look PYTHON: what PyPI would refuse, and files that do not belong into a wheel. W002: the client library has its headers beside it.
look() {
    "$1" -m venv "$work/checkers"
    "$work/checkers/bin/python" -m pip --disable-pip-version-check --quiet install --only-binary :all: "${CHECKERS[@]}"
    "$work/checkers/bin/twine" --no-color check --strict dist/*
    "$work/checkers/bin/check-wheel-contents" --toplevel mqgroups,mqgroups_command.py,pyspark_ibmmq dist/mqgroups-*.whl
    "$work/checkers/bin/check-wheel-contents" --ignore W002 --toplevel mqembedded dist/mqembedded-*.whl
}

# Runs a command as on a machine where nothing is set, in an empty directory, with the PATH $1: the environment's own programs, and
# where a compiler is missing, what Debian's python3 would have beside it.
bare() {
    local path=$1
    shift
    (cd "$here/project" && env -i PATH="$path" HOME="$here/home" LANG=C.UTF-8 "$@")
}

# try PYTHON MQEMBEDDED MQGROUPS: these distributions, in an empty environment.
try() {
    local python=$1 embedded=$2 distribution=$3 library
    here=$work/$python-${distribution##*.}
    mkdir -p "$here/home" "$here/project"
    "$python" -m venv "$here/env"
    "$here/env/bin/python" -m pip --disable-pip-version-check --quiet install "$ROOT/$embedded" "$ROOT/${distribution}[$EXTRAS]" || fail "$distribution cannot be installed on $python"
    if [[ $EXTRAS != ibmmq,* ]]; then
        library=$(bare "$here/env/bin" mqembedded build --print-dir)
        MQ_FILE_PATH=$library "$here/env/bin/python" -m pip --disable-pip-version-check --quiet install --no-cache-dir \
            --no-binary ibmmq ibmmq || fail "ibmmq cannot be compiled on $python"
    fi
    # Without a compiler: PATH has the environment and nothing else.
    bare "$here/env/bin" python "$ROOT/tools/smoke.py"
    library=$(bare "$here/env/bin" mqembedded build --print-dir)
    [[ $library == "$here/env"/* ]] || fail "the client library is not the package's own: $library"
    bare "$here/env/bin" mqgroups demo --days 2 >"$here/demo.log" || fail "mqgroups demo: $(tail -5 "$here/demo.log")"
    bare "$here/env/bin" python "$ROOT/tools/smoke_pytest.py" "$ROOT/embedded/mqembedded/testing/README.md"
    [[ -z $(ls -A "$here/home") ]] || fail "something was written into the home directory: $(find "$here/home")"
    say "$python, ${distribution#dist/}: smoke test, demo and the pytest plugin's first example passed"
}

tried=0
for python in $PYTHONS; do
    if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
        say "$python: not on this machine, not tried"
        continue
    fi
    ((tried)) || look "$python"
    try "$python" $wheels
    try "$python" $sdists
    tried=$((tried + 1))
done
newest=$(for python in $PYTHONS; do ! "$python" -c 'import venv, ensurepip' 2>/dev/null || echo "$python"; done | tail -1)
[[ -z $newest || $(uname -m) != x86_64 ]] || "$newest" tools/first_hour.py "$newest" || fail "a page that newcomers follow fails"
((tried)) || fail "none of these is on this machine: $PYTHONS"
