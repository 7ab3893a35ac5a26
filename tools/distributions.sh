#!/usr/bin/env bash
# Builds into dist/: of each of the two projects the source distribution; the wheel of mqgroups, which is pure Python; and a wheel
# of mqembedded for each platform, with its client library compiled by Zig's C compiler (a package of PyPI), so one machine builds
# for all of them. Those for glibc are compiled against that of 2012; a wheel that would need more than its tag says is refused.
#
#   PYTHON      the interpreter, python3 unless told
#   PLATFORMS   of the wheels of mqembedded, as "TAG=TARGET" with Zig's name of the target; all four unless told
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-python3}
PLATFORMS=${PLATFORMS:-manylinux_2_17_x86_64=x86_64-linux-gnu.2.17 manylinux_2_17_aarch64=aarch64-linux-gnu.2.17
    musllinux_1_2_x86_64=x86_64-linux-musl musllinux_1_2_aarch64=aarch64-linux-musl}
TOOLS=tools/distributions.txt
HOME_OF_TOOLS=build/distributions

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
"$tools" -m build --no-isolation --outdir dist
"$tools" -m build --no-isolation --sdist --outdir dist embedded
[[ -f $(echo dist/mqgroups-*-py3-none-any.whl) ]] || fail "the wheel of mqgroups is not pure Python: $(echo dist/mqgroups-*.whl)"
for platform in $PLATFORMS; do
    tag=${platform%%=*}
    CC="$tools -m ziglang cc -target ${platform#*=} -Wl,-z,defs" MQEMBEDDED_WHEEL_PLATFORM=$tag \
        "$tools" -m build --no-isolation --wheel --outdir dist embedded
    wheel=$(echo dist/mqembedded-*-py3-none-"$tag".whl)
    [[ -f $wheel ]] || fail "no wheel for $tag was made"
    unzip -p "$wheel" '*/libmqic_r.so' >"$HOME_OF_TOOLS/library"
    symbols=$(readelf --wide --dyn-syms "$HOME_OF_TOOLS/library")
    [[ $symbols == *__stack_chk_fail* ]] || fail "the library of $wheel is compiled without stack protector"
    [[ $tag == manylinux_* ]] || continue
    [[ $symbols == *__memcpy_chk* ]] || fail "the library of $wheel is compiled without FORTIFY"
    shown=$("$HOME_OF_TOOLS/bin/auditwheel" show "$wheel" | tr -s ' \n' ' ')
    printf '%s\n' "$shown"
    # What it says names the oldest platform that is good enough.
    newest=$(grep -oE "manylinux_2_[0-9]+_${tag#manylinux_2_*_}" <<<"$shown" | sort -t_ -k3 -n | tail -1)
    [[ -n $newest && $(cut -d_ -f3 <<<"$newest") -le $(cut -d_ -f3 <<<"$tag") ]] || fail "$wheel needs ${newest:-an unknown platform}"
done
ls -l dist
