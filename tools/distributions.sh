#!/usr/bin/env bash
# Builds the source distribution and a wheel for each architecture into dist/, and checks what the wheels ask of a machine.
#
# The wheels carry the embedded queue manager's client library, compiled by Zig's C compiler (a package of PyPI) against the glibc
# of 2012, so one machine builds for all architectures. A wheel that would need more than its tag says is refused.
#
#   PYTHON   the interpreter, python3 unless told
#   ARCHS    architectures of the wheels, "x86_64 aarch64" unless told
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-python3}
ARCHS=${ARCHS:-x86_64 aarch64}
GLIBC=2.17
TOOLS=tools/distributions.txt
HOME_OF_TOOLS=build/distributions
PLATFORM=manylinux_${GLIBC/./_}

fail() {
    printf 'distributions: %s\n' "$@" >&2
    exit 1
}

if ! cmp --quiet "$TOOLS" "$HOME_OF_TOOLS/tools"; then
    rm -rf "$HOME_OF_TOOLS"
    "$PYTHON" -m venv "$HOME_OF_TOOLS"
    "$HOME_OF_TOOLS/bin/python" -m pip --disable-pip-version-check --quiet install --only-binary :all: --require-hashes --requirement "$TOOLS"
    cp "$TOOLS" "$HOME_OF_TOOLS/tools"
fi
tools=$PWD/$HOME_OF_TOOLS/bin/python

rm -rf dist
# Without isolation: an environment of its own for each build would get whatever is newest.
"$tools" -m build --no-isolation --sdist --outdir dist
for arch in $ARCHS; do
    CC="$tools -m ziglang cc -target $arch-linux-gnu.$GLIBC" MQGROUPS_WHEEL_PLATFORM=${PLATFORM}_$arch \
        "$tools" -m build --no-isolation --wheel --outdir dist
    wheel=$(echo dist/*-py3-none-"${PLATFORM}_$arch".whl)
    [[ -f $wheel ]] || fail "no wheel for $arch was made"
    shown=$("$HOME_OF_TOOLS/bin/auditwheel" show "$wheel" | tr -s ' \n' ' ')
    printf '%s\n' "$shown"
    # What it says names the oldest platform that is good enough.
    newest=$(grep -oE 'manylinux_2_[0-9]+_'"$arch" <<<"$shown" | sort -t_ -k3 -n | tail -1)
    [[ -n $newest && $(cut -d_ -f3 <<<"$newest") -le ${GLIBC#2.} ]] || fail "$wheel needs ${newest:-an unknown platform}, not $PLATFORM"
done
ls -l dist
