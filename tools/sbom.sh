#!/usr/bin/env bash
# Writes a bill of materials in CycloneDX's form for each distribution: build/mqgroups.cdx.json, build/mqembedded.cdx.json. It has
# the wheel of dist/ and every package that it brings, in the versions of today: of mqgroups with the command and ibmmq. It runs code
# of these packages, so the release makes it where dist/ cannot be changed any more.
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-python3}
MACHINE=$(uname -m)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$PYTHON" -m venv "$work/tools"
pip() { "$work/tools/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }
pip install --only-binary :all: --require-hashes --requirement tools/sbom.txt
mkdir -p build

# DISTRIBUTION EXTRAS PYPROJECT WHEEL: dist/ may have several wheels, for several platforms.
bill() {
    [[ -f $4 ]] || { echo "sbom: dist/ has no wheel of $1: make distributions" >&2; exit 1; }
    "$PYTHON" -m venv --without-pip "$work/$1"
    pip --python "$work/$1" install "$PWD/$4$2"
    "$work/tools/bin/cyclonedx-py" environment --pyproject "$3" --output-reproducible --output-file "build/$1.cdx.json" "$work/$1"
    echo "build/$1.cdx.json: $(grep -c '"type": "library"' "build/$1.cdx.json") packages"
}
bill mqgroups "[cli,ibmmq]" pyproject.toml "$(echo dist/mqgroups-*.whl)"
bill mqembedded "" embedded/pyproject.toml "$(echo dist/mqembedded-*manylinux*"$MACHINE".whl)"
