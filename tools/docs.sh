#!/usr/bin/env bash
# Builds the documentation site into build/docs/site. A broken link, a page without a place and any warning of Sphinx fail.
# The first run fetches what builds it into build/docs; later ones need no network.
#
#   PYTHON                    the interpreter, python3 unless told
#   MQGROUPS_REPOSITORY_URL   where "view this page" leads
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-python3}
MERMAID=mermaid@11.12.0
# What npm says of it: npm view mermaid@11.12.0 dist.integrity
MERMAID_SHA512=ZudVx73BwrMJfCFmSSJT84y6u5brEoV8DOItdHomNLz32uBjNrelm7mg95X7g+C6UoQH/W6mBLGDEDv73JdxBg==
HOME_OF_TOOLS=build/docs/tools
SOURCE=build/docs/source
SITE=build/docs/site

# The extra docs, and what the package itself imports: some pages are made from it.
wanted=$("$PYTHON" - <<'END'
import sys, tomllib

project = tomllib.load(open("pyproject.toml", "rb"))["project"]
extras = project["optional-dependencies"]
# mqembedded is not fetched: its folder is beside the package's.
embedded = tomllib.load(open("embedded/pyproject.toml", "rb"))["project"]
print(*project["dependencies"], *(line for extra in ("docs", "cli") for line in extras[extra]), *embedded["dependencies"], *embedded["optional-dependencies"]["testing"], sep="\n")
END
)
if [[ ! -f $HOME_OF_TOOLS/made || $(<"$HOME_OF_TOOLS/made") != "$wanted" ]]; then
    rm -rf "$HOME_OF_TOOLS"
    "$PYTHON" -m venv "$HOME_OF_TOOLS"
    "$HOME_OF_TOOLS/bin/python" -m pip --disable-pip-version-check --quiet install --requirement <(echo "$wanted")
    printf '%s\n' "$wanted" >"$HOME_OF_TOOLS/made"
fi
if [[ ! -f build/docs/mermaid/$MERMAID ]]; then
    command -v npm >/dev/null || {
        echo "docs: npm is missing; it fetches $MERMAID, which draws the diagrams. On Debian and Ubuntu: apt-get install npm" >&2
        exit 1
    }
    rm -rf build/docs/mermaid
    mkdir -p build/docs/mermaid
    (
        cd build/docs/mermaid
        npm pack --silent "$MERMAID" >/dev/null
        found=$("$PYTHON" -c 'import base64, hashlib, sys; print(base64.b64encode(hashlib.sha512(sys.stdin.buffer.read()).digest()).decode())' \
            <mermaid-*.tgz)
        [[ $found == "$MERMAID_SHA512" ]] || { echo "docs: $MERMAID has SHA-512 $found, expected $MERMAID_SHA512" >&2; exit 1; }
        tar -xzf mermaid-*.tgz
        touch "$MERMAID"
    )
fi
"$HOME_OF_TOOLS/bin/python" tools/docs_source.py "$SOURCE"
cp build/docs/mermaid/package/dist/mermaid.min.js "$SOURCE/_static/"
rm -rf "$SITE"
MQGROUPS_DOCS_ROOT=$PWD "$HOME_OF_TOOLS/bin/python" -m sphinx --builder html --fail-on-warning --keep-going --quiet "$SOURCE" "$SITE"
"$HOME_OF_TOOLS/bin/python" tools/site_look.py "$SITE"
echo "$SITE/index.html"
