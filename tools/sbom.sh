#!/usr/bin/env bash
# Writes build/sbom.cdx.json, a bill of materials in CycloneDX's form: the wheel of dist/ and every package that it brings with the
# extra ibmmq, in the versions of today.
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-python3}
CYCLONEDX=cyclonedx-bom==7.5.0

wheel=$(echo dist/mqgroups-*.whl)
[[ -f $wheel ]] || { echo "sbom: dist/ has no wheel of mqgroups: make distributions" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$PYTHON" -m venv --without-pip "$work/installed"
"$PYTHON" -m venv "$work/tools"
pip() { "$work/tools/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }
pip install "$CYCLONEDX"
pip --python "$work/installed" install "$PWD/${wheel}[ibmmq]"
mkdir -p build
"$work/tools/bin/cyclonedx-py" environment --pyproject pyproject.toml --output-reproducible --output-file build/sbom.cdx.json "$work/installed"
echo "build/sbom.cdx.json: $(grep -c '"type": "library"' build/sbom.cdx.json) packages"
